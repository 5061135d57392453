//! What a process holds: its descriptors and its memory, as the kernel counts them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
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

pub(crate) fn file(pid: Pid, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{}/{name}", pid.as_raw_nonzero()))
}

pub(crate) fn vitals(pid: Pid) -> Result<Vitals> {
    let status = std::fs::read_to_string(file(pid, "status"))?;
    let memory = kilobytes(&status, "RssAnon:");
    let memory = memory.with_context(|| format!("process {pid:?} is gone, or has no RssAnon"))?;
    Ok(Vitals { descriptors: descriptors(pid)?, memory })
}

/// What a process has in memory that is no file, in KiB: `RssAnon` and `RssShmem`.
pub(crate) fn resident(pid: Pid) -> Result<u64> {
    let status = std::fs::read_to_string(file(pid, "status"))?;
    let [own, shared] = ["RssAnon:", "RssShmem:"].map(|name| kilobytes(&status, name));
    let sum = own.zip(shared).map(|(own, shared)| own + shared);
    sum.with_context(|| format!("process {pid:?} is gone, or has no RssAnon"))
}

/// Begins to watch for a process's peak of memory; what it has now, in KiB, files and all.
pub(crate) fn watch_peak(pid: Pid) -> Result<u64> {
    // 5 sets VmHWM back to what is resident now: see proc_pid_clear_refs(5).
    std::fs::write(file(pid, "clear_refs"), "5")
        .context("cannot set the peak of a process back")?;
    peak(pid)
}

/// The most it had since (`VmHWM`), in KiB.
pub(crate) fn peak(pid: Pid) -> Result<u64> {
    let status = std::fs::read_to_string(file(pid, "status"))?;
    kilobytes(&status, "VmHWM:")
        .with_context(|| format!("process {pid:?} is gone, or has no VmHWM"))
}

/// The value of a line of `status`.
fn kilobytes(status: &str, name: &str) -> Option<u64> {
    let text = status.lines().find_map(|line| line.strip_prefix(name))?;
    text.trim().strip_suffix(" kB")?.parse().ok()
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

/// The pieces of UCX's shared memory that a process has attached: device and number.
pub(crate) fn attached(pid: Pid) -> Result<BTreeSet<String>> {
    let maps = std::fs::read_to_string(file(pid, "maps"))?;
    let pieces = maps.lines().filter(|line| line.contains("/ucx_shm_") || line.contains("/SYSV"));
    Ok(pieces.map(|line| line.split_whitespace().skip(3).take(2).collect()).collect())
}

/// The pieces of UCX's shared memory that a process has attached of processes that are gone.
pub(crate) fn orphaned(pid: Pid, living: &[Pid]) -> Result<Vec<String>> {
    let numbers: Vec<String> = living.iter().map(|pid| pid.as_raw_nonzero().to_string()).collect();
    // Of System V's the kernel says who made them: number second, process fifth in the line.
    let table = std::fs::read_to_string("/proc/sysvipc/shm")?;
    let lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let made = lines
        .filter(|words| words.get(4).is_some_and(|maker| numbers.iter().any(|pid| pid == maker)));
    let mut made: BTreeSet<String> = made.map(|words| words[1].to_owned()).collect();
    // Of the others who made them keeps a descriptor, by which peers attach them.
    for pid in living {
        made.extend(open_files(*pid)?.filter(|file| file.contains("/ucx_shm_")));
    }
    let maps = std::fs::read_to_string(file(pid, "maps"))?;
    let pieces = maps.lines().filter_map(|line| {
        // Behind the address, the rights and the offset: device, inode and name.
        let (number, name) = line.split_once(':')?.1.split_once(' ')?.1.trim().split_once(' ')?;
        match name.trim() {
            name if name.contains("/SYSV") => Some(number.to_owned()),
            name if name.contains("/ucx_shm_") => Some(name.to_owned()),
            _ => None,
        }
    });
    let orphaned: BTreeSet<String> = pieces.filter(|piece| !made.contains(piece)).collect();
    Ok(orphaned.into_iter().collect())
}

/// What a process has open, by names; what is closed meanwhile is left out.
fn open_files(pid: Pid) -> Result<impl Iterator<Item = String>> {
    let entries = std::fs::read_dir(file(pid, "fd"))?;
    Ok(entries.filter_map(|entry| {
        Some(std::fs::read_link(entry.ok()?.path()).ok()?.display().to_string())
    }))
}

/// How many descriptors a process has open.
pub(crate) fn descriptors(pid: Pid) -> Result<usize> {
    Ok(std::fs::read_dir(file(pid, "fd"))?.count())
}

/// The most unsent bytes of a process's TCP connections (IPv4): the other end has no room.
pub(crate) fn unsent(pid: Pid) -> Result<u64> {
    let queues = sockets(pid)?.into_iter().filter_map(|words| {
        // As hexadecimal "sending:received".
        u64::from_str_radix(words.get(4)?.split_once(':')?.0, 16).ok()
    });
    Ok(queues.max().unwrap_or(0))
}

/// A process's TCP sockets (IPv4), each with both ends and its state as the kernel writes them.
pub(crate) fn connections(pid: Pid) -> Result<Vec<String>> {
    Ok(sockets(pid)?.into_iter().map(|words| words[1..4].join(" ")).collect())
}

/// A process's lines of the kernel's table of TCP sockets (IPv4), in words: see proc_net(5).
fn sockets(pid: Pid) -> Result<Vec<Vec<String>>> {
    let own: BTreeSet<String> = open_files(pid)?.collect();
    let table = std::fs::read_to_string("/proc/net/tcp")?;
    let lines =
        table.lines().map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    // The tenth word is the socket's inode.
    let is_own = |words: &Vec<String>| {
        words.get(9).is_some_and(|inode| own.contains(&format!("socket:[{inode}]")))
    };
    Ok(lines.filter(is_own).collect())
}

/// Whether a process has a thread of this name.
pub(crate) fn has_thread(pid: Pid, name: &str) -> Result<bool> {
    let threads = std::fs::read_dir(file(pid, "task"))?;
    // One that has ended since has no name.
    let names =
        threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    Ok(names.into_iter().any(|found| found.trim_end() == name))
}

/// What they are, without the numbers that tell one from the other, and how many of each.
pub(crate) fn kinds(pid: Pid) -> Result<BTreeMap<String, usize>> {
    let mut kinds = BTreeMap::new();
    for target in open_files(pid)? {
        let kind = target.split(['[', '_']).next().unwrap_or_default().to_owned();
        *kinds.entry(kind).or_default() += 1;
    }
    Ok(kinds)
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
