//! UCX under a progress engine: one worker for all connections.

use std::cell::{Cell, OnceCell};
use std::ptr::NonNull;
use std::rc::{Rc, Weak};

use ucx::{Data, Worker};

use urom_wire::control::Failure;
use urom_wire::frame::{AM_GREET, AM_NOTIFICATIONS};
use urom_wire::pass::Pass;
use urom_wire::queue_probe::{self, Awaited};
use urom_wire::ucx_context::context;

use crate::failure::failure;
use crate::pe::Pe;

/// Refuses a UCX that is too old to be called.
pub(crate) fn require_ucx() -> Result<(), Failure> {
    ucx::require_version().map_err(|error| failure!(UNSUPPORTED_VERSION, "{error}"))
}

pub(crate) struct Transport {
    ucx: Worker,
    /// The nonce that a test of the receive queue waits for.
    pub(crate) awaited: Rc<Awaited>,
    pub(crate) blocked: Cell<bool>,
    /// The transport that replaced a blocked one.
    pub(crate) next: OnceCell<Box<Transport>>,
}

impl Transport {
    /// A UCX worker whose messages go to the engine.
    ///
    /// # Safety
    /// The engine exists whenever this worker is progressed or sends.
    pub(crate) unsafe fn new(pe: Weak<Pe>) -> ucx::Result<Transport> {
        let ucx = context().name("urom-host").build()?.worker()?;
        let engine = NonNull::new(pe.as_ptr().cast_mut());
        ucx.set_am_handler(AM_NOTIFICATIONS, move |message| {
            let Some(pe) = engine else { return };
            // SAFETY: UCX calls handlers while a worker is progressed or sends, and the caller
            // promises the engine for that time; a worker that ends calls none.
            let pe = unsafe { pe.as_ref() };
            match message.data {
                Data::Eager(bytes) => match Pass::split(bytes) {
                    Some((pass, frames)) => pe.on_notifications(pass, frames),
                    None => pe.unreadable(format_args!(
                        "a message was dropped: it has no room for the pass that it should begin with"
                    )),
                },
                Data::Rendezvous(announced) => {
                    let len = announced.len();
                    pe.unreadable(format_args!(
                        "a message of {len} bytes was dropped: it was not sent eagerly"
                    ));
                }
            }
        })?;
        ucx.set_am_handler(AM_GREET, move |message| {
            let Some(pe) = pe.upgrade() else { return };
            match <[u8; 2]>::try_from(message.header) {
                Ok(channel) => pe.on_greeting(u16::from_le_bytes(channel)),
                Err(_) => pe.unreadable(format_args!("a greeting of the wrong length was dropped")),
            }
        })?;
        let awaited = queue_probe::listen(&ucx)?;
        Ok(Transport { ucx, awaited, blocked: Cell::new(false), next: OnceCell::new() })
    }

    #[inline]
    pub(crate) fn ucx(&self) -> &Worker {
        &self.ucx
    }
}
