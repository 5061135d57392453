//! The C compiler, asked so that what goes wrong can be read.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::command::run;

/// What every source must get along with. All of UROM is experimental to DOCA, whose headers want
/// that asked for.
const FLAGS: [&str; 7] =
    ["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-DDOCA_ALLOW_EXPERIMENTAL_API="];

pub(super) fn compile(source: &Path, output: &Path, flags: &[String]) -> Result<()> {
    let mut command = Command::new("cc");
    // Libraries come after what needs them.
    command.args(FLAGS).arg("-o").arg(output).arg(source).args(flags);
    run(&mut command)?;
    Ok(())
}

/// The library of the address sanitizer, for `LD_PRELOAD` of a program that was built without it
/// and loads a plugin that was built with it.
pub fn asan_library() -> Result<PathBuf> {
    let name = run(Command::new("cc").arg("-print-file-name=libasan.so"))?;
    // A file that it does not have is printed as it was given.
    let file = Path::new(name.trim());
    ensure!(file.is_absolute(), "cc has no libasan.so; Debian's gcc brings it along");
    Ok(file.canonicalize()?)
}
