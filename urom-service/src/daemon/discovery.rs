//! Plugin discovery: the directories and files of `UROM_PLUGIN_PATH`, what lies there, and which id each plugin has.
//!
//! A host that connects gets what is there at that moment. An id belongs to a plugin's name for as long as the daemon
//! runs. A file is looked at before it is loaded: one that has not a plugin's symbols, or is for another machine, is passed
//! over. It is loaded where the [`Examiner`] says, and once, as long as it stays the same.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{debug, info, warn};
use urom_abi::MAX_PLUGINS;
use urom_abi::describe::section::{self, Description};
use urom_abi::version;

use super::examiner::{Answer, Examiner, Question};
use super::trust::{self, Distrust};
use crate::freshness;
use crate::loaded::{self, Identity};
use crate::plugin_elf::{self, PluginElf, plugin_name};
use crate::plugin_file::PluginFileError;
use crate::wire::control::{PluginBuild, PluginEntry};

/// Where a daemon looks for plugins: directories and files, separated by `;`.
pub const PLUGIN_PATH_VARIABLE: &str = "UROM_PLUGIN_PATH";

/// The entries of a plugin path as it is written, such as that variable's value.
#[must_use]
pub fn entries(path: &OsStr) -> Vec<PathBuf> {
    let entries = path.as_bytes().split(|byte| *byte == b';').filter(|entry| !entry.is_empty());
    entries.map(|entry| PathBuf::from(OsStr::from_bytes(entry))).collect()
}

/// For how long a look waits for files that are examined. One that takes longer is listed by a later look.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// A plugin that hosts are told of, and where it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) entry: PluginEntry,
    pub(crate) file: PathBuf,
    /// What the file says of itself, without documentation, as hosts get it.
    pub(crate) description: Option<Arc<[u8]>>,
}

/// Everything the daemon knows of plugins.
#[derive(Debug)]
pub(crate) struct Catalogue {
    examiner: Examiner,
    /// Bit numbers by name, in the order of first discovery.
    bits: BTreeMap<String, usize>,
    /// What is known of a file, as long as it is the same.
    known: HashMap<PathBuf, Known>,
    /// What was complained about last time: nothing is logged for every host anew.
    complaints: HashSet<String>,
}

#[derive(Debug)]
struct Known {
    identity: Identity,
    /// What it shows without being loaded; a reason against that otherwise.
    looked: Result<PluginElf, String>,
    /// The path it is loaded by.
    spelling: PathBuf,
    /// Its description, as hosts get it, once that was made.
    shown: Option<Arc<[u8]>>,
    /// What it was asked, if it came to that.
    question: Option<Question>,
}

/// Why a file is not served.
enum PassedOver {
    /// Somebody will want to know.
    Because(String),
    /// Any library that lies beside plugins.
    NoPlugin,
}

impl<T: Into<String>> From<T> for PassedOver {
    fn from(reason: T) -> PassedOver {
        PassedOver::Because(reason.into())
    }
}

/// One walk over the path.
struct Walk<'a> {
    catalogue: &'a mut Catalogue,
    /// Files that may be plugins, by the names that these would have. All of them are examined at the same time.
    candidates: Vec<(PathBuf, String)>,
    found: Vec<Found>,
    complaints: HashSet<String>,
}

/// The directories and files that `UROM_PLUGIN_PATH` names; nothing when it is not set, or empty.
pub(crate) fn path_of_environment() -> Option<Vec<PathBuf>> {
    let path = std::env::var_os(PLUGIN_PATH_VARIABLE).filter(|path| !path.is_empty());
    path.map(|path| entries(&path))
}

impl Catalogue {
    /// Nothing yet.
    pub(crate) fn new(examiner: Examiner) -> Catalogue {
        Catalogue { examiner, bits: BTreeMap::new(), known: HashMap::new(), complaints: HashSet::new() }
    }

