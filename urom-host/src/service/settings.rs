//! The settings of a connection: the service and its limits.

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
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
    Embedded { plugin_path: Option<PathBuf> },
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
            ServiceSource::Embedded { plugin_path: Some(path) } => {
                format!("starting the embedded service with plugins from {}", path.display())
            }
        }
    }

    pub(super) fn c_string(&self, text: &str) -> Result<CString> {
        CString::new(text).map_err(|error| self.nul(error))
    }

    pub(super) fn c_path(&self, path: &Path) -> Result<CString> {
        CString::new(path.as_os_str().to_owned().into_vec()).map_err(|error| self.nul(error))
    }

    fn nul(&self, error: std::ffi::NulError) -> Error {
        Error::new(DocaError::INVALID_VALUE, self.what()).caused_by(error)
    }
}
