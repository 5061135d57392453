//! Waiting: futures run to their end on this thread, which spins for a moment and then sleeps.

use std::cell::Cell;
use std::future::Future;
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use urom_abi::DocaError;

use crate::engine::ProgressEngine;
use crate::error::{Error, Result};
use crate::thread;

/// How long a waiting thread polls before it sleeps: longer than a round trip, shorter than anyone would notice.
const SPIN: Duration = Duration::from_micros(50);

/// How long it sleeps at most when the system has no descriptor left to wake it by.
const BLIND_SLEEP: Duration = Duration::from_millis(1);

/// Runs a future to its end, driving every progress engine of this thread meanwhile.
///
/// It polls for about 50 microseconds without progress, then sleeps on the engines' event handles until one of them or
/// a waker from another thread has news. The future may be of any origin, and may start and await any number of others.
///
/// ```no_run
/// # use urom_host::{Service, block_on, Result};
/// # fn main() -> Result<()> {
/// let service = Service::connect()?;
/// let graph = service.plugin::<graph_protocol::Protocol>()?;
/// let answer = block_on(async {
///     let worker = service.worker().plugin(&graph).start().await?;
///     graph.task_loopback(&worker, 42).submit()?.await
/// })?;
/// assert_eq!(answer.data, 42);
/// # Ok(())
/// # }
/// ```
///
/// # Panics
/// Inside a completion callback, where nothing can move; and with the panic of a callback that ran meanwhile.
pub fn block_on<F: Future>(future: F) -> F::Output {
    match drive(future, None) {
        Some(output) => output,
        None => unreachable!("without a deadline, only the future's end is an end"),
    }
}

/// [`block_on`] with a limit.
///
/// Pass `&mut future` to go on with the future after the limit; a future that is passed by value is dropped, which for a
/// task in flight means that its answer will be thrown away.
///
/// # Errors
/// `TIME_OUT` when the future did not end within `limit`.
///
/// # Panics
/// As [`block_on`].
///
/// ```
/// use std::time::Duration;
/// use urom_host::{DocaError, block_on_for};
///
/// let error = block_on_for(Duration::from_millis(1), std::future::pending::<()>()).unwrap_err();
/// assert_eq!(error.code(), DocaError::TIME_OUT);
/// ```
pub fn block_on_for<F: Future>(limit: Duration, future: F) -> Result<F::Output> {
    let deadline = Instant::now().checked_add(limit);
    drive(future, deadline).ok_or_else(|| {
        Error::new(DocaError::TIME_OUT, "waiting")
            .why(format!("nothing came within {limit:?}"))
            .hint("allow more time, or ask the worker for its state")
    })
}

fn drive<F: Future>(future: F, deadline: Option<Instant>) -> Option<F::Output> {
    assert!(!thread::in_callback(), "a completion callback cannot wait: nothing moves until it returns");
    let session = Session::begin();
    let notifier = &session.notifier;
    let waker = Waker::from(Arc::clone(notifier));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    notifier.notified.store(true, Ordering::Relaxed);
    let mut idle = Idle::default();
    loop {
        if notifier.notified.swap(false, Ordering::AcqRel)
            && let Poll::Ready(output) = future.as_mut().poll(&mut context)
        {
            return Some(output);
        }
        if thread::progress_all() || notifier.notified.load(Ordering::Acquire) {
            idle.restart();
        }
        let Some(now) = idle.tick() else { continue };
        if deadline.is_some_and(|deadline| now >= deadline) {
            return None;
        }
        if idle.is_long(now) {
            sleep(notifier, deadline.map(|deadline| deadline - now));
            idle.restart();
        }
    }
}

/// Refuses to wait where nothing can move.
pub(crate) fn allowed() -> Result<()> {
    match thread::in_callback() {
        false => Ok(()),
        true => Err(Error::new(DocaError::BAD_STATE, "waiting")
            .why("a completion callback is running on this thread, and nothing moves until it returns")
            .hint("let the callback note what is to be done, and wait outside of it")),
    }
}

/// Progresses `engine` until `done` holds, for no longer than a wait spins.
pub(crate) fn spin(engine: &ProgressEngine, done: impl Fn() -> bool) {
    let mut idle = Idle::default();
    while !done() {
        if engine.progress() {
            idle.restart();
        } else if idle.tick().is_some_and(|now| idle.is_long(now)) {
            return;
        }
    }
}

/// Waits until `done` holds, progressing all engines of this thread; `false` when `limit` passed first.
///
/// For places that must not unwind: a callback's panic is kept for the next progress call that passes it on.
pub(crate) fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    let session = Session::begin();
    let mut idle = Idle::default();
    loop {
        if done() {
            return true;
        }
        // All of them: an engine with something ready lets nobody sleep.
        if thread::pump_all() {
            idle.restart();
        }
        let Some(now) = idle.tick() else { continue };
        if now >= deadline {
            return false;
        }
        if idle.is_long(now) {
            sleep(&session.notifier, Some(deadline - now));
            idle.restart();
        }
    }
}

/// How long nothing has moved. The clock is read on every 16th tick: it takes as long as a poll does.
#[derive(Default)]
struct Idle {
    ticks: u32,
    since: Option<Instant>,
}

