//! The program with the sandbox plugin, and an end for every process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use urom_tests::PluginDirectory;

/// Longer than anything takes that ends at all, on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(100);
/// What the other process's death may take to be noticed.
pub(crate) const SOON: Duration = Duration::from_secs(10);

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_ping_pong");

pub(crate) fn sandbox() -> Result<PluginDirectory> {
    PluginDirectory::with(&["worker_sandbox"])
}

/// `program` with these plugins for embedded services, and nothing of the test's own surroundings.
pub(crate) fn command(program: &str, plugins: &PluginDirectory) -> Command {
    let mut command = Command::new(program);
    command.env_remove("DOCA_UROM_SERVICE_FILE").env("UROM_PLUGIN_PATH", plugins.variable());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Kills a process as a crash would.
pub(crate) fn kill(pid: Pid) -> Result<()> {
    Ok(kill_process(pid, Signal::KILL)?)
}

/// A process that is killed when the test is over.
pub(crate) struct Running(Option<Child>);

/// How a process ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) lines: Vec<String>,
    pub(crate) errors: String,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Result<Running> {
        Ok(Running(Some(command.spawn().with_context(|| format!("cannot start {command:?}"))?)))
    }

    pub(crate) fn pid(&self) -> Result<Pid> {
        Ok(Pid::from_child(self.0.as_ref().context("it is waited for")?))
    }

    /// Reads standard error up to a line that contains `text`; what follows is thrown away unless
    /// it is read again.
    pub(crate) fn says(&mut self, text: &str) -> Result<()> {
        let child = self.0.as_mut().context("it is waited for")?;
        let mut errors = BufReader::with_capacity(1, child.stderr.take().context("it was read")?);
        let mut said = String::new();
        while !said.contains(text) {
            let read = errors.read_line(&mut said)?;
            anyhow::ensure!(read > 0, "it never says {text:?}, but\n{said}");
        }
        child.stderr = Some(errors.into_inner());
        Ok(())
    }

    /// Waits until it ends, but not for ever.
    pub(crate) fn end(mut self, limit: Duration) -> Result<Ended> {
        let pid = self.pid()?;
        let child = self.0.take().context("it is waited for")?;
        let (sender, ended) = mpsc::channel();
        let waiting = thread::spawn(move || sender.send(child.wait_with_output()));
        let Ok(output) = ended.recv_timeout(limit) else {
            kill(pid)?;
            let _ = waiting.join();
            anyhow::bail!("it did not end within {limit:?}");
        };
        let Output { status, stdout, stderr } = output?;
        let lines = String::from_utf8_lossy(&stdout)
            .lines()
            .filter(|line| !is_of_ucx(line))
            .map(str::to_owned)
            .collect();
        let errors = String::from_utf8_lossy(&stderr).into_owned();
        Ok(Ended { code: status.code(), lines, errors })
    }
}

/// UCX logs to standard output, for instance when it loses a peer while it connects.
fn is_of_ucx(line: &str) -> bool {
    line.starts_with('[') && line.contains(" UCX  ")
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Ended {
    /// Takes the table apart and compares all but its figures, which must be sound.
    pub(crate) fn has_table(&self, expected: [&str; 5]) {
        let Ended { code, lines, errors } = self;
        assert_eq!((*code, lines.len()), (Some(0), 2), "{lines:?} {errors}");
        let cells: Vec<_> = lines[1].split_whitespace().collect();
        assert_eq!(cells[..5], expected);
        let figures: Vec<f64> = cells[5..].iter().filter_map(|cell| cell.parse().ok()).collect();
        assert_eq!(figures.len(), 3, "{lines:?}");
        assert!(0.0 < figures[0] && figures.is_sorted(), "{figures:?}");
    }

    pub(crate) fn failed_saying(&self, text: &str) {
        assert_eq!(self.code, Some(1), "{:?} {}", self.lines, self.errors);
        assert!(self.errors.contains(text), "{text:?} is not in\n{}", self.errors);
        assert!(self.lines.is_empty(), "{:?}", self.lines);
    }
}
