//! Polls and drops a slot's future; a panic ends only its command.

use std::future::Future;
use std::task::Poll;

use urom_abi::protocol::Answer;

use crate::Result;
use crate::failures::Failure;
use crate::guard::{self, catch};
use crate::panic::contain;
use crate::slot::CommandSlot;

pub(super) const DROPPING: &str = "dropping a handler's future";

/// A future's value during its drop. After a panic, `Executor::end_panicked` uses it.
pub(super) struct OutcomeGuard<'a> {
    pub(super) outcome: Option<Result<Answer>>,
    pub(super) left: &'a mut Option<Result<Answer>>,
}

impl Drop for OutcomeGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(outcome) = self.outcome.take() {
            *self.left = Some(outcome);
        }
    }
}

/// Polls the future of `slot`, and drops it if it ended or panicked.
#[inline]
pub(super) fn run<F: Future>(
    slot: &CommandSlot<F>,
    poll: impl FnOnce() -> Poll<Result<Answer>>,
) -> Poll<Result<Answer, Failure>> {
    let mut polled = Poll::Pending;
    let done = contain(|| {
        polled = poll();
        if polled.is_ready() {
            // SAFETY: no future is running.
            unsafe { slot.drop_future() };
        }
    });
    match done {
        Err(panic) if polled.is_pending() => {
            drop_future(slot);
            return Poll::Ready(Err(Failure::Panic(panic)));
        }
        Err(panic) => guard::report(DROPPING, &panic),
        Ok(()) => {}
    }
    polled.map_err(Failure::Error)
}

pub(super) fn drop_future<F>(slot: &CommandSlot<F>) {
    // SAFETY: the executor's owner is not one of its futures.
    catch(DROPPING, || unsafe { slot.drop_future() });
}
