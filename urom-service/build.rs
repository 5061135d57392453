//! Lets every program and library of this package find UCX at run time: in the prefix it was installed in, else where it was
//! found at build time. Compiles the part of DOCA's log that only C can do, and lets plugins in uromd find that log.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Plugins in C need `libdoca_common.so.2`, which lies in an installed uromd's prefix. Only the older kind of entry holds
    // for what a program loads later on.
    println!("cargo:rustc-link-arg-bins=-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib");
    if let Ok(directory) = std::env::var("DEP_UCP_RPATH") {
        // Where `cargo xtask install` puts the kit's own UCX.
        println!("cargo:rustc-link-arg-bins=-Wl,-rpath,$ORIGIN/../lib/urom-ucx/libucx/lib");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{directory}");
    }
    println!("cargo:rerun-if-changed=c/doca_log.c");
    cc::Build::new()
        .file("c/doca_log.c")
        .std("c11")
        .warnings(true)
        .extra_warnings(true)
        .compile("urom_doca_log");
    for symbol in ["doca_log", "doca_log_register_source", "doca_log_unregister_source"] {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={symbol}");
    }
}
