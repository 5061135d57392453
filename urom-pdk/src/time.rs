//! Time in handlers: the clock, sleeps and timeouts.
//!
//! ```
//! use std::time::Duration;
//! use urom_pdk::prelude::*;
//! use urom_pdk::time;
//!
//! # async fn answer_of_the_peer() -> u64 { 7 }
//! async fn ask(limit: Duration) -> Result<u64> {
//!     time::sleep(Duration::from_millis(2)).await;
//!     Ok(time::timeout(limit, answer_of_the_peer()).await?) // `TIME_OUT` for the host
//! }
//! ```
//!
//! # Precision
//!
//! The first call of `progress` after a sleep's deadline wakes it, never an earlier call. A worker
//! of this project polls without a pause while there is work and for 200 µs after. Then, while a
//! command sleeps, it pauses for an eighth of the time since the last work: 20 µs to 1 ms. So a
//! sleep of 1 ms ends up to 0.13 ms late, a sleep of 8 ms or more up to 1 ms late. A handler that
//! blocks its worker delays the clock. NVIDIA's worker documents no limit on its pauses. Without
//! sleeping futures, `progress` does not read the clock.
//!
//! # Threads
//!
//! Sleep only in the futures of handlers and in the futures that they await. On other threads a
//! [`Sleep`] is never woken, and it is not `Send`.
//!
//! # In tests
//!
//! In the test kit (`urom_pdk::test_util`) the clock moves only when the test moves it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use urom_abi::DocaError;

use crate::Error;

/// Returns the time of a monotonic clock: [`Instant::now`], or the test's clock.
pub fn now() -> Instant {
    #[cfg(feature = "test-util")]
    if let Some(now) = clock::now() {
        return now;
    }
    Instant::now()
}

/// Waits for `duration`, as precisely as the [module](self) states; forever if it overflows.
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::new(now().checked_add(duration))
}

/// Waits until `deadline`; returns at once if it is past.
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(Some(deadline))
}

/// Runs `future` until it ends or `duration` from now has passed. The future is polled before the
/// clock is read, so a ready value never times out.
///
/// # Errors
/// [`Elapsed`], which becomes the code `TIME_OUT` by `?`. `future` is dropped before.
pub fn timeout<F: IntoFuture>(
    duration: Duration,
    future: F,
) -> impl Future<Output = Result<F::Output, Elapsed>> {
    let mut sleep = sleep(duration);
    let future = future.into_future();
    async move {
        let mut future = pin!(future);
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Ok(value)),
            Poll::Pending => Pin::new(&mut sleep).poll(cx).map(|()| Err(Elapsed(duration))),
        })
        .await
    }
}

/// Waits for the worker's next round, for other commands and tasks during long work.
pub async fn yield_now() {
    let mut is_next = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut is_next, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The error of [`timeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed(Duration);

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "timed out after {:?}", self.0)
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for Error {
    fn from(elapsed: Elapsed) -> Error {
        Error::from(DocaError::TIME_OUT).with_source(elapsed)
    }
}

/// The future of [`sleep`].
#[derive(Debug)]
#[must_use = "a sleep does nothing unless it is awaited"]
pub struct Sleep {
    deadline: Option<Instant>,
    number: Option<u64>,
    /// Not `Send`: its timer belongs to this thread.
    on_one_thread: PhantomData<*const ()>,
}

impl Sleep {
    fn new(deadline: Option<Instant>) -> Sleep {
        Sleep { deadline, number: None, on_one_thread: PhantomData }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = self.deadline else { return Poll::Pending };
        if now() >= deadline {
            return Poll::Ready(());
        }
        // A thread that ends has neither timers nor a worker.
        let _ = TIMERS.try_with(|timers| {
            let number = *self.number.get_or_insert_with(|| timers.number());
            timers.set(deadline, number, cx.waker());
        });
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let (Some(deadline), Some(number)) = (self.deadline, self.number) {
            let _ = TIMERS.try_with(|timers| timers.remove(deadline, number));
        }
    }
}

/// Number of timers of all threads: makes the check cheap while it is 0.
static WAITING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The timers of all plugins of this thread's worker that use this copy of the library.
    static TIMERS: Timers = const { Timers { waiting: RefCell::new(BTreeMap::new()), next: Cell::new(0) } };
}

struct Timers {
    waiting: RefCell<BTreeMap<(Instant, u64), Waker>>,
    next: Cell<u64>,
}

impl Timers {
    fn number(&self) -> u64 {
        self.next.replace(self.next.get() + 1)
    }

    fn set(&self, deadline: Instant, number: u64, waker: &Waker) {
        let is_set = |waiting: &BTreeMap<_, Waker>| {
            waiting.get(&(deadline, number)).is_some_and(|w| w.will_wake(waker))
        };
        if is_set(&self.waiting.borrow()) {
            return;
        }
        // Cloning and dropping a waker may run foreign code: not while the timers are borrowed.
        let waker = waker.clone();
        let old = self.waiting.borrow_mut().insert((deadline, number), waker);
        if old.is_none() {
            WAITING.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn remove(&self, deadline: Instant, number: u64) {
        let removed = self.waiting.borrow_mut().remove(&(deadline, number));
        if removed.is_some() {
            WAITING.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn take_due(&self, now: Instant) -> Option<Waker> {
        let mut waiting = self.waiting.borrow_mut();
        let first = waiting.first_entry().filter(|first| first.key().0 <= now)?;
        WAITING.fetch_sub(1, Ordering::Relaxed);
        Some(first.remove())
    }
}

#[inline]
pub(crate) fn wake_due() {
    if WAITING.load(Ordering::Relaxed) != 0 {
        wake_due_of_this_thread();
    }
}

#[inline(never)]
fn wake_due_of_this_thread() {
    let _ = TIMERS.try_with(|timers| {
        if timers.waiting.borrow().is_empty() {
            return;
        }
        let now = now();
        while let Some(waker) = timers.take_due(now) {
            waker.wake();
        }
    });
}

#[cfg(feature = "test-util")]
pub(crate) mod clock {
    use super::{Cell, Duration, Instant, TIMERS};

    thread_local! {
        /// The stopped clock's time on this thread; `None` while the clock runs.
        static STANDS_AT: Cell<Option<Instant>> = const { Cell::new(None) };
    }

    pub(super) fn now() -> Option<Instant> {
        STANDS_AT.try_with(Cell::get).ok().flatten()
    }

    pub(crate) fn stop() {
        STANDS_AT.set(Some(STANDS_AT.get().unwrap_or_else(Instant::now)));
    }

    pub(crate) fn advance(by: Duration) {
        stop();
        let now = STANDS_AT.get().and_then(|now| now.checked_add(by));
        STANDS_AT.set(Some(now.expect("no clock goes that far")));
    }

    pub(crate) fn until_next() -> Option<Duration> {
        let first = TIMERS.with(|timers| timers.waiting.borrow().keys().next().map(|(at, _)| *at));
        first.map(|at| at.saturating_duration_since(super::now()))
    }
}
