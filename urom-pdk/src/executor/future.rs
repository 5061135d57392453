//! Polls and drops a slot's future, so that what panics there ends one command and no more.

use std::future::Future;
use std::task::Poll;

use urom_abi::protocol::Answer;

use crate::Result;
use crate::failures::Failure;
use crate::guard::{self, catch};
use crate::panic::contain;
use crate::slot::CommandSlot;

/// What a panic in the drop of a future is logged under.
pub(super) const DROPPING: &str = "dropping a handler's future";

/// What a future gave, while it is dropped. Should that panic, the outcome stands: it is left for
/// `Executor::end_panicked`.
pub(super) struct Given<'a> {
    pub(super) outcome: Option<Result<Answer>>,
    pub(super) left: &'a mut Option<Result<Answer>>,
}

impl Drop for Given<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(outcome) = self.outcome.take() {
            *self.left = Some(outcome);
        }
    }
}

/// Runs what polls the future of `slot`. When the future ended, by itself or by a panic, it is gone
/// afterwards.
#[inline]
pub(super) fn run<F: Future>(
    slot: &CommandSlot<F>,
    poll: impl FnOnce() -> Poll<Result<Answer>>,
) -> Poll<Result<Answer, Failure>> {
    let mut polled = Poll::Pending;
    let done = contain(|| {
        polled = poll();
        if polled.is_ready() {
            // SAFETY: no future runs now.
            unsafe { slot.drop_future() };
        }
    });
    match done {
        Err(panic) if polled.is_pending() => {
            drop_future(slot);
            return Poll::Ready(Err(Failure::Panic(panic)));
        }
        // The outcome stands.
        Err(panic) => guard::report(DROPPING, &panic),
        Ok(()) => {}
    }
    polled.map_err(Failure::Error)
}

pub(super) fn drop_future<F>(slot: &CommandSlot<F>) {
    // SAFETY: whoever holds the executor is not one of its futures.
    catch(DROPPING, || unsafe { slot.drop_future() });
}
