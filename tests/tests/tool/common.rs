//! The tool itself, run as a user runs it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use urom_tests::{built, without_service};

/// The workspace of this project.
pub(crate) const KIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// `cargo-urom urom`, as cargo starts it, without variables that name services and plugins.
pub(crate) fn tool() -> Result<Command> {
    let mut command = Command::new(built("cargo-urom")?);
    command.arg("urom").stdin(Stdio::null()).env_remove("CARGO_MANIFEST_DIR");
    without_service(&mut command);
    Ok(command)
}

pub(crate) fn tool_with<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Result<Command> {
    let mut command = tool()?;
    command.args(words);
    Ok(command)
}

pub(crate) fn run(command: &mut Command) -> Result<Said> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) })
}

pub(crate) fn tool_says<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Result<Said> {
    run(&mut tool_with(words)?)
}

impl Said {
    pub(crate) fn good(self) -> Result<String> {
        ensure!(self.code == Some(0), "it failed: {self:?}");
        Ok(self.out)
    }

    pub(crate) fn json(self) -> Result<Value> {
        let text = self.good()?;
        serde_json::from_str(&text).with_context(|| text.clone())
    }

    pub(crate) fn bad(self) -> Result<String> {
        self.ended_with(1)
    }

    fn ended_with(self, code: i32) -> Result<String> {
        ensure!(self.code == Some(code), "it did not end with {code}: {self:?}");
        Ok(self.err)
    }

    /// The run ended with this code, printed nothing, and says all of this on standard error.
    pub(crate) fn refused(self, code: i32, parts: &[&str]) -> Result<()> {
        ensure!(self.out.is_empty(), "it printed something: {self:?}");
        let error = self.ended_with(code)?;
        for part in parts {
            ensure!(error.contains(part), "no {part:?} in {error}");
        }
        Ok(())
    }
}

pub(crate) fn rust(plugin: &str) -> Result<String> {
    let file = built(&format!("lib{plugin}.so"))?;
    Ok(file.to_str().context("a path in UTF-8")?.to_owned())
}

/// A copy of a plugin that was built beside the test, under another name; it may be changed.
pub(crate) fn copy_of(plugin: &str, directory: &Path, name: &str) -> Result<PathBuf> {
    let file = directory.join(name);
    fs::write(&file, fs::read(rust(plugin)?)?)?;
    Ok(file)
}
