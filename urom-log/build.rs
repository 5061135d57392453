//! Compiles the C part of DOCA's log.

fn main() {
    println!("cargo:rerun-if-changed=c/doca_log.c");
    cc::Build::new()
        .file("c/doca_log.c")
        .std("c11")
        .warnings(true)
        .extra_warnings(true)
        .compile("urom_doca_log");
}
