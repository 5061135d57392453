//! Detects futures that are awaited in tokio where nothing progresses their engine, and that would
//! wait for ever.
//!
//! A poll that leaves a future pending cannot tell whether somebody will progress its engine. So
//! the first such poll outside of a driver sets a timer of [`QUIET`], which polls the future again.
//! When nothing has progressed an engine of the thread in the meantime, nothing will.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use urom_os::fork::Maker;

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
    /// Futures that a timer polls again. There is one timer while there are some.
    static WAKERS: RefCell<(Maker, Arc<Mutex<Vec<Waker>>>)> =
        RefCell::new((Maker::here(), Arc::default()));
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
        PROGRESSED.set(false);
        LOOKED.set(Some(Instant::now()));
        wake_later(cx.waker());
    }
}

fn nobody_drives() -> bool {
    DRIVING.get() == 0 && ::tokio::runtime::Handle::try_current().is_ok()
}

/// Wakes `waker` after [`QUIET`], or before, together with others. The timer is a thread, because
/// the runtime may have none.
fn wake_later(waker: &Waker) {
    fn lock(wakers: &Mutex<Vec<Waker>>) -> MutexGuard<'_, Vec<Waker>> {
        wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
    let of_this_process = |wakers: &RefCell<(Maker, Arc<_>)>| {
        let mut wakers = wakers.borrow_mut();
        if !wakers.0.is_here() {
            // Their timer is the parent's.
            std::mem::forget(std::mem::replace(&mut *wakers, (Maker::here(), Arc::default())));
        }
        Arc::clone(&wakers.1)
    };
    let Ok(wakers) = WAKERS.try_with(of_this_process) else { return };
    let waker = waker.clone();
    let mut waiting = lock(&wakers);
    if waiting.iter().any(|known| known.will_wake(&waker)) {
        return;
    }
    waiting.push(waker);
    if waiting.len() > 1 {
        return;
    }
    drop(waiting);
    let theirs = Arc::clone(&wakers);
    let take = |wakers: &Mutex<Vec<Waker>>| std::mem::take(&mut *lock(wakers));
    let timer = move || {
        std::thread::sleep(QUIET);
        take(&theirs).into_iter().for_each(Waker::wake);
    };
    // Without a thread the future waits for ever, as it would without this.
    if std::thread::Builder::new().name("urom-host-timer".to_owned()).spawn(timer).is_err() {
        drop(take(&wakers));
    }
}
