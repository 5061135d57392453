//! This program as a child process: a launch, a host, a server. Both ends exchange lines of JSON
//! over the child's standard input and output: one answer for each order.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child as Process, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A running child, killed on drop.
pub(crate) struct Child {
    process: Process,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Child {
    pub(crate) fn start(mut command: Command) -> Result<Child> {
        // Standard output is for answers; UCX would also log there.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).env("UCX_LOG_FILE", "stderr");
        let mut process = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let orders = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().context("a child's output is piped")?);
        Ok(Child { process, orders, answers })
    }

    pub(crate) fn order(&mut self, order: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(order)?;
        let orders = self.orders.as_mut().context("the child may have no more orders")?;
        writeln!(orders, "{line}").context("a child has ended: its last lines say why")
    }

    pub(crate) fn answer<A: DeserializeOwned>(&mut self) -> Result<A> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line).context("cannot read a child's answer")?;
        ensure!(read > 0, "a child ended before it answered: its last lines say why");
        serde_json::from_str(&line).with_context(|| format!("a child answered {line:?}"))
    }

    pub(crate) fn ask<A: DeserializeOwned>(&mut self, order: &impl Serialize) -> Result<A> {
        self.order(order)?;
        self.answer()
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        self.orders = None;
        let status = self.process.wait()?;
        ensure!(status.success(), "a child failed: {status}");
        Ok(())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn answer(answer: &impl Serialize) -> Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", serde_json::to_string(answer)?)?;
    Ok(output.flush()?)
}

pub(crate) fn serve<O: DeserializeOwned, A: Serialize>(
    mut work: impl FnMut(O) -> Result<A>,
) -> Result<()> {
    for line in std::io::stdin().lines() {
        answer(&work(serde_json::from_str(&line?).context("a malformed order")?)?)?;
    }
    Ok(())
}
