//! The wake-up sources of a sleeping host: descriptor, bell and timer.

use std::cell::Cell;
use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use urom_abi::DocaError;
use urom_os::EventFd;

use super::Pe;
use crate::pe::run::WorkerRun;

/// Attempts to arm UCX before the host must progress it.
const ARM_ATTEMPTS: usize = 4;

/// A descriptor for work that the other descriptors (rings' bell, UCX, mailbox) do not signal.
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

    /// Makes the next [`ring`](HostBell::ring) signal the descriptor.
    pub(crate) fn arm(&self) {
        self.armed.set(true);
    }

    /// Disables [`ring`](HostBell::ring), to save polling hosts the system call.
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
        // Usually a worker wakes the host, so this saves a system call.
        if self.rung.take() {
            self.wake.lower();
        }
    }
}

/// Ends the host's sleep for deadlines, for the host's own time, and every millisecond while a
/// domain starts, because out-of-band functions do not wake it.
pub(crate) struct Nap {
    pub(crate) timer: OwnedFd,
    /// The earliest of the deadlines and the host's time, or before it.
    next: Cell<Option<Instant>>,
    named: Cell<Option<Instant>>,
    /// Expiry of the timer.
    set: Cell<Option<Instant>>,
}

impl Nap {
    const LENGTH: Duration = Duration::from_millis(1);

    pub(crate) fn new() -> std::io::Result<Nap> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let [next, named, set] = [(); 3].map(|()| Cell::new(None));
        Ok(Nap { timer, next, named, set })
    }

    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.next.get().is_some_and(|next| next <= Instant::now())
    }

    fn begin(&self, at: Instant) -> rustix::io::Result<()> {
        if Some(at) == self.set.get() {
            return Ok(());
        }
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // Zero would stop it.
        let rest = at.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        let (tv_sec, tv_nsec) = (rest.as_secs() as i64, rest.subsec_nanos().into());
        let value = Itimerspec { it_interval: zero, it_value: Timespec { tv_sec, tv_nsec } };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &value)?;
        self.set.set(Some(at));
        Ok(())
    }

    fn end(&self) {
        // The timer fires slightly late. Until then the read fails, and a later call repeats it.
        if self.set.get().is_some_and(|at| at <= Instant::now())
            && rustix::io::read(&self.timer, &mut [0_u8; 8]).is_ok()
        {
            self.set.set(None);
        }
    }
}

impl Pe {
    pub(crate) fn notification_fd(&self) -> i32 {
        self.epoll.as_raw_fd()
    }

    /// Sends queued frames, then arms the descriptor. UCX signals frames it cannot send yet. The
    /// host may submit, stop and progress before it sleeps: work left wakes it.
    pub(crate) fn request_notification(&self) -> Result<(), DocaError> {
        self.bell.disarm();
        self.flush();
        // Before UCX, which may find a broken endpoint while it is armed.
        self.bell.arm();
        let exchange = || Instant::now() + Nap::LENGTH;
        let exchange = (!self.exchanging.borrow().is_empty()).then(exchange);
        self.set_timer(self.nap.next.get().into_iter().chain(exchange).min())?;
        let quiet = self.watch_all().inspect_err(|code| {
            self.cannot_arm(format_args!("the counters that tasks wait for: {code}"));
        })?;
        let nothing = quiet
            && self.ready.is_empty()
            && !self.mailbox.has_post()
            && !self.to_tend.borrow().iter().any(|run| run.is_broken())
            && self.rings.sleep()
            && self.arm()?;
        if !nothing {
            self.bell.ring();
        }
        Ok(())
    }

    fn set_timer(&self, at: Option<Instant>) -> Result<(), DocaError> {
        at.map_or(Ok(()), |at| self.nap.begin(at)).map_err(|error| {
            self.cannot_arm(format_args!("the progress engine's timer cannot be set: {error}"));
            DocaError::OPERATING_SYSTEM
        })
    }

    /// Returns the time after `nanoseconds` and arms the timer for it. `None` on overflow.
    #[cold]
    pub(crate) fn deadline_in(&self, nanoseconds: u64) -> Option<Instant> {
        let at = Instant::now().checked_add(Duration::from_nanos(nanoseconds))?;
        if self.nap.next.get().is_none_or(|next| at < next) {
            self.nap.next.set(Some(at));
            // Failures are already logged.
            let _ = if self.bell.armed.get() { self.set_timer(Some(at)) } else { Ok(()) };
        }
        Some(at)
    }

    /// Wakes a sleeping host after at most `nanoseconds`. The earliest time counts.
    pub(crate) fn wake_within(&self, nanoseconds: u64) {
        let at = self.deadline_in(nanoseconds);
        self.nap.named.update(|named| named.into_iter().chain(at).min());
    }

    #[cold]
    pub(super) fn expire(&self) {
        let now = Instant::now();
        self.nap.named.update(|named| named.filter(|named| *named > now));
        self.nap.next.set(None);
        // A clone, because a command's end may close an endpoint and its channel.
        let runs: Vec<Rc<WorkerRun>> = self.channels.borrow().iter().cloned().collect();
        let next = runs.iter().filter_map(|run| run.expire(self, now));
        let next = next.chain(self.nap.named.get()).min();
        self.nap.next.update(|other| other.into_iter().chain(next).min());
    }

    fn arm(&self) -> Result<bool, DocaError> {
        let Some(ucx) = self.ucx.get() else { return Ok(true) };
        // UCX refuses once for a signal of an already received message. A retry saves a wake-up.
        for _ in 0..ARM_ATTEMPTS {
            let armed = ucx.arm().map_err(|error| {
                self.cannot_arm(format_args!("{error}"));
                DocaError::DRIVER
            })?;
            if armed || ucx.progress() {
                return Ok(armed);
            }
        }
        // UCX does not signal that a worker's queue has space again. Yield, so that a polling host
        // leaves the processor to a worker on the same machine.
        std::thread::yield_now();
        Ok(false)
    }

    /// Logs why the host cannot sleep. Rate-limited, because hosts may repeat the call.
    #[cold]
    fn cannot_arm(&self, why: fmt::Arguments<'_>) {
        let line = self.unarmed.borrow_mut().line();
        // The log's reader may call back.
        if let Some(left_out) = line {
            log!(error, "{why}{left_out}");
        }
    }

    /// Resets the descriptor. Progress handles UCX's events.
    pub(crate) fn clear_notification(&self) {
        self.bell.silence();
        self.rings.wake();
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
