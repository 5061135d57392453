//! Processes that count what they do, with a library before glibc's and UCX's own: every active message, and every malloc, of
//! Rust, of UCX and of C alike, of the threads that send such messages.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::pair::Pair;
use crate::extent::Extent;
use crate::statistics::median;
use crate::transport::Transport;

/// What counts, and the variable that says where to.
const LIBRARY: &str = env!("COUNTS");
const DIRECTORY: &str = "COUNT_IN";

/// How often it is counted. What belongs to a command is in every count; buffers that grow with use, and regions of memory that UCX
/// remembers, are in a few.
pub(super) const TIMES: usize = 5;

/// What some processes have done by now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counts {
    pub(super) allocations: u64,
    pub(super) messages: u64,
}

/// What they did for each of some commands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Each {
    pub(super) allocations: f64,
    pub(super) messages: f64,
}

/// Variables with which a process counts into a directory.
pub(super) fn variables(directory: &Path) -> [(&'static str, String); 2] {
    [("LD_PRELOAD", LIBRARY.to_owned()), (DIRECTORY, directory.display().to_string())]
}

/// The sums of all processes that have counted into a directory.
///
/// # Errors
/// When there are none.
pub(super) fn sums(directory: &Path) -> Result<Counts> {
    let mut sums = Counts { allocations: 0, messages: 0 };
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let bytes =
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let words: Vec<u64> =
            bytes.as_chunks().0.iter().map(|word: &[u8; 8]| u64::from_ne_bytes(*word)).collect();
        let [allocations, messages] = words[..] else {
            anyhow::bail!("{} is no counts", path.display())
        };
        sums.allocations += allocations;
        sums.messages += messages;
    }
    ensure!(sums.messages > 0, "no process counts: is {LIBRARY} still there?");
    Ok(sums)
}

/// A host and its worker.
pub(super) struct Counted {
    pair: Pair,
    hosts: TempDir,
    workers: TempDir,
}

impl Counted {
    pub(super) fn start(extent: &Extent, transport: Transport) -> Result<Counted> {
        let (hosts, workers) = (TempDir::new()?, TempDir::new()?);
        let for_workers = variables(workers.path()).map(|(name, value)| format!("{name}={value}"));
        let pair = Pair::start(
            extent,
            transport,
            |daemon| {
                daemon.args(for_workers.iter().flat_map(|variable| ["--worker-env", variable]))
            },
            |mut host: Command| {
                host.envs(variables(hosts.path()));
                host
            },
        )?;
        Ok(Counted { pair, hosts, workers })
    }

    /// What each of `commands`, `depth` at a time, takes at the host and in the worker: the median of some counts. What happens once
    /// a round cancels out: so many are counted, then twice as many.
    pub(super) fn each(&mut self, commands: u64, depth: u64) -> Result<[Each; 2]> {
        // Most of what grows has its size then.
        self.count(commands, depth)?;
        let mut counts = Vec::new();
        for _ in 0..TIMES {
            counts.push((self.count(commands, depth)?, self.count(2 * commands, depth)?));
        }
        let each = |of: &dyn Fn(&[Counts; 2]) -> u64| -> Result<f64> {
            let more = counts.iter().map(|(once, twice)| of(twice) as f64 - of(once) as f64);
            let more = median(&more.collect::<Vec<_>>()).context("nothing was counted")?;
            Ok(more / commands as f64)
        };
        let of = |side: usize| -> Result<Each> {
            Ok(Each {
                allocations: each(&|counts| counts[side].allocations)?,
                messages: each(&|counts| counts[side].messages)?,
            })
        };
        Ok([of(0)?, of(1)?])
    }

    fn count(&mut self, commands: u64, depth: u64) -> Result<[Counts; 2]> {
        let now =
            |counted: &Counted| Ok([sums(counted.hosts.path())?, sums(counted.workers.path())?]);
        let before: [Counts; 2] = now(self)?;
        self.pair.loopbacks(commands, depth)?;
        let after: Result<[Counts; 2]> = now(self);
        let after = after?;
        Ok([0, 1].map(|side| Counts {
            allocations: after[side].allocations - before[side].allocations,
            messages: after[side].messages - before[side].messages,
        }))
    }

    pub(super) fn finish(self) -> Result<()> {
        self.pair.finish()
    }
}
