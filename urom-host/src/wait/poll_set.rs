//! Sleeps on any number of descriptors.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static POLL_SET: Cell<Vec<libc::pollfd>> = const { Cell::new(Vec::new()) };
}

pub(crate) struct PollSet(Vec<libc::pollfd>);

impl PollSet {
    pub(crate) fn take() -> PollSet {
        let mut set = POLL_SET.try_with(Cell::take).unwrap_or_default();
        set.clear();
        PollSet(set)
    }

    pub(crate) fn add(&mut self, fd: i32) {
        self.0.push(libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    }

    /// Sleeps until a descriptor is readable, a signal arrives, or `limit` has passed.
    pub(crate) fn poll(&mut self, limit: Option<Duration>) {
        let limit = limit.map(|limit| libc::timespec {
            tv_sec: limit.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let count = self.0.len() as libc::nfds_t;
        // SAFETY: the array has `count` entries, the time is a local variable or NULL, and the
        // signal mask is NULL. The result is unused: a woken caller checks everything.
        unsafe { libc::ppoll(self.0.as_mut_ptr(), count, limit, std::ptr::null()) };
    }
}

impl Drop for PollSet {
    fn drop(&mut self) {
        let set = std::mem::take(&mut self.0);
        let _ = POLL_SET.try_with(|spare| spare.set(set));
    }
}
