//! How the daemon learns what a plugin answers. Nothing that a file does as it is loaded may harm
//! the daemon.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use urom_wire::awake;

use super::background::{Background, Outcome};
use super::process::command;
use crate::examine::{DEADLINE, Examined, KILLED, Stage, Trouble, examine};
use crate::plugin_elf::PluginElf;
use crate::plugin_file::PluginFile;

#[derive(Debug, Clone)]
pub(crate) enum Examiner {
    /// In a process each, with these variables.
    Process { launcher: Vec<OsString>, words: Vec<OsString>, env: Vec<(OsString, OsString)> },
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
    fn ask(&self, file: &Path, shown: &PluginElf) -> Result<Answer, Refusal> {
        let in_process =
            |launcher: &[OsString], words: &[OsString], env: &[(OsString, OsString)]| {
                let mut command = command(launcher, words)?;
                command.env_clear().envs(env.iter().cloned());
                examine(command, file, DEADLINE)
            };
        match self {
            Examiner::Process { launcher, words, env } => {
                let examined = match in_process(&[], words, env) {
                    examined if !launcher.is_empty() && is_of_another_machine(&examined) => {
                        in_process(launcher, words, env)
                    }
                    examined => examined,
                };
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

#[derive(Debug)]
pub(crate) enum Question {
    Open(Background<Result<Answer, Refusal>>),
    Answered(Result<Answer, Refusal>),
}

impl Question {
    pub(crate) fn ask(examiner: &Examiner, file: &Path, shown: &PluginElf) -> Question {
        let (examiner, path, shown) = (examiner.clone(), file.to_owned(), shown.clone());
        match Background::begin(move || examiner.ask(&path, &shown)) {
            Ok(answer) => Question::Open(answer),
            Err(reason) => Question::Answered(Err(Refusal::Daemon(reason))),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Question::Open(_))
    }

    /// The answer, which is waited for once, as long as there is time left.
    pub(crate) fn answer(&mut self, left: &mut Duration) -> Option<&Result<Answer, Refusal>> {
        if let Question::Open(answer) = self {
            let heard = match answer.outcome(left) {
                Outcome::Done(heard) => heard,
                Outcome::Busy => return None,
                Outcome::Panicked => {
                    Err(Refusal::Plugin("examining it panicked; please report it".to_owned()))
                }
            };
            *self = Question::Answered(heard);
        }
        match self {
            Question::Answered(answer) => Some(answer),
            Question::Open(_) => None,
        }
    }
}

/// Loads a file into this process. A plugin that hangs keeps its thread, and the loader's lock.
fn load(file: &Path) -> Result<Answer, Refusal> {
    let path = file.to_owned();
    let loaded = Background::begin(move || PluginFile::open(&path)).map_err(Refusal::Daemon)?;
    let loaded = match awake::receive(&loaded.result, DEADLINE) {
        Ok(loaded) => loaded,
        Err(_) => {
            let hang = Trouble::Hang { stage: Stage::Load, limit: DEADLINE };
            return Err(Refusal::Plugin(hang.to_string()));
        }
    };
    let plugin = loaded.map_err(|error| Refusal::Plugin(error.to_string()))?;
    Ok(Answer { version: plugin.version, api_version: Some(plugin.iface.api_version as u64) })
}
