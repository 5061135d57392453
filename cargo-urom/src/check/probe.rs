//! Loads a plugin and calls its two functions in a process of its own: what crashes or hangs there is a finding.
//!
//! The process is this program, started as `cargo-urom probe FILE`. It writes one line of JSON for each step it has done.

use std::ffi::OsStr;
use std::fmt;
use std::io::{Read, Seek, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal};
use serde::{Deserialize, Serialize};
use urom_abi::plugin::{GET_IFACE_SYMBOL, GET_VERSION_SYMBOL, PluginIface};
use urom_service::plugin_file::{Loaded, PluginFileError};

use super::finding::Finding;

/// The verb of the child; for this program alone.
pub(crate) const PROBE: &str = "probe";

/// How long a plugin may take for all of it, as a rule.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// How many characters of what a plugin writes before it crashes are told.
const SAID: usize = 400;

/// How many bytes of it are looked at: it may have written for as long as it was let.
const READ: u64 = 1 << 16;

/// Where the child is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Load,
    Version,
    Iface,
    Exit,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Load => f.write_str("while it was loaded"),
            Stage::Version => write!(f, "in `{GET_VERSION_SYMBOL}`"),
            Stage::Iface => write!(f, "in `{GET_IFACE_SYMBOL}`"),
            Stage::Exit => f.write_str("after all had been asked, while it exited"),
        }
    }
}

/// What the child tells.
#[derive(Debug, Serialize, Deserialize)]
enum Step {
    Loaded,
    Version(u64),
    Iface { word: u64, missing: Vec<String> },
    Refused(String),
    NoSymbol(String),
    Failed { symbol: String, code: String },
}

/// What the functions gave.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// The plugin's version.
    pub(crate) version: Option<u64>,
    /// The version word of its interface.
    pub(crate) word: Option<u64>,
    pub(crate) findings: Vec<Finding>,
}

/// Tries a file in a child process.
///
/// # Errors
/// There can be no such process.
pub(crate) fn probe(file: &Path, limit: Duration) -> Result<Answers> {
    // The loader looks for a bare name elsewhere.
    let file = std::path::absolute(file)?;
    let (mut told, mut said) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut child = Command::new("/proc/self/exe")
        .arg0("cargo-urom")
        .args([OsStr::new(PROBE), file.as_os_str()])
        .stdin(Stdio::null())
        .stdout(told.try_clone()?)
        .stderr(said.try_clone()?)
        // What the plugin started ends with it.
        .process_group(0)
        .spawn()
        .context("cannot start a process to try the plugin in")?;
    let status = wait(&mut child, limit)?;
    told.rewind()?;
    let mut text = String::new();
    told.take(READ)
        .read_to_string(&mut text)
        .context("reading what the process that tried the plugin says")?;
    said.rewind()?;
    let mut bytes = Vec::new();
    said.take(READ).read_to_end(&mut bytes)?;
    Ok(judge(&text, status, limit, &String::from_utf8_lossy(&bytes)))
}

/// Waits for the end, which is forced when time is over; then there is no status.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let group = Pid::from_child(child);
    let handle = rustix::process::pidfd_open(group, PidfdFlags::empty())?;
    let until = Instant::now() + limit;
    let ended = loop {
        let left = until.saturating_duration_since(Instant::now());
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&Timespec::try_from(left)?)) {
            Ok(events) => break events > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    // The group is there for as long as anybody of it is; the child itself is not waited for yet.
    let _ = rustix::process::kill_process_group(group, Signal::KILL);
    let status = child.wait()?;
    Ok(ended.then_some(status))
}

