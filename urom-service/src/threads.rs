//! The threads of embedded services; an exiting process waits for them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use urom_os::fork::PerProcess;

/// Number of running threads, including workers that the daemon no longer waits for.
static ALIVE: PerProcess<(Mutex<usize>, Condvar)> = PerProcess::new(Default::default);

fn alive() -> MutexGuard<'static, usize> {
    ALIVE.0.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
pub(crate) struct RunningThread(());

impl RunningThread {
    pub(crate) fn new() -> RunningThread {
        *alive() += 1;
        RunningThread(())
    }
}

impl Drop for RunningThread {
    fn drop(&mut self) {
        *alive() -= 1;
        ALIVE.1.notify_all();
    }
}

pub(crate) fn wait_for_all(longest: Duration) {
    drop(ALIVE.1.wait_timeout_while(alive(), longest, |alive| *alive > 0));
}
