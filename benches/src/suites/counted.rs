//! Counts the active messages and allocations of processes: a library that is loaded before glibc
//! and UCX counts those of every thread that sends such messages.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, getpid};
use urom_host::{Host, Service, Worker};
use urom_tests::PluginDirectory;

use super::Part;
use super::loopback::round::{self, Work};
use crate::cores::pin;
use crate::figure::Figure;
use crate::launch::{Daemon, Launch, worker};
use crate::processes;
use crate::statistics::of_rounds;
use crate::transport::Transport;

/// The variable that says where counts go. Each launch has a directory.
pub(crate) const COUNTS_DIRECTORY: &str = "COUNT_IN";
const PRELOAD: (&str, &str) = ("LD_PRELOAD", env!("COUNTS"));

/// The number of counts, of which the median is taken: buffers that grow, and memory that UCX
/// remembers, are in a few of them.
pub(super) const TIMES: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counts {
    pub(super) allocations: f64,
    pub(super) messages: f64,
}

/// A part whose launches count.
pub(super) const fn part(measure: fn(&Launch) -> Result<Vec<Figure>>) -> Part {
    Part { variables: &[PRELOAD], ..Part::new(measure) }
}

/// Reads the counts of a process, without an allocation.
pub(super) struct Counter(File);

impl Counter {
    pub(super) fn of(pid: Pid) -> Result<Counter> {
        let directory = std::env::var_os(COUNTS_DIRECTORY).context("a launch has a directory")?;
        let file = Path::new(&directory).join(pid.as_raw_nonzero().to_string());
        let open = File::open(&file);
        Ok(Counter(open.with_context(|| format!("process {pid:?} does not count"))?))
    }

    pub(super) fn read(&self) -> Result<Counts> {
        let mut bytes = [0; 16];
        self.0.read_exact_at(&mut bytes, 0)?;
        let (words, _) = bytes.as_chunks();
        let [allocations, messages] =
            [words[0], words[1]].map(|word| u64::from_ne_bytes(word) as f64);
        Ok(Counts { allocations, messages })
    }
}

/// A daemon whose workers count.
pub(super) fn daemon(plugins: &[&str]) -> Result<Daemon> {
    let plugins = PluginDirectory::with(plugins)?;
    let variables = [PRELOAD.0, COUNTS_DIRECTORY];
    Daemon::start(plugins, |command| {
        command.args(variables.iter().flat_map(|name| ["--worker-env", name]))
    })
}

/// A host that counts, this process, and its worker.
pub(super) struct Counted {
    pub(super) graph: graph_protocol::Client<Host>,
    pub(super) worker: Worker,
    _service: Service,
    pub(super) counters: [Counter; 2],
    // After its hosts.
    _daemon: Daemon,
}

impl Counted {
    pub(super) fn start(launch: &Launch) -> Result<Counted> {
        let daemon = daemon(&["worker_graph"])?;
        let service = daemon.connect()?;
        let graph = service.plugin::<graph_protocol::Protocol>()?;
        let worker = worker(&service, &[graph.plugin()], launch.cores.worker())?;
        pin(launch.cores.host(0))?;
        let pid = processes::only_child(daemon.pid())?;
        let counters = [Counter::of(getpid())?, Counter::of(pid)?];
        Ok(Counted { graph, worker, _service: service, counters, _daemon: daemon })
    }

    /// The counts of one command at the host and in the worker, with `depth` commands in flight.
    /// Counts of a round cancel out: a round of some commands is counted, and one of twice as many.
    pub(super) fn each(&self, launch: &Launch, depth: u64) -> Result<[Counts; 2]> {
        let commands = match launch.transport {
            Transport::SharedMemory => 10_000,
            Transport::Tcp => 2_000,
        };
        let count = |trips| -> Result<[Counts; 2]> {
            let read = || -> Result<_> { Ok([self.counters[0].read()?, self.counters[1].read()?]) };
            let before = read()?;
            round::kit(&self.graph, &self.worker, Work { trips, depth, single: false })?;
            let after = read()?;
            Ok([0, 1].map(|side| difference(after[side], before[side])))
        };
        // Buffers grow first.
        count(commands)?;
        let mut more = Vec::new();
        for _ in 0..TIMES {
            let (once, twice) = (count(commands)?, count(2 * commands)?);
            more.push([0, 1].map(|side| difference(twice[side], once[side])));
        }
        let each = |side: usize, of: fn(&Counts) -> f64| -> Result<f64> {
            let counts: Vec<f64> = more.iter().map(|counts| of(&counts[side])).collect();
            Ok(of_rounds(&counts)? / commands as f64)
        };
        let of = |side| -> Result<Counts> {
            let messages = each(side, |counts| counts.messages)?;
            ensure!(messages > 0.0, "no message is counted: is {} still there?", PRELOAD.1);
            Ok(Counts { allocations: each(side, |counts| counts.allocations)?, messages })
        };
        Ok([of(0)?, of(1)?])
    }
}

pub(super) fn difference(after: Counts, before: Counts) -> Counts {
    Counts {
        allocations: after.allocations - before.allocations,
        messages: after.messages - before.messages,
    }
}
