//! Examines a plugin file: a separate process, `uromd examine FILE`, loads it and calls its two
//! functions. A plugin may abort, exit, hang or print endlessly during loading.

mod child;

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};
use urom_abi::driver::Methods;
use urom_abi::plugin::{GET_IFACE_SYMBOL, GET_VERSION_SYMBOL};
use urom_wire::awake;

use crate::plugin_file::PluginFileError;

pub(crate) use child::run as run_child;

/// The argument that makes the program examine a file.
pub(crate) const EXAMINE: &str = "examine";

/// Default time limit for the whole examination.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// End of a process that the kernel or another process killed.
pub(crate) const KILLED: &str = "signal: 9 (SIGKILL)";

const SAID: usize = 400;

const READ: u64 = 1 << 16;

/// File size limit in bytes for the process: its output is kept in memory.
const MOST: u64 = 16 << 20;

/// A stage of the examination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Loading the file: its constructors run.
    Load,
    /// Calling `urom_plugin_get_version`.
    Version,
    /// Calling `urom_plugin_get_iface`.
    Iface,
    /// Ending the process after all answers: its destructors run.
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

/// The cause of a failed examination.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The loader or a function of the plugin returned an error.
    #[error(transparent)]
    Refused(#[from] PluginFileError),
    /// The plugin did not return in time.
    #[error("it did not come back within {} s {stage}: the service examines it again when the file changes", .limit.as_secs())]
    Hang {
        /// The stage that hung.
        stage: Stage,
        /// The time limit.
        limit: Duration,
    },
    /// The plugin ended its process.
    #[error("it ended its process ({how}) {stage}{}", said_so(.said.as_deref()))]
    Crash {
        /// The stage of its end.
        stage: Stage,
        /// A signal or an exit code.
        how: String,
        /// The plugin's output before that.
        said: Option<String>,
    },
}

fn said_so(said: Option<&str>) -> String {
    said.map_or_else(String::new, |said| format!(", and printed: {said}"))
}

/// The answers of a plugin, as far as it got.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Examined {
    /// The plugin's version.
    pub version: Option<u64>,
    /// The version word of its interface.
    pub api_version: Option<u64>,
    /// The methods that are NULL.
    pub missing: Vec<&'static str>,
    /// The error that stopped the examination, or its orderly end.
    pub trouble: Option<Trouble>,
}

