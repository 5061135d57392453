//! Plugin discovery: the directories and files in `UROM_PLUGIN_PATH`, and each plugin's id.
//!
//! A host that connects gets the current list. A plugin's name keeps its id while the daemon runs.
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
use urom_wire::control::{PLUGIN_PATH_VARIABLE, PluginBuild, PluginEntry};

use super::launcher::Launcher;
use super::place::{PathEntry, Sight, not_served};

/// Splits a plugin path, such as `UROM_PLUGIN_PATH`, into its entries.
#[must_use]
pub fn entries(path: &OsStr) -> Vec<PathBuf> {
    let entries = path.as_bytes().split(|byte| *byte == b';').filter(|entry| !entry.is_empty());
    entries.map(|entry| PathBuf::from(OsStr::from_bytes(entry))).collect()
}

/// Time limit of a search for entries and examinations. A later search lists slower ones.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) entry: PluginEntry,
    pub(crate) file: PathBuf,
    pub(crate) description: Option<Arc<[u8]>>,
}

#[derive(Debug)]
pub(crate) struct Catalogue {
    places: Option<Vec<PathEntry>>,
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
        let place = |entry| PathEntry::new(entry, launcher.clone());
        let places = path.map(|path| path.into_iter().map(place).collect());
        Catalogue { places, bits: BTreeMap::new(), complaints: HashSet::new() }
    }

    /// Returns all servable plugins, in discovery order. Logs the problems of other files.
    pub(crate) fn discover(&mut self) -> Vec<Found> {
        let mut left = ANSWERS_WITHIN;
        let (mut found, mut complaints) = (Vec::new(), Vec::new());
        let Catalogue { places, bits, .. } = self;
        let Some(places) = places else {
            complaints.push(format!(
                "{PLUGIN_PATH_VARIABLE} is not set: hosts find no plugins; start the service with the directories or \
                 files of plugins in it"
            ));
            self.complain(complaints);
            return found;
        };
        // Starts all entries before waiting for the first.
        let begun: Vec<_> = places.iter_mut().map(PathEntry::look).collect();
        let seen = places.iter_mut().zip(begun);
        let seen = seen.map(|(place, begun)| begun.and_then(|()| place.sight(&mut left)));
        let seen: Vec<_> = seen.collect();
        for (place, sight) in places.iter_mut().zip(seen) {
            let sight = sight.unwrap_or_else(|complaint| Sight {
                complaints: vec![complaint],
                ..Sight::default()
            });
            complaints.extend(sight.complaints);
            for (file, name) in sight.candidates {
                match take_in(place, &file, name, &found, bits, &mut left) {
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
    place: &mut PathEntry,
    file: &Path,
    name: String,
    found: &[Found],
    bits: &mut BTreeMap<String, usize>,
    left: &mut Duration,
) -> Result<Found, String> {
    if let Some(first) = found.iter().find(|found| found.entry.name == name) {
        let first = first.file.display();
        return Err(format!("a plugin of the name `{name}` was found at {first} before"));
    }
    let (version, known) = place.plugin(file, left)?;
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
    Ok(Found { entry, file: file.to_owned(), description: known.shown.clone() })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_place_that_is_given_as_such_may_have_a_separator_in_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("a;b");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("text.so"), "This is not an ELF file.").unwrap();
        let mut catalogue = Catalogue::new(Some(vec![place.clone()]), &Launcher::Thread);
        assert_eq!(catalogue.discover(), []);
        let complaints: Vec<_> = catalogue.complaints.iter().collect();
        assert!(
            matches!(complaints[..], [text] if text.contains("a;b/text.so is not served")),
            "{complaints:?}"
        );
        assert_eq!(entries(place.as_os_str()).len(), 2, "as a path that is written it is two");
        assert_eq!(entries(OsStr::new(";/a;;/b;")), ["/a", "/b"].map(PathBuf::from));
    }
}
