//! Waiting: runs futures to their end on this thread, which spins for a moment and then sleeps.

mod notifier;
pub(crate) mod poll_set;
mod sync;

use std::cell::Cell;
use std::future::Future;
use std::os::fd::AsRawFd;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use urom_abi::DocaError;
use urom_os::EventFd;
use urom_os::fork::Maker;

use self::notifier::Notifier;
use self::poll_set::PollSet;
use crate::callback;
use crate::engine::{self, ProgressEngine};
use crate::error::{Error, Result};

/// How long a thread polls before it sleeps: longer than a round trip. Over TCP, where a call takes
/// longer, the time is a multiple of this, because the clock is read after [`LOOK`] calls.
pub(crate) const SPIN: Duration = Duration::from_micros(50);

/// How long a thread polls before it yields its core, which its worker may need.
const ALONE: Duration = Duration::from_micros(4);

/// The longest sleep without a descriptor to wake the thread.
const BLIND_SLEEP: Duration = Duration::from_millis(1);

/// Runs a future to its end, progressing every engine of this thread meanwhile.
///
/// It polls until nothing has moved for about 50 µs (300 over TCP), and yields its core between
/// polls after the first 4 µs. Then it sleeps until an engine's event handle or a waker from
/// another thread wakes it. It accepts any future, which may start and await any number of others.
///
/// # Panics
/// Inside a completion callback, and with the panic of a callback that ran meanwhile.
pub fn block_on<F: Future>(future: F) -> F::Output {
    drive(future, None, Idle::default()).expect(NO_DEADLINE)
}

pub(crate) fn block_on_after_spin<F: Future>(future: F) -> F::Output {
    let idle = Idle { ticks: 0, since: Instant::now().checked_sub(SPIN) };
    drive(future, None, idle).expect(NO_DEADLINE)
}

const NO_DEADLINE: &str = "without a deadline, only the future's end is an end";

/// [`block_on`] with a limit.
///
/// Pass `&mut future` to use the future after the limit. A future passed by value is dropped; a
/// task in flight then continues, and its answer is discarded.
///
/// # Errors
/// `TIME_OUT` when the future did not end within `limit`.
///
/// # Panics
/// As [`block_on`].
pub fn block_on_for<F: Future>(limit: Duration, future: F) -> Result<F::Output> {
    let deadline = Instant::now().checked_add(limit);
    drive(future, deadline, Idle::default()).ok_or_else(|| {
        Error::new(DocaError::TIME_OUT, "waiting")
            .why(format!("nothing came within {limit:?}"))
            .hint("allow more time, or ask the worker for its state")
    })
}

thread_local! {
    static NOTIFIER: Cell<Option<(Maker, Arc<Notifier>)>> = const { Cell::new(None) };
}

/// One wait. It borrows the thread's notifier; a nested wait makes a second one.
struct ThreadWait {
    /// A forked child must not read a wake-up from the descriptor, which it shares with its parent.
    maker: Maker,
    notifier: Arc<Notifier>,
}

impl ThreadWait {
    fn begin() -> ThreadWait {
        crate::tokio::begin_driving();
        let spare = NOTIFIER.try_with(Cell::take).ok().flatten();
        let spare = spare.filter(|(maker, _)| maker.is_here());
        let new = || (Maker::here(), Arc::new(Notifier::new()));
        let (maker, notifier) = spare.unwrap_or_else(new);
        ThreadWait { maker, notifier }
    }

    /// Waits until `done` holds; returns `false` when `deadline` passed first. `resume` continues a
    /// callback's panic, or leaves it to the next progress that may unwind.
    #[inline]
    fn until(
        &self,
        mut idle: Idle,
        deadline: Option<Instant>,
        resume: fn(),
        mut done: impl FnMut() -> bool,
    ) -> bool {
        loop {
            if done() {
                return true;
            }
            let moved = engine::all::pump();
            resume();
            if moved || self.notifier.is_notified() {
                idle.restart();
            }
            let Some(now) = idle.tick() else { continue };
            let expired = engine::all::expire(now);
            resume();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return false;
            }
            if !expired && idle.is_longer(SPIN, now) {
                match self.maker.is_here() {
                    true => self.notifier.sleep(|bell| sleep(bell, until(now, deadline))),
                    false => sleep(None, until(now, deadline)),
                }
                idle.restart();
            } else if !expired && idle.is_longer(ALONE, now) {
                std::thread::yield_now();
            }
        }
    }
}

impl Drop for ThreadWait {
    fn drop(&mut self) {
        crate::tokio::end_driving();
        let notifier = Arc::clone(&self.notifier);
        let _ = NOTIFIER.try_with(|spare| spare.set(Some((self.maker, notifier))));
    }
}

fn drive<F: Future>(future: F, deadline: Option<Instant>, idle: Idle) -> Option<F::Output> {
    assert!(
        !callback::is_running(),
        "a completion callback cannot wait: nothing moves until it returns"
    );
    let wait = ThreadWait::begin();
    let waker = Waker::from(Arc::clone(&wait.notifier));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let mut output = None;
    wait.notifier.begin();
    wait.until(idle, deadline, callback::resume, || {
        if wait.notifier.take()
            && let Poll::Ready(ready) = future.as_mut().poll(&mut context)
        {
            output = Some(ready);
        }
        output.is_some()
    });
    output
}

/// [`block_on`] for the `wait` methods; fails inside callbacks.
pub(crate) fn run<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    allowed()?;
    block_on(future)
}

#[inline]
pub(crate) fn allowed() -> Result<()> {
    if callback::is_running() { Err(forbidden()) } else { Ok(()) }
}

