//! Runs other programs, with echo, captured output and errors.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The cargo that runs this program, without the variables of xtask's package: build scripts that
/// watch them would run again each time.
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

/// A program of `target`, without `cargo run`'s library path, which is for another profile.
pub(crate) fn built(program: &Path, target: &Path) -> Command {
    let mut command = Command::new(program);
    let searched = std::env::var_os(LIBRARY_PATH).and_then(|path| without(target, &path));
    match searched {
        Some(searched) => command.env(LIBRARY_PATH, searched),
        None => command.env_remove(LIBRARY_PATH),
    };
    command
}

pub(crate) const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Removes directories in `target` from a search path; `None` if it is then empty.
fn without(target: &Path, path: &OsStr) -> Option<OsString> {
    let others = std::env::split_paths(path).filter(|directory| !directory.starts_with(target));
    std::env::join_paths(others).ok().filter(|left| !left.is_empty())
}

#[derive(Debug)]
pub(crate) struct FailedCommand {
    line: String,
    pub(crate) status: ExitStatus,
}

impl fmt::Display for FailedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` failed: {}", self.line, self.status)
    }
}

impl std::error::Error for FailedCommand {}

/// Echoes and runs `command`, and returns its exit status.
pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    eprintln!("$ {}", display(command));
    command.status().with_context(|| format!("could not start `{}`", display(command)))
}

/// Echoes and runs `command`; a failure is a [`FailedCommand`].
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    good(command, status)
}

pub(crate) fn good(command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() {
        Ok(())
    } else {
        Err(FailedCommand { line: display(command), status }.into())
    }
}

/// Runs `command`, and returns its standard output.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("could not start `{}`", display(command)))?;
    good(command, output.status)?;
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed no UTF-8", display(command)))
}

pub(crate) fn words(line: &str) -> std::str::SplitAsciiWhitespace<'_> {
    line.split_ascii_whitespace()
}

const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// Runs a long step. Prints the `label` before, the duration after, and a line every 5 s.
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

/// Runs `command` as a [`timed`] step, and shows its output only if it fails.
pub(crate) fn step(label: &str, command: &mut Command) -> Result<()> {
    timed(label, || quietly(command))
}

/// Runs `command`. The error contains its output.
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

/// Whether `command` succeeds; drops its output.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

pub(crate) fn path_behind(first: impl IntoIterator<Item = PathBuf>) -> Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = first.into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(directories).context("the search path cannot be extended")
}

/// Finds `program` on the search path, or in Debian's directories for root.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    directories.map(|directory| directory.join(program)).find(|file| file.is_file())
}

/// Formats `command` for a shell, with its variables.
pub(crate) fn display(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        value.map(|value| format!("{}={}", name.to_string_lossy(), quote(&value.to_string_lossy())))
    });
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args()).map(OsStr::to_string_lossy);
    variables.chain(words.map(|word| quote(&word))).collect::<Vec<_>>().join(" ")
}

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
    fn directories_that_cargo_adds_to_a_search_path_are_removed() {
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
