//! A shell that is told one command after another, and what its commands print.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::place::Place;
use super::transcript;
use crate::process::Guarded;

/// How long a command may take: the longest builds the tool with all that it depends on.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// How long a program that stays may take to say that it is there, and to end when it is told to.
const MOMENT: Duration = Duration::from_secs(60);

/// What ends the output of a command. The command's exit code follows.
const MARK: &str = "--- end of this command:";

pub(super) struct Terminal {
    _shell: Guarded,
    input: ChildStdin,
    output: Receiver<String>,
    variables: Vec<(&'static str, std::ffi::OsString)>,
    beside: Vec<Beside>,
}

/// A program that stays, in a terminal of its own.
struct Beside {
    program: Guarded,
    command: String,
    output: Receiver<String>,
    printed: String,
}

impl Terminal {
    pub(super) fn start(place: &Place) -> Result<Terminal> {
        let mut path = vec![place.tools.join("bin")];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let variables = vec![
            ("CARGO_INSTALL_ROOT", place.tools.clone().into()),
            // Built to be tried once: what it does is what counts here.
            ("CARGO_PROFILE_RELEASE_DEBUG", "false".into()),
            ("CARGO_PROFILE_RELEASE_LTO", "off".into()),
            ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0".into()),
            ("CARGO_TERM_COLOR", "never".into()),
            // The page calls the repository so.
            ("KIT", place.kit.clone().into()),
            ("PATH", std::env::join_paths(path)?),
            ("PWD", place.fresh.clone().into()),
        ];
        let mut shell = shell();
        shell.current_dir(&place.fresh).stdin(Stdio::piped());
        let (mut shell, output) = spawn(shell, &variables)?;
        let input = shell.child().stdin.take().context("the shell's input is piped")?;
        Ok(Terminal { _shell: shell, input, output, variables, beside: Vec::new() })
    }

    /// Runs a command and gives what it printed; an end without success is an error.
    pub(super) fn run(&mut self, command: &str) -> Result<String> {
        // The braces keep what the command does to the shell itself, such as `cd`. A shell that
        // ends early is noticed below.
        let told = format!("{{ {command}\n}} </dev/null\necho \"{MARK}$?\"\n");
        let _ = self.input.write_all(told.as_bytes());
        let deadline = Instant::now() + LIMIT;
        let mut printed = String::new();
        loop {
            let line = self.output.recv_timeout(deadline.saturating_duration_since(Instant::now()));
            let line = match line {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    bail!("it takes more than {LIMIT:?}, and printed\n{printed}")
                }
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("the shell ended, and printed\n{printed}")
                }
            };
            // Output without a line's end has the mark behind it.
            let Some((rest, code)) = line.split_once(MARK) else {
                printed.push_str(&line);
                continue;
            };
            printed.push_str(rest);
            ensure!(code.trim() == "0", "it ended with {}, and printed\n{printed}", code.trim());
            return Ok(printed);
        }
    }

    /// Starts a command that stays, in the shell's directory, and waits until it printed `shown`.
    pub(super) fn start_beside(&mut self, command: &str, shown: Vec<String>) -> Result<()> {
        let mut shell = shell();
        shell
            .args(["-c", &format!("exec {command}")])
            .current_dir(self.directory()?)
            .stdin(Stdio::null());
        let (program, output) = spawn(shell, &self.variables)?;
        let mut beside =
            Beside { program, command: command.to_owned(), output, printed: String::new() };
        let deadline = Instant::now() + MOMENT;
        while !transcript::reached(&shown, &beside.printed) {
            match beside.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => beside.printed.push_str(&line),
                Err(_) => {
                    bail!(
                        "the page shows\n\n{}\n\nand it printed\n\n{}",
                        shown.join("\n"),
                        beside.printed
                    )
                }
            }
        }
        self.beside.push(beside);
        Ok(())
    }

    pub(super) fn directory(&mut self) -> Result<PathBuf> {
        Ok(self.run("pwd")?.trim_end().into())
    }

    /// Stops what stays, as Ctrl-C does. Everything must end with success.
    pub(super) fn end(mut self) -> Result<()> {
        for mut beside in self.beside.drain(..) {
            kill_process(Pid::from_child(beside.program.child()), Signal::INT)?;
            let status = beside.program.wait(MOMENT)?;
            beside.printed.extend(beside.output.iter());
            ensure!(
                status.success(),
                "`{}` ended with {status}, and printed\n{}",
                beside.command,
                beside.printed
            );
        }
        Ok(())
    }
}

