//! A worker's process, from its start until it is reaped.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Sender};

use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, pidfd_open,
    pidfd_send_signal, waitid,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

#[derive(Debug)]
pub(crate) struct WorkerProcess {
    pid: Pid,
    end: AsyncFd<OwnedFd>,
    reaper: Reaper,
}

impl WorkerProcess {
    pub(crate) fn start(command: &mut Command, reaper: &Reaper) -> io::Result<WorkerProcess> {
        let mut child = command.spawn()?;
        let pid = Pid::from_child(&child);
        let watched = pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from).and_then(watch);
        match watched {
            Ok(end) => Ok(WorkerProcess { pid, end, reaper: reaper.clone() }),
            Err(error) => {
                let _ = child.kill();
                reaper.take_back(pid);
                Err(error)
            }
        }
    }

    pub(crate) fn id(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Waits for the end. The process remains a zombie until `self` is dropped.
    pub(crate) async fn ended(&self) -> io::Result<ExitStatus> {
        loop {
            let mut readable = self.end.readable().await?;
            let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            match waitid(WaitId::Pid(self.pid), look)? {
                Some(end) => return Ok(status(&end)),
                None => readable.clear_ready(),
            }
        }
    }

    pub(crate) fn kill(&self) {
        // The number is not reused before reaping. The process may lack its own group.
        let _ = kill_process_group(self.pid, Signal::KILL);
        let _ = pidfd_send_signal(self.end.get_ref(), Signal::KILL);
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.kill();
        self.reaper.take_back(self.pid);
    }
}

fn watch(pidfd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the `AsyncFd` owns the `OwnedFd`, whose descriptor stays the same until it is
    // dropped.
    Ok(unsafe { AsyncFd::register_with_interest(pidfd, Interest::READABLE) }?)
}

fn status(end: &WaitIdStatus) -> ExitStatus {
    const CORE: i32 = 0x80;
    let raw = match (end.exit_status(), end.terminating_signal()) {
        (Some(code), _) => code << 8,
        (None, Some(signal)) if end.dumped() => signal | CORE,
        (None, signal) => signal.unwrap_or_default(),
    };
    ExitStatus::from_raw(raw)
}

/// Reaps processes on a separate thread: the kernel was seen to spin for 3 s, because a process's
/// last thread waited for its processor behind a busy worker. Heartbeats must not wait for that.
#[derive(Debug, Clone)]
pub(crate) struct Reaper(Sender<Pid>);

impl Reaper {
    /// Starts the thread, which ends after the last process was dropped.
    pub(crate) fn start() -> io::Result<Reaper> {
        let (sender, done) = mpsc::channel();
        std::thread::Builder::new().name("urom-reaper".to_owned()).spawn(move || {
            for pid in done {
                let _ = retry_on_intr(|| waitid(WaitId::Pid(pid), WaitIdOptions::EXITED));
            }
        })?;
        Ok(Reaper(sender))
    }

    fn take_back(&self, pid: Pid) {
        let _ = self.0.send(pid);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::process::CommandExt;
    use std::path::{Path, PathBuf};
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command
    }

    fn state(process: &Path) -> Option<char> {
        let stat = std::fs::read_to_string(process.join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    }

    /// Polls, because reaping is not reported. The kernel may take seconds.
    fn wait_until_taken_back(process: &Path) {
        let begin = Instant::now();
        while let Some(state) = state(process) {
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "{} is there, state {state}",
                process.display()
            );
            std::thread::yield_now();
        }
    }

    fn directory(process: &WorkerProcess) -> PathBuf {
        PathBuf::from(format!("/proc/{}", process.id()))
    }

    #[tokio::test]
    async fn every_end_is_told_as_the_standard_library_tells_it() {
        let reaper = Reaper::start().unwrap();
        for script in
            ["exit 0", "exit 3", "exit 255", "kill -KILL $$", "kill -SEGV $$", "kill -TERM $$"]
        {
            let process = WorkerProcess::start(&mut shell(script), &reaper).unwrap();
            let told = process.ended().await.unwrap();
            let expected = shell(script).status().unwrap();
            assert_eq!(
                (told.code(), told.signal()),
                (expected.code(), expected.signal()),
                "{script}"
            );
            assert_eq!(told.to_string(), expected.to_string(), "{script}");
            assert_eq!(process.ended().await.unwrap(), told, "asked again");
        }
    }

    #[tokio::test]
    async fn the_loop_that_hears_of_an_end_does_not_take_the_process_back() {
        let reaper = Reaper::start().unwrap();
        let process = WorkerProcess::start(&mut shell("exit 0"), &reaper).unwrap();
        process.ended().await.unwrap();
        let directory = directory(&process);
        assert_eq!(state(&directory), Some('Z'));
        drop(process);
        wait_until_taken_back(&directory);
    }

    #[tokio::test]
    async fn one_that_takes_long_to_take_back_holds_up_nobody() {
        let reaper = Reaper::start().unwrap();
        let slow = WorkerProcess::start(&mut shell("exec sleep 1000"), &reaper).unwrap();
        reaper.take_back(slow.pid);
        let quick = WorkerProcess::start(&mut shell("exit 3"), &reaper).unwrap();
        assert_eq!(quick.ended().await.unwrap().code(), Some(3));
        let directory = directory(&quick);
        drop(quick);
        assert_eq!(state(&directory), Some('Z'), "the thread should be at the slow plugin");
        slow.kill();
        wait_until_taken_back(&directory);
    }

    #[tokio::test]
    async fn a_process_that_nobody_needs_is_killed_and_taken_back() {
        let reaper = Reaper::start().unwrap();
        let process = WorkerProcess::start(&mut shell("exec sleep 1000"), &reaper).unwrap();
        let directory = directory(&process);
        assert_ne!(state(&directory), Some('Z'));
        drop(process);
        wait_until_taken_back(&directory);
    }

    #[tokio::test]
    async fn forked_processes_end_with_their_parent() {
        let reaper = Reaper::start().unwrap();
        let (mut told, tell) = io::pipe().unwrap();
        let mut command = shell("sleep 1000 & exit 0");
        command.stdout(tell).process_group(0);
        let process = WorkerProcess::start(&mut command, &reaper).unwrap();
        drop(command);
        process.ended().await.unwrap();
        drop(process);
        assert_eq!(told.read_to_end(&mut Vec::new()).unwrap(), 0);
    }

    #[tokio::test]
    async fn a_wait_that_was_cancelled_can_be_taken_up_again() {
        let reaper = Reaper::start().unwrap();
        let process = WorkerProcess::start(&mut shell("exec sleep 1000"), &reaper).unwrap();
        assert!(
            tokio::time::timeout(Duration::from_millis(20), process.ended()).await.is_err(),
            "it ended"
        );
        process.kill();
        assert_eq!(process.ended().await.unwrap().signal(), Some(9));
        process.kill();
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_an_error() {
        let reaper = Reaper::start().unwrap();
        let error =
            WorkerProcess::start(&mut Command::new("/no/such/program"), &reaper).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
