//! A private `uromd` process.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use urom_os::test_daemon::TestDaemon;

use super::TIMEOUT;
use super::plugins::Plugins;

pub(crate) struct Uromd {
    process: TestDaemon,
    pub(crate) address: SocketAddr,
    log: Arc<Log>,
    _plugins: Option<Plugins>,
}

#[derive(Default)]
struct Log {
    lines: Mutex<Vec<String>>,
    more: Condvar,
}

pub(crate) fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_uromd"))
}

/// Sets close-on-exec on all descriptors except the standard streams.
fn close_at_exec() -> io::Result<()> {
    const FIRST: u32 = 3;
    let flags = i32::try_from(libc::CLOSE_RANGE_CLOEXEC).map_err(|_| io::ErrorKind::Other)?;
    // SAFETY: a system call on plain numbers, which changes no memory.
    match unsafe { libc::close_range(FIRST, u32::MAX, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Uromd {
    pub(crate) fn start(plugins: &Plugins) -> Uromd {
        Uromd::start_with(&[plugins.path().to_str().unwrap()], &[])
    }

    pub(crate) fn obedient(args: &[&str]) -> Uromd {
        let plugins = Plugins::obedient();
        let mut uromd = Uromd::start_with(&[plugins.path().to_str().unwrap()], args);
        uromd._plugins = Some(plugins);
        uromd
    }

    /// Starts a daemon with these directories and arguments, on a free loopback port.
    pub(crate) fn start_with(directories: &[&str], args: &[&str]) -> Uromd {
        Uromd::start_at("127.0.0.1:0", directories, args)
    }

    pub(crate) fn start_at(listen: &str, directories: &[&str], args: &[&str]) -> Uromd {
        Uromd::start_as(command(), listen, directories, args)
    }

    pub(crate) fn start_with_env(variables: &[(&str, String)], directories: &[&str]) -> Uromd {
        let mut command = command();
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        Uromd::start_as(command, "127.0.0.1:0", directories, &[])
    }

    /// Starts a daemon with a shell's `ulimit`.
    pub(crate) fn start_limited(ulimit: &str, directories: &[&str], args: &[&str]) -> Uromd {
        let script = format!("ulimit {ulimit} && exec \"$0\" \"$@\"");
        Uromd::start_behind(&["sh", "-c", &script], directories, args)
    }

    /// Starts a daemon through another program, which execs the last arguments.
    pub(crate) fn start_behind(words: &[&str], directories: &[&str], args: &[&str]) -> Uromd {
        let mut program = Command::new(words[0]);
        program.args(&words[1..]).arg(command().get_program());
        Uromd::start_as(program, "127.0.0.1:0", directories, args)
    }

    fn start_as(mut command: Command, listen: &str, directories: &[&str], args: &[&str]) -> Uromd {
        command.env_remove("UROM_KEY_FILE").args(["-l", "60"]).args(args).stderr(Stdio::piped());
        // UCX in this process, where other tests run, leaves its sockets to children.
        // SAFETY: after the fork, the closure makes one system call, without locks or allocations.
        unsafe { command.pre_exec(close_at_exec) };
        let log = Arc::new(Log::default());
        let collected = Arc::clone(&log);
        let collect = move |line: &str| {
            collected.lines.lock().unwrap().push(line.to_owned());
            collected.more.notify_all();
        };
        let process = TestDaemon::start(command, listen, directories.join(";"), collect).unwrap();
        Uromd { address: process.address.parse().unwrap(), process, log, _plugins: None }
    }

    pub(crate) fn logged(&self, parts: &[&str]) -> String {
        self.nth_logged(1, parts)
    }

    pub(crate) fn logged_times(&self, count: usize, part: &str) {
        self.nth_logged(count, &[part]);
    }

    fn nth_logged(&self, nth: usize, parts: &[&str]) -> String {
        let deadline = Instant::now() + TIMEOUT;
        let mut lines = self.log.lines.lock().unwrap();
        let holds = |line: &&String| parts.iter().all(|part| line.contains(part));
        loop {
            if let Some(line) = lines.iter().filter(holds).nth(nth - 1) {
                return line.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no {nth} lines with {parts:?} in:\n{}", lines.join("\n"));
            lines = self.log.more.wait_timeout(lines, left).unwrap().0;
        }
    }

    pub(crate) fn lines_with(&self, part: &str) -> usize {
        self.lines_with_all(&[part])
    }

    pub(crate) fn lines_with_all(&self, parts: &[&str]) -> usize {
        let holds = |line: &&String| parts.iter().all(|part| line.contains(part));
        self.log.lines.lock().unwrap().iter().filter(holds).count()
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.process.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        wait(&mut self.process.child)
    }
}

pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < deadline, "uromd does not end");
        std::thread::yield_now();
    }
}

pub(crate) fn full_pipe() -> (PipeReader, PipeWriter) {
    let (read, mut write) = io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&write, true).unwrap();
    while write.write(b"unread ").is_ok() {}
    rustix::io::ioctl_fionbio(&write, false).unwrap();
    (read, write)
}

pub(crate) fn wait_gone(pid: u64) {
    let deadline = Instant::now() + TIMEOUT;
    let stat = format!("/proc/{pid}/stat");
    loop {
        match std::fs::read_to_string(&stat) {
            Err(_) => return,
            // A zombie counts as gone; only its parent has not reaped it.
            Ok(text)
                if text.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z') =>
            {
                return;
            }
            Ok(_) => {}
        }
        assert!(Instant::now() < deadline, "process {pid} does not end");
        std::thread::yield_now();
    }
}