    /// Walks the directories and files of `path` and returns what can be served, in order of discovery. Whatever is wrong with the rest is logged.
    pub(crate) fn discover(&mut self, path: Option<&[PathBuf]>) -> Vec<Found> {
        let mut walk =
            Walk { catalogue: self, candidates: Vec::new(), found: Vec::new(), complaints: HashSet::new() };
        match path {
            Some(path) => path.iter().for_each(|entry| walk.entry(entry)),
            None => {
                walk.complain(format!(
                    "{PLUGIN_PATH_VARIABLE} is not set: hosts find no plugins; start the service with the directories or files \
                     of plugins in it"
                ))
            }
        }
        walk.hear();
        let Walk { found, complaints, .. } = walk;
        self.complaints = complaints;
        found
    }
}

impl Walk<'_> {
    fn entry(&mut self, entry: &Path) {
        if entry.is_file() {
            // The loader looks for a bare name elsewhere.
            let bare = entry.parent().is_none_or(|directory| directory.as_os_str().is_empty());
            self.file(&if bare { Path::new(".").join(entry) } else { entry.to_owned() });
            return;
        }
        // What cannot be looked at cannot be read either, and that says why.
        if let Err(reason @ (Distrust::Writable { .. } | Distrust::Owner { .. })) = trust::check(entry) {
            let text = format!("the directory {} is skipped: {reason}", entry.display());
            return self.complain(format!("{PLUGIN_PATH_VARIABLE}: {text}"));
        }
        match plugin_files(entry) {
            Ok(names) => names.iter().for_each(|name| self.file(&entry.join(name))),
            Err(error) => {
                let colon = entry.as_os_str().as_bytes().contains(&b':');
                let hint = if colon { "; directories are separated by `;`, not by `:`" } else { "" };
                self.complain(format!(
                    "{PLUGIN_PATH_VARIABLE}: the directory {} cannot be read and is skipped: {error}{hint}",
                    entry.display()
                ));
            }
        }
    }

    /// Takes one file in, or says why not.
    fn file(&mut self, file: &Path) {
        if let Err(reason) = self.try_file(file) {
            self.pass_over(file, reason);
        }
    }

    fn pass_over(&mut self, file: &Path, reason: PassedOver) {
        match reason {
            PassedOver::Because(reason) => {
                self.complain(format!("{} is not served: {reason}", file.display()));
            }
            PassedOver::NoPlugin => debug!("{} is a library and no plugin", file.display()),
        }
    }

    /// Takes in the plugins among the candidates.
    fn hear(&mut self) {
        let until = Instant::now() + ANSWERS_WITHIN;
        for (file, name) in std::mem::take(&mut self.candidates) {
            if let Err(reason) = self.take_in(&file, name, until) {
                self.pass_over(&file, reason);
            }
        }
    }

    fn try_file(&mut self, file: &Path) -> Result<(), PassedOver> {
        trust::check(file).map_err(|reason| reason.to_string())?;
        let examiner = self.catalogue.examiner.clone();
        let known = self.catalogue.know(file)?;
        let name = match &known.looked {
            Ok(PluginElf { missing, .. }) if missing.len() > 1 && is_library(file) => {
                return Err(PassedOver::NoPlugin);
            }
            Ok(PluginElf { missing, .. }) if !missing.is_empty() => {
                return Err(PluginFileError::Symbol(missing[0]).to_string().into());
            }
            // Hosts could not tell whether it lays out messages as they do.
            Ok(PluginElf { description: Some(Err(error)), .. }) => {
                return Err(format!("{error}; build it with this kit").into());
            }
            Ok(looked) => plugin_name(file, looked.stated_name())?,
            Err(reason) => return Err(reason.clone().into()),
        };
        if let Some((why, hint)) = freshness::stale(file) {
            return Err(format!("it is {why}: {hint}").into());
        }
        known.ask(file, &examiner)?;
        self.candidates.push((file.to_owned(), name));
        Ok(())
    }

    fn take_in(&mut self, file: &Path, name: String, until: Instant) -> Result<(), PassedOver> {
        if let Some(first) = self.found.iter().find(|found| found.entry.name == name) {
            return Err(format!(
                "a plugin of the name `{name}` was found at {} before",
                first.file.display()
            )
            .into());
        }
        let Some(known) = self.catalogue.known.get_mut(file) else { return Ok(()) };
        let answer = known.answer(file, until)?;
        let fingerprint = known.looked.as_ref().ok().and_then(PluginElf::fingerprint);
        let (file, description) = (known.spelling.clone(), known.shown());
        let bits = &mut self.catalogue.bits;
        let bit = match bits.get(&name) {
            Some(bit) => *bit,
            None if bits.len() < MAX_PLUGINS => {
                let bit = bits.len();
                bits.insert(name.clone(), bit);
                bit
            }
            None => {
                return Err(format!(
                    "all {MAX_PLUGINS} plugin ids are taken; restart the daemon to free those of plugins that are gone"
                )
                .into());
            }
        };
        let build = PluginBuild { version: answer.version, fingerprint };
        let entry = PluginEntry { id: 1 << bit, build, name };
        self.found.push(Found { entry, file, description });
        Ok(())
    }

    fn complain(&mut self, text: String) {
        if self.catalogue.complaints.contains(&text) || self.complaints.contains(&text) {
            debug!("{text}");
        } else {
            warn!("{text}");
        }
        self.complaints.insert(text);
    }
}

