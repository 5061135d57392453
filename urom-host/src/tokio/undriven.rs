//! Detects futures that are awaited in tokio where nothing progresses their engine, and that would
//! wait for ever.
//!
//! A poll that leaves a future pending cannot tell whether somebody will progress its engine. So
//! the first such poll outside of a driver sets a timer of [`QUIET`], which polls the future again.
//! When nothing has progressed an engine of the thread in the meantime, nothing will.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

/// How long an engine that a future waits for may go without progress. A program that progresses
/// its engine by hand does so more often.
const QUIET: Duration = Duration::from_secs(2);

thread_local! {
    /// How many waits and drivers progress this thread's engines.
    static DRIVING: Cell<u32> = const { Cell::new(0) };
    /// When a future that nothing drives was polled last.
    static LOOKED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Whether an engine was progressed since, by the program itself or by a wait.
    static PROGRESSED: Cell<bool> = const { Cell::new(false) };
    static TIMER: RefCell<Option<Arc<Timer>>> = const { RefCell::new(None) };
}

/// Notes that a wait or a driver progresses this thread's engines until [`end_driving`].
#[inline]
pub(crate) fn begin_driving() {
    DRIVING.set(DRIVING.get() + 1);
}

#[inline]
pub(crate) fn end_driving() {
    DRIVING.set(DRIVING.get() - 1);
    note_progress();
}

/// Notes that something progresses this thread's engines.
#[inline]
pub(crate) fn note_progress() {
    PROGRESSED.set(true);
}

/// Whether nothing has progressed this thread's engines for long, nor polled a future that waits
/// for them. To be called for a future that was pending before.
pub(crate) fn is_undriven() -> bool {
    nobody_drives()
        && !PROGRESSED.get()
        && LOOKED.get().is_some_and(|looked| looked.elapsed() >= QUIET)
}

/// Polls a pending future again after a while, if nothing progresses this thread's engines.
pub(crate) fn look_again(cx: &Context<'_>) {
    if nobody_drives() {
        let now = Instant::now();
        PROGRESSED.set(false);
        LOOKED.set(Some(now));
        Timer::set(now + QUIET, cx.waker());
    }
}

fn nobody_drives() -> bool {
    DRIVING.get() == 0 && ::tokio::runtime::Handle::try_current().is_ok()
}

/// Wakes futures at a time. It is a thread, because the runtime may have no timer.
struct Timer(Mutex<Alarm>);

struct Alarm {
    at: Instant,
    wakers: Vec<Waker>,
    over: bool,
}

impl Timer {
    /// Wakes `waker`, and those that were added before, at a time.
    fn set(at: Instant, waker: &Waker) {
        let waker = waker.clone();
        let Ok(known) = TIMER.try_with(|timer| timer.borrow().clone()) else { return };
        if known.is_some_and(|timer| timer.put_off(at, &waker)) {
            return;
        }
        let timer = Arc::new(Timer(Mutex::new(Alarm { at, wakers: vec![waker], over: false })));
        let body = Arc::clone(&timer);
        // Without a thread the future waits for ever, as it would without this.
        if std::thread::Builder::new()
            .name("urom-host-timer".to_owned())
            .spawn(move || body.run())
            .is_ok()
        {
            let _ = TIMER.try_with(|known| known.replace(Some(timer)));
        }
    }

    /// Moves the time, for one more future; `false` when it has gone off already.
    fn put_off(&self, at: Instant, waker: &Waker) -> bool {
        let mut alarm = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !alarm.over {
            alarm.at = at;
            if !alarm.wakers.iter().any(|known| known.will_wake(waker)) {
                alarm.wakers.push(waker.clone());
            }
        }
        !alarm.over
    }

    fn run(&self) {
        for waker in self.wait() {
            waker.wake();
        }
    }

    fn wait(&self) -> Vec<Waker> {
        loop {
            let rest = {
                let mut alarm = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let rest = alarm.at.saturating_duration_since(Instant::now());
                if rest.is_zero() {
                    alarm.over = true;
                    return std::mem::take(&mut alarm.wakers);
                }
                rest
            };
            std::thread::sleep(rest);
        }
    }
}
