//! The engine's descriptor, which wakes a host that sleeps.

use std::os::fd::AsRawFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use urom_abi::DocaError;

use super::Pe;

/// How often UCX is armed before the host has to progress it.
const ARM_ATTEMPTS: usize = 4;

/// The longest sleep of a host while a domain starts: the out-of-band functions wake nobody.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

impl Pe {
    /// The descriptor that [`request_notification`](Pe::request_notification) arms.
    pub(crate) fn notification_fd(&self) -> i32 {
        self.epoll.as_raw_fd()
    }

    /// Sends what waits, then makes the descriptor readable with the next event, or at once. What
    /// UCX cannot send yet is an event of UCX. While a domain starts, it waits here, for a short
    /// time.
    ///
    /// The host may submit, stop and even progress before it sleeps: work that this leaves wakes
    /// it, too.
    pub(crate) fn request_notification(&self) -> Result<(), DocaError> {
        self.bell.disarm();
        self.flush();
        // Before UCX, which may find a broken endpoint while it is armed.
        self.bell.arm();
        let nothing = self.ready.is_empty()
            && !self.mailbox.has_post()
            && !self.is_probing()
            && !self.to_tend.borrow().iter().any(|run| run.is_broken())
            && self.arm()?;
        let is_starting = !self.exchanging.borrow().is_empty();
        if nothing && is_starting {
            // A signal ends it early.
            let _ = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&NAP));
        }
        if !nothing || is_starting {
            self.bell.ring();
        }
        Ok(())
    }

    /// False when UCX has something to do.
    fn arm(&self) -> Result<bool, DocaError> {
        let Some(transport) = self.current() else { return Ok(true) };
        if transport.blocked.get() {
            return Ok(true);
        }
        let ucx = &transport.ucx;
        // UCX refuses once for a signal whose message was already received: the host would wake for
        // nothing.
        for _ in 0..ARM_ATTEMPTS {
            let armed = ucx.arm().map_err(|error| {
                log!(error, "{error}");
                DocaError::DRIVER
            })?;
            if armed || ucx.progress() {
                return Ok(armed);
            }
        }
        // UCX waits for room in a worker's queue, and wakes nobody when there is some. Hosts that
        // poll for it without a pause would leave a worker on the same machine no processor.
        std::thread::yield_now();
        Ok(false)
    }

    /// Makes the descriptor wait again. Progress handles UCX's events.
    pub(crate) fn clear_notification(&self) {
        self.bell.silence();
        if self.mailbox.has_post() {
            self.read_mail();
        }
    }
}
