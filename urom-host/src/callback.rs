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
    /// Whether a progress call, and perhaps a callback, is running.
    busy: Cell<bool>,
    /// Workers and domains. Empty whenever no callback runs.
    deferred: RefCell<Vec<Box<dyn Any>>>,
    panic: RefCell<Option<Box<dyn Any + Send>>>,
}

thread_local! {
    static THREAD: ManuallyDrop<Thread> = const {
        ManuallyDrop::new(Thread {
            busy: Cell::new(false),
            deferred: RefCell::new(Vec::new()),
            panic: RefCell::new(None),
        })
    };
}

#[inline]
pub(crate) fn is_running() -> bool {
    THREAD.with(|thread| thread.busy.get())
}

/// Runs `progress`, which may run callbacks. While one is running already, returns `false` instead.
#[inline]
pub(crate) fn run_unless_running(progress: impl FnOnce() -> bool) -> bool {
    THREAD.with(|thread| !thread.busy.replace(true) && finish(thread, progress()))
}

/// The end of the outermost call.
#[inline]
fn finish<T>(thread: &Thread, result: T) -> T {
    thread.busy.set(false);
    if !thread.deferred.borrow().is_empty() {
        drop_deferred(thread);
    }
    result
}

/// Runs a call of the library that may run callbacks. A callback may use this, too.
///
/// Workers and domains that callbacks dropped are stopped before it returns.
#[inline]
pub(crate) fn calling<T>(call: impl FnOnce() -> T) -> T {
    THREAD.with(|thread| {
        let nested = thread.busy.replace(true);
        // This does not unwind: callbacks are guarded one by one.
        let result = call();
        if nested { result } else { finish(thread, result) }
    })
}

#[cold]
fn drop_deferred(thread: &Thread) {
    // One at a time: stopping a worker runs callbacks, which may drop more of them.
    loop {
        let owner = thread.deferred.borrow_mut().pop();
        if owner.is_none() {
            break;
        }
    }
    // Nothing of it is left when the thread ends.
    thread.deferred.take();
}

pub(crate) fn drop_later(owner: impl Any) {
    THREAD.with(|thread| thread.deferred.borrow_mut().push(Box::new(owner)));
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
            // The first one counts.
            if thread.panic.borrow().is_none() {
                thread.panic.replace(Some(payload));
            }
        });
        DocaError::UNEXPECTED
    })
}

#[inline]
pub(crate) fn resume() {
    THREAD.with(|thread| {
        if thread.panic.borrow().is_some() {
            go_on(thread);
        }
    });
}

#[cold]
fn go_on(thread: &Thread) {
    if thread.busy.get() || std::thread::panicking() {
        return;
    }
    let payload = thread.panic.take();
    if let Some(payload) = payload {
        std::panic::resume_unwind(payload);
    }
}
