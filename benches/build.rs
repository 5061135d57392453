//! Lets this program find UCX at run time where it was found at build time, and compiles what
//! counts, and the C code that this program calls.

use std::path::Path;

fn main() {
    ucx_probe::emit_rpath();
    // For the plugins in C; empty where the loader finds UCX by itself.
    let ucx = ucx_probe::rpath().map(|directory| directory.display().to_string());
    println!("cargo::rustc-env=UCX_LIBRARIES={}", ucx.unwrap_or_default());
    counts();
    linked();
}

/// As C is compiled for use, whatever the profile of this build: the figures are of release builds.
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

/// A shared object for the loader to put before glibc. The program is told where it is.
fn counts() {
    const SOURCE: &str = "c/counts.c";
    let directory = std::env::var_os("OUT_DIR").expect("cargo says where output goes");
    let library = Path::new(&directory).join("counts.so");
    // Any optimisation will do; without builtins, or malloc in terms of calloc may become a call of
    // itself.
    let mut command = cc::Build::new().opt_level(2).get_compiler().to_command();
    command.args(["-shared", "-fPIC", "-fno-builtin", SOURCE, "-o"]).arg(&library);
    let status = command.status().expect("the C compiler starts: `cargo xtask setup` installs it");
    assert!(status.success(), "{command:?}: {status}");
    println!("cargo::rustc-env=COUNTS={}", library.display());
}
