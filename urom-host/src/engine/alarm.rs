//! A descriptor that is readable when another one is, or when a time has come.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// An engine's event handle joined with a timer for its deadlines.
pub(crate) struct Alarm {
    both: OwnedFd,
    timer: OwnedFd,
    set: Cell<Option<Instant>>,
}

impl Alarm {
    pub(crate) fn new(handle: BorrowedFd<'_>) -> io::Result<Alarm> {
        let both = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let data = epoll::EventData::new_u64(0);
        epoll::add(&both, handle, data, epoll::EventFlags::IN)?;
        epoll::add(&both, &timer, data, epoll::EventFlags::IN)?;
        Ok(Alarm { both, timer, set: Cell::new(None) })
    }

    pub(crate) fn as_raw_fd(&self) -> RawFd {
        self.both.as_raw_fd()
    }

    pub(crate) fn set(&self, at: Option<Instant>) -> io::Result<()> {
        if self.set.get() == at {
            return Ok(());
        }
        let now = Instant::now();
        // Zero would stop it.
        let rest = at.map(|at| at.saturating_duration_since(now).max(Duration::from_nanos(1)));
        let rest = rest.unwrap_or_default();
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec {
            tv_sec: rest.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: rest.subsec_nanos().into(),
        };
        let spec = Itimerspec { it_interval: zero, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec)?;
        self.set.set(at);
        Ok(())
    }

    /// Makes it unreadable again after the timer went off.
    pub(crate) fn clear(&self) {
        // The timer goes off a little after its time. Until then it stays set, and a later call
        // clears it.
        if self.set.get().is_some_and(|at| at <= Instant::now())
            && rustix::io::read(&self.timer, &mut [0; 8]).is_ok()
        {
            self.set.set(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::event::{PollFd, PollFlags, Timespec as Limit, poll};

    use super::*;

    fn is_readable(alarm: &Alarm, seconds: i64) -> bool {
        let mut fds = [PollFd::new(&alarm.both, PollFlags::IN)];
        poll(&mut fds, Some(&Limit { tv_sec: seconds, tv_nsec: 0 })).unwrap() == 1
    }

    #[test]
    fn a_timer_that_goes_off_after_it_was_cleared_is_cleared_by_the_next_call() {
        let nothing = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
        let alarm = Alarm::new(nothing.as_fd()).unwrap();
        alarm.set(Some(Instant::now() + Duration::from_secs(3600))).unwrap();
        // Its time has come, but not for the timer.
        alarm.set.set(Some(Instant::now()));
        alarm.clear();
        assert!(!is_readable(&alarm, 0));
        let at_once = Timespec { tv_sec: 0, tv_nsec: 1 };
        let spec =
            Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at_once };
        timerfd_settime(&alarm.timer, TimerfdTimerFlags::empty(), &spec).unwrap();
        assert!(is_readable(&alarm, 20));
        alarm.clear();
        assert!(!is_readable(&alarm, 0), "it stays readable for ever");
    }
}
