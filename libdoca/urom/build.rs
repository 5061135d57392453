//! Links the library under DOCA's name, with `libdoca_common`. Lets it find UCX at run time: in the
//! prefix it was installed in, else where it was found at build time.

fn main() {
    doca_link::library("doca_urom");
    doca_link::needs_common();
    if ucx_probe::rpath().is_some() {
        // Where `cargo xtask install` puts the kit's own UCX.
        println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/urom-ucx/libucx/lib");
    }
    ucx_probe::emit_rpath();
}
