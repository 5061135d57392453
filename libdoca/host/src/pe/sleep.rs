//! The engine's descriptor, which wakes a host that sleeps.

use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use rustix::event::epoll;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use urom_abi::DocaError;
use urom_wire::control::Failure;

use super::Pe;
use crate::failure::failure;

/// How often UCX is armed before the host has to progress it.
const ARM_ATTEMPTS: usize = 4;

/// The longest sleep of a host while a domain's exchange is under way: the out-of-band functions
/// wake nobody.
const EXCHANGE_NAP: Duration = Duration::from_millis(1);

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
        self.wind_up()?;
        let nothing = self.ready.is_empty()
            && !self.mailbox.has_post()
            && !self.is_probing()
            && !self.to_tend.borrow().iter().any(|run| run.is_broken())
            && self.arm()?;
        if !nothing {
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
        let ucx = transport.ucx();
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
        self.quiet();
        if self.mailbox.has_post() {
            self.read_mail();
        }
    }

    /// Makes the timer that goes with [`exchange`](Pe::exchange), once.
    pub(crate) fn have_timer(&self) -> Result<(), Failure> {
        if self.timer.get().is_some() {
            return Ok(());
        }
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).and_then(|timer| {
            let data = epoll::EventData::new_u64(3);
            epoll::add(&self.epoll, timer.as_fd(), data, epoll::EventFlags::IN).map(|()| timer)
        });
        let timer = timer.map_err(|error| {
            failure!(OPERATING_SYSTEM, "the progress engine cannot have a timer: {error}")
        })?;
        self.timer.get_or_init(|| timer);
        Ok(())
    }

    /// Starts the timer if an exchange is under way.
    fn wind_up(&self) -> Result<(), DocaError> {
        let Some(timer) = self.timer.get() else { return Ok(()) };
        if self.exchanging.borrow().is_empty() {
            return Ok(());
        }
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let nap = Timespec { tv_sec: 0, tv_nsec: EXCHANGE_NAP.subsec_nanos().into() };
        let once = Itimerspec { it_interval: zero, it_value: nap };
        timerfd_settime(timer, TimerfdTimerFlags::empty(), &once).map_err(|error| {
            log!(error, "the progress engine's timer cannot be set: {error}");
            DocaError::OPERATING_SYSTEM
        })?;
        Ok(())
    }

    fn quiet(&self) {
        if let Some(timer) = self.timer.get() {
            // Fails only when it has not fired.
            let _ = rustix::io::read(timer, &mut [0_u8; 8]);
        }
    }
}
