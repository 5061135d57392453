//! How processes end, and when.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::vitals::{LOOK_AGAIN, file, until};

const MOMENT: Duration = Duration::from_millis(100);

/// How long the kernel may take over a process that is dying. Under load a kernel was seen to keep
/// threads of its own waiting for a minute and more, as it reported itself ("workqueue lockup",
/// "kthread starved"), while processes had their turns.
const KERNEL: Duration = Duration::from_secs(180);

/// Waits for the end of a process, which need not be a child. Within the limit it must at least be
/// dying, which nothing keeps it from any more; how long the kernel then takes is printed.
pub(crate) fn wait_for_end(pid: Pid, limit: Duration, what: &str) -> Result<()> {
    if ends(pid, limit)? {
        return Ok(());
    }
    // There is a moment between the signal and the exit in which neither shows.
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

/// Whether a process exits or was killed: none of its threads runs an instruction any more.
fn is_dying(pid: Pid) -> Result<bool> {
    // One that is gone, or goes meanwhile, is beyond it, too.
    let Some(threads) = if_there(std::fs::read_dir(file(pid, "task")))? else { return Ok(true) };
    for thread in threads {
        let Some(thread) = if_there(thread)? else { continue };
        let read = |name: &str| if_there(std::fs::read_to_string(thread.path().join(name)));
        let (Some(stat), Some(status)) = (read("stat")?, read("status")?) else { continue };
        if !exits(&stat)? && !is_killed(&status)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What /proc says, if the process or thread is still there to be asked.
fn if_there<T>(said: std::io::Result<T>) -> Result<Option<T>> {
    match said {
        Ok(said) => Ok(Some(said)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Ok(None),
        Err(error) => Err(error).context("asking the kernel for the threads of a process"),
    }
}

/// Whether a thread is exiting or a zombie: see proc_pid_stat(5).
fn exits(stat: &str) -> Result<bool> {
    const PF_EXITING: u64 = 4;
    // The seventh word behind the name, which may have anything in it.
    let flags = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(6));
    let flags: u64 =
        flags.context("a thread's stat is too short")?.parse().context("a thread's flags")?;
    Ok(flags & PF_EXITING != 0)
}

/// Whether SIGKILL waits for a thread: see proc_pid_status(5).
fn is_killed(status: &str) -> Result<bool> {
    let pending = status.lines().find_map(|line| line.strip_prefix("SigPnd:"));
    let pending = pending.context("a thread's status has no SigPnd")?.trim();
    let pending = u64::from_str_radix(pending, 16).context("a thread's signals")?;
    Ok(pending & 1 << (Signal::KILL.as_raw() - 1) != 0)
}

fn ends(pid: Pid, limit: Duration) -> Result<bool> {
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        // It is gone and taken back already.
        Err(Errno::SRCH) => return Ok(true),
        Err(error) => return Err(error).context("opening a process"),
    };
    let timeout = Timespec::try_from(limit).context("the time limit is out of range")?;
    Ok(poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout))? != 0)
}

/// Crashes a process with SIGSEGV. The first one, which no bad access stands behind, only makes
/// Rust's handler give way to the kernel's.
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

    #[test]
    fn a_kill_that_waits_is_told_from_other_signals() {
        assert!(is_killed("Name:\tx\nSigPnd:\t0000000000000100\nShdPnd:\t0\n").unwrap());
        assert!(!is_killed("Name:\tx\nSigPnd:\t0000000000004200\nShdPnd:\t100\n").unwrap());
        is_killed("Name:\tx\n").unwrap_err();
        assert!(exits("7 (a) b (c) R 1 1 1 0 -1 4194308 1").unwrap());
        assert!(!exits("7 (a 4 4 4 4 4 4) R 1 1 1 0 -1 4194304 1").unwrap());
        exits("7 (a) R").unwrap_err();
    }
}