impl Examined {
    /// Returns the version and the version word of a plugin that can be served.
    ///
    /// # Errors
    /// The reason why the plugin cannot be served.
    pub fn servable(&self) -> Result<(u64, u64), Trouble> {
        match &self.trouble {
            // The daemon ignores a bad end of the process after all answers.
            None
            | Some(
                Trouble::Hang { stage: Stage::Exit, .. }
                | Trouble::Crash { stage: Stage::Exit, .. },
            ) => {}
            Some(trouble) => return Err(trouble.clone()),
        }
        let word =
            self.api_version.filter(|word| *word != 0).ok_or(PluginFileError::NoVersionWord)?;
        match self.missing.first() {
            Some(method) => Err(PluginFileError::Method((*method).into()).into()),
            None => Ok((self.version.unwrap_or_default(), word)),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
enum ExamineStep {
    Loaded,
    Version(u64),
    /// `missing` are indices of [`Methods::NAMES`].
    Iface {
        word: u64,
        missing: Vec<usize>,
    },
    Refused(PluginFileError),
}

/// Returns a command that starts this program, even if its file was replaced. Its arguments begin
/// with `words`, which lead to `uromd::main_of`.
///
/// # Errors
/// `/proc` is not mounted.
pub fn this_program(words: &[OsString]) -> io::Result<Command> {
    const THIS: &str = "/proc/self/exe";
    std::fs::read_link(THIS).map_err(|error| {
        let text = format!("this program finds itself by {THIS}, and /proc must be mounted");
        io::Error::new(error.kind(), format!("{text} (`mount -t proc proc /proc`): {error}"))
    })?;
    let mut command = Command::new(THIS);
    let own = std::env::current_exe().ok().filter(|_| !words.is_empty());
    // Shown by `ps`.
    let name = own.as_deref().and_then(Path::file_name);
    command.arg0(name.unwrap_or("uromd".as_ref())).args(words);
    Ok(command)
}

/// Examines a file with `command`, which starts this program. Blocks for at most `limit`.
///
/// # Errors
/// The process cannot be started, or `ulimit -f` is too low for its output.
pub fn examine(mut command: Command, file: &Path, limit: Duration) -> io::Result<Examined> {
    // The loader searches elsewhere for a bare name.
    let file = std::path::absolute(file)?;
    urom_memory::require_file_size(MOST)?;
    let (mut told, mut said) = (memory("told")?, memory("said")?);
    let mut child = command
        .arg(EXAMINE)
        .arg(file)
        // It closes when this process ends; the child watches it.
        .stdin(Stdio::piped())
        .stdout(told.try_clone()?)
        .stderr(said.try_clone()?)
        .process_group(0)
        .spawn()?;
    let status = wait(&mut child, limit)?;
    Ok(judge(&read(&mut told)?, status, limit, &String::from_utf8_lossy(&read(&mut said)?)))
}

fn memory(name: &str) -> io::Result<File> {
    Ok(memfd_create(name, MemfdFlags::CLOEXEC)?.into())
}

fn read(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(READ).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Waits for the process to end, and kills it at the limit; then the status is `None`.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let group = Pid::from_child(child);
    let ended = has_ended(group, limit);
    // The group id stays valid: the child is not reaped yet.
    let _ = rustix::process::kill_process_group(group, Signal::KILL);
    let _ = child.kill();
    let status = child.wait()?;
    Ok(ended?.then_some(status))
}

fn has_ended(process: Pid, limit: Duration) -> io::Result<bool> {
    let handle = rustix::process::pidfd_open(process, PidfdFlags::empty())?;
    for step in awake::steps(limit) {
        let step = Timespec::try_from(step).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&step)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

fn judge(mut told: &[u8], status: Option<ExitStatus>, limit: Duration, said: &str) -> Examined {
    let mut examined = Examined::default();
    let mut stage = Stage::Load;
    while let Ok((step, rest)) = postcard::take_from_bytes(told) {
        told = rest;
        match step {
            ExamineStep::Loaded => stage = Stage::Version,
            ExamineStep::Version(version) => {
                examined.version = Some(version);
                stage = Stage::Iface;
            }
            ExamineStep::Iface { word, missing } => {
                let missing = missing.into_iter().filter_map(|at| Methods::NAMES.get(at).copied());
                (examined.api_version, examined.missing) = (Some(word), missing.collect());
                stage = Stage::Exit;
            }
            ExamineStep::Refused(error) => {
                examined.trouble = Some(error.into());
                return examined;
            }
        }
    }
    examined.trouble = match status {
        None => Some(Trouble::Hang { stage, limit }),
        Some(status) if status.success() && stage == Stage::Exit => None,
        Some(status) => {
            let how = match status.signal() {
                Some(libc::SIGXFSZ) => format!("{status}: it wrote {} MiB", MOST >> 20),
                _ => status.to_string(),
            };
            let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
            let said = lines.collect::<Vec<_>>().join(" | ");
            let said = (!said.is_empty()).then(|| said.chars().take(SAID).collect());
            Some(Trouble::Crash { stage, how, said })
        }
    };
    examined
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_process_that_leaves_its_group_ends_in_time() {
        let parents = rustix::process::getpgrp();
        let mut command = Command::new("sh");
        command.args(["-c", "exec sleep 60"]);
        // SAFETY: a single system call, which does not allocate or lock.
        unsafe {
            command.pre_exec(move || Ok(rustix::process::setpgid(None, Some(parents))?));
        }
        let begin = Instant::now();
        let limit = Duration::from_millis(100);
        let examined = examine(command, Path::new("plugin.so"), limit).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
        assert_eq!(examined.trouble, Some(Trouble::Hang { stage: Stage::Load, limit }));
    }
}
