//! Questions that wait for a counter. Each is answered when its condition is met, or after a second
//! with the current value, so abandoned questions do not accumulate.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use urom_abi::DocaError;
use urom_abi::sync_event::Condition;
use urom_memory::{View, Watch, Word};
use urom_wire::remote::Ask;

use super::{ServedMemory, ServerState};

const LONGEST: Duration = Duration::from_secs(1);

/// Maximum waits per stream. Further questions are answered at once.
pub(super) const MOST_WAITS: usize = 1024;

pub(super) struct WaitList {
    /// Oldest first.
    waiting: Vec<PendingWait>,
    bell: Arc<DueBell>,
}

struct PendingWait {
    /// The first field, so that it drops before the memory.
    watch: Watch,
    token: u128,
    number: u64,
    condition: Condition,
    offset: u64,
    until: Instant,
    served: Rc<ServedMemory>,
}

/// Wakes the thread when a counter has met its condition.
struct DueBell {
    was_rung: AtomicBool,
    thread: Waker,
}

impl Wake for DueBell {
    fn wake(self: Arc<Self>) {
        self.was_rung.store(true, Ordering::Release);
        self.thread.wake_by_ref();
    }
}

impl WaitList {
    /// `thread` is called, on any thread, when there is an answer.
    pub(super) fn new(thread: Waker) -> WaitList {
        WaitList { waiting: Vec::new(), bell: Arc::new(DueBell { was_rung: false.into(), thread }) }
    }

    pub(super) fn forget(&mut self, token: u128, share: Option<u64>) {
        let is_meant = |it: &PendingWait| {
            it.token == token && share.is_none_or(|share| share == it.served.share)
        };
        self.waiting.retain(|it| !is_meant(it));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn pause(&self) -> Option<Duration> {
        Some(self.waiting.first()?.until.saturating_duration_since(Instant::now()))
    }
}

impl PendingWait {
    fn found(&self, now: Instant) -> Option<u64> {
        let start = (self.served.address + self.offset) as usize;
        let start = std::ptr::with_exposed_provenance_mut(start);
        // SAFETY: `carry_out` checked the range, and the end of the share waits for `served`.
        let view = unsafe { View::from_raw(start, 8, false) };
        let seen = view.load_u64(0).ok()?;
        (self.condition.is_met(seen) || now >= self.until).then_some(seen)
    }
}

impl ServerState {
    /// Returns the value if the condition is met; otherwise queues the question if possible.
    pub(super) fn wait(
        &mut self,
        ask: &Ask,
        served: &Rc<ServedMemory>,
        word: Word<'_>,
        condition: Condition,
    ) -> Result<Option<u64>, DocaError> {
        let (token, seen) = (ask.token.get(), word.load());
        let count = self.waits.waiting.iter().filter(|it| it.token == token).count();
        if condition.is_met(seen) || count >= MOST_WAITS {
            return Ok(Some(seen));
        }
        let waker = Arc::clone(&self.waits.bell).into();
        // SAFETY: the end of the share waits for `served`, which is dropped after the watch.
        let watch = unsafe { Watch::new(word, condition, &waker, 0) };
        let watch = watch.map_err(|error| {
            log!(warn, "a worker's wait for a counter fails: {error}");
            error.code()
        })?;
        self.waits.waiting.push(PendingWait {
            watch,
            token,
            number: ask.number.get(),
            condition,
            offset: ask.offset.get(),
            until: Instant::now() + LONGEST,
            served: Rc::clone(served),
        });
        Ok(None)
    }

    /// Answers due questions. Returns whether there were any.
    pub(super) fn end_waits(&mut self) -> bool {
        let WaitList { waiting, bell } = &mut self.waits;
        let Some(first) = waiting.first() else { return false };
        let (now, was_rung) = (Instant::now(), bell.was_rung.swap(false, Ordering::Acquire));
        if !was_rung && now < first.until {
            return false;
        }
        let waker = Arc::clone(bell).into();
        let mut due = Vec::new();
        waiting.retain(|it| {
            let result = match it.found(now) {
                Some(found) => Ok(found),
                // The condition was met only briefly: watch the counter again.
                None => match it.watch.renew(&waker) {
                    Ok(()) => return true,
                    Err(error) => Err(error.code()),
                },
            };
            due.push((it.token, it.number, result));
            false
        });
        for &(token, number, result) in &due {
            self.answer(token, number, result);
        }
        !due.is_empty()
    }
}
