//! The tool itself, run as a user runs it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use urom_tests::c::{Source, prefix};
use urom_tests::{PluginDirectory, Uromd, profile_directory};

/// How a run of the tool ended, and what it said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// `cargo-urom urom`, as cargo starts it, without the variables that would say where services and plugins are.
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

/// The same with words.
pub(crate) fn tool_with<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Result<Command> {
    let mut command = tool()?;
    command.args(words);
    Ok(command)
}

/// Runs every example of a verb's help by a shell in a directory that has what they name: plugins in Rust where cargo puts
/// them, `worker_graph.so` in C, and a service. What comes behind a `|` or a `>` is left out.
pub(crate) fn examples_of(verb: &str) -> Result<Vec<(String, Said)>> {
    let place = tempfile::tempdir()?;
    let built = place.path().join("target/release/urom");
    fs::create_dir_all(&built)?;
    std::os::unix::fs::symlink(profile_directory()?, place.path().join("target/debug"))?;
    fs::copy(rust("worker_graph")?, built.join("worker_graph.so"))?;
    fs::copy(in_c("worker_graph")?, place.path().join("worker_graph.so"))?;
    let (daemon, _plugins) = daemon(&["worker_graph"])?;
    let program = profile_directory()?.join("cargo-urom");
    let program = format!("{} urom", program.to_str().context("a path in UTF-8")?);

    let help = tool_with([verb, "--help"])?.output()?.stdout;
    let help = String::from_utf8(help)?;
    let (_, examples) = help.split_once("Examples:\n").context("no examples")?;
    let examples = examples.lines().map_while(|line| line.strip_prefix("  "));
    let run_one = |example: &str| {
        let line = example.split(['|', '>']).next().unwrap_or_default();
        let line =
            line.replace("cargo urom", &program).replace("127.0.0.1:18700", daemon.address());
        let mut shell = Command::new("bash");
        shell.args(["-c", &line]).current_dir(place.path()).stdin(Stdio::null());
        Ok((example.to_owned(), run(with_doca(&mut shell)?)?))
    };
    examples.map(run_one).collect()
}

/// Runs it to its end.
pub(crate) fn run(command: &mut Command) -> Result<Said> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) })
}

/// Runs it with these words.
pub(crate) fn tool_says<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Result<Said> {
    run(&mut tool_with(words)?)
}

impl Said {
    /// Standard output of a run that went well.
    pub(crate) fn good(self) -> Result<String> {
        ensure!(self.code == Some(0), "it ended with {:?}:\n{}{}", self.code, self.out, self.err);
        Ok(self.out)
    }

    /// The same as JSON.
    pub(crate) fn json(self) -> Result<Value> {
        let text = self.good()?;
        serde_json::from_str(&text).with_context(|| text.clone())
    }

    /// Standard error of a run that failed, with 1.
    pub(crate) fn bad(self) -> Result<String> {
        self.ended_with(1)
    }

    /// Standard error of a run that was asked for what makes no sense, with 2.
    pub(crate) fn wrong(self) -> Result<String> {
        self.ended_with(2)
    }

    fn ended_with(self, code: i32) -> Result<String> {
        ensure!(
            self.code == Some(code),
            "it ended with {:?}:\n{}{}",
            self.code,
            self.out,
            self.err
        );
        Ok(self.err)
    }
}

/// The file of a plugin in Rust, as cargo built it.
pub(crate) fn rust(plugin: &str) -> Result<String> {
    let file = profile_directory()?.join(format!("lib{plugin}.so"));
    Ok(file.to_str().context("a path in UTF-8")?.to_owned())
}

/// The file of a plugin in C, compiled now.
pub(crate) fn in_c(plugin: &str) -> Result<String> {
    let source = match plugin {
        "worker_sandbox" => Source::new("sandbox_plugin.c").ucx(),
        _ => Source::new("graph_plugin.c"),
    };
    Ok(source.plugin(plugin)?.to_str().context("a path in UTF-8")?.to_owned())
}

/// A daemon with plugins in Rust.
pub(crate) fn daemon(plugins: &[&str]) -> Result<(Uromd, PluginDirectory)> {
    let plugins = PluginDirectory::with(plugins)?;
    Ok((Uromd::start(plugins.path())?, plugins))
}

/// Lets what the tool starts find the libraries of the prefix, which plugins in C need.
pub(crate) fn with_doca(command: &mut Command) -> Result<&mut Command> {
    Ok(command.env("LD_LIBRARY_PATH", prefix()?.library_path()))
}

/// A copy of a plugin in Rust that was built beside the test, under another name; it may be changed.
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
