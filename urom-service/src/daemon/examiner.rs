//! How the daemon learns what a plugin answers. Nothing that a file does as it is loaded may harm the daemon.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use tracing::dispatcher;

use super::launcher::command;
use crate::awake;
use crate::examine::{DEADLINE, Examined, Stage, Trouble, examine};
use crate::plugin_elf::PluginElf;
use crate::plugin_file::PluginFile;

/// Where files are loaded to be asked.
#[derive(Debug, Clone)]
pub(crate) enum Examiner {
    /// In a process each, with these variables.
    Process { launcher: Vec<OsString>, words: Vec<OsString>, env: Vec<(OsString, OsString)> },
    /// In this process, which an embedded service has no program of its own for: on a thread. A file that says of itself what
    /// it would answer is not loaded.
    Thread,
}

/// What a plugin that can be served says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) version: u64,
    /// The version word of its interface; nothing when it was not asked.
    pub(crate) api_version: Option<u64>,
}

impl Examiner {
    /// Asks a plugin. Blocks, but not for ever.
    ///
    /// # Errors
    /// Why it cannot be served.
    pub(crate) fn ask(&self, file: &Path, shown: &PluginElf) -> Result<Answer, String> {
        let in_process = |launcher: &[OsString], words: &[OsString], env: &[(OsString, OsString)]| {
            let mut command = command(launcher, words)?;
            command.env_clear().envs(env.iter().cloned());
            examine(command, file, DEADLINE)
        };
        match self {
            Examiner::Process { launcher, words, env } => {
                let examined = match in_process(&[], words, env) {
                    // This program is another machine's, and runs under an emulator.
                    Err(error) if error.raw_os_error() == Some(libc::ENOEXEC) => {
                        in_process(launcher, words, env)
                    }
                    examined => examined,
                };
                let examined = examined.map_err(|error| format!("cannot be examined: {error}"))?;
                served(&examined)
            }
            Examiner::Thread => match shown.described() {
                Some(description) => Ok(Answer { version: description.protocol.version, api_version: None }),
                None => on_a_thread(file),
            },
        }
    }

    /// Whether a file that was asked stays in this process, which then takes one in its place for the same.
    pub(crate) fn keeps_what_it_loads(&self) -> bool {
        matches!(self, Examiner::Thread)
    }
}

fn served(examined: &Examined) -> Result<Answer, String> {
    let (version, word) = examined.servable().map_err(|trouble| trouble.to_string())?;
    Ok(Answer { version, api_version: Some(word) })
}

/// A plugin that hangs keeps its thread.
fn on_a_thread(file: &Path) -> Result<Answer, String> {
    let (tell, told) = sync_channel(1);
    let (path, log) = (file.to_owned(), dispatcher::get_default(Clone::clone));
    let load = move || {
        // Nobody listens any more when it came too late.
        let _ = tell.send(dispatcher::with_default(&log, || PluginFile::open(&path)));
    };
    thread::Builder::new()
        .name("urom-examine".to_owned())
        .spawn(load)
        .map_err(|error: io::Error| format!("cannot be examined: {error}"))?;
    let opened = awake::receive(&told, DEADLINE);
    let opened = opened.map_err(|_| Trouble::Hang { stage: Stage::Load, limit: DEADLINE }.to_string())?;
    let plugin = opened.map_err(|error| error.to_string())?;
    Ok(Answer { version: plugin.version, api_version: Some(plugin.iface.api_version as u64) })
}
