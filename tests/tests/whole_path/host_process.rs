//! Hosts in processes of their own, which can be killed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use urom_tests::built;

use crate::provider::Provider;

/// How long a line may take.
const LIMIT: Duration = Duration::from_secs(20);

/// A host that says and hears lines. Dropping it kills it.
pub(crate) struct HostProcess {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl HostProcess {
    /// One of the examples of this package, with the daemon's address and these arguments.
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
            // To the same output as the answers.
            .env("UCX_LOG_LEVEL", "fatal")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = BufReader::new(child.stdout.take().context("its output")?);
        Ok(HostProcess { child, output })
    }

    /// What it says next.
    pub(crate) fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        // What was read already says nothing to `poll`.
        if self.output.buffer().is_empty() {
            let output = self.output.get_ref();
            let limit = Timespec::try_from(LIMIT)?;
            let has_said = poll(&mut [PollFd::new(output, PollFlags::IN)], Some(&limit))? > 0;
            ensure!(has_said, "the host said nothing for {LIMIT:?}");
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
