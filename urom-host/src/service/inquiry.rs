//! What a question for the workers of a group has come to, shared by those who wait for it and the service's thread.
//!
//! Nothing in DOCA's interface takes a question back. So the library's task stays out until its answer comes, whoever has
//! given up waiting by then, and the answer finds out here that it is late.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use urom_abi::DocaError;

use crate::error::{Error, Result};
use crate::library::Library;

type Ids = Result<Vec<u64>>;

/// How many answers of a service nobody got.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) late: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

/// One question.
pub(super) struct Inquiry {
    pub(super) group: u32,
    pub(super) library: Library,
    counts: Arc<Counts>,
    asked: Instant,
    state: Mutex<State>,
}

struct State {
    stage: Stage,
    waker: Option<Waker>,
    /// When it is given up, and how long after the asking that is.
    deadline: Option<(Instant, Duration)>,
}

enum Stage {
    /// Somebody waits for the answer.
    Asked,
    /// The future is to be told this.
    Ended(Ids),
    /// The future was told.
    Told,
    /// The future was dropped before the end.
    Dropped,
}

impl Inquiry {
    pub(super) fn new(group: u32, library: Library, counts: Arc<Counts>) -> Inquiry {
        let state = State { stage: Stage::Asked, waker: None, deadline: None };
        Inquiry { group, library, counts, asked: Instant::now(), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn error(&self, code: DocaError) -> Error {
        Error::new(code, format!("asking for the workers of group {}", self.group))
    }

    /// Whether somebody waits for the answer.
    pub(super) fn is_asked(&self) -> bool {
        matches!(self.state().stage, Stage::Asked)
    }

    /// Gives it up `limit` after it was asked, if it is not over then; the service's thread has to be told.
    pub(super) fn set_deadline(&self, limit: Duration) {
        // A time that cannot be told never comes.
        let at = self.asked.checked_add(limit);
        self.state().deadline = at.map(|at| (at, limit));
    }

    /// The end for the future.
    ///
    /// # Panics
    /// When the future was told before.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<Ids> {
        // Cloned and dropped without the lock: that runs code that is not ours.
        let waker = waker.clone();
        let mut state = self.state();
        match mem::replace(&mut state.stage, Stage::Told) {
            Stage::Asked => {
                state.stage = Stage::Asked;
                let before = state.waker.replace(waker);
                drop(state);
                drop(before);
                Poll::Pending
            }
            Stage::Ended(with) => Poll::Ready(with),
            Stage::Told | Stage::Dropped => {
                drop(state);
                panic!("a group query was polled after it had resolved");
            }
        }
    }

    /// The future is gone.
    pub(super) fn abandon(&self) {
        let mut state = self.state();
        if matches!(state.stage, Stage::Asked) {
            state.stage = Stage::Dropped;
        }
        let waker = state.waker.take();
        drop(state);
        drop(waker);
    }

    /// Gives it up; whether it was still to be answered.
    pub(super) fn cancel(&self) -> bool {
        let mut state = self.state();
        if !matches!(state.stage, Stage::Asked) {
            return false;
        }
        let error = self.error(DocaError::SKIPPED).why("it was cancelled before its answer came");
        state.stage = Stage::Ended(Err(error));
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Gives it up if its deadline passed; its deadline, if it is still to come.
    fn pass(&self, now: Instant) -> Option<Instant> {
        let mut state = self.state();
        let (Stage::Asked, Some((at, limit))) = (&state.stage, state.deadline) else { return None };
        if at > now {
            return Some(at);
        }
        let error = self
            .error(DocaError::TIME_OUT)
            .why(format!("no answer came within the deadline of {limit:?}"))
            .hint("allow more time, or see whether the service still runs; a late answer is thrown away and counted in late_answers");
        state.stage = Stage::Ended(Err(error));
        wake(state);
        None
    }

    /// Ends it as the service's thread has found. When nobody waits any more, that is counted if it `is_answer`, and
    /// thrown away.
    pub(super) fn settle(&self, with: Ids, is_answer: bool) {
        let mut state = self.state();
        let count = match state.stage {
            Stage::Asked => {
                state.stage = Stage::Ended(with);
                return wake(state);
            }
            Stage::Dropped => &self.counts.dropped,
            // By the program's own will: nothing else ends it before this.
            Stage::Ended(_) | Stage::Told => &self.counts.late,
        };
        if is_answer {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Wakes whoever waits, on the service's thread: what a waker of the program's does must not end that.
fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker
        && catch_unwind(AssertUnwindSafe(|| waker.wake())).is_err()
    {
        // The panic was reported when it began.
        tracing::warn!("a waker panicked on the service's thread");
    }
}

/// The questions of a service that have a deadline.
#[derive(Default)]
pub(super) struct Timed(Vec<Arc<Inquiry>>);

impl Timed {
    pub(super) fn add(&mut self, inquiries: Vec<Arc<Inquiry>>) {
        self.0.extend(inquiries);
    }

    /// Gives those up whose deadline passed; how long the others have at least.
    pub(super) fn pass(&mut self) -> Option<Duration> {
        if self.0.is_empty() {
            return None;
        }
        let now = Instant::now();
        let mut next: Option<Instant> = None;
        self.0.retain(|inquiry| {
            let at = inquiry.pass(now);
            next = next.into_iter().chain(at).min();
            at.is_some()
        });
        next.map(|next| next.saturating_duration_since(now))
    }
}
