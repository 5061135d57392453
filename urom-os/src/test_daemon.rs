//! [`TestDaemon`]: a `uromd` that a test starts.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The variables of sanitizers, coverage and profilers, which say where these write. Workers have
/// nothing of a daemon's environment without `--worker-env`.
pub const TOOLS: [&str; 8] = [
    "ASAN_OPTIONS",
    "ASAN_SYMBOLIZER_PATH",
    "LLVM_PROFILE_FILE",
    "LSAN_OPTIONS",
    "MSAN_OPTIONS",
    "TSAN_OPTIONS",
    "TSAN_SYMBOLIZER_PATH",
    "UBSAN_OPTIONS",
];

/// How long dropping a daemon waits for the last lines of workers, which end with their daemon.
const LAST_LINES: Duration = Duration::from_secs(2);

/// A running daemon. Dropping it kills it.
#[derive(Debug)]
pub struct TestDaemon {
    /// Its process.
    pub child: Child,
    /// The address where it listens.
    pub address: String,
    // Kept open: a daemon whose output has no reader gets a signal for writing to it.
    _output: BufReader<ChildStdout>,
    /// Closed when all that its processes logged is printed.
    log: Option<Mutex<Receiver<()>>>,
}

impl TestDaemon {
    /// Starts `command`, some `uromd`, with a path of plugins, to listen at an address. If the
    /// command pipes its log, each line is printed as output of the running test; `line` gets it
    /// first.
    ///
    /// # Errors
    /// The daemon cannot be started, or does not print its address.
    pub fn start(
        mut command: Command,
        listen: &str,
        plugin_path: impl AsRef<std::ffi::OsStr>,
        line: impl FnMut(&str) + Send + 'static,
    ) -> io::Result<TestDaemon> {
        command.args(["--listen", listen]).env("UROM_PLUGIN_PATH", plugin_path);
        for name in TOOLS.iter().filter(|name| std::env::var_os(name).is_some()) {
            command.args(["--worker-env", name]);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let log = child.stderr.take().map(|log| Mutex::new(print(log, line)));
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (output, address) = (BufReader::new(output), String::new());
        let mut daemon = TestDaemon { child, address, _output: output, log };
        let mut said = String::new();
        daemon._output.read_line(&mut said)?;
        let address = said.trim_end().strip_prefix("uromd: listening on ").ok_or_else(|| {
            io::Error::other(format!("it printed {said:?}, which is not its address"))
        })?;
        daemon.address = address.to_owned();
        Ok(daemon)
    }
}

impl Drop for TestDaemon {
    fn drop(&mut self) {
        // It may have ended already. Its workers end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(log) = &mut self.log {
            // Nothing is ever sent.
            let _ = log.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(LAST_LINES);
        }
    }
}

/// Prints a log as output of the running test, which the thread takes from its maker.
fn print(log: ChildStderr, mut line: impl FnMut(&str) + Send + 'static) -> Receiver<()> {
    let (printing, printed) = channel::<()>();
    std::thread::spawn(move || {
        let _printing = printing;
        for bytes in BufReader::new(log).split(b'\n').map_while(Result::ok) {
            let text = String::from_utf8_lossy(&bytes);
            line(&text);
            eprintln!("{text}");
        }
    });
    printed
}
