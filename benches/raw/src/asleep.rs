//! Sleeps while UCX is idle, which frees the core between messages.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use ucx_sys as sys;

use crate::{Peer, Style, check};

/// Polling time after the last event before a sleep. Hosts and workers of the kit poll as long over
/// shared memory. Over TCP polling is slow, so their number of polls between two clock readings
/// takes longer.
const LOOKS: Duration = Duration::from_micros(50);

const LIMIT: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

impl Peer {
    /// Makes a round trip with an end that [serves](Self::serve) and sleeps, too.
    pub fn round_trip_asleep(&self) -> Result<()> {
        let received = &self.counters[0].received;
        let first = received.get();
        self.send(Style::AtOnce.request());
        self.sleep_until(|| received.get() > first)
    }

    /// Progresses until `count` messages have come from peer `from`; sleeps during a long wait.
    pub fn await_asleep(&self, from: usize, count: u64) -> Result<()> {
        self.sleep_until(|| self.received(from) >= count)
    }

    pub(crate) fn sleep_until(&self, done: impl Fn() -> bool) -> Result<()> {
        let mut idle = None;
        while !done() {
            self.look(&mut idle)?;
        }
        Ok(())
    }

    /// Progresses once; sleeps if UCX has been idle for long, since `idle`.
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
        // SAFETY: UCX owns the descriptor, and keeps it open as long as the worker, which outlives
        // this.
        let event = unsafe { BorrowedFd::borrow_raw(fd) };
        match poll(&mut [PollFd::from_borrowed_fd(event, PollFlags::IN)], Some(&LIMIT)) {
            Ok(0) => bail!("nothing came for {} s", LIMIT.tv_sec),
            // A signal is also a reason to look.
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error).context("poll failed"),
        }
    }
}
