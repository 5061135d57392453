//! Asks a plugin for its version without risk for the daemon.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use tracing::info;
use urom_abi::version;

use super::background::Background;
use super::launcher::Launcher;
use crate::examine::{DEADLINE, Examined, KILLED, Stage, Trouble, examine};
use crate::plugin_elf::PluginElf;
use crate::plugin_file::PluginFile;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExamineError {
    /// Caused by the file, which is not examined again until it changes.
    Plugin(String),
    /// Caused by the daemon, for example without a descriptor. The next search retries.
    Daemon(String),
}

/// Returns a plugin's version, asked in a separate process. An embedded service loads the plugin on
/// a thread, unless its description states the version.
pub(crate) fn ask(
    launcher: &Launcher,
    file: &Path,
    shown: &PluginElf,
) -> Result<u64, ExamineError> {
    let (version, word) = match launcher {
        Launcher::Process { config, .. } => {
            let in_process =
                |launcher: &[OsString]| examine(config.command(launcher)?, file, DEADLINE);
            let (launcher, mut examined) = (&config.args.worker_launcher, in_process(&[]));
            if !launcher.is_empty() && is_of_another_machine(&examined) {
                examined = in_process(launcher);
            }
            let examined = examined
                .map_err(|error| ExamineError::Daemon(format!("cannot be examined: {error}")))?;
            examined.servable().map_err(|trouble| match &trouble {
                // The kernel kills processes when memory is short.
                Trouble::Crash { how, .. } if how == KILLED => {
                    ExamineError::Daemon(trouble.to_string())
                }
                _ => ExamineError::Plugin(trouble.to_string()),
            })?
        }
        Launcher::Thread => match shown.described() {
            Some(description) => (description.protocol.version, 0),
            None => load(file)?,
        },
    };
    let api = usize::try_from(word).ok().filter(|word| *word != 0);
    let api = api.map(|word| format!(", built for DOCA {}", version::display(word)));
    let (file, api) = (file.display(), api.unwrap_or_default());
    info!("found the plugin {file}, version {version}{api}");
    Ok(version)
}

pub(crate) fn takes_long(launcher: &Launcher) -> &'static str {
    match launcher {
        Launcher::Process { .. } => {
            "it is being examined, which takes long: hosts that come later may find it"
        }
        Launcher::Thread => {
            "it is being loaded, which takes long: until it is, this program can load nothing else, start no worker and \
             not end; take it out of the plugin path, or let `uromd` serve it, which loads plugins in processes of \
             their own"
        }
    }
}

/// Returns whether this program needs an emulator; some emulators report that by exit code only.
fn is_of_another_machine(examined: &io::Result<Examined>) -> bool {
    match examined {
        Err(error) => error.raw_os_error() == Some(libc::ENOEXEC),
        Ok(examined) => matches!(
            &examined.trouble,
            Some(Trouble::Crash { stage: Stage::Load, how, .. }) if how == "exit status: 127"
        ),
    }
}

/// Loads a file into this process. A plugin that hangs keeps its thread and the loader's lock.
fn load(file: &Path) -> Result<(u64, u64), ExamineError> {
    let path = file.to_owned();
    // SAFETY: the program that embeds the service vouches for the files of its plugin path.
    let work = move || unsafe { PluginFile::open(&path) };
    let mut work = Background::begin(work).map_err(ExamineError::Daemon)?;
    let Background::Done(loaded) = work.awaited(&mut { DEADLINE }) else {
        let hang = Trouble::Hang { stage: Stage::Load, limit: DEADLINE };
        return Err(ExamineError::Plugin(hang.to_string()));
    };
    let plugin = loaded.as_ref().map_err(|error| ExamineError::Plugin(error.to_string()))?;
    Ok((plugin.version, plugin.iface.api_version as u64))
}
