//! What a process holds, as the kernel counts it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use procfs::net::{TcpNetEntry, tcp};
use procfs::process::{ClearRefs, FDTarget, MMapPath, Process, Status};
use rustix::process::Pid;

/// How often the kernel is asked: it tells nobody when a process opens or closes something.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Vitals {
    pub(crate) descriptors: usize,
    /// Memory of its own in KiB (`RssAnon`: neither files nor what it shares with others).
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

/// A size of memory in KiB, which a process that has ended does not have.
fn memory(pid: Pid, pick: impl Fn(Status) -> Option<u64>) -> Result<u64> {
    pick(process(pid)?.status()?).with_context(|| format!("process {pid:?} has ended"))
}

pub(crate) fn vitals(pid: Pid) -> Result<Vitals> {
    Ok(Vitals { descriptors: descriptors(pid)?, memory: memory(pid, |status| status.rssanon)? })
}

/// What a process has in memory that is no file, in KiB: `RssAnon` and `RssShmem`.
pub(crate) fn resident(pid: Pid) -> Result<u64> {
    memory(pid, |status| Some(status.rssanon? + status.rssshmem?))
}

/// Begins to watch for a process's peak of memory; what it has now, in KiB, files and all.
pub(crate) fn watch_peak(pid: Pid) -> Result<u64> {
    process(pid)?.clear_refs(ClearRefs::PeakRSS)?;
    peak(pid)
}

/// The most it had since (`VmHWM`), in KiB.
pub(crate) fn peak(pid: Pid) -> Result<u64> {
    memory(pid, |status| status.vmhwm)
}

/// Waits until what was opened since `before` is closed, and checks the growth, in KiB.
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

/// The inodes of the rings that a process has mapped. Host and worker map the same.
pub(crate) fn rings(pid: Pid) -> Result<BTreeSet<u64>> {
    let is_ring = |path: &MMapPath| matches!(path, MMapPath::Path(file) if file.to_string_lossy().starts_with("/memfd:urom-ring"));
    let maps = process(pid)?.maps()?.0.into_iter();
    Ok(maps.filter(|map| is_ring(&map.pathname)).map(|map| map.inode).collect())
}

/// The rings that a process has mapped, and no other of the living.
pub(crate) fn orphaned(pid: Pid, living: &[Pid]) -> Result<Vec<u64>> {
    let mut own = rings(pid)?;
    for other in living.iter().filter(|other| **other != pid) {
        let theirs = rings(*other)?;
        own.retain(|ring| !theirs.contains(ring));
    }
    Ok(own.into_iter().collect())
}

/// What a process has open; what is closed meanwhile is left out.
fn open(pid: Pid) -> Result<impl Iterator<Item = FDTarget>> {
    Ok(process(pid)?.fd()?.filter_map(|fd| Some(fd.ok()?.target)))
}

/// How many descriptors a process has open.
pub(crate) fn descriptors(pid: Pid) -> Result<usize> {
    Ok(process(pid)?.fd_count()?)
}

/// What they are, without the numbers that tell one from the other, and how many of each.
pub(crate) fn kinds(pid: Pid) -> Result<BTreeMap<String, usize>> {
    let mut kinds = BTreeMap::new();
    for target in open(pid)? {
        let mut kind = format!("{target:?}");
        kind.retain(|letter| !letter.is_ascii_digit());
        *kinds.entry(kind).or_default() += 1;
    }
    Ok(kinds)
}

/// The most unsent bytes of a process's TCP connections (IPv4): the other end has no room.
pub(crate) fn unsent(pid: Pid) -> Result<u32> {
    Ok(connections(pid)?.iter().map(|socket| socket.tx_queue).max().unwrap_or(0))
}

/// A process's TCP sockets (IPv4).
pub(crate) fn connections(pid: Pid) -> Result<Vec<TcpNetEntry>> {
    let own: BTreeSet<u64> = open(pid)?
        .filter_map(|target| if let FDTarget::Socket(inode) = target { Some(inode) } else { None })
        .collect();
    Ok(tcp()?.into_iter().filter(|socket| own.contains(&socket.inode)).collect())
}

/// Waits until something about a process holds; the time that took.
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
