//! A recording of a service as a test of a plugin.

use std::fmt;
use std::path::{Path, PathBuf};

use urom_abi::DocaStatus;
use urom_abi::describe::{Protocol, section};
use urom_recording::{ReadError, RecordedPlugin, RecordingHeader, RecordingReader, Steps};

use super::fault::Report;
use super::player::Player;
use crate::__private::{Exported, PluginParts};

/// A file of `uromd --record`, as a test: the recorded commands go to a plugin in this process, and
/// its answers are compared with the recorded ones.
///
/// ```no_run
/// # use urom_pdk::test_util::Recording;
/// # mod protocol {
/// #     #[urom_abi::urom_command(plugin = "worker_bed", version = 1)]
/// #     pub enum Command { #[urom(reply = Made)] Make }
/// #     #[urom_abi::urom_notification]
/// #     pub enum Notification { Made }
/// # }
/// # use protocol::*;
/// # use urom_pdk::prelude::*;
/// # struct Bed;
/// # #[urom_plugin]
/// # impl Handler for Bed {
/// #     fn open(_: &OpenContext) -> Result<Self> { Ok(Bed) }
/// #     async fn make(&self, _: &Context, _: Make) -> Result<Made> { Ok(Made) }
/// # }
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// Recording::open("tests/full-bed.urec")?.replay::<Bed>();
/// # Ok(())
/// # }
/// ```
///
/// Commands keep their order: before a command is sent, all commands that had been answered before
/// it in the recording are answered. So as many are in flight together as in the recording. The
/// [clock](super) stands at the time of each entry. Hosts cancel and leave as recorded; a deadline
/// cancels its command. The plugin's answers to cancelled commands are compared, too.
///
/// Commands that name [memory](urom_abi::memory::MemoryRange) are sent if the recording has its
/// contents (`uromd --record-memory`), else left out and [counted](Replay::skipped). Look-ups find
/// no other worker.
#[derive(Clone, Debug)]
pub struct Recording {
    file: PathBuf,
    header: RecordingHeader,
    ignored: Vec<String>,
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replay {
    /// Number of commands of this plugin in the recording.
    pub commands: u64,
    /// Number of answers that were compared.
    pub compared: u64,
    /// Number of commands that were left out: they name memory that was not recorded.
    pub skipped: u64,
    /// Number of entries that the recording lacks, because the service's disk was too slow.
    pub lost: u64,
    /// The answers that differ, in the order of the recording.
    pub differences: Vec<Difference>,
    /// The plugin's faults.
    pub report: Report,
}

/// An answer that differs from the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The command's number in the recording, from 1.
    pub number: u64,
    /// The command's name, or `unknown command`.
    pub command: &'static str,
    /// The recorded host.
    pub host: u64,
    /// The recorded status.
    pub recorded: DocaStatus,
    /// The status of the replay; `None` without an answer within ten seconds.
    pub replayed: Option<DocaStatus>,
    /// The first field that differs with both values, or the codes.
    pub text: String,
}

impl Recording {
    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a recording of this format.
    pub fn open(file: impl AsRef<Path>) -> Result<Recording, ReadError> {
        let file = file.as_ref().to_owned();
        let header = RecordingReader::open(&file)?.header().clone();
        Ok(Recording { file, header, ignored: Vec::new() })
    }

    /// Lets a field or payload of any answer differ, such as an address of the plugin's worker.
    #[must_use]
    pub fn ignoring(mut self, field: impl Into<String>) -> Recording {
        self.ignored.push(field.into());
        self
    }

    /// Replays the recording to the plugin with handler `T`, and panics on a difference.
    ///
    /// # Panics
    /// An answer differs, or the plugin has faults; and as [`compare`](Self::compare).
    #[track_caller]
    pub fn replay<T: Exported>(&self) -> Replay {
        let replay = self.compare::<T>();
        assert!(replay.is_same(), "{}: {replay}", self.file.display());
        replay
    }

    /// Replays the recording to the plugin with handler `T`, for a test that expects differences: of
    /// a failure that is fixed.
    ///
    /// # Panics
    /// The recording is damaged, or is not of this version of the plugin; the plugin does not open.
    #[track_caller]
    pub fn compare<T: Exported>(&self) -> Replay {
        let PluginParts { protocol, functions } = T::PARTS;
        let shown = self.file.display();
        let plugin = self.plugin(protocol).unwrap_or_else(|problem| panic!("{shown}: {problem}"));
        let steps = || RecordingReader::open(&self.file).map(|it| Steps::new(it, plugin.id));
        let replay = || {
            let extent = steps()?.extent()?;
            Player::open(protocol, functions, extent, &self.ignored).play(steps()?)
        };
        replay().unwrap_or_else(|error: ReadError| panic!("{shown}: {error}"))
    }

    fn plugin(&self, protocol: &Protocol) -> Result<&RecordedPlugin, String> {
        let Protocol { name, version, .. } = *protocol;
        let plugins = &self.header.plugins;
        let Some(plugin) = plugins.iter().find(|plugin| plugin.name == name) else {
            let names: Vec<_> = plugins.iter().map(|plugin| &plugin.name[..]).collect();
            return Err(format!("plugin {name} is not in it, but {}", names.join(", ")));
        };
        let described = plugin.description.as_deref().and_then(|it| section::read(it).ok());
        let difference = described.and_then(|recorded| protocol.difference(recorded.protocol));
        match difference {
            _ if plugin.version != version => {
                let recorded = plugin.version;
                Err(format!("it has version {recorded} of {name}, and this plugin is {version}"))
            }
            Some(difference) => Err(format!("it has other messages of {name}: {difference}")),
            None => Ok(plugin),
        }
    }
}

impl Replay {
    /// Returns whether all answers are as recorded, and the plugin is without faults.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.differences.is_empty() && self.report.is_clean()
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Replay { commands, compared, skipped, lost, differences, report } = self;
        let differing = differences.len();
        write!(f, "commands: {commands}, compared answers: {compared}, differing: {differing}")?;
        if *skipped > 0 {
            write!(
                f,
                ", left out: {skipped} (uromd --record-memory records the memory they name)"
            )?;
        }
        if *lost > 0 {
            write!(f, ", missing in the recording: {lost}")?;
        }
        differences.iter().try_for_each(|difference| write!(f, "\n  - {difference}"))?;
        if !report.is_clean() {
            write!(f, "\n{report}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { number, command, host, text, .. } = self;
        write!(f, "command {number} ({command}) of host {host}: {text}")
    }
}
