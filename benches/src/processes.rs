//! The kernel's data about other processes: children, processor time.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Pid;

fn file(pid: Pid, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{}/{name}", pid.as_raw_nonzero()))
}

/// Reads a file of each thread; skips threads that end meanwhile.
fn of_threads(pid: Pid, name: &str) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(file(pid, "task")).context("the process has ended")?;
    let texts = entries.map(|entry| Ok(std::fs::read_to_string(entry?.path().join(name)).ok()));
    Ok(texts.collect::<std::io::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

pub(crate) fn children(pid: Pid) -> Result<Vec<Pid>> {
    let mut children = Vec::new();
    for text in of_threads(pid, "children")? {
        for child in text.split_whitespace() {
            children.extend(Pid::from_raw(child.parse()?));
        }
    }
    Ok(children)
}

/// Returns the only child process of `pid`: a daemon's worker.
pub(crate) fn only_child(pid: Pid) -> Result<Pid> {
    match children(pid)?[..] {
        [child] => Ok(child),
        ref children => bail!("the daemon has {} children, and one worker", children.len()),
    }
}

pub(crate) fn busy(pid: Pid) -> Result<Duration> {
    let mut sum = 0;
    for statistics in of_threads(pid, "schedstat")? {
        let nanoseconds = statistics.split_whitespace().next().context("schedstat is empty")?;
        sum += nanoseconds.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_children_and_time() {
        let own = rustix::process::getpid();
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        assert!(children(own).unwrap().contains(&Pid::from_child(&child)));
        assert!(busy(own).unwrap() > Duration::ZERO);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
