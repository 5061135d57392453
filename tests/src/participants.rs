//! Starts the processes of a parallel application without MPI.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::built::built;

/// Processes started together. Drop kills the remaining processes.
#[derive(Debug)]
pub struct Participants {
    children: Vec<Child>,
    // Kept open: otherwise a process that writes gets SIGPIPE.
    _output: Option<BufReader<ChildStdout>>,
}

impl Participants {
    /// Starts `count` processes of an example. Arguments: `argument`, the rendezvous, its index,
    /// and the count. The first process gets `here` as rendezvous; it listens on any port and
    /// prints the address as its first line.
    pub fn start(example: &str, argument: &OsStr, count: u32) -> Result<Participants> {
        Participants::start_with(example, argument, count, |command| command)
    }

    /// Like `start`, after `set` has added variables to each.
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
                    BufReader::new(output.context("the first participant lacks output")?);
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
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
