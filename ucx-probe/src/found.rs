//! The answer of a search.

use std::path::{Path, PathBuf};

/// Where a UCX was found.
///
/// ```
/// use ucx_probe::{Found, Source};
///
/// fn whence(found: &Found) -> String {
///     match found.source() {
///         Source::Variable(name) => format!("the directory that {name} names"),
///         Source::PkgConfig | Source::Multiarch => "the system's".to_owned(),
///         Source::BuildTree => "unpacked beside the build".to_owned(),
///     }
/// }
/// ```
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

/// A UCX to link with: [`OLDEST`](crate::OLDEST) or newer, and for the target's machine.
///
/// ```
/// if let Ok(found) = ucx_probe::find("x86_64-unknown-linux-gnu") {
///     let (major, minor) = found.version();
///     println!("UCX {major}.{minor}: {:?}", found.source());
///     println!("the linker searches {:?}, the loader {:?}", found.library_directory(), found.rpath());
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub(crate) source: Source,
    pub(crate) version: (u32, u32),
    /// Nothing when the linker finds the libraries by itself.
    pub(crate) directory: Option<PathBuf>,
    /// Whether the loader on the target has to be told of the directory.
    pub(crate) told: bool,
    /// The files that answer for it.
    pub(crate) files: Vec<PathBuf>,
}

impl Found {
    /// Where it was found.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Major and minor number.
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The directory of the libraries, to be searched by the linker; nothing when it does so
    /// anyway.
    #[must_use]
    pub fn library_directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The directory to be searched by the loader; nothing when it does so anyway.
    #[must_use]
    pub fn rpath(&self) -> Option<&Path> {
        self.library_directory().filter(|_| self.told)
    }
}
