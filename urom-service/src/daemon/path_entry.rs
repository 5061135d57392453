//! One entry of the plugin path: a directory or a file, and the known files there. A separate
//! thread reads it: a hanging file system must not delay plugins of other entries.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tracing::debug;
use urom_abi::describe::Protocol;
use urom_abi::describe::section::{self, Description};
use urom_wire::control::PLUGIN_PATH_VARIABLE;

use super::background::Background;
use super::examiner::{ExamineError, ask, takes_long};
use super::launcher::Launcher;
use super::trust::{self, Distrust};
use crate::freshness;
use crate::identity::FileIdentity;
use crate::plugin_elf::{self, LookError, PluginElf, plugin_name};
use crate::plugin_file::PluginFileError;

#[derive(Debug)]
pub(super) struct PathEntry {
    entry: PathBuf,
    launcher: Launcher,
    /// Empty while the thread works on them.
    files: KnownFiles,
    looking: Option<Background<(KnownFiles, EntryListing)>>,
}

pub(super) type KnownFiles = HashMap<PathBuf, KnownFile>;

#[derive(Debug, Default)]
pub(super) struct EntryListing {
    pub(super) candidates: Vec<(PathBuf, String)>,
    pub(super) complaints: Vec<String>,
}

#[derive(Debug)]
pub(super) struct KnownFile {
    identity: FileIdentity,
    looked: Result<PluginElf, String>,
    pub(super) shown: Option<Arc<[u8]>>,
    answer: Option<Background<Result<u64, ExamineError>>>,
}

impl PathEntry {
    pub(super) fn new(entry: PathBuf, launcher: Launcher) -> PathEntry {
        PathEntry { entry, launcher, files: KnownFiles::new(), looking: None }
    }

    pub(super) fn look(&mut self) -> Result<(), String> {
        if self.looking.is_none() {
            let files = std::mem::take(&mut self.files);
            let (entry, launcher) = (self.entry.clone(), self.launcher.clone());
            self.looking = Some(Background::begin(move || look(files, &entry, &launcher))?);
        }
        Ok(())
    }

    pub(super) fn listing(&mut self, left: &mut Duration) -> Result<EntryListing, String> {
        let Some(look) = &mut self.looking else { return Ok(EntryListing::default()) };
        match look.awaited(left) {
            Background::Done(seen) => {
                let listing;
                (self.files, listing) = std::mem::take(seen);
                self.looking = None;
                Ok(listing)
            }
            Background::Running(..) => Err(format!(
                "{} is being looked at, which takes long: hosts that come later may find its plugins",
                self.entry.display()
            )),
            Background::Panicked => {
                self.looking = None;
                Err(format!("looking at {} panicked; please report it", self.entry.display()))
            }
        }
    }

    pub(super) fn plugin(
        &mut self,
        file: &Path,
        left: &mut Duration,
    ) -> Result<(u64, &KnownFile), String> {
        let known = self.files.get_mut(file).ok_or("it is being looked at")?;
        let answer =
            known.answer(left).unwrap_or_else(|| Err(takes_long(&self.launcher).into()))?;
        Ok((answer, known))
    }
}

fn look(mut before: KnownFiles, entry: &Path, launcher: &Launcher) -> (KnownFiles, EntryListing) {
    let (mut files, mut listing) = (KnownFiles::new(), EntryListing::default());
    let paths = match files_at(entry) {
        Ok(paths) => paths,
        Err(complaint) => {
            listing.complaints.push(complaint);
            return (before, listing);
        }
    };
    for file in paths {
        let candidate = KnownFile::of(&file, before.remove(&file)).and_then(|mut known| {
            let candidate = known.candidate(&file, launcher);
            files.insert(file.clone(), known);
            candidate
        });
        match candidate {
            Ok(Some(name)) => listing.candidates.push((file, name)),
            Ok(None) => debug!("{} is a library and no plugin", file.display()),
            Err(reason) => listing.complaints.push(not_served(&file, &reason)),
        }
    }
    (files, listing)
}

