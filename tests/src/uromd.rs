//! A `uromd` process of a test's own, on a port of its own.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::built::built;

/// What tells a sanitizer what to do, where its reports go above all.
const SANITIZERS: [&str; 3] = ["ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"];

/// A running daemon. Dropping it kills it; [`stop`](Uromd::stop) ends it in order.
#[derive(Debug)]
pub struct Uromd {
    child: Child,
    address: String,
    // Kept open: a daemon whose output nobody holds would get a signal for writing to it.
    _output: BufReader<ChildStdout>,
    /// Closed when all that its processes logged is printed.
    log: Option<Mutex<Receiver<()>>>,
}

/// How long dropping it waits for the last lines of workers, which end with their daemon.
const LAST_LINES: Duration = Duration::from_secs(2);

impl Uromd {
    /// Starts a daemon that serves the plugins of one path. What it logs is part of the running
    /// test's output, which is shown when the test fails.
    pub fn start(plugin_path: impl AsRef<OsStr>) -> Result<Uromd> {
        Uromd::start_with(plugin_path, |command| command)
    }

    /// The same, after `set` has added arguments and variables, or has sent its log elsewhere.
    pub fn start_with(
        plugin_path: impl AsRef<OsStr>,
        set: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Uromd> {
        let mut command = Command::new(built("uromd")?);
        command.stderr(Stdio::piped());
        set(&mut command);
        Uromd::start_command(command, plugin_path)
    }

    /// Starts `command`, which is some `uromd`, on a port of its own.
    pub fn start_command(command: Command, plugin_path: impl AsRef<OsStr>) -> Result<Uromd> {
        Uromd::start_at(command, "127.0.0.1:0", plugin_path)
    }

    /// Starts `command`, which is some `uromd`, to listen at an address.
    pub fn start_at(
        mut command: Command,
        listen: &str,
        plugin_path: impl AsRef<OsStr>,
    ) -> Result<Uromd> {
        command
            .args(["--listen", listen])
            .env("UROM_PLUGIN_PATH", plugin_path)
            .stdout(Stdio::piped());
        // Workers find nothing of its environment that nobody asked for, and their reports would go
        // to some log.
        if std::env::var_os("UROM_SANITIZED").is_some() {
            command.args(SANITIZERS.iter().flat_map(|name| ["--worker-env", name]));
        }
        let program = command.get_program().to_owned();
        let mut child =
            command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let log = child.stderr.take().map(print).map(Mutex::new);
        let mut output = BufReader::new(child.stdout.take().context("uromd has no output")?);
        let mut line = String::new();
        output.read_line(&mut line).context("cannot read what uromd prints")?;
        let address = line.trim_end().strip_prefix("uromd: listening on ").map(str::to_owned);
        let mut daemon =
            Uromd { child, address: address.unwrap_or_default(), _output: output, log };
        ensure!(
            !daemon.address.is_empty(),
            "uromd printed {line:?} and not its address, and {:?}",
            daemon.child.try_wait()
        );
        Ok(daemon)
    }

    /// Where it listens: `127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(self.pid(), signal)?)
    }

    /// Ends it in order, with SIGTERM, and waits.
    pub fn stop(self) -> Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        self.wait()
    }

    pub fn wait(mut self) -> Result<ExitStatus> {
        Ok(self.child.wait()?)
    }
}

impl Drop for Uromd {
    fn drop(&mut self) {
        // It may have ended already; either way nothing of it is left.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(log) = &mut self.log {
            // Nothing is ever sent.
            let _ = log.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(LAST_LINES);
        }
    }
}

/// Prints a log as output of the running test, which the thread takes from its maker.
fn print(log: ChildStderr) -> Receiver<()> {
    let (printing, printed) = channel::<()>();
    std::thread::spawn(move || {
        let _printing = printing;
        for line in BufReader::new(log).split(b'\n').map_while(Result::ok) {
            eprintln!("{}", String::from_utf8_lossy(&line));
        }
    });
    printed
}
