//! Waits for the ends of processes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use procfs::process::{Process, StatFlags};
use procfs::{ProcError, ProcResult};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::vitals::{LOOK_AGAIN, until};

const MOMENT: Duration = Duration::from_millis(100);

/// Time for the kernel to end a dying process: minutes under load, when it reports `workqueue
/// lockup` or `kthread starved`.
const KERNEL: Duration = Duration::from_secs(180);

/// Waits for the end of a process, which need not be a child. The process must be dying within the
/// limit; the kernel's additional time is printed.
pub(crate) fn wait_for_end(pid: Pid, limit: Duration, what: &str) -> Result<()> {
    if ends(pid, limit)? {
        return Ok(());
    }
    until(MOMENT, what, || is_dying(pid))
        .with_context(|| format!("{what} (process {pid:?}) did not end within {limit:?}"))?;
    let begin = Instant::now();
    ensure!(
        ends(pid, KERNEL)?,
        "{what} (process {pid:?}) is dying, and was not gone within {KERNEL:?}"
    );
    println!("  {what}: it was dying, and the kernel took {:.1?} more", begin.elapsed());
    Ok(())
}

/// Whether each thread of a process exits or was killed.
fn is_dying(pid: Pid) -> Result<bool> {
    let process = Process::new(pid.as_raw_nonzero().get());
    let Some(threads) = if_there(process.and_then(|process| process.tasks()))? else {
        return Ok(true);
    };
    for thread in threads {
        let read = thread.and_then(|thread| Ok((thread.stat()?, thread.status()?)));
        let Some((stat, status)) = if_there(read)? else { continue };
        let exits = StatFlags::from_bits_retain(stat.flags).contains(StatFlags::PF_EXITING);
        let is_killed = status.sigpnd & 1 << (Signal::KILL.as_raw() - 1) != 0;
        if !exits && !is_killed {
            return Ok(false);
        }
    }
    Ok(true)
}

fn if_there<T>(said: ProcResult<T>) -> Result<Option<T>> {
    match said {
        Err(ProcError::NotFound(_)) => Ok(None),
        said => Ok(Some(said.context("asking the kernel for the threads of a process")?)),
    }
}

fn ends(pid: Pid, limit: Duration) -> Result<bool> {
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(Errno::SRCH) => return Ok(true),
        Err(error) => return Err(error).context("opening a process"),
    };
    let timeout = Timespec::try_from(limit).context("the time limit is out of range")?;
    Ok(poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout))? != 0)
}

/// Crashes a process with SIGSEGV. The first signal only resets Rust's handler.
pub(crate) fn crash(pid: Pid) -> Result<()> {
    loop {
        kill_process(pid, Signal::SEGV)?;
        if ends(pid, LOOK_AGAIN)? {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_runs_is_not_dying_and_one_that_was_killed_is() {
        let mut process = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = Pid::from_child(&process);
        let error = wait_for_end(pid, Duration::from_millis(10), "the sleeper").unwrap_err();
        assert!(error.to_string().contains("did not end within 10ms"), "{error}");
        process.kill().unwrap();
        wait_for_end(pid, Duration::from_secs(10), "the sleeper").unwrap();
        assert!(is_dying(pid).unwrap(), "a zombie");
        process.wait().unwrap();
        assert!(is_dying(pid).unwrap(), "gone");
    }

    #[test]
    fn a_stopped_process_dies_only_once_it_is_killed() {
        let mut process = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = Pid::from_child(&process);
        kill_process(pid, Signal::STOP).unwrap();
        assert!(!is_dying(pid).unwrap());
        process.kill().unwrap();
        until(Duration::from_secs(10), "the sleeper dies", || is_dying(pid)).unwrap();
        process.wait().unwrap();
    }
}
