//! This program again as another process, for parts of a measurement that need one: a host of its own, an allocator that
//! counts, a UCX that is configured otherwise.
//!
//! The two talk in lines of JSON, one order and one answer each, over the child's standard input and output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child as Process, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The argument that makes this program a child; the suite's name and its own arguments as JSON follow.
pub(crate) const ARGUMENT: &str = "--child";

/// A child at work. Dropping it kills it.
pub(crate) struct Child {
    process: Process,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Child {
    /// Starts one of `suite`, after `set` has added variables.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(
        suite: &str,
        arguments: &impl Serialize,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Child> {
        let mut command = Child::command(suite, arguments)?;
        set(&mut command);
        Child::of(command)
    }

    /// What starts one of `suite`, for those who start it in another way.
    ///
    /// # Errors
    /// When this program's file cannot be found.
    pub(crate) fn command(suite: &str, arguments: &impl Serialize) -> Result<Command> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = Command::new(program);
        command.args([ARGUMENT, suite, &serde_json::to_string(arguments)?]);
        Ok(command)
    }

    /// Starts another program that talks the same way.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub(crate) fn of(mut command: Command) -> Result<Child> {
        // Standard output is for answers; UCX would write its own lines there.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).env("UCX_LOG_FILE", "stderr");
        let mut process = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let orders = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().context("a child's output is piped")?);
        Ok(Child { process, orders, answers })
    }

    /// Gives an order, and does not wait.
    ///
    /// # Errors
    /// When the child is gone.
    pub(crate) fn order(&mut self, order: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_string(order)?;
        line.push('\n');
        let orders =
            self.orders.as_mut().context("the child was told that there are no more orders")?;
        orders
            .write_all(line.as_bytes())
            .context("a child does not take orders any more: its last lines say why")
    }

    /// Waits for the answer to the oldest order.
    ///
    /// # Errors
    /// When the child ended, or said something else.
    pub(crate) fn answer<A: DeserializeOwned>(&mut self) -> Result<A> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line).context("cannot read what a child says")?;
        ensure!(read > 0, "a child ended before it answered: its last lines say why");
        serde_json::from_str(&line).with_context(|| format!("a child said {line:?}"))
    }

    /// Gives an order and waits for its answer.
    ///
    /// # Errors
    /// As [`order`](Self::order) and [`answer`](Self::answer).
    pub(crate) fn ask<A: DeserializeOwned>(&mut self, order: &impl Serialize) -> Result<A> {
        self.order(order)?;
        self.answer()
    }

    /// Says that there are no more orders, and waits for the child's end.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.orders = None;
        let status = self.process.wait()?;
        ensure!(status.success(), "a child failed: {status}");
        Ok(())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // After `finish` there is nothing left to kill, which is fine.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The child's side: does what each order says until there are no more.
///
/// # Errors
/// What `work` gives, and orders that are none.
pub(crate) fn serve<O: DeserializeOwned, A: Serialize>(
    mut work: impl FnMut(O) -> Result<A>,
) -> Result<()> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lines() {
        let answer = work(serde_json::from_str(&line?).context("an order that is none")?)?;
        let mut line = serde_json::to_string(&answer)?;
        line.push('\n');
        output.write_all(line.as_bytes())?;
        output.flush()?;
    }
    Ok(())
}
