//! Sets the rpath to the UCX of the build, so that this package's programs find it at run time.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Without the built-in library nothing here is linked with UCX.
    if std::env::var_os("CARGO_FEATURE_BUILTIN").is_some() {
        ucx_probe::emit_rpath();
    }
}
