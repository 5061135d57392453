//! The result of a search.

use std::path::{Path, PathBuf};

/// Where a UCX was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// In the directory named by this environment variable.
    Variable(String),
    /// By pkg-config.
    PkgConfig,
    /// In Debian's directory for the target's architecture.
    Multiarch,
    /// Unpacked in the build tree or in the clone of the kit.
    BuildTree,
}

/// A UCX to link with: [`OLDEST`](crate::OLDEST) or newer, for the target's machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Where it was found.
    pub source: Source,
    /// Major and minor version.
    pub version: (u32, u32),
    /// The directory of the libraries. `None` if it is on the linker's default path.
    pub directory: Option<PathBuf>,
    /// Files that cargo must watch.
    pub(crate) files: Vec<PathBuf>,
}

impl Found {
    /// Returns the directory for the rpath; `None` if it is on the loader's default path.
    #[must_use]
    pub fn rpath(&self) -> Option<&Path> {
        self.directory.as_deref().filter(|_| self.source != Source::Multiarch)
    }
}
