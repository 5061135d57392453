//! Plugin discovery: the directories of `UROM_PLUGIN_PATH`, what lies there, and which id each plugin has.
//!
//! A host that connects gets what is there at that moment. An id belongs to a plugin's name for as long as the daemon
//! runs. Files are loaded into the daemon to be listed, so a file whose constructor crashes takes the daemon along: only
//! plugins belong into these directories.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tracing::{debug, info, warn};
use urom_abi::MAX_PLUGINS;
use urom_abi::plugin::PLUGIN_NAME_CAPACITY;
use urom_abi::version;

use crate::plugin_file::{PluginFile, PluginFileError};
use crate::wire::control::PluginEntry;

/// Where a daemon looks for plugins: directories, separated by `;`.
pub const PLUGIN_PATH_VARIABLE: &str = "UROM_PLUGIN_PATH";

/// A plugin that hosts are told of, and where it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) entry: PluginEntry,
    pub(crate) file: PathBuf,
}

/// Everything the daemon knows of plugins.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    /// Bit numbers by name, in the order of first discovery.
    bits: BTreeMap<String, usize>,
    /// What opening a file gave, as long as the file is the same.
    opened: HashMap<PathBuf, Opened>,
    /// What was complained about last time: nothing is logged for every host anew.
    complaints: HashSet<String>,
}

#[derive(Debug)]
struct Opened {
    identity: Identity,
    /// The path it was loaded by. The loader takes a path it knows for the file it knows, so a file in the place of
    /// another is loaded by another spelling of the path.
    spelling: PathBuf,
    result: Result<PluginFile, PluginFileError>,
}

/// Tells one file from another at the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

/// One walk over the path.
struct Walk<'a> {
    catalogue: &'a mut Catalogue,
    found: Vec<Found>,
    complaints: HashSet<String>,
}

impl Catalogue {
    /// Walks `path` and returns what can be served, in order of discovery. Whatever is wrong with the rest is logged.
    pub(crate) fn discover(&mut self, path: Option<&OsStr>) -> Vec<Found> {
        let mut walk = Walk { catalogue: self, found: Vec::new(), complaints: HashSet::new() };
        match path {
            Some(path) => walk.path(path),
            None => {
                walk.complain(format!("{PLUGIN_PATH_VARIABLE} is not set: there are no plugins to serve"))
            }
        }
        let Walk { found, complaints, .. } = walk;
        self.complaints = complaints;
        found
    }
}

impl Walk<'_> {
    fn path(&mut self, path: &OsStr) {
        for directory in path.as_bytes().split(|byte| *byte == b';').filter(|part| !part.is_empty()) {
            let directory = Path::new(OsStr::from_bytes(directory));
            match plugin_files(directory) {
                Ok(names) => names.iter().for_each(|name| self.file(&directory.join(name))),
                Err(error) => {
                    let colon = directory.as_os_str().as_bytes().contains(&b':');
                    let hint = if colon { "; directories are separated by `;`, not by `:`" } else { "" };
                    self.complain(format!(
                        "{PLUGIN_PATH_VARIABLE}: the directory {} cannot be read and is skipped: {error}{hint}",
                        directory.display()
                    ));
                }
            }
        }
    }

    /// Takes one file in, or says why not.
    fn file(&mut self, file: &Path) {
        if let Err(reason) = self.try_file(file) {
            self.complain(format!("{} is not served: {reason}", file.display()));
        }
    }

    fn try_file(&mut self, file: &Path) -> Result<(), String> {
        let name = plugin_name(file)?;
        if let Some(first) = self.found.iter().find(|found| found.entry.name == name) {
            return Err(format!(
                "a plugin of the name `{name}` was found at {} before",
                first.file.display()
            ));
        }
        let (plugin, file) = self.open(file)?;
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
                ));
            }
        };
        let entry = PluginEntry { id: 1 << bit, version: plugin.version, name };
        self.found.push(Found { entry, file });
        Ok(())
    }

    /// Opens a file, unless it is one that was opened before; the plugin, and the path to load it by.
    fn open(&mut self, file: &Path) -> Result<(PluginFile, PathBuf), String> {
        let identity = identity(file).map_err(|error| error.to_string())?;
        let before = self.catalogue.opened.remove(file);
        let opened = match before {
            Some(opened) if opened.identity == identity => opened,
            before => {
                let spelling = before.map_or_else(|| file.to_owned(), |opened| respell(&opened.spelling));
                // One that crashes takes the daemon along, and leaves this line behind.
                info!("loading {}", file.display());
                let result = PluginFile::open(&spelling);
                if let Ok(plugin) = &result {
                    let api = version::display(plugin.iface.api_version);
                    info!(
                        "found the plugin {}, version {}, built for DOCA {api}",
                        file.display(),
                        plugin.version
                    );
                }
                Opened { identity, spelling, result }
            }
        };
        let Opened { spelling, result, .. } = self.catalogue.opened.entry(file.to_owned()).or_insert(opened);
        match result {
            Ok(plugin) => Ok((*plugin, spelling.clone())),
            Err(error) => Err(error.to_string()),
        }
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

/// The same file by a path that was not used before: with one more `./` in it.
fn respell(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    let name_at = bytes.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let (directory, name) = bytes.split_at(name_at);
    OsString::from_vec([directory, b"./", name].concat()).into()
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

/// The file's name without `.so`, if a host can be told it.
fn plugin_name(file: &Path) -> Result<String, String> {
    let name = file.file_stem().unwrap_or_default();
    let name = name.to_str().ok_or("its name is not UTF-8")?;
    if name == ".so" || name.is_empty() {
        return Err("it has no name before `.so`".to_owned());
    }
    if name.len() >= PLUGIN_NAME_CAPACITY {
        let most = PLUGIN_NAME_CAPACITY - 1;
        return Err(format!("its name has {} bytes, and {most} is the most", name.len()));
    }
    Ok(name.to_owned())
}

fn identity(file: &Path) -> io::Result<Identity> {
    let metadata = fs::metadata(file)?;
    if !metadata.is_file() {
        // Opening, say, a pipe would wait for ever.
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(Identity {
        device: metadata.dev(),
        inode: metadata.ino(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
    })
}
