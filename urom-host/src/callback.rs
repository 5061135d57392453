//! Per-thread state of the library's callbacks. Inside a callback, progress does nothing, and
//! dropped workers and domains and a panic are stored here until the outermost call returns to
//! Rust. It lacks a destructor, so it works while thread-locals are destroyed.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

use urom_abi::{DocaError, DocaStatus};

struct Thread {
    busy: Cell<bool>,
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

/// Runs `progress`, which may run callbacks. Returns `false` without running it inside a callback.
#[inline]
pub(crate) fn run_unless_running(progress: impl FnOnce() -> bool) -> bool {
    THREAD.with(|thread| !thread.busy.replace(true) && finish(thread, progress()))
}

#[inline]
fn finish<T>(thread: &Thread, result: T) -> T {
    thread.busy.set(false);
    if !thread.deferred.borrow().is_empty() {
        drop_deferred(thread);
    }
    result
}

/// Runs a library call that may run callbacks, also inside one; then stops the owners they dropped.
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
    // One at a time: stopping a worker runs callbacks, which may drop more workers.
    loop {
        let owner = thread.deferred.borrow_mut().pop();
        if owner.is_none() {
            break;
        }
    }
    thread.deferred.take();
}

pub(crate) fn drop_later(owner: impl Any) {
    THREAD.with(|thread| thread.deferred.borrow_mut().push(Box::new(owner)));
}

/// Runs the body of a function that C calls. A panic is caught; [`resume`] continues it.
pub(crate) fn guard(body: impl FnOnce()) {
    guarded(|| {
        body();
        Ok(())
    });
}

/// As [`guard`], with a result: `UNEXPECTED` after a panic.
pub(crate) fn guarded(body: impl FnOnce() -> Result<(), DocaError>) -> DocaStatus {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        THREAD.with(|thread| {
            // Later panics are ignored.
            if thread.panic.borrow().is_none() {
                thread.panic.replace(Some(payload));
            }
        });
        Err(DocaError::UNEXPECTED)
    });
    result.into()
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
