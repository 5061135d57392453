//! Plugins compiled from C.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory for `UROM_PLUGIN_PATH`.
pub(crate) struct Plugins {
    directory: tempfile::TempDir,
}

impl Plugins {
    pub(crate) fn new() -> Plugins {
        Plugins { directory: tempfile::tempdir().unwrap() }
    }

    /// A directory with one obedient plugin.
    pub(crate) fn obedient() -> Plugins {
        let plugins = Plugins::new();
        plugins.add_obedient("obedient", &[]);
        plugins
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Compiles `tests/plugins/obedient.c` under a name.
    pub(crate) fn add_obedient(&self, name: &str, flags: &[&str]) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plugins/obedient.c");
        self.compile(name, &source, flags)
    }

    /// Compiles a C text that may include `plugin.h`.
    pub(crate) fn add_source(&self, name: &str, text: &str) -> PathBuf {
        let source = self.directory.path().join(format!("{name}.c"));
        std::fs::write(&source, text).unwrap();
        self.compile(name, &source, &[])
    }

    fn compile(&self, name: &str, source: &Path, flags: &[&str]) -> PathBuf {
        let output = self.directory.path().join(format!("{name}.so"));
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plugins");
        let args: [&OsStr; 6] = [
            "-shared".as_ref(),
            "-fPIC".as_ref(),
            "-I".as_ref(),
            include.as_ref(),
            "-o".as_ref(),
            output.as_ref(),
        ];
        let status =
            Command::new("cc").args(args).arg(format!("-DNAME=\"{name}\"")).args(flags).arg(source).status();
        assert!(status.unwrap().success(), "cc cannot compile {}", source.display());
        output
    }
}
