//! The engine's UCX worker, created for the first worker without a ring.

use std::ptr::NonNull;
use std::rc::Weak;

use rustix::event::epoll;
use ucx::{AmData, Worker};
use urom_os::signals;
use urom_wire::control::Failure;
use urom_wire::envelope::{AM_HANDSHAKE, AM_NOTIFICATIONS};
use urom_wire::ucx_context::context;

use super::Pe;
use crate::failure::{failure, require_ucx};

/// # Safety
/// The engine exists whenever this worker is progressed or sends.
pub(crate) unsafe fn worker(pe: Weak<Pe>) -> ucx::Result<Worker> {
    let ucx = context().name("urom-host").build()?.worker()?;
    let engine = NonNull::new(pe.as_ptr().cast_mut());
    ucx.set_am_handler(AM_NOTIFICATIONS, move |message| {
        let Some(pe) = engine else { return };
        // SAFETY: UCX calls handlers only while a worker is progressed or sends, and the caller
        // promises a live engine for that time.
        let pe = unsafe { pe.as_ref() };
        match message.data {
            AmData::Eager(bytes) => pe.on_notifications(bytes),
            AmData::Rendezvous(announced) => {
                let len = announced.len();
                pe.unreadable(format_args!(
                    "a message of {len} bytes was dropped: it was not sent eagerly"
                ));
            }
        }
    })?;
    ucx.set_am_handler(AM_HANDSHAKE, move |message| {
        if let Some(pe) = pe.upgrade() {
            pe.on_handshake(message.header);
        }
    })?;
    Ok(ucx)
}

impl Pe {
    pub(crate) fn ucx(&self) -> Result<&Worker, Failure> {
        if let Some(ucx) = self.ucx.get() {
            return Ok(ucx);
        }
        require_ucx()?;
        let broken = |what: &str| failure!(INITIALIZATION, "UCX cannot be used: {what}");
        // SAFETY: the engine owns the worker and is the only caller of its progress. A run's
        // endpoint sends by it, and a run keeps its engine alive.
        let make = || unsafe { worker(Weak::clone(&self.me)) };
        // UCX starts a thread.
        let ucx = signals::blocked(make).map_err(|error| broken(&error.to_string()))?;
        let fd = ucx.event_fd().map_err(|error| broken(&error.to_string()))?;
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN)
            .map_err(|error| broken(&error.to_string()))?;
        Ok(self.ucx.get_or_init(|| ucx))
    }

    /// Progresses UCX until an event, at most `looks` times. Returns whether there was one.
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