impl Catalogue {
    /// Looks at a file, unless it is one that was looked at before.
    fn know(&mut self, file: &Path) -> Result<&mut Known, PassedOver> {
        let identity = Identity::of(file).map_err(|error| error.to_string())?;
        let known = match self.known.remove(file) {
            Some(known) if known.identity == identity => known,
            _ => {
                let looked = plugin_elf::look(file).map_err(|error| error.to_string());
                Known { identity, looked, spelling: file.to_owned(), shown: None, question: None }
            }
        };
        Ok(self.known.entry(file.to_owned()).or_insert(known))
    }
}

impl Known {
    /// Has the file examined, unless that was done before.
    fn ask(&mut self, file: &Path, examiner: &Examiner) -> Result<(), PassedOver> {
        if let (Ok(shown), None) = (&self.looked, &self.question) {
            if examiner.keeps_what_it_loads() {
                self.spelling = loaded::spelling(file, self.identity, shown)?;
            }
            self.question = Some(Question::ask(examiner, &self.spelling, shown));
        }
        Ok(())
    }

    /// What it answers.
    fn answer(&mut self, file: &Path, until: Instant) -> Result<Answer, PassedOver> {
        let Some(question) = &mut self.question else { return Err(PassedOver::NoPlugin) };
        let is_new = question.is_open();
        let Some(answer) = question.answer(until) else {
            return Err("it is being examined, which takes long: hosts that come later may find it".into());
        };
        if is_new && answer.is_err() {
            // The loader has not kept it.
            loaded::forget(&self.spelling);
        }
        let answer = answer.clone()?;
        if is_new {
            let api = answer.api_version.and_then(|word| usize::try_from(word).ok());
            let api = api.map(|word| format!(", built for DOCA {}", version::display(word)));
            let (file, version, api) = (file.display(), answer.version, api.unwrap_or_default());
            info!("found the plugin {file}, version {version}{api}");
        }
        Ok(answer)
    }

    /// The description for hosts. It is made once: the daemon's loop hands it out.
    fn shown(&mut self) -> Option<Arc<[u8]>> {
        if self.shown.is_none() {
            let Description { protocol, build } = self.looked.as_ref().ok()?.described()?;
            self.shown = Some(section::without_docs(protocol, &build).into());
        }
        self.shown.clone()
    }
}

/// The `*.so` of a directory, sorted.
fn plugin_files(directory: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        if name.as_bytes().ends_with(b".so") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Whether a file is named as linkers want libraries named.
fn is_library(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.as_bytes().starts_with(b"lib"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_given_as_such_may_have_a_separator_in_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("a;b");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("text.so"), "This is not an ELF file.").unwrap();
        let mut catalogue = Catalogue::new(Examiner::Thread);
        assert_eq!(catalogue.discover(Some(std::slice::from_ref(&place))), []);
        let complaints: Vec<_> = catalogue.complaints.iter().collect();
        assert!(
            matches!(complaints[..], [text] if text.contains("a;b/text.so is not served")),
            "{complaints:?}"
        );
        assert_eq!(entries(place.as_os_str()).len(), 2, "as a path that is written it is two");
        assert_eq!(entries(OsStr::new(";/a;;/b;")), ["/a", "/b"].map(PathBuf::from));
    }
}
