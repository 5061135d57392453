//! Example programs with time limits.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::built::PluginDirectory;

/// Longer than any test program runs, even on a busy machine.
pub const LONG: Duration = Duration::from_secs(100);
/// Time within which a process notices its peer's death.
pub const SOON: Duration = Duration::from_secs(10);

/// Starts `program` with plugins for embedded services, without the test's environment.
pub fn program(program: impl AsRef<OsStr>, plugins: &PluginDirectory) -> Command {
    let mut command = Command::new(program);
    command.env_remove("DOCA_UROM_SERVICE_FILE").env("UROM_PLUGIN_PATH", plugins.variable());
    command
}

#[derive(Debug)]
pub struct Running(Option<Child>);

#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    /// Standard output without UCX's log lines.
    pub lines: Vec<String>,
    pub errors: String,
}

impl Running {
    pub fn start(mut command: Command) -> Result<Running> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(Running(Some(command.spawn().with_context(|| format!("cannot start {command:?}"))?)))
    }

    pub fn pid(&self) -> Result<Pid> {
        Ok(Pid::from_child(self.0.as_ref().context("it is waited for")?))
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(self.pid()?, signal)?)
    }

    /// Reads standard error up to a line with `text`; excluded from [`Ended::errors`].
    pub fn says(&mut self, text: &str) -> Result<()> {
        let child = self.0.as_mut().context("it is waited for")?;
        read_to(child.stderr.as_mut().context("it is piped")?, text).map(drop)
    }

    /// Reads standard output up to a line with `text` and returns that line. [`Ended::lines`] begin
    /// after it.
    pub fn prints(&mut self, text: &str) -> Result<String> {
        let child = self.0.as_mut().context("it is waited for")?;
        read_to(child.stdout.as_mut().context("it is piped")?, text)
    }

    pub fn end(mut self, limit: Duration) -> Result<Ended> {
        let pid = self.pid()?;
        let child = self.0.take().context("it is waited for")?;
        let (sender, ended) = mpsc::channel();
        let waiting = thread::spawn(move || sender.send(child.wait_with_output()));
        let Ok(output) = ended.recv_timeout(limit) else {
            kill_process(pid, Signal::KILL)?;
            let _ = waiting.join();
            bail!("it did not end within {limit:?}");
        };
        let Output { status, stdout, stderr } = output?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (printed, errors) = (text(stdout), text(stderr));
        let lines = printed.lines().filter(|line| !is_of_ucx(line)).map(str::to_owned).collect();
        Ok(Ended { code: status.code(), lines, errors })
    }
}

/// Reads byte by byte, so that later bytes stay in the pipe.
fn read_to(pipe: impl Read, text: &str) -> Result<String> {
    let mut pipe = BufReader::with_capacity(1, pipe);
    let mut said = String::new();
    loop {
        let start = said.len();
        let read = pipe.read_line(&mut said)?;
        ensure!(read > 0, "it never says {text:?}, but\n{said}");
        if said[start..].contains(text) {
            return Ok(said[start..].trim_end().to_owned());
        }
    }
}

/// UCX logs to standard output, for example when it loses a connecting peer.
fn is_of_ucx(line: &str) -> bool {
    line.starts_with('[') && line.contains(" UCX  ")
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Ended {
    pub fn succeeded(self) -> Vec<String> {
        assert_eq!(self.code, Some(0), "{:?} {}", self.lines, self.errors);
        self.lines
    }

    pub fn failed_saying(&self, text: &str) {
        assert_eq!(self.code, Some(1), "{:?} {}", self.lines, self.errors);
        assert!(self.errors.contains(text), "{text:?} is not in\n{}", self.errors);
    }
}