#[cold]
fn forbidden() -> Error {
    Error::new(DocaError::BAD_STATE, "waiting")
        .why("a completion callback is running on this thread, and nothing moves until it returns")
        .hint("let the callback store the work, and wait outside of it")
}

/// Polls until `done` holds, at most for [`SPIN`]. Other engines sometimes get a turn.
#[inline]
pub(crate) fn spin(engine: &ProgressEngine, done: impl Fn() -> bool) -> bool {
    if engine.core().deadlines.is_turn() {
        // Many short waits count as a stream of completions.
        progress_all();
    }
    let mut since = None;
    loop {
        if done() {
            return true;
        }
        for _ in 0..LOOK {
            let moved = engine.core().pump_many();
            callback::resume();
            if moved && done() {
                return true;
            }
        }
        let now = progress_all();
        let spun = now.duration_since(*since.get_or_insert(now));
        // The wait continues with all engines, even if something moves.
        if spun >= SPIN {
            return done();
        }
        if spun >= ALONE {
            std::thread::yield_now();
        }
    }
}

#[cold]
fn progress_all() -> Instant {
    engine::all::pump();
    let now = Instant::now();
    engine::all::expire(now);
    callback::resume();
    now
}

/// Does not unwind: the next progress resumes a callback's panic. Returns `false` after `limit`.
pub(crate) fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let wait = ThreadWait::begin();
    wait.until(
        Idle::default(),
        Some(Instant::now() + limit),
        || (),
        || {
            // A flag set by an earlier wait would keep this one awake.
            wait.notifier.take();
            done()
        },
    )
}

/// Polls between two readings of the clock, which takes as long as a poll.
const LOOK: u32 = 16;

#[derive(Default)]
struct Idle {
    ticks: u32,
    since: Option<Instant>,
}

impl Idle {
    fn restart(&mut self) {
        self.since = None;
    }

    #[inline]
    fn tick(&mut self) -> Option<Instant> {
        self.ticks = self.ticks.wrapping_add(1);
        if !self.ticks.is_multiple_of(LOOK) {
            return None;
        }
        let now = Instant::now();
        self.since.get_or_insert(now);
        Some(now)
    }

    fn is_longer(&self, than: Duration, now: Instant) -> bool {
        self.since.is_some_and(|since| now.duration_since(since) >= than)
    }
}

fn until(now: Instant, deadline: Option<Instant>) -> Option<Duration> {
    let next = deadline.into_iter().chain(engine::all::next_deadline()).min()?;
    Some(next.saturating_duration_since(now))
}

fn sleep(bell: Option<&EventFd>, mut limit: Option<Duration>) {
    let mut at_most = |most: Duration| limit = Some(limit.unwrap_or(most).min(most));
    let mut set = PollSet::take();
    match bell {
        Some(bell) => set.add(bell.as_raw_fd()),
        None => at_most(BLIND_SLEEP),
    }
    for engine in engine::all::each() {
        match engine.request_notification() {
            Ok(()) => set.add(engine.as_fd().as_raw_fd()),
            Err(_) => at_most(BLIND_SLEEP),
        }
    }
    set.poll(limit);
    for engine in engine::all::each() {
        // An engine that cannot be cleared stays readable, so the next sleep is short.
        let _ = engine.end_sleep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;

    #[test]
    fn a_waker_on_another_thread_ends_the_sleep() {
        let (waker_out, waker_in) = mpsc::channel::<Waker>();
        let done = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&done);
        let other = std::thread::spawn(move || {
            let waker = waker_in.recv().unwrap();
            seen.store(true, Ordering::Release);
            waker.wake();
        });
        let value = block_on_for(
            Duration::from_secs(20),
            std::future::poll_fn(|cx| {
                let _ = waker_out.send(cx.waker().clone());
                if done.load(Ordering::Acquire) { Poll::Ready(7) } else { Poll::Pending }
            }),
        );
        assert_eq!(value.unwrap(), 7);
        other.join().unwrap();
    }

    #[test]
    fn a_future_that_never_ends_times_out_and_says_so() {
        let error =
            block_on_for(Duration::from_millis(3), std::future::pending::<()>()).unwrap_err();
        assert_eq!(error.code(), DocaError::TIME_OUT);
        assert!(error.to_string().contains("3ms"), "{error}");
    }

    #[test]
    fn a_future_that_only_wakes_itself_times_out_too() {
        let busy = std::future::poll_fn(|cx| {
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        assert_eq!(
            block_on_for(Duration::from_millis(3), busy).unwrap_err().code(),
            DocaError::TIME_OUT
        );
    }

    #[test]
    fn a_wake_up_that_an_earlier_wait_left_behind_keeps_no_wait_awake() {
        const LIMIT: Duration = Duration::from_millis(200);
        let wake_last = std::future::poll_fn(|cx| {
            cx.waker().wake_by_ref();
            Poll::Ready(())
        });
        block_on_for(Duration::from_secs(20), wake_last).unwrap();
        let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
        let over = wait_until(LIMIT, || {
            longest = longest.max(last.elapsed());
            last = Instant::now();
            false
        });
        assert!(!over && longest > LIMIT / 2, "it never slept longer than {longest:?}");
    }

    #[test]
    fn a_wait_inside_a_wait_does_not_steal_its_wake_up() {
        let mut turns = 0;
        let outer = std::future::poll_fn(|cx| {
            turns += 1;
            cx.waker().wake_by_ref();
            block_on(async {});
            if turns == 3 { Poll::Ready(()) } else { Poll::Pending }
        });
        block_on_for(Duration::from_secs(20), outer).unwrap();
    }
}
