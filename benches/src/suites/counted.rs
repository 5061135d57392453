//! Heap allocations of commands, at the host and in the worker; over TCP also UCX messages, and the
//! time that each side waits for the other.
//!
//! A library preloaded before glibc and UCX (`c/counts.c`) counts for the main thread and every
//! thread that sends active messages. It reads the clock only after an empty poll of UCX.
//!
//! Commands in flight together share a message; a single command takes one message and does not
//! wait for others. Over TCP, UCX allocates at the first use of a buffer: a few times in thousands
//! of commands.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bench_raw::Kind;
use rustix::process::{Pid, getpid};
use urom_tests::PluginDirectory;

use super::loopback::round::{self, Trips};
use crate::figure::Figure;
use crate::launch::{DEPTH, Daemon, Launch};
use crate::party::{PLUGINS, Party, answered};
use crate::statistics::of_rounds;
use crate::transport::Transport;

/// Variable with the directory of the counts; each launch has a directory.
pub(crate) const COUNTS_DIRECTORY: &str = "COUNT_IN";
pub(super) const PRELOAD: (&str, &str) = ("LD_PRELOAD", env!("COUNTS"));

/// Number of counts. Their median excludes the few in which a buffer grows or UCX allocates.
const TIMES: usize = 5;
const SINGLES: u64 = 1_000;
const SIDES: [&str; 2] = ["host", "worker"];
/// The ABI's own allocations for a command through DOCA's interface: two descriptors.
pub(super) const DESCRIPTORS: f64 = 2.0;

pub(super) fn messages(launch: &Launch) -> Result<Vec<Figure>> {
    let counted = CountedHost::start(launch, None)?;
    let transport = launch.transport.name();
    // Comes first: after many answers a host waits for more commands.
    let at_once = counted.sent_at_once()?;
    let mut figures = Vec::new();
    for depth in [1, 2, 4, 8, 16, 32, DEPTH] {
        let company = if depth == 1 { "alone".to_owned() } else { format!("together/{depth}") };
        for (side, [messages, waits]) in SIDES.iter().zip(counted.stream(launch, depth)?) {
            let name = |what: &str| format!("messages/{what}/{transport}/{side}");
            let sent = Figure::new(name(&company), "messages", messages);
            let in_each = Figure::new(name(&format!("in-each/{depth}")), "", 1.0 / messages);
            let waits = Figure::new(name(&format!("waits/{depth}")), "%", waits * 100.0);
            figures.extend([
                sent.note("a command, at this side"),
                in_each.note("commands or answers in a message"),
                waits.note("of the time, when this side only looks for messages"),
            ]);
        }
    }
    let name = format!("messages/sent-at-once/{transport}");
    let note = "commands that are alone whose one message UCX has when submit returns";
    figures.push(Figure::new(name, "", at_once).note(note));
    Ok(figures)
}

pub(super) fn allocations(launch: &Launch) -> Result<Vec<Figure>> {
    let figures = allocations_besides(launch, None, 0.0)?.into_iter();
    Ok(figures.map(|(name, each)| Figure::new(name, "allocations", each)).collect())
}

/// Measures a worker that uses DOCA's interface alone.
pub(super) fn allocations_of_doca(launch: &Launch) -> Result<Vec<Figure>> {
    let note = "at the worker, without the descriptors of the command and of its answer";
    let figures = allocations_besides(launch, Some("--plain-doca"), DESCRIPTORS)?;
    let figure = |(name, each)| Figure::new(format!("{name}/doca"), "allocations", each).note(note);
    Ok(figures.into_iter().map(figure).collect())
}

/// Names and allocations of a command at host and worker, with one and with many in flight.
fn allocations_besides(
    launch: &Launch,
    option: Option<&str>,
    descriptors: f64,
) -> Result<Vec<(String, f64)>> {
    let counted = CountedHost::start(launch, option)?;
    let each = |depth| -> Result<[(String, f64); 2]> {
        let [host, worker] = counted.each(launch, depth)?;
        // A worker that does not count would seem to meet the budget.
        ensure!(worker >= descriptors, "{worker} allocations in a worker: it does not count");
        let transport = launch.transport.name();
        let [at_host, in_worker] =
            SIDES.map(|side| format!("allocations/per-command/{transport}/{side}/{depth}"));
        Ok([(at_host, host), (in_worker, worker - descriptors)])
    };
    Ok([each(1)?, each(DEPTH)?].concat())
}

