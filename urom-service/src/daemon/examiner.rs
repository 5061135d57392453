//! How the daemon learns what a plugin answers. Nothing that a file does as it is loaded may harm
//! the daemon.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::background::Background;
use super::config::DaemonConfig;
use super::process::command;
use crate::examine::{DEADLINE, Examined, KILLED, Stage, Trouble, examine};
use crate::plugin_elf::PluginElf;
use crate::plugin_file::PluginFile;

#[derive(Debug, Clone)]
pub(crate) enum Examiner {
    /// In a process each, with these variables.
    Process { config: Arc<DaemonConfig>, env: Vec<(OsString, OsString)> },
    /// On a thread of this process, because an embedded service has no program of its own. A file
    /// with a description is not loaded.
    Thread,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its file is to blame, and is not examined again before it changes.
    Plugin(String),
    /// This daemon could not examine it, as when it has no descriptor left. The next look does.
    Daemon(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) version: u64,
    /// The version word of its interface; nothing when it was not asked.
    pub(crate) api_version: Option<u64>,
}

impl Examiner {
    pub(crate) fn ask(&self, file: &Path, shown: &PluginElf) -> Result<Answer, Refusal> {
        match self {
            Examiner::Process { config, env } => {
                let in_process = |launcher: &[OsString]| {
                    let mut command = command(launcher, &config.worker_words)?;
                    command.env_clear().envs(env.iter().cloned());
                    examine(command, file, DEADLINE)
                };
                let (launcher, mut examined) = (config.worker_launcher(), in_process(&[]));
                if !launcher.is_empty() && is_of_another_machine(&examined) {
                    examined = in_process(launcher);
                }
                let examined = examined
                    .map_err(|error| Refusal::Daemon(format!("cannot be examined: {error}")))?;
                served(&examined)
            }
            Examiner::Thread => match shown.described() {
                Some(description) => {
                    Ok(Answer { version: description.protocol.version, api_version: None })
                }
                None => load(file),
            },
        }
    }

    /// Why a plugin without an answer yet is not listed, and what to do if that may harm.
    pub(crate) fn takes_long(&self) -> &'static str {
        match self {
            Examiner::Process { .. } => {
                "it is being examined, which takes long: hosts that come later may find it"
            }
            Examiner::Thread => {
                "it is being loaded, which takes long: until it is, this program can load nothing else, start no worker and \
                 not end; take it out of the plugin path, or let `uromd` serve it, which loads plugins in processes of \
                 their own"
            }
        }
    }

    /// Whether a file that was asked stays in this process, which then takes one in its place for
    /// the same.
    pub(crate) fn keeps_what_it_loads(&self) -> bool {
        matches!(self, Examiner::Thread)
    }
}

/// Whether this program is another machine's, and runs under an emulator: some tell by the child's
/// exit code that it was not started.
fn is_of_another_machine(examined: &io::Result<Examined>) -> bool {
    match examined {
        Err(error) => error.raw_os_error() == Some(libc::ENOEXEC),
        Ok(examined) => matches!(
            &examined.trouble,
            Some(Trouble::Crash { stage: Stage::Load, how, .. }) if how == "exit code 127"
        ),
    }
}

fn served(examined: &Examined) -> Result<Answer, Refusal> {
    let (version, word) = examined.servable().map_err(|trouble| match &trouble {
        // As the kernel kills it where memory is short.
        Trouble::Crash { how, .. } if how == KILLED => Refusal::Daemon(trouble.to_string()),
        _ => Refusal::Plugin(trouble.to_string()),
    })?;
    Ok(Answer { version, api_version: Some(word) })
}

/// Loads a file into this process. A plugin that hangs keeps its thread, and the loader's lock.
fn load(file: &Path) -> Result<Answer, Refusal> {
    let path = file.to_owned();
    let mut work = Background::begin(move || PluginFile::open(&path)).map_err(Refusal::Daemon)?;
    let Background::Done(loaded) = work.awaited(&mut { DEADLINE }) else {
        let hang = Trouble::Hang { stage: Stage::Load, limit: DEADLINE };
        return Err(Refusal::Plugin(hang.to_string()));
    };
    let plugin = loaded.as_ref().map_err(|error| Refusal::Plugin(error.to_string()))?;
    Ok(Answer { version: plugin.version, api_version: Some(plugin.iface.api_version as u64) })
}
