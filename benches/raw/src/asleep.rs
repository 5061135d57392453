//! Sleeping until UCX has something to do, as one does who leaves the core to others between messages.

use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use ucx_sys as sys;

use crate::{Peer, Style, check};

/// How long it looks after the last thing that happened before it sleeps. Hosts and workers of the kit look as long over shared memory, and
/// some times longer over TCP, where they read the clock as seldom.
const LOOKS: Duration = Duration::from_micros(50);

/// When nothing has come for so long, something is wrong.
const LIMIT: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

impl Peer {
    /// Makes a round trip, asleep for most of it when that takes long, against an end that [serves](Self::serve) and sleeps as well.
    ///
    /// # Errors
    /// UCX's status, of a kind that does not sleep for one; that nothing came.
    pub fn round_trip_asleep(&self) -> Result<(), String> {
        let received = &self.counters[0].received;
        let first = received.get();
        self.send(Style::ShortAtOnce.request());
        self.sleep_until(|| received.get() > first)
    }

    /// Lets UCX work until `done` says so; sleeps while there is nothing to do.
    pub(crate) fn sleep_until(&self, done: impl Fn() -> bool) -> Result<(), String> {
        let mut idle: Option<Instant> = None;
        while !done() {
            if self.progress() {
                idle = None;
            } else if idle.get_or_insert_with(Instant::now).elapsed() >= LOOKS {
                self.sleep()?;
                idle = None;
            }
        }
        Ok(())
    }

    fn sleep(&self) -> Result<(), String> {
        // SAFETY: the worker is live and used by this thread only.
        match unsafe { sys::ucp_worker_arm(self.worker) } {
            sys::UCS_ERR_BUSY => return Ok(()),
            status => check("ucp_worker_arm", status)?,
        }
        let mut fd = -1;
        // SAFETY: the worker is live and the result can be written to.
        check("ucp_worker_get_efd", unsafe { sys::ucp_worker_get_efd(self.worker, &mut fd) })?;
        // SAFETY: UCX's own descriptor, open as long as the worker, which outlives this call.
        let event = unsafe { BorrowedFd::borrow_raw(fd) };
        self.slept.fetch_add(1, Ordering::Relaxed);
        match poll(&mut [PollFd::from_borrowed_fd(event, PollFlags::IN)], Some(&LIMIT)) {
            Ok(0) => Err(format!("nothing came for {} s", LIMIT.tv_sec)),
            // A signal is as good a reason to look as any.
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(format!("poll failed: {error}")),
        }
    }
}
