//! Child processes of this package's program: hosts, and others.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde::de::DeserializeOwned;
use urom_tests::profile_directory;

use crate::host::{Call, Kind, Order, Pace, Said, Tally, Trouble, Word};
use crate::transports::Transports;

/// Time limit for a process to end, or to release resources.
pub(crate) const END: Duration = Duration::from_secs(10);

/// Time limit for any intact operation.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn signal(pid: Pid, signal: Signal) -> Result<()> {
    kill_process(pid, signal).with_context(|| format!("signalling process {pid:?}"))
}

/// A process of this package's program, which prints lines of JSON; killed on drop.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Program {
    /// Starts the program under `launcher`, after `set` has added arguments and variables.
    pub(crate) fn start(
        launcher: &[&str],
        transports: Transports,
        log: File,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Program> {
        let program = profile_directory()?.join("urom-faults");
        let mut words = launcher.iter().map(OsStr::new).chain([program.as_os_str()]);
        let mut command = Command::new(words.next().context("a program")?);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = set(command.envs(transports.variables()))
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let output = BufReader::new(child.stdout.take().context("it lacks output")?);
        let (say, lines) = mpsc::channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| say.send(line)).ok();
        });
        Ok(Program { child, lines })
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Returns the next word, or `None` after `limit`.
    pub(crate) fn hear<W: DeserializeOwned>(&mut self, limit: Duration) -> Result<Option<W>> {
        match self.lines.recv_timeout(limit) {
            Ok(line) => Ok(Some(serde_json::from_str(&line).context(line)?)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("it ended ({:?})", self.child.wait()),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A timeout without a violation.
#[derive(Debug)]
struct NotYet(String);

impl fmt::Display for NotYet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotYet {}

/// Maps a timeout to `None`; other errors stay errors.
pub(crate) fn in_time<T>(heard: Result<T>) -> Result<Option<T>> {
    match heard {
        Err(error) if error.is::<NotYet>() => Ok(None),
        heard => heard.map(Some),
    }
}

#[derive(Debug)]
pub(crate) struct HostProcess {
    name: String,
    program: Program,
    orders: ChildStdin,
    /// Words received before a request for them.
    said: Vec<Word>,
}

impl HostProcess {
    pub(crate) fn start(
        name: &str,
        launcher: &[&str],
        transports: Transports,
        log: File,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<HostProcess> {
        let mut program =
            Program::start(launcher, transports, log, |command| set(command.arg("host")))?;
        let orders = program.child.stdin.take().context("a host lacks input")?;
        Ok(HostProcess { name: name.to_owned(), program, orders, said: Vec::new() })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.program.pid()
    }

    pub(crate) fn tell(&mut self, order: &Order) -> Result<()> {
        let line = serde_json::to_string(order)?;
        writeln!(self.orders, "{line}")
            .with_context(|| format!("{} does not listen to {line}", self.name))
    }

    /// Returns the first word that `pick` accepts, within `limit`; keeps the others for later.
    pub(crate) fn hear<T>(
        &mut self,
        limit: Duration,
        what: &str,
        mut pick: impl FnMut(&Word) -> Option<T>,
    ) -> Result<T> {
        let kept = self.said.iter().enumerate().find_map(|(at, word)| Some((at, pick(word)?)));
        if let Some((at, found)) = kept {
            self.said.remove(at);
            return Ok(found);
        }
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let heard = self.program.hear(left);
            let heard = heard.with_context(|| format!("{}: no {what}", self.name))?;
            let word = heard.ok_or_else(|| {
                NotYet(format!(
                    "{}: no {what} within {limit:?}; it said {:?}",
                    self.name, self.said
                ))
            })?;
            if let Word::Never(what) = word {
                bail!("{}: {what}", self.name);
            }
            match pick(&word) {
                Some(found) => return Ok(found),
                None => self.said.push(word),
            }
        }
    }

    pub(crate) fn hear_of<T>(
        &mut self,
        worker: u64,
        limit: Duration,
        what: &str,
        mut pick: impl FnMut(&Said) -> Option<T>,
    ) -> Result<T> {
        self.hear(limit, &format!("{what} of worker {worker}"), |word| match word {
            Word::Of(id, said) if *id == worker => pick(said),
            _ => None,
        })
    }

    pub(crate) fn try_connect(&mut self, address: &str) -> Result<Result<(), Trouble>> {
        self.tell(&Order::Connect { address: address.to_owned() })?;
        self.connected()
    }

    pub(crate) fn connected(&mut self) -> Result<Result<(), Trouble>> {
        self.hear(TIMEOUT, "connection", |word| match word {
            Word::Connected(result) => Some(result.clone()),
            _ => None,
        })
    }

    pub(crate) fn connect(&mut self, address: &str) -> Result<()> {
        self.try_connect(address)?.map_err(|trouble| {
            anyhow!("{} cannot connect to {address}: {}", self.name, trouble.text)
        })
    }

    pub(crate) fn try_start(&mut self, worker: u64) -> Result<Result<Pid, Trouble>> {
        self.try_start_with(worker, &[], &[])
    }

    pub(crate) fn try_start_with(
        &mut self,
        worker: u64,
        plugins: &[String],
        env: &[(&str, &str)],
    ) -> Result<Result<Pid, Trouble>> {
        self.ask_for_worker(worker, plugins, env)?;
        self.started(TIMEOUT, worker)
    }

    pub(crate) fn ask_for_worker(
        &mut self,
        worker: u64,
        plugins: &[String],
        env: &[(&str, &str)],
    ) -> Result<()> {
        let env =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.tell(&Order::Start { worker, plugins: plugins.to_vec(), env })
    }

    pub(crate) fn started(&mut self, limit: Duration, worker: u64) -> Result<Result<Pid, Trouble>> {
        let process = self.hear_of(worker, limit, "start", |said| match said {
            Said::Started(process) => Some(process.clone()),
            _ => None,
        })?;
        process
            .map(|pid| Pid::from_raw(pid).context("a worker lacks a process"))
            .map_or_else(|trouble| Ok(Err(trouble)), |pid| Ok(Ok(pid?)))
    }

    pub(crate) fn start_worker(&mut self, worker: u64) -> Result<Pid> {
        self.try_start(worker)?.map_err(|trouble| {
            anyhow!("{} cannot start worker {worker}: {}", self.name, trouble.text)
        })
    }

    pub(crate) fn load(
        &mut self,
        worker: u64,
        kind: Kind,
        in_flight: u32,
        seed: u64,
    ) -> Result<()> {
        self.tell(&Order::Load { worker, kind, in_flight, seed })
    }

    pub(crate) fn pass(&mut self, worker: u64, commands: u64) -> Result<()> {
        self.pass_within(TIMEOUT, worker, commands)
    }

    pub(crate) fn pass_within(
        &mut self,
        limit: Duration,
        worker: u64,
        commands: u64,
    ) -> Result<()> {
        self.mark(worker, commands)?;
        self.passed(limit, worker, commands)
    }

    /// Counts further answers, for [`Self::passed`].
    pub(crate) fn mark(&mut self, worker: u64, commands: u64) -> Result<()> {
        self.tell(&Order::Mark { worker, commands })
    }

    /// Waits until the answers of [`Self::mark`] have arrived.
    pub(crate) fn passed(&mut self, limit: Duration, worker: u64, commands: u64) -> Result<()> {
        self.hear_of(worker, limit, &format!("{commands} answers"), |said| {
            matches!(said, Said::Marked).then_some(())
        })
    }

    pub(crate) fn pace(&mut self, worker: u64) -> Result<Pace> {
        self.tell(&Order::Pace { worker })?;
        self.hear_of(worker, TIMEOUT, "pace", |said| match said {
            Said::Paced(pace) => Some(*pace),
            _ => None,
        })
    }

    fn without_violations(&self, worker: u64, tally: Tally) -> Result<Tally> {
        let Tally { violations, .. } = &tally;
        ensure!(violations.is_empty(), "{}, worker {worker}: {violations:?}", self.name);
        Ok(tally)
    }

    pub(crate) fn over(&mut self, worker: u64, limit: Duration) -> Result<Tally> {
        let tally = self.hear_of(worker, limit, "end of all tasks", |said| match said {
            Said::Over(tally) => Some(tally.clone()),
            _ => None,
        })?;
        self.without_violations(worker, tally)
    }

    /// Ends an undisturbed load: every task has its value.
    pub(crate) fn halt(&mut self, worker: u64) -> Result<u64> {
        self.tell(&Order::Halt { worker })?;
        let tally = self.over(worker, TIMEOUT)?;
        ensure!(tally.errors.is_empty(), "{}, worker {worker}: {:?}", self.name, tally.errors);
        Ok(tally.values)
    }

    pub(crate) fn call(
        &mut self,
        worker: u64,
        call: Call,
        limit: Duration,
    ) -> Result<(Result<u64, Trouble>, Duration)> {
        self.tell(&Order::Call { worker, call, limit })?;
        let limit = limit.saturating_add(TIMEOUT);
        self.hear_of(worker, limit, "end of a call", |said| match said {
            Said::Called { end, took } => Some((end.clone(), Duration::from_nanos(*took))),
            _ => None,
        })
    }

    /// Stops a worker, lost or not.
    pub(crate) fn leave(&mut self, worker: u64) -> Result<()> {
        self.tell(&Order::Leave { worker })?;
        let result = self.hear_of(worker, TIMEOUT, "leave", |said| match said {
            Said::Left(result) => Some(result.clone()),
            _ => None,
        })?;
        result.map_err(|trouble| {
            anyhow!("{} cannot leave worker {worker}: {}", self.name, trouble.text)
        })
    }

    pub(crate) fn disconnect(&mut self) -> Result<()> {
        self.tell(&Order::Disconnect)?;
        self.hear(TIMEOUT, "end of the connection", |word| {
            matches!(word, Word::Disconnected).then_some(())
        })
    }

    /// Checks that every received word was requested.
    pub(crate) fn is_quiet(&self) -> Result<()> {
        ensure!(self.said.is_empty(), "{} said {:?}", self.name, self.said);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permanent_error_is_not_taken_for_a_result_that_is_not_ready() {
        assert_eq!(in_time(Ok(1)).unwrap(), Some(1));
        assert_eq!(in_time::<u8>(Err(NotYet("no answer".to_owned()).into())).unwrap(), None);
        assert!(in_time::<u8>(Err(anyhow!("host a: a task ended twice"))).is_err());
    }
}
