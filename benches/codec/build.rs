//! Compiles the C code that the generated code is compared with, and keeps the directory of UCX,
//! for the plugins in C.

fn main() {
    // As C is compiled for use, whatever the profile of this build: the figures are of release
    // builds.
    cc::Build::new()
        .file("c/pack.c")
        .include("../../tests/c")
        .opt_level(2)
        .warnings_into_errors(true)
        .flag("-std=gnu11")
        .compile("pack");
    for file in ["c/pack.c", "../../tests/c/graph_protocol.h", "../../tests/c/sandbox_protocol.h"] {
        println!("cargo::rerun-if-changed={file}");
    }
    // Empty where the loader finds UCX by itself.
    let ucx = ucx_probe::rpath().map(|directory| directory.display().to_string());
    println!("cargo::rustc-env=CODEC_UCX_LIBRARIES={}", ucx.unwrap_or_default());
}
