//! A `uromd` of a test's own.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use urom_abi::DocaError;

use super::cargo;
use crate::error::{Error, Result};

/// What tells sanitizers, coverage and profilers in a program what to do, and where to write.
/// Workers find nothing of a daemon's environment that nobody asked for, and would write wherever
/// they are.
const TOOLS: [&str; 8] = [
    "ASAN_OPTIONS",
    "ASAN_SYMBOLIZER_PATH",
    "LLVM_PROFILE_FILE",
    "LSAN_OPTIONS",
    "MSAN_OPTIONS",
    "TSAN_OPTIONS",
    "TSAN_SYMBOLIZER_PATH",
    "UBSAN_OPTIONS",
];

/// A running service: the daemon `uromd` with its worker processes, on a port of its own of
/// 127.0.0.1.
///
/// Dropping it ends them. What they log from warnings on, plugins included, is part of the test's
/// output: `cargo test` shows it when the test fails.
#[derive(Debug)]
pub struct Uromd {
    child: Child,
    address: String,
    // Kept open: a daemon whose output nobody holds would get a signal for writing to it.
    output: BufReader<ChildStdout>,
    /// Closed when the last of its processes is gone and all that they logged is printed.
    log: Option<Receiver<()>>,
}

/// How long dropping it waits for the last lines of workers, which end with their daemon.
const LAST_LINES: Duration = Duration::from_secs(2);

impl Uromd {
    /// Builds the daemon and starts it with the plugins of `plugin_path`: what `UROM_PLUGIN_PATH`
    /// takes, such as a file that [`plugin`](super::plugin) gave, or several with `;` between them.
    ///
    /// # Errors
    /// When cargo cannot build it, or when it does not come up: it says why on standard error.
    pub fn start(plugin_path: impl AsRef<OsStr>) -> Result<Uromd> {
        let program = cargo::uromd()?;
        let mut command = Command::new(&program);
        command.args(["--listen", "127.0.0.1:0", "--log-level", "40"]);
        command.env("UROM_PLUGIN_PATH", plugin_path).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        for name in TOOLS.iter().filter(|name| std::env::var_os(name).is_some()) {
            command.args(["--worker-env", name]);
        }
        let failed = |why| {
            Error::new(DocaError::INITIALIZATION, format!("starting {}", program.display()))
                .why(why)
        };
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let Some(output) = child.stdout.take() else {
            return Err(failed("it has no standard output".to_owned()));
        };
        let log = child.stderr.take().map(print);
        let mut uromd =
            Uromd { child, address: String::new(), output: BufReader::new(output), log };
        let mut line = String::new();
        uromd.output.read_line(&mut line).map_err(|error| failed(error.to_string()))?;
        match line.trim_end().strip_prefix("uromd: listening on ") {
            Some(address) => uromd.address = address.to_owned(),
            None => return Err(failed(format!("it printed {line:?} and not its address"))),
        }
        Ok(uromd)
    }

    /// Where it listens, `127.0.0.1:PORT`: what
    /// [`ServiceBuilder::address`](crate::ServiceBuilder::address) takes.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Uromd {
    fn drop(&mut self) {
        // It may have ended already; either way nothing of it is left, because workers end when
        // their daemon does.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(log) = &self.log {
            // Nothing is ever sent.
            let _ = log.recv_timeout(LAST_LINES);
        }
    }
}

/// Prints the log as output of the running test, which a thread has in common with the one that
/// starts it.
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
