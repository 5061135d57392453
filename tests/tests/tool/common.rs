//! Runs the tool like a user.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use urom_tests::{built, without_service};

/// Runs `cargo-urom urom` like cargo, without variables that name services and plugins.
pub(crate) fn tool<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Result<Command> {
    let mut command = Command::new(built("cargo-urom")?);
    command.arg("urom").args(words).stdin(Stdio::null()).env_remove("CARGO_MANIFEST_DIR");
    without_service(&mut command);
    Ok(command)
}

pub(crate) fn says<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Result<String> {
    urom_tests::run(&mut tool(words)?)
}

pub(crate) fn rust(plugin: &str) -> Result<String> {
    let file = built(&format!("lib{plugin}.so"))?;
    Ok(file.to_str().context("a path in UTF-8")?.to_owned())
}

pub(crate) fn copy_of(plugin: &str, directory: &Path, name: &str) -> Result<PathBuf> {
    let file = directory.join(name);
    fs::write(&file, fs::read(rust(plugin)?)?)?;
    Ok(file)
}
