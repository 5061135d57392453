//! Resources of a process, as counted by the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use procfs::net::{TcpNetEntry, tcp};
use procfs::process::{ClearRefs, FDTarget, MMapPath, Process, Status};
use rustix::process::Pid;

/// Poll interval: the kernel sends no event when a process opens or closes something.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Vitals {
    pub(crate) descriptors: usize,
    /// Private memory in KiB (`RssAnon`: without files and shared memory).
    pub(crate) memory: u64,
}

impl fmt::Display for Vitals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} descriptors, {} KiB", self.descriptors, self.memory)
    }
}

fn process(pid: Pid) -> Result<Process> {
    Process::new(pid.as_raw_nonzero().get()).with_context(|| format!("process {pid:?}"))
}

/// Returns a memory size in KiB; fails if the process has ended.
fn memory(pid: Pid, pick: impl Fn(Status) -> Option<u64>) -> Result<u64> {
    pick(process(pid)?.status()?).with_context(|| format!("process {pid:?} has ended"))
}

pub(crate) fn vitals(pid: Pid) -> Result<Vitals> {
    Ok(Vitals { descriptors: descriptors(pid)?, memory: memory(pid, |status| status.rssanon)? })
}

/// Returns the memory without files, in KiB: `RssAnon` and `RssShmem`.
pub(crate) fn resident(pid: Pid) -> Result<u64> {
    memory(pid, |status| Some(status.rssanon? + status.rssshmem?))
}

/// Resets the peak of a process's memory; returns the current memory with files, in KiB.
pub(crate) fn watch_peak(pid: Pid) -> Result<u64> {
    process(pid)?.clear_refs(ClearRefs::PeakRSS)?;
    peak(pid)
}

/// Returns the peak since `watch_peak` (`VmHWM`), in KiB.
pub(crate) fn peak(pid: Pid) -> Result<u64> {
    memory(pid, |status| status.vmhwm)
}

/// Waits until files opened since `before` are closed, and checks the growth, in KiB.
pub(crate) fn returns(
    pid: Pid,
    name: &str,
    before: Vitals,
    limit: Duration,
    tolerance: u64,
) -> Result<()> {
    until(limit, "its descriptors are closed", || Ok(descriptors(pid)? <= before.descriptors))
        .with_context(|| format!("{name} had {before}, and now has {:?}", kinds(pid)))?;
    let now = vitals(pid)?;
    ensure!(
        now.memory <= before.memory + tolerance,
        "{name} grew: {before}, and {now} now, where {tolerance} KiB more are tolerated"
    );
    Ok(())
}

/// Returns the inodes of a process's mapped rings. Host and worker map the same rings.
pub(crate) fn rings(pid: Pid) -> Result<BTreeSet<u64>> {
    let is_ring = |path: &MMapPath| matches!(path, MMapPath::Path(file) if file.to_string_lossy().starts_with("/memfd:urom-ring"));
    let maps = process(pid)?.maps()?.0.into_iter();
    Ok(maps.filter(|map| is_ring(&map.pathname)).map(|map| map.inode).collect())
}

/// Returns a process's mapped rings that the other living processes have not mapped.
pub(crate) fn orphaned(pid: Pid, living: &[Pid]) -> Result<Vec<u64>> {
    let mut own = rings(pid)?;
    for other in living.iter().filter(|other| **other != pid) {
        let theirs = rings(*other)?;
        own.retain(|ring| !theirs.contains(ring));
    }
    Ok(own.into_iter().collect())
}

fn open(pid: Pid) -> Result<impl Iterator<Item = FDTarget>> {
    Ok(process(pid)?.fd()?.filter_map(|fd| Some(fd.ok()?.target)))
}

pub(crate) fn descriptors(pid: Pid) -> Result<usize> {
    Ok(process(pid)?.fd_count()?)
}

/// Counts the open files by kind, without their distinguishing numbers.
pub(crate) fn kinds(pid: Pid) -> Result<BTreeMap<String, usize>> {
    let mut kinds = BTreeMap::new();
    for target in open(pid)? {
        let mut kind = format!("{target:?}");
        kind.retain(|letter| !letter.is_ascii_digit());
        *kinds.entry(kind).or_default() += 1;
    }
    Ok(kinds)
}

/// Returns the most unsent bytes of a process's TCP connections (IPv4): the peer's buffer is full.
pub(crate) fn unsent(pid: Pid) -> Result<u32> {
    Ok(connections(pid)?.iter().map(|socket| socket.tx_queue).max().unwrap_or(0))
}

pub(crate) fn connections(pid: Pid) -> Result<Vec<TcpNetEntry>> {
    let own: BTreeSet<u64> = open(pid)?
        .filter_map(|target| if let FDTarget::Socket(inode) = target { Some(inode) } else { None })
        .collect();
    Ok(tcp()?.into_iter().filter(|socket| own.contains(&socket.inode)).collect())
}

/// Waits until a condition on a process holds; returns the elapsed time.
pub(crate) fn until(
    limit: Duration,
    what: &str,
    mut holds: impl FnMut() -> Result<bool>,
) -> Result<Duration> {
    let begin = Instant::now();
    while !holds()? {
        if begin.elapsed() > limit {
            bail!("{what}: not within {limit:?}");
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok(begin.elapsed())
}