fn files_at(entry: &Path) -> Result<Vec<PathBuf>, String> {
    if entry.is_file() {
        // The loader searches elsewhere for a bare name.
        let bare = entry.parent().is_none_or(|directory| directory.as_os_str().is_empty());
        return Ok(vec![if bare { Path::new(".").join(entry) } else { entry.to_owned() }]);
    }
    // A file without metadata is unreadable; reading reports a better error.
    if let Err(reason @ (Distrust::Writable { .. } | Distrust::Owner { .. })) = trust::check(entry)
    {
        let text = format!("the directory {} is skipped: {reason}", entry.display());
        return Err(format!("{PLUGIN_PATH_VARIABLE}: {text}"));
    }
    let names = plugin_files(entry).map_err(|error| {
        let colon = entry.as_os_str().as_bytes().contains(&b':');
        let hint = if colon { "; directories are separated by `;`, not by `:`" } else { "" };
        format!(
            "{PLUGIN_PATH_VARIABLE}: the directory {} cannot be read and is skipped: {error}{hint}",
            entry.display()
        )
    })?;
    Ok(names.iter().map(|name| entry.join(name)).collect())
}

fn plugin_files(directory: &Path) -> io::Result<Vec<OsString>> {
    let names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    names.retain(|name| name.as_bytes().ends_with(b".so"));
    names.sort();
    Ok(names)
}

fn is_library(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.as_bytes().starts_with(b"lib"))
}

pub(super) fn not_served(file: &Path, reason: &str) -> String {
    format!("{} is not served: {reason}", file.display())
}

impl KnownFile {
    pub(super) fn protocol(&self) -> Option<&'static Protocol> {
        Some(self.looked.as_ref().ok()?.described()?.protocol)
    }

    fn of(file: &Path, before: Option<KnownFile>) -> Result<KnownFile, String> {
        trust::check(file).map_err(|reason| reason.to_string())?;
        let identity = FileIdentity::of(file).map_err(|error| error.to_string())?;
        if let Some(known) = before.filter(|known| known.identity == identity) {
            return Ok(known);
        }
        let looked = match plugin_elf::look(file) {
            // Possibly not the file's fault: the next search retries.
            Err(error @ LookError::Io(_)) => return Err(error.to_string()),
            looked => looked.map_err(|error| error.to_string()),
        };
        let described = looked.as_ref().ok().and_then(PluginElf::described);
        let shown = described
            .map(|Description { protocol, build }| section::bytes(protocol, &build, false).into());
        Ok(KnownFile { identity, looked, shown, answer: None })
    }

    /// Returns a possible plugin's name and starts its examination; `None` for another library.
    fn candidate(&mut self, file: &Path, launcher: &Launcher) -> Result<Option<String>, String> {
        let looked = self.looked.as_ref().map_err(String::clone)?;
        match &looked.missing[..] {
            [] => {}
            [_, _, ..] if is_library(file) => return Ok(None),
            [missing, ..] => return Err(PluginFileError::Symbol((*missing).into()).to_string()),
        }
        if let Some(Err(error)) = &looked.description {
            // Hosts could not check whether message layouts agree.
            return Err(format!("{error}; build it and the service with one release of the kit"));
        }
        let name = plugin_name(file, looked.stated_name())?;
        if let Some((why, hint)) = freshness::stale(file) {
            return Err(format!("it is {why}: {hint}"));
        }
        if self.answer.is_none() {
            let (path, shown, launcher) = (file.to_owned(), looked.clone(), launcher.clone());
            self.answer = Some(Background::begin(move || ask(&launcher, &path, &shown))?);
        }
        Ok(Some(name))
    }

    fn answer(&mut self, left: &mut Duration) -> Option<Result<u64, String>> {
        let answer = match self.answer.as_mut()?.awaited(left) {
            Background::Done(answer) => answer.clone(),
            Background::Running(..) => return None,
            Background::Panicked => {
                Err(ExamineError::Plugin("examining it panicked; please report it".to_owned()))
            }
        };
        Some(answer.map_err(|refusal| match refusal {
            ExamineError::Plugin(why) => why,
            ExamineError::Daemon(why) => {
                self.answer = None;
                why
            }
        }))
    }

    pub(super) fn fingerprint(&self) -> Option<u64> {
        self.looked.as_ref().ok().and_then(PluginElf::fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_examined_again_where_the_daemon_could_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut known = KnownFile {
            identity: FileIdentity::of(file.path()).unwrap(),
            looked: Err(String::new()),
            shown: None,
            answer: None,
        };
        for (refusal, is_kept) in [
            (ExamineError::Daemon("too many open files".to_owned()), false),
            (ExamineError::Plugin("it ended its process".to_owned()), true),
        ] {
            known.answer = Some(Background::Done(Err(refusal)));
            let answer = known.answer(&mut { Duration::ZERO }).unwrap();
            assert!(answer.is_err());
            assert_eq!(known.answer.is_some(), is_kept, "{answer:?}");
        }
    }
}
