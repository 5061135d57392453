//! UCX under a progress engine: one worker for all connections.

use std::rc::Weak;

use ucx::{Context, Data, Features, Worker};

use urom_abi::DocaError;

use super::failure::failure;
use super::pe::Pe;
use crate::wire::control::Failure;
use crate::wire::frame::{AM_GREET, AM_NOTIFICATIONS};

/// Refuses a UCX that is too old to be called.
pub(super) fn require_ucx() -> Result<(), Failure> {
    ucx::require_version().map_err(|error| failure(DocaError::UNSUPPORTED_VERSION, error.to_string()))
}

/// The UCX worker of a progress engine.
pub(super) struct Transport {
    ucx: Worker,
}

impl Transport {
    /// A worker whose messages go to the engine.
    pub(super) fn new(pe: Weak<Pe>) -> ucx::Result<Transport> {
        let ucx = Context::builder(Features::AM | Features::WAKEUP).name("urom-host").build()?.worker()?;
        let engine = Weak::clone(&pe);
        ucx.set_am_handler(AM_NOTIFICATIONS, move |message| {
            let Some(pe) = engine.upgrade() else { return };
            match message.data {
                Data::Eager(bytes) => pe.on_notifications(bytes),
                Data::Rendezvous(announced) => tracing::warn!(
                    target: "urom_library",
                    "a message of {} bytes was dropped: it was not sent eagerly",
                    announced.len()
                ),
            }
        })?;
        ucx.set_am_handler(AM_GREET, move |message| {
            let Some(pe) = pe.upgrade() else { return };
            match <[u8; 2]>::try_from(message.header) {
                Ok(channel) => pe.on_greeting(u16::from_le_bytes(channel)),
                Err(_) => {
                    tracing::warn!(target: "urom_library", "a greeting of the wrong length was dropped")
                }
            }
        })?;
        Ok(Transport { ucx })
    }

    pub(super) fn ucx(&self) -> &Worker {
        &self.ucx
    }
}
