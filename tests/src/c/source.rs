//! C sources of the tests, and the programs and plugins made from them.

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use super::compiler::compile;
use super::host::launcher;
use super::prefix::{Prefix, prefix};
use crate::built::profile_directory;

/// One `.c` file and its compiler flags; compiled once in a test process.
#[derive(Debug, Clone)]
#[must_use]
pub struct Source {
    file: PathBuf,
    prefix: Option<Prefix>,
    asan: bool,
    ucx: bool,
    flags: Vec<String>,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    source: PathBuf,
    name: String,
    flags: Vec<String>,
}

/// Results so far. Locked during a compilation: parallel compilers would overload two cores.
static MADE: Mutex<Option<HashMap<Key, PathBuf>>> = Mutex::new(None);

impl Source {
    /// A file in `tests/c`, or an absolute path.
    pub fn new(file: impl AsRef<Path>) -> Source {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("c").join(file);
        Source { file, prefix: None, asan: false, ucx: false, flags: Vec::new() }
    }

    pub fn asan(mut self) -> Source {
        self.asan = true;
        self
    }

    /// Returns the plain and the sanitized variant. Under a memory checker only plain: sanitized
    /// programs do not run there.
    pub fn each_way(self) -> Vec<Source> {
        let sanitized = launcher().is_none().then(|| self.clone().asan());
        std::iter::once(self).chain(sanitized).collect()
    }

    pub fn ucx(mut self) -> Source {
        self.ucx = true;
        self
    }

    pub fn define(self, name: &str, value: &str) -> Source {
        self.flag(format!("-D{name}={value}"))
    }

    pub fn flag(mut self, flag: impl Into<String>) -> Source {
        self.flags.push(flag.into());
        self
    }

    pub fn against(mut self, prefix: &Prefix) -> Source {
        self.prefix = Some(prefix.clone());
        self
    }

    pub fn program(&self) -> Result<PathBuf> {
        let name = self.file.file_stem().context("a source has a name")?.to_string_lossy();
        self.make(&name, &[], &["doca-urom", "doca-common", "doca-argp"])
    }

    /// Makes the plugin `NAME.so` in its own directory, linked only with `libdoca_common`.
    pub fn plugin(&self, name: &str) -> Result<PathBuf> {
        self.make(&format!("{name}.so"), &["-shared", "-fPIC"], &["doca-common"])
    }

    fn make(&self, name: &str, kind: &[&str], modules: &[&str]) -> Result<PathBuf> {
        let prefix = self.prefix.clone().map_or_else(prefix, Ok)?;
        let mut flags: Vec<String> = kind.iter().copied().map(str::to_owned).collect();
        let asan = self.asan && launcher().is_none();
        flags.extend(asan.then(|| "-fsanitize=address".to_owned()));
        flags.extend(self.flags.iter().cloned());
        flags.extend(prefix.pkg_config(&["--cflags", "--libs"], modules)?);
        if self.ucx {
            // System headers: UCX's headers do not compile with all our warnings.
            let cflags = prefix.pkg_config(&["--cflags"], &["ucx"])?;
            flags.extend(cflags.iter().map(|flag| flag.replacen("-I", "-isystem", 1)));
            flags.extend(prefix.pkg_config(&["--libs"], &["ucx"])?);
        }
        let key = Key { source: self.file.clone(), name: name.to_owned(), flags };

        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let made = made.get_or_insert_default();
        if let Some(file) = made.get(&key) {
            return Ok(file.clone());
        }
        let file = key.path()?;
        // Renamed after it is complete, because another test process may make or run the same file.
        let partial = file.with_extension(format!("partial-{}", std::process::id()));
        let result = compile(&self.file, &partial, &key.flags);
        if result.is_err() {
            let _ = fs::remove_file(&partial);
        }
        result?;
        fs::rename(&partial, &file).with_context(|| format!("cannot make {}", file.display()))?;
        made.insert(key, file.clone());
        Ok(file)
    }
}

impl Key {
    /// Path of the result: `target/debug/c/HASH/NAME`, which debuggers find later.
    fn path(&self) -> Result<PathBuf> {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        let directory = profile_directory()?.join("c").join(format!("{:016x}", hasher.finish()));
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        Ok(directory.join(&self.name))
    }
}
