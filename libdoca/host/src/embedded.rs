//! The embedded service, built in by the feature `embedded`.

use std::ffi::OsString;
use std::sync::Arc;

#[cfg(feature = "embedded")]
use urom_abi::DocaError;
#[cfg(feature = "embedded")]
pub(crate) use urom_service::embedded::Embedded;
use urom_wire::control::Failure;

#[cfg(not(feature = "embedded"))]
use crate::address::FILE_VARIABLE;
use crate::failure::failure;

#[cfg(feature = "embedded")]
pub(crate) fn shared(path: Option<OsString>, max_message: usize) -> Result<Arc<Embedded>, Failure> {
    Embedded::shared(path, max_message).map_err(|error| {
        let code = match error.kind() {
            std::io::ErrorKind::InvalidInput => DocaError::BAD_CONFIG,
            _ => DocaError::INITIALIZATION,
        };
        failure!(code = code, "the embedded service cannot be started: {error}")
    })
}

/// Uninhabited: this program is built without the service.
#[cfg(not(feature = "embedded"))]
pub(crate) enum Embedded {}

#[cfg(not(feature = "embedded"))]
impl Embedded {
    pub(crate) fn address(&self) -> std::net::SocketAddr {
        match *self {}
    }

    pub(crate) fn key(&self) -> &urom_wire::key::Key {
        match *self {}
    }
}

#[cfg(not(feature = "embedded"))]
pub(crate) fn shared(_: Option<OsString>, _: usize) -> Result<Arc<Embedded>, Failure> {
    Err(failure!(
        NOT_SUPPORTED,
        "this program is built without the embedded service: give it the address of a daemon, or \
         name a file of services in {FILE_VARIABLE}, or build it with the feature \
         `embedded` of urom-host"
    ))
}
