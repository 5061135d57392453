//! Plugin discovery in `UROM_PLUGIN_PATH`. A plugin's name keeps its id while the daemon runs.
//! Files for another machine, or without a plugin's symbols, are never loaded. Other files are
//! examined once ([`ask`](super::examiner::ask)) until they change.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tracing::{debug, warn};
use urom_abi::MAX_PLUGINS;
use urom_abi::describe::Protocol;
use urom_wire::control::{PLUGIN_PATH_VARIABLE, PluginBuild, PluginEntry};

use super::launcher::Launcher;
use super::path_entry::{EntryListing, PathEntry, not_served};

/// Splits a plugin path, such as `UROM_PLUGIN_PATH`, into its entries.
#[must_use]
pub fn entries(path: &OsStr) -> Vec<PathBuf> {
    let entries = path.as_bytes().split(|byte| *byte == b';').filter(|entry| !entry.is_empty());
    entries.map(|entry| PathBuf::from(OsStr::from_bytes(entry))).collect()
}

/// Time limit of a search for entries and examinations. A later search lists slower ones.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundPlugin {
    pub(crate) entry: PluginEntry,
    pub(crate) file: PathBuf,
    pub(crate) description: Option<Arc<[u8]>>,
    /// From the description.
    pub(crate) protocol: Option<&'static Protocol>,
}

#[derive(Debug)]
pub(crate) struct Catalogue {
    path: Option<Vec<PathEntry>>,
    bits: BTreeMap<String, usize>,
    /// The last search's problems, so that they are logged only once.
    complaints: HashSet<String>,
}

pub(crate) fn path_of_environment() -> Option<Vec<PathBuf>> {
    let path = std::env::var_os(PLUGIN_PATH_VARIABLE).filter(|path| !path.is_empty());
    path.map(|path| entries(&path))
}

impl Catalogue {
    pub(crate) fn new(path: Option<Vec<PathBuf>>, launcher: &Launcher) -> Catalogue {
        let new_entry = |entry| PathEntry::new(entry, launcher.clone());
        let path = path.map(|path| path.into_iter().map(new_entry).collect());
        Catalogue { path, bits: BTreeMap::new(), complaints: HashSet::new() }
    }

    /// Returns all servable plugins, in discovery order. Logs the problems of other files.
    pub(crate) fn discover(&mut self) -> Vec<FoundPlugin> {
        let mut left = ANSWERS_WITHIN;
        let (mut found, mut complaints) = (Vec::new(), Vec::new());
        let Catalogue { path, bits, .. } = self;
        let Some(path) = path else {
            complaints.push(format!(
                "{PLUGIN_PATH_VARIABLE} is not set: hosts find no plugins; start the service with the directories or \
                 files of plugins in it"
            ));
            self.complain(complaints);
            return found;
        };
        // Starts all entries before waiting for the first.
        let begun: Vec<_> = path.iter_mut().map(PathEntry::look).collect();
        let seen = path.iter_mut().zip(begun);
        let seen = seen.map(|(entry, begun)| begun.and_then(|()| entry.listing(&mut left)));
        let seen: Vec<_> = seen.collect();
        for (entry, listing) in path.iter_mut().zip(seen) {
            let listing = listing.unwrap_or_else(|complaint| EntryListing {
                complaints: vec![complaint],
                ..EntryListing::default()
            });
            complaints.extend(listing.complaints);
            for (file, name) in listing.candidates {
                match take_in(entry, &file, name, &found, bits, &mut left) {
                    Ok(plugin) => found.push(plugin),
                    Err(reason) => complaints.push(not_served(&file, &reason)),
                }
            }
        }
        self.complain(complaints);
        found
    }

    fn complain(&mut self, complaints: Vec<String>) {
        let last = std::mem::take(&mut self.complaints);
        for text in complaints {
            if last.contains(&text) || self.complaints.contains(&text) {
                debug!("{text}");
            } else {
                warn!("{text}");
            }
            self.complaints.insert(text);
        }
    }
}

fn take_in(
    path_entry: &mut PathEntry,
    file: &Path,
    name: String,
    found: &[FoundPlugin],
    bits: &mut BTreeMap<String, usize>,
    left: &mut Duration,
) -> Result<FoundPlugin, String> {
    if let Some(first) = found.iter().find(|found| found.entry.name == name) {
        let first = first.file.display();
        return Err(format!("a plugin of the name `{name}` was found at {first} before"));
    }
    let (version, known) = path_entry.plugin(file, left)?;
    let bit = match bits.get(&name) {
        Some(bit) => *bit,
        None if bits.len() < MAX_PLUGINS => {
            let bit = bits.len();
            bits.insert(name.clone(), bit);
            bit
        }
        None => {
            return Err(format!(
                "all {MAX_PLUGINS} plugin ids are taken; a restart of the service frees the ids of removed plugins"
            ));
        }
    };
    let build = PluginBuild { version, fingerprint: known.fingerprint() };
    let entry = PluginEntry { id: 1 << bit, build, name };
    let (description, protocol) = (known.shown.clone(), known.protocol());
    Ok(FoundPlugin { entry, file: file.to_owned(), description, protocol })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_path_that_is_given_as_an_entry_may_have_a_separator_in_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a;b");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("text.so"), "This is not an ELF file.").unwrap();
        let mut catalogue = Catalogue::new(Some(vec![path.clone()]), &Launcher::Thread);
        assert_eq!(catalogue.discover(), []);
        let complaints: Vec<_> = catalogue.complaints.iter().collect();
        assert!(
            matches!(complaints[..], [text] if text.contains("a;b/text.so is not served")),
            "{complaints:?}"
        );
        assert_eq!(entries(path.as_os_str()).len(), 2, "as a path that is written it is two");
        assert_eq!(entries(OsStr::new(";/a;;/b;")), ["/a", "/b"].map(PathBuf::from));
    }
}
