//! Sets the rpath to the kit's installed UCX, then to the build's UCX.

fn main() {
    // The filter libraries of `cargo xtask install` need this name.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,liburom_doca.so");
    // Never unload: threads and other libraries call its functions.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--enable-new-dtags");
    if ucx_probe::rpath().is_some() {
        // `cargo xtask install` puts the kit's own UCX here.
        println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/urom-ucx/libucx/lib");
    }
    ucx_probe::emit_rpath();
}
