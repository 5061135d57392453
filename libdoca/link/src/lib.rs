//! How `libdoca_common.so`, `libdoca_argp.so` and `libdoca_urom.so` are linked, for their build
//! scripts: with DOCA's names, and so that they find each other in any directory.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The major number of the release that the libraries are of, at the end of their names.
const MAJOR: u32 = 2;

/// The library that the others need.
const COMMON: &str = "doca_common";

/// What they call of it.
const CALLED: [&str; 3] = [
    "doca_log_level_set_global_lower_limit",
    "doca_log_level_set_global_sdk_limit",
    "urom_libdoca_join",
];

/// Tells cargo how the library `name` is linked, such as `doca_urom`.
pub fn library(name: &str) {
    // Programs record this name.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{}", file_name(name));
    // Where the other libraries are.
    println!("cargo:rustc-cdylib-link-arg=-Wl,--enable-new-dtags,-rpath,$ORIGIN");
    // Threads and other libraries know its functions: a program that loads it itself and then
    // closes it must not take them away.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}

/// Has the library that is being built need `libdoca_common.so.2`.
///
/// Cargo does not link a C library with another one. So a stand-in with the name and the functions
/// is linked, and the loader takes the real one. The stand-in's directory is no search path: cargo
/// would put it into the `LD_LIBRARY_PATH` of tests, whose programs would load the stand-in.
///
/// # Panics
/// When the C compiler does not make the stand-in: a build script ends with that.
pub fn needs_common() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    let stand_in = stand_in(&out).display().to_string();
    // It is needed by what looks for functions by their names, too.
    for argument in ["-Wl,--no-as-needed", &stand_in, "-Wl,--as-needed"] {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
}

fn stand_in(out: &Path) -> PathBuf {
    let (source, library) = (out.join("stand_in.c"), out.join(file_name(COMMON)));
    let code: String =
        CALLED.iter().map(|name| format!("void *{name}(void) {{ return 0; }}\n")).collect();
    fs::write(&source, code).expect("OUT_DIR can be written to");
    let mut compiler = cc::Build::new().get_compiler().to_command();
    compiler
        .args(["-shared", "-fPIC", "-nostdlib"])
        .arg(format!("-Wl,-soname,{}", file_name(COMMON)));
    let status =
        compiler.arg("-o").arg(&library).arg(&source).status().expect("the C compiler starts");
    assert!(status.success(), "the C compiler ended with {status}");
    library
}

fn file_name(library: &str) -> String {
    format!("lib{library}.so.{MAJOR}")
}
