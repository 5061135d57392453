//! The answer of a search.

use std::path::{Path, PathBuf};

/// Where a UCX was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// In the directory that this environment variable names.
    Variable(String),
    /// By pkg-config.
    PkgConfig,
    /// In Debian's directory of the target's architecture.
    Multiarch,
    /// Unpacked in the build tree, or in that of the kit's clone.
    BuildTree,
}

/// A UCX to link with: [`OLDEST`](crate::OLDEST) or newer, for the target's machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Where it was found.
    pub source: Source,
    /// Major and minor number.
    pub version: (u32, u32),
    /// The directory of the libraries; `None` when the linker finds them by itself.
    pub directory: Option<PathBuf>,
    /// Files whose change may change the answer.
    pub(crate) files: Vec<PathBuf>,
}

impl Found {
    /// The directory to be searched by the loader; `None` when it does so anyway.
    #[must_use]
    pub fn rpath(&self) -> Option<&Path> {
        self.directory.as_deref().filter(|_| self.source != Source::Multiarch)
    }
}
