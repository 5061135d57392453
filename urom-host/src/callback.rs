//! What a thread knows of the library's callbacks: whether one is running, and what waits until it
//! is over.
//!
//! A progress engine must not be progressed from inside a callback. So while one runs, progress
//! does nothing, a worker or domain that is dropped is set aside, and a panic is kept. All three
//! are made up for as soon as the call that ran the callback is back in Rust.
//!
//! Nothing here has a destructor, so it still works when thread-locals of the program that own
//! workers are destroyed. A panic that is kept then and that nobody resumes is leaked.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

use urom_abi::DocaError;

struct Thread {
    /// Workers and domains. Empty whenever no callback runs.
    deferred: RefCell<Vec<Box<dyn Any>>>,
    panic: Cell<Option<Box<dyn Any + Send>>>,
}

thread_local! {
    static THREAD: ManuallyDrop<Thread> = const {
        ManuallyDrop::new(Thread {
            deferred: RefCell::new(Vec::new()),
            panic: Cell::new(None),
        })
    };
    /// Whether a progress call, and perhaps a callback, is running. It has a cell of its own
    /// because every call reads it.
    static BUSY: Cell<bool> = const { Cell::new(false) };
    /// Whether something is set aside, and whether a panic is kept, for the same reason.
    static DEFERRED: Cell<bool> = const { Cell::new(false) };
    static PANICKED: Cell<bool> = const { Cell::new(false) };
}

#[inline]
pub(crate) fn is_running() -> bool {
    BUSY.get()
}

/// Runs `progress`, which may run callbacks. While one is running already, returns `false` instead.
#[inline]
pub(crate) fn run_unless_running(progress: impl FnOnce() -> bool) -> bool {
    !is_running() && calling(progress)
}

/// Runs a call of the library that may run callbacks. A callback may use this, too.
///
/// Workers and domains that callbacks dropped are stopped before it returns.
#[inline]
pub(crate) fn calling<T>(call: impl FnOnce() -> T) -> T {
    let nested = BUSY.replace(true);
    // This does not unwind: callbacks are guarded one by one.
    let result = call();
    BUSY.set(nested);
    if !nested && DEFERRED.get() {
        drop_deferred();
    }
    result
}

#[cold]
fn drop_deferred() {
    DEFERRED.set(false);
    // One at a time: stopping a worker runs callbacks, which may drop more of them.
    while let Some(owner) = deferred() {
        drop(owner);
    }
}

fn deferred() -> Option<Box<dyn Any>> {
    THREAD.with(|thread| {
        let mut deferred = thread.deferred.borrow_mut();
        let owner = deferred.pop();
        if owner.is_none() {
            *deferred = Vec::new();
        }
        owner
    })
}

pub(crate) fn drop_later(owner: impl Any) {
    THREAD.with(|thread| thread.deferred.borrow_mut().push(Box::new(owner)));
    DEFERRED.set(true);
}

/// Runs the body of a function that C calls. A panic is caught; [`resume`] continues it.
pub(crate) fn guard(body: impl FnOnce()) {
    guarded(|| {
        body();
        DocaError::SUCCESS
    });
}

/// The same with a result, which is `UNEXPECTED` after a panic.
pub(crate) fn guarded(body: impl FnOnce() -> DocaError) -> DocaError {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        THREAD.with(|thread| {
            let first = thread.panic.take().unwrap_or(payload);
            thread.panic.set(Some(first));
        });
        PANICKED.set(true);
        DocaError::UNEXPECTED
    })
}

/// Continues the panic of a callback, if there was one.
#[inline]
pub(crate) fn resume() {
    if PANICKED.get() {
        go_on();
    }
}

#[cold]
fn go_on() {
    if is_running() || std::thread::panicking() {
        return;
    }
    PANICKED.set(false);
    let payload = THREAD.with(|thread| thread.panic.take());
    if let Some(payload) = payload {
        std::panic::resume_unwind(payload);
    }
}
