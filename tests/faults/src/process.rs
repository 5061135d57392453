//! The processes of a suite: a daemon with its plugins and logs, and hosts that obey orders.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use urom_tests::{PluginDirectory, Uromd, profile_directory};

use crate::host::{Call, Kind, Order, Pace, Tally, Trouble, Word};

/// The plugin that every worker has.
pub(crate) const FAULTY: &str = "worker_faulty";

/// How long a process may take to end, or to release what it no longer needs.
pub(crate) const END: Duration = Duration::from_secs(10);

/// How long anything may take that nobody broke.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transports {
    /// Whatever it likes best: shared memory.
    All,
    Tcp,
}

impl Transports {
    pub(crate) fn variables(self) -> Vec<(&'static str, &'static str)> {
        // Standard output, where UCX logs by default, is for a host's words.
        let mut variables = vec![("UCX_LOG_FILE", "stderr")];
        // By default UCX patches the C library in every process, which takes 0.4 s. Without that,
        // releases before 1.22 crash when a peer goes away during a long message.
        let (major, minor) = (ucx::version().major, ucx::version().minor);
        variables.extend(((major, minor) >= (1, 22)).then_some(("UCX_MEM_EVENTS", "n")));
        variables.extend(HEAP);
        variables.extend((self == Transports::Tcp).then_some(("UCX_TLS", "tcp")));
        variables
    }
}

/// Makes the C library give back freed memory at once, so that a process's memory is what it holds.
/// By default the library keeps some MiB, and more with each thread that ever ran.
const HEAP: [(&str, &str); 4] = [
    ("MALLOC_ARENA_MAX", "1"),
    ("MALLOC_MMAP_THRESHOLD_", "65536"),
    ("MALLOC_TRIM_THRESHOLD_", "65536"),
    ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"),
];

/// Sets the transports and the heap of a daemon and of its workers, which inherit only what
/// `--worker-env` names.
pub(crate) fn set_up_daemon(command: &mut Command, transports: Transports) -> &mut Command {
    for (name, value) in HEAP {
        command.arg("--worker-env").arg(format!("{name}={value}"));
    }
    command.envs(transports.variables())
}

/// A daemon with its plugins.
pub(crate) struct Service {
    pub(crate) daemon: Uromd,
    _plugins: PluginDirectory,
    transports: Transports,
    logs: Logs,
}

impl Service {
    /// A service with the faulty plugin.
    pub(crate) fn start(transports: Transports, logs: &Logs) -> Result<Service> {
        Service::start_with(PluginDirectory::with(&[FAULTY])?, transports, logs, |command| command)
    }

