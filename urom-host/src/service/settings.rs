//! The settings of a connection: the service and its limits.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use urom_abi::DocaError;

use crate::error::{Error, Result};

#[derive(Debug, Clone, Default)]
pub(super) struct ServiceSettings {
    pub(super) source: ServiceSource,
    pub(super) device: Option<String>,
    pub(super) key_file: Option<PathBuf>,
    pub(super) max_workers: Option<u32>,
    pub(super) max_message_size: Option<usize>,
}

#[derive(Debug, Clone, Default)]
pub(super) enum ServiceSource {
    #[default]
    Environment,
    /// `origin` is the source of the address, for error messages.
    Address { address: String, origin: String },
    /// Without a path: from `UROM_PLUGIN_PATH` or the program's directory.
    Embedded { plugin_path: Option<Vec<PathBuf>> },
}

/// The paths as in `UROM_PLUGIN_PATH`.
pub(super) fn joined(paths: &[PathBuf]) -> OsString {
    let paths: Vec<_> = paths.iter().map(|path| path.as_os_str()).collect();
    paths.join(OsStr::new(";"))
}

impl ServiceSettings {
    pub(super) fn what(&self) -> String {
        match &self.source {
            ServiceSource::Environment => "connecting to the service".to_owned(),
            ServiceSource::Address { address, origin } => {
                format!("connecting to the service at {} (from {origin})", address.escape_debug())
            }
            ServiceSource::Embedded { plugin_path: None } => {
                "starting the embedded service".to_owned()
            }
            ServiceSource::Embedded { plugin_path: Some(paths) } => {
                let paths = joined(paths);
                format!("starting the embedded service with plugins from {}", paths.display())
            }
        }
    }

    pub(super) fn c_string(&self, text: &str) -> Result<CString> {
        CString::new(text).map_err(|error| self.nul(error))
    }

    pub(super) fn c_path(&self, path: &Path) -> Result<CString> {
        CString::new(path.as_os_str().to_owned().into_vec()).map_err(|error| self.nul(error))
    }

    /// # Errors
    /// When a path contains the separator, or a NUL byte.
    pub(super) fn plugin_path(&self, paths: &[PathBuf]) -> Result<CString> {
        if let Some(path) = paths.iter().find(|path| path.as_os_str().as_bytes().contains(&b';')) {
            let why = format!("the path {path:?} contains `;`, which separates paths");
            return Err(Error::new(DocaError::INVALID_VALUE, self.what())
                .why(why)
                .hint("rename it, or name a link to it"));
        }
        self.c_path(Path::new(&joined(paths)))
    }

    fn nul(&self, error: std::ffi::NulError) -> Error {
        Error::new(DocaError::INVALID_VALUE, self.what()).caused_by(error)
    }
}
