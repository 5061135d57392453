//! Sleeping until UCX has something to do, which leaves the core to others between messages.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use ucx_sys as sys;

use crate::{Peer, Style, check};

/// How long it polls after the last event before it sleeps. Hosts and workers of the kit poll as
/// long over shared memory, and longer over TCP, where polling is slow and they read the clock as
/// seldom.
const LOOKS: Duration = Duration::from_micros(50);

/// Without a message for this long, something is wrong.
const LIMIT: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

impl Peer {
    /// Makes a round trip, asleep for most of a long one, against an end that
    /// [serves](Self::serve) and sleeps too.
    pub fn round_trip_asleep(&self) -> Result<()> {
        let received = &self.counters[0].received;
        let first = received.get();
        self.send(Style::AtOnce.request());
        self.sleep_until(|| received.get() > first)
    }

    /// Lets UCX work until there are so many messages from peer `from`, asleep for most of a long
    /// wait.
    pub fn await_asleep(&self, from: usize, count: u64) -> Result<()> {
        self.sleep_until(|| self.received(from) >= count)
    }

    /// Lets UCX work until `done` returns true; sleeps while there is nothing to do.
    pub(crate) fn sleep_until(&self, done: impl Fn() -> bool) -> Result<()> {
        let mut idle = None;
        while !done() {
            self.look(&mut idle)?;
        }
        Ok(())
    }

    /// Lets UCX work once, and sleeps when there has been nothing to do for a while: since `idle`.
    pub(crate) fn look(&self, idle: &mut Option<Instant>) -> Result<()> {
        if self.progress() {
            *idle = None;
        } else if idle.get_or_insert_with(Instant::now).elapsed() >= LOOKS {
            self.sleep()?;
            *idle = None;
        }
        Ok(())
    }

    fn sleep(&self) -> Result<()> {
        // SAFETY: the worker is live and used by this thread only.
        match unsafe { sys::ucp_worker_arm(self.worker) } {
            sys::UCS_ERR_BUSY => return Ok(()),
            status => check("ucp_worker_arm", status)?,
        }
        let mut fd = -1;
        // SAFETY: the worker is live and the result can be written to.
        check("ucp_worker_get_efd", unsafe { sys::ucp_worker_get_efd(self.worker, &mut fd) })?;
        // SAFETY: the descriptor is UCX's own, open as long as the worker, which outlives this
        // call.
        let event = unsafe { BorrowedFd::borrow_raw(fd) };
        match poll(&mut [PollFd::from_borrowed_fd(event, PollFlags::IN)], Some(&LIMIT)) {
            Ok(0) => bail!("nothing came for {} s", LIMIT.tv_sec),
            // A signal is as good a reason to look as any.
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error).context("poll failed"),
        }
    }
}
