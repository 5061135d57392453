//! Work that may never end, for example on a hanging file system, on separate threads.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use urom_wire::awake;

use crate::aside::on_thread;

#[derive(Debug)]
pub(super) enum Background<T> {
    Running(Receiver<T>, bool),
    Done(T),
    Panicked,
}

impl<T: Send + 'static> Background<T> {
    pub(super) fn begin(
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Background<T>, String> {
        let (tell, result) = sync_channel(1);
        ready_to_wait();
        on_thread("urom-look", move || {
            let _ = tell.send(work());
        })?;
        Ok(Background::Running(result, false))
    }

    /// Waits while time is left, on the first call only; a pause of this process does not count.
    pub(super) fn awaited(&mut self, left: &mut Duration) -> &mut Background<T> {
        if let Background::Running(result, awaited) = self {
            let limit = if std::mem::replace(awaited, true) { Duration::ZERO } else { *left };
            for step in std::iter::once(Duration::ZERO).chain(awake::steps(limit)) {
                let begin = Instant::now();
                let end = result.recv_timeout(step);
                *left = left.saturating_sub(begin.elapsed().min(step));
                *self = match end {
                    Ok(result) => Background::Done(result),
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => Background::Panicked,
                };
                break;
            }
        }
        self
    }
}

/// Allocates this thread's wait state, usually allocated on first use. That takes the loader's
/// lock, which a plugin that hangs during loading never releases.
fn ready_to_wait() {
    // A channel with a buffer would check the clock first.
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
        let minute = || Duration::from_secs(60);
        assert!(matches!(work.awaited(&mut { Duration::ZERO }), Background::Running(..)));
        let begin = Instant::now();
        assert!(matches!(work.awaited(&mut minute()), Background::Running(..)));
        assert!(begin.elapsed() < Duration::from_secs(30), "the second time without a wait");
        go_on.send(()).unwrap();
        while matches!(work.awaited(&mut minute()), Background::Running(..)) {
            std::thread::yield_now();
        }
        let mut work =
            Background::<()>::begin(|| std::panic::resume_unwind(Box::new("work"))).unwrap();
        assert!(matches!(work.awaited(&mut minute()), Background::Panicked));
    }
}
