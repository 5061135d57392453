//! Adds the build-time path of UCX to the rpath, and compiles the counter and this program's C
//! code.

use std::path::Path;

fn main() {
    ucx_probe::emit_rpath();
    // For the plugins in C; empty if the loader finds UCX by itself.
    let ucx = ucx_probe::rpath().map(|directory| directory.display().to_string());
    println!("cargo::rustc-env=UCX_LIBRARIES={}", ucx.unwrap_or_default());
    counts();
    linked();
}

/// Optimised in every profile of this build: the figures are of release builds.
fn linked() {
    cc::Build::new()
        .files(["c/pack.c", "c/gate.c"])
        .include("../tests/c")
        .opt_level(2)
        .warnings_into_errors(true)
        .flag("-std=gnu11")
        .compile("linked");
    println!("cargo::rerun-if-changed=c");
    for file in ["../tests/c/graph_protocol.h", "../tests/c/sandbox_protocol.h"] {
        println!("cargo::rerun-if-changed={file}");
    }
}

/// Builds the preloaded shared object, and passes its path to the program.
fn counts() {
    const SOURCE: &str = "c/counts.c";
    let directory = std::env::var_os("OUT_DIR").expect("cargo says where output goes");
    let library = Path::new(&directory).join("counts.so");
    // Without -fno-builtin, malloc in terms of calloc may become a call of itself.
    let mut command = cc::Build::new().opt_level(2).get_compiler().to_command();
    command.args(["-shared", "-fPIC", "-fno-builtin", SOURCE, "-o"]).arg(&library);
    let status = command.status().expect("the C compiler starts: `cargo xtask setup` installs it");
    assert!(status.success(), "{command:?}: {status}");
    println!("cargo::rustc-env=COUNTS={}", library.display());
}
