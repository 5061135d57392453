//! Compiles the tests' C sources, and finds plugins of the same build.

#![allow(dead_code, reason = "every test binary uses a part of it")]

use std::env;
use std::path::{Path, PathBuf};

/// Compiles `tests/NAME.c` for the target of this test. `test` makes the file name unique, because
/// tests run in parallel. `before` and `after` are compiler options around the source.
pub(crate) fn compile(name: &str, test: &str, before: &[&str], after: &[&str]) -> PathBuf {
    let compiler = cc::Build::new()
        .cargo_metadata(false)
        .target(&format!("{}-unknown-linux-gnu", env::consts::ARCH))
        .host("x86_64-unknown-linux-gnu")
        .opt_level(1)
        .debug(true)
        .try_get_compiler()
        .expect("a C compiler: run `cargo xtask setup`");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = format!("{name}-{test}-{}", env::consts::ARCH);
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    let status = compiler
        .to_command()
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"])
        .args(before)
        .arg("-I")
        .arg(here.join("../../../urom-abi/include"))
        .arg(here.join("tests").join(name).with_extension("c"))
        .arg("-o")
        .arg(&file)
        .args(after)
        .status()
        .expect("the C compiler starts: run `cargo xtask setup`");
    assert!(status.success(), "{name}.c does not compile");
    file
}

pub(crate) fn plugin(package: &str, name: &str) -> PathBuf {
    let this = env::current_exe().expect("the path of this test");
    let profile = this.ancestors().nth(2).expect("tests are built in PROFILE/deps");
    let path = profile.join(format!("lib{name}.so"));
    assert!(
        path.is_file(),
        "{} does not exist: `cargo build -p {package}` builds it, and `cargo xtask test` does that first",
        path.display()
    );
    path
}
