//! Several processes of one parallel application, as a launcher without MPI starts them.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::built::built;

/// Processes that were started together. Dropping them kills those that are left.
#[derive(Debug)]
pub struct Participants {
    children: Vec<Child>,
    // Kept open: a process whose output nobody holds would get a signal for writing to it.
    _output: Option<BufReader<ChildStdout>>,
}

impl Participants {
    /// Starts `count` processes of an example of this package. Its arguments are `argument`, where
    /// the processes meet, its index, and the count. The first is told to meet at `here`; it
    /// listens on a port of its choice and prints the address as its first line.
    pub fn start(example: &str, argument: &OsStr, count: u32) -> Result<Participants> {
        Participants::start_with(example, argument, count, |command| command)
    }

    /// The same, after `set` has added variables to each.
    pub fn start_with(
        example: &str,
        argument: &OsStr,
        count: u32,
        set: impl Fn(&mut Command) -> &mut Command,
    ) -> Result<Participants> {
        let program = built(&format!("examples/{example}"))?;
        let mut participants = Participants { children: Vec::new(), _output: None };
        let mut meeting = "here".to_owned();
        for index in 0..count {
            let mut command = Command::new(&program);
            command.arg(argument).arg(&meeting).args([index.to_string(), count.to_string()]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = set(&mut command)
                .spawn()
                .with_context(|| format!("cannot start {}", program.display()))?;
            let output = child.stdout.take();
            participants.children.push(child);
            if index == 0 {
                let mut output =
                    BufReader::new(output.context("the first participant has no output")?);
                meeting.clear();
                output
                    .read_line(&mut meeting)
                    .context("cannot read what the first participant prints")?;
                meeting.truncate(meeting.trim_end().len());
                participants._output = Some(output);
            }
        }
        Ok(participants)
    }

    /// Waits until all have ended; they have limits of their own.
    pub fn finish(mut self) -> Result<()> {
        let mut bad = Vec::new();
        for (child, index) in std::mem::take(&mut self.children).into_iter().zip(0..) {
            let output = child.wait_with_output()?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                bad.push(format!("participant {index}: {}: {said}", output.status));
            }
        }
        ensure!(bad.is_empty(), "{}", bad.join("\n"));
        Ok(())
    }
}

impl Drop for Participants {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It may have ended already; either way nothing of it is left.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
