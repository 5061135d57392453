//! Links this package's programs and libraries with run paths to UCX: in the installation prefix,
//! else at its build-time location. Exports DOCA's log functions to plugins in uromd.
//!
//! A program that contains the module `uromd` links with the same arguments: its build script reads
//! them from `DEP_UROM_SERVICE_PROGRAM_0` and so on.

fn main() {
    let mut program: Vec<_> =
        ["doca_log", "doca_log_register_source", "doca_log_unregister_source"]
            .iter()
            .map(|symbol| format!("-Wl,--export-dynamic-symbol={symbol}"))
            .collect();
    if ucx_probe::rpath().is_some() {
        // The kit's own UCX of `cargo xtask install`; emit_rpath puts LD_LIBRARY_PATH first.
        program.push("-Wl,-rpath,$ORIGIN/../lib/urom-ucx/libucx/lib".to_owned());
    }
    program.iter().for_each(|argument| println!("cargo:rustc-link-arg-bins={argument}"));
    ucx_probe::emit_rpath();
    for (number, argument) in program.iter().enumerate() {
        println!("cargo:program_{number}={argument}");
    }
}
