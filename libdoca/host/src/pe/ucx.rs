//! UCX under the engine, made for the first worker that has no ring.

use std::ptr::NonNull;
use std::rc::Weak;

use rustix::event::epoll;
use ucx::{Data, Worker};
use urom_os::signals;
use urom_wire::control::Failure;
use urom_wire::envelope::{AM_GREET, AM_NOTIFICATIONS};
use urom_wire::ucx_context::context;

use super::Pe;
use crate::failure::{failure, require_ucx};

/// A UCX worker whose messages go to the engine.
///
/// # Safety
/// The engine exists whenever this worker is progressed or sends.
pub(crate) unsafe fn worker(pe: Weak<Pe>) -> ucx::Result<Worker> {
    let ucx = context().name("urom-host").build()?.worker()?;
    let engine = NonNull::new(pe.as_ptr().cast_mut());
    ucx.set_am_handler(AM_NOTIFICATIONS, move |message| {
        let Some(pe) = engine else { return };
        // SAFETY: UCX calls handlers while a worker is progressed or sends, and the caller promises
        // the engine for that time; a worker that ends calls none.
        let pe = unsafe { pe.as_ref() };
        match message.data {
            Data::Eager(bytes) => pe.on_notifications(bytes),
            Data::Rendezvous(announced) => {
                let len = announced.len();
                pe.unreadable(format_args!(
                    "a message of {len} bytes was dropped: it was not sent eagerly"
                ));
            }
        }
    })?;
    ucx.set_am_handler(AM_GREET, move |message| {
        if let Some(pe) = pe.upgrade() {
            pe.on_greeting(message.header);
        }
    })?;
    Ok(ucx)
}

impl Pe {
    /// The engine's UCX worker.
    pub(crate) fn ucx(&self) -> Result<&Worker, Failure> {
        if let Some(ucx) = self.ucx.get() {
            return Ok(ucx);
        }
        require_ucx()?;
        let broken = |what: &str| failure!(INITIALIZATION, "UCX cannot be used: {what}");
        // SAFETY: the engine has the worker, and nothing else progresses it. A run's endpoint sends
        // by it, and a run keeps its engine.
        let make = || unsafe { worker(Weak::clone(&self.me)) };
        // UCX starts a thread of its own.
        let ucx = signals::blocked(make).map_err(|error| broken(&error.to_string()))?;
        let fd = ucx.event_fd().map_err(|error| broken(&error.to_string()))?;
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN)
            .map_err(|error| broken(&error.to_string()))?;
        Ok(self.ucx.get_or_init(|| ucx))
    }

    /// Progresses UCX until something comes, at most `looks` times. Returns whether anything did.
    #[inline]
    pub(super) fn progress_ucx(&self, looks: u32) -> bool {
        let Some(ucx) = self.ucx.get() else { return false };
        let received = (0..looks).any(|_| ucx.progress());
        if received {
            // UCX was armed for the event that it has just handled.
            self.bell.ring();
        }
        received
    }

    /// Receives everything that has arrived.
    pub(crate) fn drain(&self) {
        self.rings.drain(|task| self.push_command(task));
        let Some(ucx) = self.ucx.get() else { return };
        for _ in 0..10_000 {
            if !ucx.progress() {
                break;
            }
        }
    }
}
