//! The tool itself, run as a user runs it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use urom_tests::c::{Source, prefix};
use urom_tests::{PluginDirectory, Uromd, profile_directory};

#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// `cargo-urom urom`, as cargo starts it, without variables that name services and plugins.
pub(crate) fn tool() -> Result<Command> {
    let program = profile_directory()?.join("cargo-urom");
    ensure!(
        program.exists(),
        "{} is not there: run the tests with `cargo xtask test`",
        program.display()
    );
    let mut command = Command::new(program);
    command.arg("urom").stdin(Stdio::null());
    for name in [
        "CARGO_MANIFEST_DIR",
        "UROM_PLUGIN_PATH",
        "UROM_CPUS",
        "UROM_KEY_FILE",
        "UROM_DOCA_LIBRARY",
        "DOCA_UROM_SERVICE_FILE",
    ] {
        command.env_remove(name);
    }
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

    /// Standard error of a run that was asked for what makes no sense, with 2.
    pub(crate) fn wrong(self) -> Result<String> {
        self.ended_with(2)
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
    let file = profile_directory()?.join(format!("lib{plugin}.so"));
    Ok(file.to_str().context("a path in UTF-8")?.to_owned())
}

pub(crate) fn in_c(plugin: &str) -> Result<String> {
    let source = match plugin {
        "worker_sandbox" => Source::new("sandbox_plugin.c").ucx(),
        _ => Source::new("graph_plugin.c"),
    };
    Ok(source.plugin(plugin)?.to_str().context("a path in UTF-8")?.to_owned())
}

pub(crate) fn daemon(plugins: &[&str]) -> Result<(Uromd, PluginDirectory)> {
    let plugins = PluginDirectory::with(plugins)?;
    Ok((Uromd::start(plugins.path())?, plugins))
}

/// Lets what the tool starts find the libraries of the prefix, which plugins in C need.
pub(crate) fn with_doca(command: &mut Command) -> Result<&mut Command> {
    Ok(command.env("LD_LIBRARY_PATH", prefix()?.library_path()))
}

/// A copy of a plugin that was built beside the test, under another name; it may be changed.
pub(crate) fn copy_of(plugin: &str, directory: &Path, name: &str) -> Result<PathBuf> {
    let plugins = PluginDirectory::with(&[plugin])?;
    let file = directory.join(name);
    fs::write(&file, fs::read(plugins.path().join(format!("{plugin}.so")))?)?;
    Ok(file)
}

/// Replaces all of some bytes in a file.
pub(crate) fn patch(file: &Path, from: &[u8], to: &[u8]) -> Result<()> {
    assert_eq!(from.len(), to.len(), "a file whose parts move is another file");
    let mut bytes = fs::read(file)?;
    let places: Vec<_> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, part)| *part == from)
        .map(|(at, _)| at)
        .collect();
    ensure!(!places.is_empty(), "{} does not have these bytes", file.display());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    Ok(fs::write(file, bytes)?)
}

/// Makes a file of this machine one of the other, as far as its header goes.
pub(crate) fn for_the_other_machine(file: &Path) -> Result<&'static str> {
    let (machine, name) = match std::env::consts::ARCH {
        "aarch64" => ([62, 0], "x86-64"),
        _ => ([183, 0], "AArch64"),
    };
    let mut bytes = fs::read(file)?;
    bytes[18..20].copy_from_slice(&machine);
    fs::write(file, bytes)?;
    Ok(name)
}
