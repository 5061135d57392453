//! Work that may never end, for example on a file system that hangs: each on a thread of its own.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::dispatcher;

/// Work that was begun, and is waited for once.
#[derive(Debug)]
pub(super) struct Background<T> {
    pub(super) result: Receiver<T>,
    awaited: bool,
}

/// How far it has come.
#[derive(Debug)]
pub(super) enum Outcome<T> {
    Done(T),
    Busy,
    Panicked,
}

impl<T: Send + 'static> Background<T> {
    /// Begins, and logs where this thread does.
    ///
    /// # Errors
    /// Why there is no thread.
    pub(super) fn begin(
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Background<T>, String> {
        let (tell, result) = sync_channel(1);
        ready_to_wait();
        on_thread("urom-look", move || {
            // The receiver is gone if this took too long.
            let _ = tell.send(work());
        })?;
        Ok(Background { result, awaited: false })
    }

    /// Waits for the end, the first time, and not later than `until`.
    pub(super) fn outcome(&mut self, until: Instant) -> Outcome<T> {
        let left = match std::mem::replace(&mut self.awaited, true) {
            true => Duration::ZERO,
            false => until.saturating_duration_since(Instant::now()),
        };
        match self.result.recv_timeout(left) {
            Ok(result) => Outcome::Done(result),
            Err(RecvTimeoutError::Timeout) => Outcome::Busy,
            Err(RecvTimeoutError::Disconnected) => Outcome::Panicked,
        }
    }
}

/// Starts a thread that logs where this one does. The runtime has threads of its own for that, but a
/// task that finds none panics.
///
/// # Errors
/// Why there is no thread.
pub(super) fn on_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let log = dispatcher::get_default(Clone::clone);
    let work = move || dispatcher::with_default(&log, work);
    // Signals are as they are here: what the thread starts inherits which are blocked.
    let thread = Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(|error| format!("there is no thread for it: {error}"))
}

/// The result of work that may block, done on a thread of its own inside this runtime.
///
/// # Errors
/// There is no thread, or the work panicked.
pub(super) async fn result_of<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let (tell, told) = oneshot::channel();
    let runtime = Handle::current();
    on_thread(name, move || {
        let _inside = runtime.enter();
        // The receiver is gone when the daemon ends.
        let _ = tell.send(work());
    })?;
    told.await.map_err(|_| "it panicked; please report it".to_owned())
}

/// Makes what this thread needs to wait, which otherwise is made when it is first used. Making it
/// takes the loader's lock, which a plugin that hangs while it is loaded never releases.
fn ready_to_wait() {
    // One without room: any other looks at the clock first.
    let (_sender, receiver) = sync_channel::<()>(0);
    let _ = receiver.recv_timeout(Duration::ZERO);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_waited_for_once() {
        let (go_on, may_go_on) = sync_channel::<()>(0);
        let mut work = Background::begin(move || may_go_on.recv().unwrap()).unwrap();
        let late = || Instant::now() + Duration::from_secs(60);
        assert!(matches!(work.outcome(Instant::now()), Outcome::Busy));
        let begin = Instant::now();
        assert!(matches!(work.outcome(late()), Outcome::Busy));
        assert!(begin.elapsed() < Duration::from_secs(30), "the second time nobody waits");
        go_on.send(()).unwrap();
        while let Outcome::Busy = work.outcome(late()) {
            std::thread::yield_now();
        }
        let mut work =
            Background::<()>::begin(|| std::panic::resume_unwind(Box::new("work"))).unwrap();
        assert!(matches!(work.outcome(late()), Outcome::Panicked));
    }
}
