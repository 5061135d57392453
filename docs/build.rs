//! Lets this package's tests find UCX at run time where it was found at build time.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if let Ok(directory) = std::env::var("DEP_UCP_RPATH") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{directory}");
    }
}