impl Idle {
    fn restart(&mut self) {
        self.since = None;
    }

    fn tick(&mut self) -> Option<Instant> {
        self.ticks = self.ticks.wrapping_add(1);
        if !self.ticks.is_multiple_of(16) {
            return None;
        }
        let now = Instant::now();
        self.since.get_or_insert(now);
        Some(now)
    }

    fn is_long(&self, now: Instant) -> bool {
        self.since.is_some_and(|since| now.duration_since(since) >= SPIN)
    }
}

/// Sleeps until an engine of this thread or the notifier has news, at most `limit`.
fn sleep(notifier: &Notifier, limit: Option<Duration>) {
    // The other half is in `Notifier::wake`: whichever of the two stores comes second sees the first.
    notifier.asleep.store(true, Ordering::SeqCst);
    if !notifier.notified.load(Ordering::SeqCst) {
        sleep_armed(notifier, limit);
    }
    notifier.asleep.store(false, Ordering::SeqCst);
    notifier.quiet();
}

fn sleep_armed(notifier: &Notifier, limit: Option<Duration>) {
    let mut limit = limit;
    let mut at_most = |most: Duration| limit = Some(limit.unwrap_or(most).min(most));
    let mut set = PollSet::take();
    match &notifier.bell {
        Some(bell) => set.add(bell.as_raw_fd()),
        None => at_most(BLIND_SLEEP),
    }
    let mut index = 0;
    while let Some(engine) = thread::engine(index) {
        index += 1;
        let Some(engine) = engine else { continue };
        match engine.request_notification() {
            Ok(()) => set.add(engine.as_fd().as_raw_fd()),
            Err(_) => at_most(BLIND_SLEEP),
        }
    }
    set.poll(limit);
    let mut index = 0;
    while let Some(engine) = thread::engine(index) {
        index += 1;
        // An engine that cannot be cleared stays readable: the next sleep is short, and nothing is missed.
        let _ = engine.map(|engine| engine.clear_notification());
    }
}

/// Wakes this thread, from any thread.
struct Notifier {
    notified: AtomicBool,
    asleep: AtomicBool,
    bell: Option<OwnedFd>,
}

impl Notifier {
    fn new() -> Notifier {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
        Notifier { notified: AtomicBool::new(false), asleep: AtomicBool::new(false), bell }
    }

    /// Takes back what [`Wake`] wrote.
    fn quiet(&self) {
        if let Some(bell) = &self.bell {
            // Nothing to read is the usual case.
            let _ = rustix::io::read(bell, &mut [0; 8]);
        }
    }
}

impl Wake for Notifier {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notified.store(true, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst)
            && let Some(bell) = &self.bell
        {
            // It can only fail when the counter is full, and then the thread is awake.
            let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
        }
    }
}

thread_local! {
    static NOTIFIER: Cell<Option<Arc<Notifier>>> = const { Cell::new(None) };
    static POLL_SET: Cell<Vec<libc::pollfd>> = const { Cell::new(Vec::new()) };
}

/// One wait. It borrows the thread's notifier; a wait inside another one makes a second.
struct Session {
    notifier: Arc<Notifier>,
}

impl Session {
    fn begin() -> Session {
        let spare = NOTIFIER.try_with(Cell::take).ok().flatten();
        Session { notifier: spare.unwrap_or_else(|| Arc::new(Notifier::new())) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let notifier = Arc::clone(&self.notifier);
        let _ = NOTIFIER.try_with(|spare| spare.set(Some(notifier)));
    }
}

/// File descriptors to poll, in memory that is used again.
pub(crate) struct PollSet(Vec<libc::pollfd>);

impl PollSet {
    pub(crate) fn take() -> PollSet {
        let mut set = POLL_SET.try_with(Cell::take).unwrap_or_default();
        set.clear();
        PollSet(set)
    }

    pub(crate) fn add(&mut self, fd: i32) {
        self.0.push(libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    }

    /// Sleeps until one of them is readable, a signal arrives, or `limit` passed.
    pub(crate) fn poll(&mut self, limit: Option<Duration>) {
        let limit = limit.map(|limit| libc::timespec {
            tv_sec: limit.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let count = self.0.len() as libc::nfds_t;
        // SAFETY: the array has `count` entries, the time is a local variable or NULL, and no signal mask is given.
        // What it returns does not matter: whoever wakes looks at everything anyway.
        unsafe { libc::ppoll(self.0.as_mut_ptr(), count, limit, std::ptr::null()) };
    }
}

impl Drop for PollSet {
    fn drop(&mut self) {
        let set = std::mem::take(&mut self.0);
        let _ = POLL_SET.try_with(|spare| spare.set(set));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let error = block_on_for(Duration::from_millis(3), std::future::pending::<()>()).unwrap_err();
        assert_eq!(error.code(), DocaError::TIME_OUT);
        assert!(error.to_string().contains("3ms"), "{error}");
    }

    #[test]
    fn a_future_that_only_wakes_itself_times_out_too() {
        let busy = std::future::poll_fn(|cx| {
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        assert_eq!(block_on_for(Duration::from_millis(3), busy).unwrap_err().code(), DocaError::TIME_OUT);
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
