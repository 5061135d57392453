//! Sets the library's soname.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,liburom_ucx_emulation.so");
}
