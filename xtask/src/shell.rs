//! Running other programs: what is echoed, what is kept quiet, and what a failure says.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The cargo that runs this program, without the variables that `cargo run` sets about xtask's own
/// package: build scripts that watch them would run again each time.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    forget_package(&mut command);
    command
}

/// The cargo of another of rustup's toolchains, likewise.
pub(crate) fn cargo_of(toolchain: &str) -> Command {
    let mut command = Command::new("rustup");
    forget_package(&mut command);
    command.args(["run", toolchain, "cargo"]).env_remove("CARGO").env_remove("RUSTC");
    command
}

/// Removes these variables.
pub(crate) fn forget_package(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_about_this_package) {
            command.env_remove(name);
        }
    }
}

fn is_about_this_package(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_")
}

/// A program that was built in `target`, without the library path that `cargo run` sets for xtask:
/// it names another profile's libraries.
pub(crate) fn built(program: &Path, target: &Path) -> Command {
    let mut command = Command::new(program);
    let searched = std::env::var_os(LIBRARY_PATH).and_then(|path| without(target, &path));
    match searched {
        Some(searched) => command.env(LIBRARY_PATH, searched),
        None => command.env_remove(LIBRARY_PATH),
    };
    command
}

/// Where the loader looks first.
pub(crate) const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// A search path without what lies in `target`; nothing when nothing is left.
fn without(target: &Path, path: &OsStr) -> Option<OsString> {
    let others = std::env::split_paths(path).filter(|directory| !directory.starts_with(target));
    std::env::join_paths(others).ok().filter(|left| !left.is_empty())
}

/// A command that ended without success.
#[derive(Debug)]
pub(crate) struct Failed {
    line: String,
    pub(crate) status: ExitStatus,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` failed: {}", self.line, self.status)
    }
}

impl std::error::Error for Failed {}

/// Echoes `command`, runs it with this program's output, and returns how it ended.
pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    eprintln!("$ {}", display(command));
    command.status().with_context(|| format!("could not start `{}`", display(command)))
}

/// Echoes `command` and runs it with this program's output; an end without success is a [`Failed`].
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    good(command, status)
}

/// The same for a command that was run.
pub(crate) fn good(command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { Err(Failed { line: display(command), status }.into()) }
}

/// Runs `command` without a word and gives what it writes to its standard output.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("could not start `{}`", display(command)))?;
    good(command, output.status)?;
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed no UTF-8", display(command)))
}

/// Words for a command that stand between spaces.
pub(crate) fn words(line: &str) -> std::str::SplitAsciiWhitespace<'_> {
    line.split_ascii_whitespace()
}

/// The interval of the lines that show that a long step goes on.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// Runs a long step between a line with its `label` and a line with its duration. Every 5 s a line
/// shows that it goes on.
pub(crate) fn timed<T>(label: &str, step: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("{label} ...");
    let start = Instant::now();
    let (ends, ended) = mpsc::channel::<()>();
    let result = thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(SIGN_OF_LIFE) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{label}: {} s so far", start.elapsed().as_secs());
            }
        });
        let result = step();
        drop(ends);
        result
    })?;
    eprintln!("{label}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(result)
}

/// Runs a long `command` as a [`timed`] step. The output of the command is shown only when it
/// fails.
pub(crate) fn step(label: &str, command: &mut Command) -> Result<()> {
    timed(label, || quietly(command))
}

/// Runs `command`. Its output is part of the error when it fails.
pub(crate) fn quietly(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("could not start `{}`", display(command)))?;
    if !output.status.success() {
        bail!(
            "`{}` failed: {}\n{}{}",
            display(command),
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
    }
    Ok(())
}

/// Whether `command` can be started and ends with success; all it prints is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The search path with other directories in front.
pub(crate) fn path_behind(first: impl IntoIterator<Item = PathBuf>) -> Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = first.into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(directories).context("the search path cannot be extended")
}

/// Where `program` is: on the search path, or where Debian has what only root can use.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    directories.map(|directory| directory.join(program)).find(|file| file.is_file())
}

/// `command` as a line for a shell, with the variables that were set for it.
pub(crate) fn display(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        value.map(|value| format!("{}={}", name.to_string_lossy(), quote(&value.to_string_lossy())))
    });
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args()).map(OsStr::to_string_lossy);
    variables.chain(words.map(|word| quote(&word))).collect::<Vec<_>>().join(" ")
}

/// `word` as a shell takes it for one word.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+/.,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_a_shell_would_take_it() {
        let mut command = Command::new("/somewhere/bin/cargo");
        command.args(["test", "--", "it's", ""]).env("RUNNER", "qemu -L /x").env_remove("GONE");
        assert_eq!(display(&command), r"RUNNER='qemu -L /x' cargo test -- 'it'\''s' ''");
    }

    #[test]
    fn only_variables_about_this_package_are_withheld_from_cargo() {
        assert!(is_about_this_package("CARGO_PKG_NAME"));
        assert!(is_about_this_package("CARGO_MANIFEST_DIR"));
        assert!(!is_about_this_package("CARGO_TARGET_DIR"));
        assert!(!is_about_this_package("CARGO_HOME"));
    }

    #[test]
    fn what_cargo_adds_to_a_search_path_is_taken_out_again() {
        let without = |path: &str| without(Path::new("/t"), OsStr::new(path));
        assert_eq!(without("/t/debug/deps:/opt/lib:/t/debug:/t2").unwrap(), "/opt/lib:/t2");
        assert_eq!(without("/t/debug/deps:/t/debug"), None);
    }

    #[test]
    fn a_failed_step_shows_what_the_command_printed() {
        let error = step("test", Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]))
            .expect_err("the command fails");
        let text = error.to_string();
        assert!(
            text.contains("out\n") && text.contains("err\n") && text.contains("exit status: 3"),
            "{text}"
        );
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let error = run(&mut Command::new("no-such-program-here")).expect_err("nothing to start");
        assert!(error.to_string().contains("no-such-program-here"), "{error}");
        assert!(!succeeds(&mut Command::new("no-such-program-here")));
    }
}
