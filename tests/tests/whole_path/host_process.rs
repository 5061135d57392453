//! Hosts as separate processes, which can be killed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use urom_tests::built;

use crate::provider::Provider;

const LIMIT: Duration = Duration::from_secs(20);

/// A host that exchanges lines with the test. Drop kills it.
pub(crate) struct HostProcess {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl HostProcess {
    /// Starts an example with the daemon's address and these arguments.
    pub(crate) fn start(
        provider: &Provider,
        example: &str,
        arguments: &[&str],
    ) -> Result<HostProcess> {
        let library = provider.library().unwrap_or(Path::new("builtin"));
        let mut child = Command::new(built(&format!("examples/{example}"))?)
            .arg(provider.address().context("a daemon")?)
            .args(arguments)
            .env("UROM_DOCA_LIBRARY", library)
            // UCX would log to the same output.
            .env("UCX_LOG_LEVEL", "fatal")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = BufReader::new(child.stdout.take().context("its output")?);
        Ok(HostProcess { child, output })
    }

    pub(crate) fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        // `poll` does not see buffered bytes.
        if self.output.buffer().is_empty() {
            let output = self.output.get_ref();
            let limit = Timespec::try_from(LIMIT)?;
            let has_said = poll(&mut [PollFd::new(output, PollFlags::IN)], Some(&limit))? > 0;
            ensure!(has_said, "the host reported nothing for {LIMIT:?}");
        }
        self.output.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    pub(crate) fn tell(&mut self, line: &str) -> Result<()> {
        Ok(writeln!(self.child.stdin.as_mut().context("its input")?, "{line}")?)
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