/// Allocations, messages, and nanoseconds of waiting.
type Counts = [f64; 3];

struct CountedHost {
    party: Party,
    counters: [File; 2],
}

impl CountedHost {
    fn start(launch: &Launch, option: Option<&str>) -> Result<CountedHost> {
        let daemon = Daemon::start(PluginDirectory::with(&PLUGINS)?, |command| {
            command.args(["--worker-env", PRELOAD.0, "--worker-env", COUNTS_DIRECTORY]).args(option)
        })?;
        let party = Party::of(launch, daemon, Kind::Awake)?;
        let counters = [counter(getpid())?, counter(party.worker_process()?)?];
        Ok(CountedHost { party, counters })
    }

    fn count(&self, work: impl FnOnce() -> Result<()>) -> Result<[Counts; 2]> {
        let read = || -> Result<_> { Ok([read(&self.counters[0])?, read(&self.counters[1])?]) };
        let before = read()?;
        work()?;
        let after = read()?;
        let added = [0, 1].map(|side| std::array::from_fn(|at| after[side][at] - before[side][at]));
        let counted = after.iter().all(|[allocations, ..]| *allocations > 0.0);
        ensure!(counted, "nothing is counted: is {} still there?", PRELOAD.1);
        Ok(added)
    }

    fn each(&self, launch: &Launch, depth: u64) -> Result<[f64; 2]> {
        per_operation(commands(launch), |trips| {
            let work = Trips { depth, ..Trips::alone(trips) };
            let round = || round::kit(&self.party.graph, &self.party.worker, work).map(drop);
            Ok(self.count(round)?.map(|[allocations, ..]| allocations))
        })
    }

    /// Returns the messages of a command and the waiting share of the time, at the host and in the
    /// worker, with `depth` commands in flight.
    fn stream(&self, launch: &Launch, depth: u64) -> Result<[[f64; 2]; 2]> {
        let (Party { graph, worker, .. }, commands) = (&self.party, 20 * commands(launch));
        round::in_flight(graph, worker, commands / 20, depth)?;
        let begin = Instant::now();
        let counts = self.count(|| round::in_flight(graph, worker, commands, depth))?;
        let time = begin.elapsed().as_nanos() as f64;
        Ok(counts.map(|[_, messages, waited]| [messages / commands as f64, waited / time]))
    }

    /// Returns the share of commands that UCX has before their submit returns.
    fn sent_at_once(&self) -> Result<f64> {
        let sent = || Ok::<_, anyhow::Error>(read(&self.counters[0])?[1]);
        let mut at_once = 0;
        for data in 0..SINGLES {
            let before = sent()?;
            let task = self.party.graph.task_loopback(&self.party.worker, data).submit()?;
            at_once += u64::from(sent()? == before + 1.0);
            answered(data, task)?;
        }
        Ok(at_once as f64 / SINGLES as f64)
    }
}

fn commands(launch: &Launch) -> u64 {
    match launch.transport {
        Transport::SharedMemory => 10_000,
        Transport::Tcp => 2_000,
    }
}

/// Returns the counts of one operation. Counts a round of `operations` and a round of twice as
/// many, so that constant costs cancel out.
pub(super) fn per_operation<const N: usize>(
    operations: u64,
    mut count: impl FnMut(u64) -> Result<[f64; N]>,
) -> Result<[f64; N]> {
    // Buffers grow first.
    count(operations)?;
    let mut counts = [(); N].map(|()| Vec::new());
    for _ in 0..TIMES {
        let (once, twice) = (count(operations)?, count(2 * operations)?);
        for (at, counts) in counts.iter_mut().enumerate() {
            counts.push((twice[at] - once[at]) / operations as f64);
        }
    }
    let mut each = [0.0; N];
    for (each, counts) in each.iter_mut().zip(&counts) {
        *each = of_rounds(counts)?;
    }
    Ok(each)
}

pub(super) fn counter(pid: Pid) -> Result<File> {
    let directory = std::env::var_os(COUNTS_DIRECTORY).context("a launch has a directory")?;
    let file = Path::new(&directory).join(pid.as_raw_nonzero().to_string());
    File::open(&file).with_context(|| format!("process {pid:?} does not count"))
}

pub(super) fn read(counter: &File) -> Result<Counts> {
    let mut bytes = [0; 24];
    counter.read_exact_at(&mut bytes, 0)?;
    let (words, _) = bytes.as_chunks();
    Ok([words[0], words[1], words[2]].map(|word| u64::from_ne_bytes(word) as f64))
}