    /// A service with these plugins, after `set` has added arguments and variables.
    pub(crate) fn start_with(
        plugins: PluginDirectory,
        transports: Transports,
        logs: &Logs,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Service> {
        let log = logs.file("uromd")?;
        let daemon = Uromd::start_with(plugins.variable(), |command| {
            set(set_up_daemon(command, transports).stderr(log))
        })?;
        Ok(Service { daemon, _plugins: plugins, transports, logs: logs.clone() })
    }

    /// A new host that is connected.
    pub(crate) fn host(&self, name: &str) -> Result<HostProcess> {
        self.host_with(name, |command| command)
    }

    /// The same, after `set` has added variables.
    pub(crate) fn host_with(
        &self,
        name: &str,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<HostProcess> {
        let log = self.logs.file(name)?;
        let mut host = HostProcess::start(name, &[], self.transports, log, set)?;
        host.connect(self.address())?;
        Ok(host)
    }

    pub(crate) fn address(&self) -> &str {
        self.daemon.address()
    }

    pub(crate) fn pid(&self) -> Pid {
        self.daemon.pid()
    }

    /// Stops the daemon, which must end in order.
    pub(crate) fn end(self) -> Result<()> {
        let status = self.daemon.stop()?;
        ensure!(status.success(), "the daemon ended with {status}");
        Ok(())
    }
}

pub(crate) fn signal(pid: Pid, signal: Signal) -> Result<()> {
    kill_process(pid, signal).with_context(|| format!("signalling process {pid:?}"))
}

/// Where the processes of a suite write what they log.
#[derive(Debug, Clone)]
pub(crate) struct Logs {
    directory: Arc<tempfile::TempDir>,
}

impl Logs {
    pub(crate) fn new() -> Result<Logs> {
        Ok(Logs { directory: Arc::new(tempfile::tempdir()?) })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A file for the log of one process, opened to append.
    pub(crate) fn file(&self, name: &str) -> Result<File> {
        Ok(File::options().create(true).append(true).open(self.path(name))?)
    }

    /// How many lines of one log have these words.
    pub(crate) fn count(&self, name: &str, words: &str) -> Result<usize> {
        let text =
            std::fs::read(self.path(name)).with_context(|| format!("reading the log of {name}"))?;
        Ok(String::from_utf8_lossy(&text).lines().filter(|line| line.contains(words)).count())
    }

    /// The longest turn of a daemon's loop and its longest sleep, as its log tells at the end.
    pub(crate) fn turns(&self, name: &str) -> Result<[Duration; 2]> {
        let text = std::fs::read_to_string(self.path(name))?;
        let told = text.lines().rev().find_map(|line| {
            let rest = line.split_once("the longest turn of the loop took ")?.1;
            let (turn, rest) = rest.split_once(" us of CPU time, and none slept for more than ")?;
            Some([turn.parse().ok()?, rest.strip_suffix(" us")?.parse().ok()?])
        });
        let times: [u64; 2] =
            told.with_context(|| format!("the log of {name} does not tell of turns"))?;
        Ok(times.map(Duration::from_micros))
    }

    /// The last lines of every log, for the message about a failure.
    pub(crate) fn tails(&self) -> String {
        const LINES: usize = 40;
        let files = std::fs::read_dir(self.directory.path()).into_iter().flatten().flatten();
        let tail = |path: PathBuf| {
            let text =
                String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
            let lines: Vec<&str> = text.lines().collect();
            let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
            format!("--- {}\n{last}", path.file_name().unwrap_or_default().display())
        };
        files.map(|file| tail(file.path())).collect::<Vec<_>>().join("\n")
    }
}

/// Nothing was said in time, and nothing that must never be.
#[derive(Debug)]
struct NotYet(String);

impl fmt::Display for NotYet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotYet {}

/// What was said, if it was said in time. Anything else that went wrong is still an error.
pub(crate) fn in_time<T>(heard: Result<T>) -> Result<Option<T>> {
    match heard {
        Err(error) if error.is::<NotYet>() => Ok(None),
        heard => heard.map(Some),
    }
}

/// A host. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct HostProcess {
    name: String,
    child: Child,
    orders: ChildStdin,
    words: mpsc::Receiver<String>,
    /// What was said and nobody asked for yet.
    said: Vec<Word>,
}

impl HostProcess {
    /// Starts this package's program as a host, with `launcher` before it, after `set` has added
    /// variables.
    pub(crate) fn start(
        name: &str,
        launcher: &[&str],
        transports: Transports,
        log: File,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<HostProcess> {
        let program = profile_directory()?.join("urom-faults");
        ensure!(
            program.exists(),
            "{} is not there: cargo builds it with this package",
            program.display()
        );
        let words =
            launcher.iter().map(OsStr::new).chain([program.as_os_str(), OsStr::new("host")]);
        let words: Vec<&OsStr> = words.collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        set(command.envs(transports.variables()));
        let mut child =
            command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let orders = child.stdin.take().context("a host has no input")?;
        let output = BufReader::new(child.stdout.take().context("a host has no output")?);
        let (say, words) = mpsc::channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| say.send(line)).ok();
        });
        Ok(HostProcess { name: name.to_owned(), child, orders, words, said: Vec::new() })
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn tell(&mut self, order: &Order) -> Result<()> {
        let line = serde_json::to_string(order)?;
        writeln!(self.orders, "{line}")
            .with_context(|| format!("{} does not listen to {line}", self.name))
    }

    /// The first word that `pick` takes, within `limit`; others are kept for later.
    pub(crate) fn hear<T>(
        &mut self,
        limit: Duration,
        what: &str,
        mut pick: impl FnMut(&Word) -> Option<T>,
    ) -> Result<T> {
        if let Some((at, found)) =
            self.said.iter().enumerate().find_map(|(at, word)| pick(word).map(|found| (at, found)))
        {
            self.said.remove(at);
            return Ok(found);
        }
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = match self.words.recv_timeout(left) {
                Ok(line) => line,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let text = format!(
                        "{}: no {what} within {limit:?}; it said {:?}",
                        self.name, self.said
                    );
                    return Err(NotYet(text).into());
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    bail!("{}: it ended ({:?}) instead of {what}", self.name, self.child.wait())
                }
            };
            let word = serde_json::from_str(&line)
                .with_context(|| format!("{} says {line}", self.name))?;
            if let Word::Never(what) = word {
                bail!("{}: {what}", self.name);
            }
            match pick(&word) {
                Some(found) => return Ok(found),
                None => self.said.push(word),
            }
        }
    }

    /// Connects; what went wrong if it did.
    pub(crate) fn try_connect(&mut self, address: &str) -> Result<Result<(), Trouble>> {
        self.tell(&Order::Connect { address: address.to_owned() })?;
        self.connected()
    }

    pub(crate) fn connected(&mut self) -> Result<Result<(), Trouble>> {
        self.hear(PATIENCE, "connection", |word| match word {
            Word::Connected(result) => Some(result.clone()),
            _ => None,
        })
    }

    pub(crate) fn connect(&mut self, address: &str) -> Result<()> {
        self.try_connect(address)?.map_err(|trouble| {
            anyhow!("{} cannot connect to {address}: {}", self.name, trouble.text)
        })
    }

    /// Starts or joins a worker; its process, or what went wrong.
    pub(crate) fn try_start(&mut self, worker: u64) -> Result<Result<Pid, Trouble>> {
        self.try_start_with(worker, &[], &[])
    }

    /// The same, with more plugins than the faulty one, and with variables.
    pub(crate) fn try_start_with(
        &mut self,
        worker: u64,
        plugins: &[String],
        env: &[(&str, &str)],
    ) -> Result<Result<Pid, Trouble>> {
        let env =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.tell(&Order::Start { worker, plugins: plugins.to_vec(), env })?;
        self.started(PATIENCE, worker)
    }

    pub(crate) fn started(&mut self, limit: Duration, worker: u64) -> Result<Result<Pid, Trouble>> {
        let process = self.hear(limit, "worker", |word| match word {
            Word::Started { worker: id, process } if *id == worker => Some(process.clone()),
            _ => None,
        })?;
        process.map_or_else(
            |trouble| Ok(Err(trouble)),
            |pid| Ok(Ok(Pid::from_raw(pid).context("a worker has no process")?)),
        )
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

    /// Waits until so many more commands of a load were answered.
    pub(crate) fn pass(&mut self, worker: u64, commands: u64) -> Result<()> {
        self.pass_within(PATIENCE, worker, commands)
    }

    pub(crate) fn pass_within(
        &mut self,
        limit: Duration,
        worker: u64,
        commands: u64,
    ) -> Result<()> {
        self.tell(&Order::Mark { worker, commands })?;
        self.passed(limit, worker, commands)
    }

    /// Waits until the commands that were counted before were answered.
    pub(crate) fn passed(&mut self, limit: Duration, worker: u64, commands: u64) -> Result<()> {
        self.hear(limit, &format!("{commands} answers of worker {worker}"), |word| {
            matches!(word, Word::Marked { worker: id } if *id == worker).then_some(())
        })
    }

    /// Waits until so many more commands of a load were answered, or until it ends because its
    /// worker was lost: then its tally.
    pub(crate) fn pass_or_over(
        &mut self,
        limit: Duration,
        worker: u64,
        commands: u64,
    ) -> Result<Option<Tally>> {
        self.tell(&Order::Mark { worker, commands })?;
        let what = format!("{commands} answers of worker {worker}, or end of its tasks");
        let tally = self.hear(limit, &what, |word| match word {
            Word::Marked { worker: id } if *id == worker => Some(None),
            Word::Over { worker: id, tally } if *id == worker => Some(Some(tally.clone())),
            _ => None,
        })?;
        tally.map(|tally| self.without_violations(worker, tally)).transpose()
    }

    /// How quickly a load's commands were answered since this was asked the last time.
    pub(crate) fn pace(&mut self, worker: u64) -> Result<Pace> {
        self.tell(&Order::Pace { worker })?;
        self.hear(PATIENCE, &format!("pace of worker {worker}"), |word| match word {
            Word::Paced { worker: id, pace } if *id == worker => Some(*pace),
            _ => None,
        })
    }

    fn without_violations(&self, worker: u64, tally: Tally) -> Result<Tally> {
        ensure!(
            tally.violations.is_empty(),
            "{}, worker {worker}: {:?}",
            self.name,
            tally.violations
        );
        Ok(tally)
    }

    pub(crate) fn over(&mut self, worker: u64, limit: Duration) -> Result<Tally> {
        let tally =
            self.hear(limit, &format!("end of all tasks of worker {worker}"), |word| match word {
                Word::Over { worker: id, tally } if *id == worker => Some(tally.clone()),
                _ => None,
            })?;
        self.without_violations(worker, tally)
    }

    /// Ends a load that nothing happened to: every task has its value.
    pub(crate) fn halt(&mut self, worker: u64) -> Result<u64> {
        self.tell(&Order::Halt { worker })?;
        let tally = self.over(worker, PATIENCE)?;
        ensure!(tally.errors.is_empty(), "{}, worker {worker}: {:?}", self.name, tally.errors);
        Ok(tally.values)
    }

    /// Has one command run; how it ended, and after which time.
    pub(crate) fn call(
        &mut self,
        worker: u64,
        call: Call,
        limit: Duration,
    ) -> Result<(Result<u64, Trouble>, Duration)> {
        self.tell(&Order::Call { worker, call, limit })?;
        self.hear(limit.saturating_add(PATIENCE), "end of a call", |word| match word {
            Word::Called { worker: id, end, took } if *id == worker => {
                Some((end.clone(), Duration::from_nanos(*took)))
            }
            _ => None,
        })
    }

    /// Stops a worker, lost or not.
    pub(crate) fn leave(&mut self, worker: u64) -> Result<()> {
        self.tell(&Order::Leave { worker })?;
        let result =
            self.hear(PATIENCE, &format!("leave of worker {worker}"), |word| match word {
                Word::Left { worker: id, result } if *id == worker => Some(result.clone()),
                _ => None,
            })?;
        result.map_err(|trouble| {
            anyhow!("{} cannot leave worker {worker}: {}", self.name, trouble.text)
        })
    }

    pub(crate) fn disconnect(&mut self) -> Result<()> {
        self.tell(&Order::Disconnect)?;
        self.hear(PATIENCE, "end of the connection", |word| {
            matches!(word, Word::Disconnected).then_some(())
        })
    }

    /// What it said and nobody asked for: nothing, when all went as it should.
    pub(crate) fn is_quiet(&self) -> Result<()> {
        ensure!(self.said.is_empty(), "{} said {:?}", self.name, self.said);
        Ok(())
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        // It may have ended already; either way nothing of it is left.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_never_be_is_not_taken_for_what_is_not_there_yet() {
        assert_eq!(in_time(Ok(1)).unwrap(), Some(1));
        assert_eq!(in_time::<u8>(Err(NotYet("no answer".to_owned()).into())).unwrap(), None);
        assert!(in_time::<u8>(Err(anyhow!("host a: a task ended twice"))).is_err());
    }
}
