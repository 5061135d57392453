//! Commands that must succeed.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// Runs a command that must succeed, and returns its standard output.
pub fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| {
        format!("cannot start {command:?}: `cargo xtask setup` installs what tests need")
    })?;
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    if !output.status.success() {
        bail!("{command:?}: {}\n{out}{err}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} prints no UTF-8"))
}