/// Makes findings of what the child told, how it ended and what else it wrote.
fn judge(told: &str, status: Option<ExitStatus>, limit: Duration, said: &str) -> Answers {
    let mut answers = Answers::default();
    let mut stage = Stage::Load;
    for step in told.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match step {
            Step::Loaded => stage = Stage::Version,
            Step::Version(version) => {
                answers.version = Some(version);
                stage = Stage::Iface;
            }
            Step::Iface { word, missing } => {
                answers.word = Some(word);
                let oldest = urom_abi::version::exact(2, 7, 0) as u64;
                match word {
                    0 => answers.findings.push(Finding::NoWord),
                    word if word < oldest => answers.findings.push(Finding::OldWord(word)),
                    _ => {}
                }
                if !missing.is_empty() {
                    answers.findings.push(Finding::NoMethods(missing));
                }
                stage = Stage::Exit;
            }
            Step::Refused(text) => {
                answers.findings.push(Finding::Load(text));
                stage = Stage::Exit;
            }
            Step::NoSymbol(name) => {
                answers.findings.push(Finding::NoSymbol(entry(&name)));
                stage = Stage::Exit;
            }
            Step::Failed { symbol, code } => {
                answers.findings.push(Finding::Failed { symbol: entry(&symbol), code });
                stage = Stage::Exit;
            }
        }
    }
    let how = match status {
        None => return with(answers, Finding::Hang { stage, seconds: limit.as_secs() }),
        Some(status) if status.success() && stage == Stage::Exit => return answers,
        Some(status) => match (status.signal(), status.code()) {
            (Some(number), _) => signal_name(number),
            (_, code) => format!("exit code {}", code.unwrap_or_default()),
        },
    };
    let said = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" | ");
    let said = (!said.is_empty()).then(|| said.chars().take(SAID).collect());
    with(answers, Finding::Crash { stage, how, said })
}

fn with(mut answers: Answers, finding: Finding) -> Answers {
    answers.findings.push(finding);
    answers
}

fn entry(name: &str) -> &'static str {
    if name == GET_IFACE_SYMBOL { GET_IFACE_SYMBOL } else { GET_VERSION_SYMBOL }
}

fn signal_name(number: i32) -> String {
    let name = match number {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGABRT => "SIGABRT",
        libc::SIGILL => "SIGILL",
        libc::SIGFPE => "SIGFPE",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGTERM => "SIGTERM",
        libc::SIGKILL => "SIGKILL",
        _ => return format!("signal {number}"),
    };
    format!("signal {number} ({name})")
}

/// The child: tries the file, and tells.
pub(crate) fn child(file: Option<&OsStr>) -> ExitCode {
    match file.context("a file is expected").and_then(|file| try_file(Path::new(file))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn try_file(file: &Path) -> Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // Nobody wants the memory of a process that is expected to crash.
    rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    // What the plugin prints must not come between the steps.
    let mut out = urom_service::take_stdout()?;
    let mut tell = |step: Step| -> Result<()> {
        let mut line = serde_json::to_vec(&step)?;
        line.push(b'\n');
        Ok(out.write_all(&line)?)
    };
    let answered = (|| {
        let loaded = Loaded::load(file)?;
        tell(Step::Loaded)?;
        tell(Step::Version(loaded.version()?))?;
        let iface = loaded.iface()?;
        tell(Step::Iface { word: iface.api_version as u64, missing: missing(&iface) })
    })();
    let Err(error) = answered else { return Ok(()) };
    tell(match error.downcast::<PluginFileError>()? {
        PluginFileError::Load(text) => Step::Refused(text),
        PluginFileError::Symbol(name) => Step::NoSymbol(name.to_owned()),
        PluginFileError::Failed { symbol, code } => {
            Step::Failed { symbol: symbol.to_owned(), code: code.to_string() }
        }
        other => Step::Refused(other.to_string()),
    })
}

/// The methods that are NULL.
fn missing(iface: &PluginIface) -> Vec<String> {
    let methods = [
        ("open", iface.open.is_none()),
        ("close", iface.close.is_none()),
        ("addr", iface.addr.is_none()),
        ("worker_cmd", iface.worker_cmd.is_none()),
        ("progress", iface.progress.is_none()),
        ("notif_pack", iface.notif_pack.is_none()),
    ];
    methods.iter().filter(|(_, none)| *none).map(|(name, _)| (*name).to_owned()).collect()
}
