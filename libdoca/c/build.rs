//! Links the library, which finds UCX in the prefix where it is installed, else where the build
//! found it.

fn main() {
    // The filter libraries of `cargo xtask install` look for this name.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,liburom_doca.so");
    // Threads and other libraries call its functions, so a program that closes it must not unload
    // it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--enable-new-dtags");
    if ucx_probe::rpath().is_some() {
        // Where `cargo xtask install` puts the kit's own UCX.
        println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/urom-ucx/libucx/lib");
    }
    ucx_probe::emit_rpath();
}
