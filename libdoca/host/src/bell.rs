//! The bell of a progress engine: wakes a host that asked to be notified.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd};

use urom_wire::Wake;

/// A descriptor that becomes readable for work that neither UCX's descriptor nor the mailbox's
/// shows.
pub(super) struct Bell {
    wake: Wake,
    /// The host may go to sleep, and the bell has not rung since.
    armed: Cell<bool>,
    rung: Cell<bool>,
}

impl Bell {
    pub(super) fn new() -> std::io::Result<Bell> {
        Ok(Bell { wake: Wake::new()?, armed: Cell::new(false), rung: Cell::new(false) })
    }

    /// Makes the next [`ring`](Bell::ring) make the descriptor readable.
    pub(super) fn arm(&self) {
        self.armed.set(true);
    }

    /// Makes [`ring`](Bell::ring) do nothing, so that a host that polls pays for no system call.
    pub(super) fn disarm(&self) {
        self.armed.set(false);
    }

    #[inline]
    pub(super) fn ring(&self) {
        if self.armed.get() {
            self.write();
        }
    }

    #[cold]
    fn write(&self) {
        self.armed.set(false);
        self.rung.set(true);
        self.wake.raise();
    }

    /// Disarms it and makes the descriptor wait again.
    pub(super) fn silence(&self) {
        self.disarm();
        // UCX mostly wakes the host. Then there is no system call.
        if self.rung.take() {
            self.wake.lower();
        }
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn is_readable(bell: &Bell) -> bool {
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(bell, PollFlags::IN)], Some(&none)).unwrap() == 1
    }

    #[test]
    fn it_rings_only_when_armed_and_until_silenced() {
        let bell = Bell::new().unwrap();
        bell.ring();
        assert!(!is_readable(&bell));
        bell.arm();
        assert!(!is_readable(&bell));
        bell.ring();
        bell.ring();
        assert!(is_readable(&bell));
        bell.silence();
        assert!(!is_readable(&bell));
        bell.arm();
        bell.silence();
        bell.ring();
        assert!(!is_readable(&bell));
    }
}
