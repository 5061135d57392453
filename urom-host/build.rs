//! Lets every program and library of this package find UCX at run time where it was found at build
//! time.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Without the built-in library nothing here is linked with UCX.
    if std::env::var_os("CARGO_FEATURE_BUILTIN").is_some() {
        ucx_probe::emit_rpath();
    }
}
