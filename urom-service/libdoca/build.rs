//! Lets the library find UCX at run time: in the prefix it was installed in, else where it was found at build time. And lets
//! it stay once it is loaded.

fn main() {
    // It has threads, and so has UCX: a program that loads it itself and then closes it must not take their code away.
    println!("cargo:rustc-link-arg=-Wl,-z,nodelete");
    if ucx_probe::rpath().is_some() {
        // Where `cargo xtask install` puts the kit's own UCX.
        println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/urom-ucx/libucx/lib");
    }
    ucx_probe::emit_rpath();
}
