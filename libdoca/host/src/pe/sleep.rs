//! The engine's descriptor, its bell and its nap: what wakes a host that sleeps.

use std::cell::Cell;
use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use urom_abi::DocaError;
use urom_os::EventFd;

use super::Pe;

/// How often UCX is armed before the host has to progress it.
const ARM_ATTEMPTS: usize = 4;

/// A descriptor that becomes readable for work that neither UCX's descriptor nor the mailbox's
/// shows.
pub(crate) struct HostBell {
    pub(crate) wake: EventFd,
    /// The host may go to sleep, and the bell has not rung since.
    armed: Cell<bool>,
    rung: Cell<bool>,
}

impl HostBell {
    pub(crate) fn new() -> std::io::Result<HostBell> {
        Ok(HostBell { wake: EventFd::new()?, armed: Cell::new(false), rung: Cell::new(false) })
    }

    /// Makes the next [`ring`](HostBell::ring) make the descriptor readable.
    pub(crate) fn arm(&self) {
        self.armed.set(true);
    }

    /// Makes [`ring`](HostBell::ring) do nothing, so that a host that polls pays for no system
    /// call.
    pub(crate) fn disarm(&self) {
        self.armed.set(false);
    }

    #[inline]
    pub(crate) fn ring(&self) {
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

    pub(crate) fn silence(&self) {
        self.disarm();
        // UCX mostly wakes the host. Then there is no system call.
        if self.rung.take() {
            self.wake.lower();
        }
    }
}

/// A timer that ends the host's sleep while a domain starts: the out-of-band functions wake nobody.
pub(crate) struct Nap {
    pub(crate) timer: OwnedFd,
    begun: Cell<bool>,
}

impl Nap {
    const LENGTH: Itimerspec = Itimerspec {
        it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
        it_value: Timespec { tv_sec: 0, tv_nsec: 1_000_000 },
    };

    pub(crate) fn new() -> std::io::Result<Nap> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Nap { timer, begun: Cell::new(false) })
    }

    fn begin(&self) -> rustix::io::Result<()> {
        self.begun.set(true);
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &Nap::LENGTH).map(drop)
    }

    fn end(&self) {
        if self.begun.take() {
            // Fails only when the timer has not fired.
            let _ = rustix::io::read(&self.timer, &mut [0_u8; 8]);
        }
    }
}

impl Pe {
    /// The descriptor that [`request_notification`](Pe::request_notification) arms.
    pub(crate) fn notification_fd(&self) -> i32 {
        self.epoll.as_raw_fd()
    }

    /// Sends what waits, then makes the descriptor readable with the next event, or at once. What
    /// UCX cannot send yet is an event of UCX.
    ///
    /// The host may submit, stop and even progress before it sleeps: work that this leaves wakes
    /// it, too.
    pub(crate) fn request_notification(&self) -> Result<(), DocaError> {
        self.bell.disarm();
        self.flush();
        // Before UCX, which may find a broken endpoint while it is armed.
        self.bell.arm();
        if !self.exchanging.borrow().is_empty() {
            self.nap.begin().map_err(|error| {
                self.cannot_arm(format_args!("the progress engine's timer cannot be set: {error}"));
                DocaError::OPERATING_SYSTEM
            })?;
        }
        let quiet = self.watch_all().inspect_err(|code| {
            self.cannot_arm(format_args!("the counters that tasks wait for: {code}"));
        })?;
        let nothing = quiet
            && self.ready.is_empty()
            && !self.mailbox.has_post()
            && !self.probe.borrow().is_running()
            && !self.to_tend.borrow().iter().any(|run| run.broken.get().is_some())
            && self.arm()?;
        if !nothing {
            self.bell.ring();
        }
        Ok(())
    }

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
                self.cannot_arm(format_args!("{error}"));
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

    /// Logs why the host cannot sleep. It may ask any number of times.
    #[cold]
    fn cannot_arm(&self, why: fmt::Arguments<'_>) {
        let line = self.unarmed.borrow_mut().line();
        // The reader of the log may call back.
        if let Some(left_out) = line {
            log!(error, "{why}{left_out}");
        }
    }

    /// Makes the descriptor wait again. Progress handles UCX's events.
    pub(crate) fn clear_notification(&self) {
        self.bell.silence();
        self.nap.end();
        if self.mailbox.has_post() {
            self.read_mail();
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;

    fn is_readable(bell: &HostBell) -> bool {
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&bell.wake, PollFlags::IN)], Some(&none)).unwrap() == 1
    }

    #[test]
    fn it_rings_only_when_armed_and_until_silenced() {
        let bell = HostBell::new().unwrap();
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
