//! Plugins compiled from C.

use std::path::{Path, PathBuf};

use crate::compile::compile;

pub(crate) struct Plugins {
    directory: tempfile::TempDir,
}

impl Plugins {
    pub(crate) fn new() -> Plugins {
        Plugins { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn obedient() -> Plugins {
        let plugins = Plugins::new();
        plugins.add_obedient("obedient", &[]);
        plugins
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn add_obedient(&self, name: &str, flags: &[&str]) -> PathBuf {
        compile(self.path(), name, Path::new("obedient.c"), flags)
    }

    pub(crate) fn add_source(&self, name: &str, text: &str) -> PathBuf {
        self.add_with(name, text, &[])
    }

    pub(crate) fn add_linked(&self, name: &str, text: &str, library: &Path) -> PathBuf {
        self.add_with(name, text, &["-Wl,--no-as-needed", library.to_str().unwrap()])
    }

    fn add_with(&self, name: &str, text: &str, flags: &[&str]) -> PathBuf {
        let source = self.directory.path().join(format!("{name}.c"));
        std::fs::write(&source, text).unwrap();
        compile(self.path(), name, &source, flags)
    }
}
