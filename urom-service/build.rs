//! Lets every program and library of this package find UCX at run time: in the prefix it was
//! installed in, else where it was found at build time. Lets plugins in uromd find DOCA's log
//! there.
//!
//! Another program that is `uromd` too (the module `uromd` of this crate) links with the same
//! arguments: its build script finds them in `DEP_UROM_SERVICE_PROGRAM_0` and so on.

fn main() {
    let mut program: Vec<_> =
        ["doca_log", "doca_log_register_source", "doca_log_unregister_source"]
            .iter()
            .map(|symbol| format!("-Wl,--export-dynamic-symbol={symbol}"))
            .collect();
    if ucx_probe::rpath().is_some() {
        // Where `cargo xtask install` puts the kit's own UCX. LD_LIBRARY_PATH comes before it:
        // emit_rpath sees to that.
        program.push("-Wl,-rpath,$ORIGIN/../lib/urom-ucx/libucx/lib".to_owned());
    }
    program.iter().for_each(|argument| println!("cargo:rustc-link-arg-bins={argument}"));
    ucx_probe::emit_rpath();
    for (number, argument) in program.iter().enumerate() {
        println!("cargo:program_{number}={argument}");
    }
}
