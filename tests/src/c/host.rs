//! Runs a C host with a service and a time limit, and collects its output.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

use super::service::Service;
use crate::command::without_service;

/// Enough for any test on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A command that starts every program: a memory checker and its arguments, separated by blanks.
const LAUNCHER_VARIABLE: &str = "UROM_C_LAUNCHER";

/// Factor of the time limit under such a command.
const SLOWER: u32 = 10;

/// The words of [`LAUNCHER_VARIABLE`]. A memory checker does not work with sanitized programs.
pub(super) fn launcher() -> Option<Vec<String>> {
    let words = std::env::var(LAUNCHER_VARIABLE).ok()?;
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    (!words.is_empty()).then_some(words)
}

pub fn launched(program: &Path) -> OsString {
    let words = launcher().into_iter().flatten().map(OsString::from);
    words.chain([program.into()]).collect::<Vec<_>>().join(OsStr::new(" "))
}

const LSAN_OPTIONS: &str = concat!(
    "print_suppressions=0:suppressions=",
    env!("CARGO_MANIFEST_DIR"),
    "/c/lsan.suppressions"
);

#[derive(Debug, Clone)]
#[must_use]
pub struct Host {
    program: PathBuf,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    limit: Duration,
}

#[derive(Debug, Clone)]
pub struct Output {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Host {
    /// A program made by [`Source::program`](super::Source::program).
    pub fn new(program: impl Into<PathBuf>) -> Host {
        Host {
            program: program.into(),
            arguments: Vec::new(),
            variables: Vec::new(),
            limit: TIME_LIMIT,
        }
    }

    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Host {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Host {
        self.variables.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Disables leak checks of the address sanitizer and valgrind, for programs that exit without
    /// cleanup.
    pub fn leaving_memory(self) -> Host {
        self.env("ASAN_OPTIONS", "detect_leaks=0").env("VALGRIND_OPTS", "--leak-check=no")
    }

    pub fn limit(mut self, limit: Duration) -> Host {
        self.limit = limit;
        self
    }

    /// Runs the program without input until it ends or the time limit expires.
    pub fn run(&self, service: &Service) -> Result<Output> {
        let launcher = launcher();
        let limit = self.limit * if launcher.is_some() { SLOWER } else { 1 };
        let mut words = launcher.unwrap_or_default().into_iter().map(OsString::from);
        let mut words = words.by_ref().chain([self.program.clone().into_os_string()]);
        let mut command = Command::new(words.next().context("a program")?);
        command.args(words).args(&self.arguments);
        if std::env::var_os("LSAN_OPTIONS").is_none() {
            command.env("LSAN_OPTIONS", LSAN_OPTIONS);
        }
        without_service(&mut command)
            .envs(service.environment())
            .envs(self.variables.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let name = self.program.display();
        let child = command.process_group(0).spawn();
        let mut group = Group(child.with_context(|| format!("cannot start {name}"))?);
        let stdout = group.0.stdout.take().map(reader);
        let stderr = group.0.stderr.take().map(reader);
        let ended = group.ends(limit).with_context(|| format!("cannot wait for {name}"))?;
        // Remaining children would hold the pipes open.
        let status = group.kill()?;
        let text = |thread: Option<JoinHandle<Vec<u8>>>| {
            let bytes = thread.and_then(|thread| thread.join().ok()).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let output = Output { status, stdout: text(stdout), stderr: text(stderr) };
        ensure!(ended, "{name} did not end within {limit:?}\n{}", output.words());
        Ok(output)
    }
}

struct Group(Child);

impl Group {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    fn ends(&self, limit: Duration) -> Result<bool> {
        let handle = rustix::process::pidfd_open(self.pid(), PidfdFlags::empty())?;
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut watched = [PollFd::new(&handle, PollFlags::IN)];
            match rustix::event::poll(&mut watched, Some(&Timespec::try_from(left)?)) {
                Ok(0) if left.is_zero() => return Ok(false),
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Kills the group. The group id stays valid until the program, which may have left the group,
    /// is reaped.
    fn kill(&mut self) -> Result<ExitStatus> {
        let _ = rustix::process::kill_process_group(self.pid(), Signal::KILL);
        let _ = self.0.kill();
        Ok(self.0.wait()?)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // After a wait the id may be reused.
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            let _ = self.kill();
        }
    }
}

impl Output {
    /// Requires a successful exit without sanitizer reports.
    pub fn success(self) -> Result<Output> {
        if !self.status.success() || self.stderr.contains("Sanitizer") {
            bail!("the program ended with {}\n{}", self.status, self.words());
        }
        Ok(self)
    }

    fn words(&self) -> String {
        format!("--- standard output:\n{}--- standard error:\n{}---", self.stdout, self.stderr)
    }
}

fn reader(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // Partial output is still useful after an error.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}
