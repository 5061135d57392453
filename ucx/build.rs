//! Lets this package's own tests find the UCX that they are linked with.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(directory) = std::env::var_os("DEP_UCP_RPATH") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", directory.display());
    }
}
