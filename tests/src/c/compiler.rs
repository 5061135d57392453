//! Runs the C compiler and reports its messages.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::command::run;

/// Flags for every source. DOCA's headers require a flag for experimental functions, such as all of
/// UROM.
const FLAGS: [&str; 7] =
    ["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-DDOCA_ALLOW_EXPERIMENTAL_API="];

pub(super) fn compile(source: &Path, output: &Path, flags: &[String]) -> Result<()> {
    let mut command = Command::new("cc");
    // Libraries must follow the objects that need them.
    command.args(FLAGS).arg("-o").arg(output).arg(source).args(flags);
    run(&mut command)?;
    Ok(())
}

/// Path of the address sanitizer's library: `LD_PRELOAD` for a plain program that loads a sanitized
/// plugin.
pub fn asan_library() -> Result<PathBuf> {
    let name = run(Command::new("cc").arg("-print-file-name=libasan.so"))?;
    // The compiler prints the name of a missing file unchanged.
    let file = Path::new(name.trim());
    ensure!(file.is_absolute(), "cc lacks libasan.so; Debian's gcc brings it along");
    Ok(file.canonicalize()?)
}
