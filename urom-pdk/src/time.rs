//! Time in handlers: the clock, sleeping, and limits on how long something may take.
//!
//! ```
//! use std::time::Duration;
//! use urom_pdk::prelude::*;
//! use urom_pdk::time;
//!
//! # async fn answer_of_the_peer() -> u64 { 7 }
//! async fn ask(patience: Duration) -> Result<u64> {
//!     time::sleep(Duration::from_millis(2)).await;
//!     Ok(time::timeout(patience, answer_of_the_peer()).await?) // `TIME_OUT` for the host
//! }
//! ```
//!
//! # Precision
//!
//! A plugin has no thread of its own: what sleeps is woken by the first call of `progress` after
//! its time, never before. A worker of this project calls without sleeping while there is work and
//! for 200 µs after. Then, while a command sleeps, it sleeps between its calls for an eighth of the
//! time since the last work: at least 20 µs, at most 1 ms. So a sleep of 1 ms ends up to 0.13 ms
//! late, one of 8 ms or more up to 1 ms. A handler that holds up its worker holds up the clock too.
//! NVIDIA's worker states nothing about its pauses.
//!
//! A plugin in which nothing sleeps pays a load and a comparison for each call of `progress`. While
//! something does, each call reads the clock.
//!
//! # Threads
//!
//! Sleep where the worker polls, in the futures of handlers and in what they await. On another
//! thread a [`Sleep`] is never woken, because no plugin makes progress there; it cannot be sent to
//! one.
//!
//! # In tests
//!
//! Under the test kit (`urom_pdk::test_util`) the clock stands still and moves when the test says
//! so.

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

/// The time now, of a clock that never goes back: [`Instant::now`], or the test's clock.
pub fn now() -> Instant {
    #[cfg(feature = "test-util")]
    if let Some(now) = clock::now() {
        return now;
    }
    Instant::now()
}

/// Ends after `duration`, counted from now; see the [module](self) for how precisely.
///
/// Dropping it ends the wait. A duration that no clock can hold never ends.
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::new(now().checked_add(duration))
}

/// Ends at `deadline`: at once when that is past.
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(Some(deadline))
}

/// What `future` gives, unless it takes longer than `duration`, counted from now. It is polled
/// before the clock is looked at, so what is ready is never too late.
///
/// # Errors
/// [`Elapsed`], which `?` turns into an error with the code `TIME_OUT`; `future` is dropped before
/// this ends.
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
            Poll::Pending => Pin::new(&mut sleep).poll(cx).map(|()| Err(Elapsed(()))),
        })
        .await
    }
}

/// Ends in the worker's next round: other commands and tasks run before. A handler awaits it between
/// the pieces of work that takes long.
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

/// What took longer than its [`timeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it took longer than it may")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for Error {
    /// An error with the code `TIME_OUT`.
    fn from(elapsed: Elapsed) -> Error {
        Error::from(DocaError::TIME_OUT).with_source(elapsed)
    }
}

/// A wait for a moment: see [`sleep`].
#[derive(Debug)]
#[must_use = "a sleep does nothing unless it is awaited"]
pub struct Sleep {
    /// `None` for never.
    deadline: Option<Instant>,
    /// Its number among this thread's timers, once it was polled.
    number: Option<u64>,
    /// Its timer is this thread's.
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
        // A thread that ends has no timers any more, and no worker.
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
            // As in `poll`.
            let _ = TIMERS.try_with(|timers| timers.remove(deadline, number));
        }
    }
}

/// How many timers there are, of all threads: what makes looking for them cheap while there is
/// none.
static WAITING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The timers of all plugins that this thread's worker has of this library.
    static TIMERS: Timers = const { Timers { waiting: RefCell::new(BTreeMap::new()), next: Cell::new(0) } };
}

/// Who waits, in the order of their moments.
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
        // Cloning and dropping a waker may run anybody's code, so neither happens while the timers
        // are borrowed.
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

/// Wakes whoever waits for a moment that has come. Called from each `progress`.
#[inline]
pub(crate) fn wake_due() {
    if WAITING.load(Ordering::Relaxed) != 0 {
        wake_due_of_this_thread();
    }
}

#[inline(never)]
fn wake_due_of_this_thread() {
    // As in `Sleep::poll`.
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
        /// The time that the clock of this thread stands at; `None` while it runs by itself.
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

    /// How long it is until the first timer of this thread.
    pub(crate) fn until_next() -> Option<Duration> {
        let first = TIMERS.with(|timers| timers.waiting.borrow().keys().next().map(|(at, _)| *at));
        first.map(|at| at.saturating_duration_since(super::now()))
    }
}
