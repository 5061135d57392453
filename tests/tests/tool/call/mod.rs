//! `cargo urom call`: commands by hand, to plugins in Rust and in C, at a daemon and embedded.

mod answers;
mod lines;
mod mistakes;
mod plugins;

use std::fs;

use anyhow::{Result, ensure};
use urom_tests::{PluginDirectory, Uromd};

use crate::common::{Said, daemon, run, rust, tool_says, tool_with};

fn call(words: &str) -> Result<Said> {
    tool_says(["call"].into_iter().chain(words.split_whitespace()))
}

/// A plugin in Rust that is called at a daemon.
struct Remote {
    plugin: &'static str,
    daemon: Uromd,
    _plugins: PluginDirectory,
}

impl Remote {
    fn new(plugin: &'static str) -> Result<Remote> {
        let (daemon, plugins) = daemon(&[plugin])?;
        Ok(Remote { plugin, daemon, _plugins: plugins })
    }

    fn words(&self, words: &str) -> Result<String> {
        Ok(format!("{} {words} --service {}", rust(self.plugin)?, self.daemon.address()))
    }

    fn call(&self, words: &str) -> Result<Said> {
        call(&self.words(words)?)
    }

    fn call_with_input(&self, words: &str, lines: impl AsRef<[u8]>) -> Result<Said> {
        call_with_input(&self.words(words)?, lines)
    }
}

/// Whether a failed call says all of it, in one line.
fn says(said: Said, parts: &[&str]) -> Result<()> {
    in_one_line(&said.bad()?, parts)
}

fn is_wrong(said: Said, parts: &[&str]) -> Result<()> {
    in_one_line(&said.wrong()?, parts)
}

fn in_one_line(error: &str, parts: &[&str]) -> Result<()> {
    let errors: Vec<_> = error.lines().filter(|line| line.starts_with("error: ")).collect();
    ensure!(errors.len() == 1, "{} errors and not one:\n{error}", errors.len());
    ensure!(parts.iter().all(|part| errors[0].contains(part)), "no {parts:?} in\n{error}");
    Ok(())
}

fn call_with_input(words: &str, lines: impl AsRef<[u8]>) -> Result<Said> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("lines");
    fs::write(&file, lines)?;
    let mut command = tool_with(["call"].into_iter().chain(words.split_whitespace()))?;
    run(command.stdin(fs::File::open(file)?))
}