/// A shell that handles Ctrl-C, also where this program was started in the background: that ignores
/// it, which children inherit.
fn shell() -> Command {
    let mut shell = Command::new("env");
    shell.args(["--default-signal=INT", "sh"]);
    shell
}

/// Starts a program whose standard output and error are one stream, as in a terminal.
fn spawn(
    mut command: Command,
    variables: &[(&str, std::ffi::OsString)],
) -> Result<(Guarded, Receiver<String>)> {
    let (read, write) = std::io::pipe().context("making a pipe")?;
    command.stdout(write.try_clone()?).stderr(write);
    for (name, _) in std::env::vars_os() {
        // What cargo told this program about itself, and where it builds, is nothing the reader's
        // shell has.
        if name.to_str().is_some_and(|name| name.starts_with("CARGO") && name != "CARGO_HOME") {
            command.env_remove(name);
        }
    }
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let program = Guarded::start(&mut command)?;
    // The command holds the pipe's other end, which has to be closed when the program ends.
    drop(command);
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || forward(read, &sender));
    Ok((program, lines))
}

fn forward(output: impl Read, lines: &mpsc::Sender<String>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        match output.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let line = String::from_utf8_lossy(&line).into_owned();
                if lines.send(line).is_err() {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal() -> (tempfile::TempDir, Terminal) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let place = Place::for_test(directory.path());
        let terminal = Terminal::start(&place).expect("sh starts");
        (directory, terminal)
    }

    #[test]
    fn the_shell_keeps_its_directory_and_variables_from_one_command_to_the_next() {
        let (directory, mut terminal) = terminal();
        assert_eq!(terminal.run("mkdir a && cd a").expect("it succeeds"), "");
        assert_eq!(terminal.run("X=1; export Y=2").expect("it succeeds"), "");
        assert_eq!(
            terminal.run("echo $X $Y; pwd >&2").expect("it succeeds").lines().next(),
            Some("1 2")
        );
        assert!(terminal.directory().expect("it is known").ends_with("a"));
        assert!(directory.path().join("fresh/a").is_dir());
    }

    #[test]
    fn a_command_that_fails_is_shown_with_what_it_printed() {
        let (_directory, mut terminal) = terminal();
        let error = terminal.run("printf why; (exit 3)").expect_err("it fails").to_string();
        assert!(error.contains('3') && error.contains("why"), "{error}");
        assert_eq!(terminal.run("printf more").expect("the shell goes on"), "more");
        let error = terminal.run("exit 4").expect_err("the shell is gone").to_string();
        assert!(error.contains("the shell ended"), "{error}");
    }

    #[test]
    fn a_program_that_stays_is_stopped_in_the_end() {
        let (_directory, mut terminal) = terminal();
        let stays = "sh -c 'trap \"exit 0\" INT; echo here; while :; do sleep 0.1; done'";
        terminal.start_beside(stays, vec!["here".to_owned()]).expect("it says so");
        assert_eq!(terminal.run("echo meanwhile").expect("it succeeds"), "meanwhile\n");
        terminal.end().expect("it ends with success");
    }

    #[test]
    fn a_program_that_does_not_stay_or_ends_badly_is_an_error() {
        let (_directory, mut terminal) = self::terminal();
        let error = terminal
            .start_beside("echo else", vec!["here".to_owned()])
            .expect_err("it is gone")
            .to_string();
        assert!(error.contains("else"), "{error}");
        terminal
            .start_beside("sh -c 'echo here; exec sleep 1000'", vec!["here".to_owned()])
            .expect("it is there");
        let error = terminal.end().expect_err("a signal ends it").to_string();
        assert!(error.contains("sleep 1000"), "{error}");
    }
}
