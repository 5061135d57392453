//! What each thread that drives DOCA knows: its progress engines, whether a callback is running, and what has to wait
//! until it is over.
//!
//! A progress engine must not be progressed from inside a callback. So while one runs, progress does nothing, a worker
//! or domain that is dropped is set aside, and a panic is kept; all three are made up for as soon as the call that ran
//! the callback is back in Rust.
//!
//! It has no destructor, and so it is still there when thread-locals of the program are destroyed that own workers: those
//! are progressed, stopped and set aside then as ever. What it keeps on the heap goes with the last engine, but for a panic
//! that is kept then and that nobody resumes.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::{Rc, Weak};
use std::time::Instant;

use urom_abi::DocaError;

use crate::engine::EngineCore;

struct Thread {
    engines: RefCell<Vec<Weak<EngineCore>>>,
    /// Workers and domains. Empty whenever no callback runs.
    buried: RefCell<Vec<Box<dyn Any>>>,
    panic: Cell<Option<Box<dyn Any + Send>>>,
}

thread_local! {
    static THREAD: ManuallyDrop<Thread> = const {
        ManuallyDrop::new(Thread {
            engines: RefCell::new(Vec::new()),
            buried: RefCell::new(Vec::new()),
            panic: Cell::new(None),
        })
    };
    /// Whether a progress call, and perhaps a callback, is under way. By itself: it is asked on every call.
    static BUSY: Cell<bool> = const { Cell::new(false) };
    /// Whether something was set aside, and whether a panic was kept. For the same reason.
    static BURIED: Cell<bool> = const { Cell::new(false) };
    static PANICKED: Cell<bool> = const { Cell::new(false) };
}

/// Makes an engine one of those that this thread drives while it waits.
pub(crate) fn register(engine: &Rc<EngineCore>) {
    THREAD.with(|thread| {
        let mut engines = thread.engines.borrow_mut();
        engines.retain(|known| known.strong_count() > 0);
        engines.push(Rc::downgrade(engine));
    });
}

/// Frees what is kept for the engines, once none is left. To be called when one is dropped.
pub(crate) fn tidy() {
    THREAD.with(|thread| {
        let mut engines = thread.engines.borrow_mut();
        if engines.iter().all(|known| known.strong_count() == 0) {
            *engines = Vec::new();
        }
    });
}

/// The thread's engine number `index`, or `None` past the last one. An engine that is gone is skipped with `Some(None)`.
pub(crate) fn engine(index: usize) -> Option<Option<Rc<EngineCore>>> {
    THREAD.with(|thread| thread.engines.borrow().get(index).map(Weak::upgrade))
}

/// Progresses every engine of this thread once; whether anything moved. The caller looks at the deadlines.
///
/// # Panics
/// With the panic of a callback that ran meanwhile.
pub(crate) fn spin_all() -> bool {
    each_engine(EngineCore::spin)
}

/// As [`spin_all`], but keeps a callback's panic for the next call that passes it on.
pub(crate) fn pump_all() -> bool {
    each_engine(EngineCore::pump)
}

/// Ends the tasks of all engines of this thread whose deadline passed; whether there was one. Keeps panics as
/// [`pump_all`] does.
pub(crate) fn pass_all(now: Instant) -> bool {
    each_engine(|engine| engine.deadlines().pass(now))
}

/// The next deadline of any task on this thread, or an earlier time.
pub(crate) fn next_deadline() -> Option<Instant> {
    let mut next = None;
    each_engine(|engine| {
        next = next.into_iter().chain(engine.deadlines().next()).min();
        false
    });
    next
}

fn each_engine(mut progress: impl FnMut(&EngineCore) -> bool) -> bool {
    let mut moved = false;
    let mut index = 0;
    while let Some(engine) = engine(index) {
        moved |= engine.is_some_and(|engine| progress(&engine));
        index += 1;
    }
    moved
}

/// Whether a callback is running on this thread.
#[inline]
pub(crate) fn in_callback() -> bool {
    BUSY.get()
}

/// Runs `progress`, which may run callbacks, unless one is running already; then it gives `false`.
#[inline]
pub(crate) fn with_callbacks(progress: impl FnOnce() -> bool) -> bool {
    !in_callback() && calling(progress)
}

/// Runs a call into the library that may run callbacks, which cannot progress meanwhile. A callback may make it, too.
///
/// Workers and domains that callbacks dropped are stopped before it returns.
#[inline]
pub(crate) fn calling<T>(call: impl FnOnce() -> T) -> T {
    let nested = BUSY.replace(true);
    // This does not unwind: callbacks are guarded one by one.
    let result = call();
    BUSY.set(nested);
    if !nested && BURIED.get() {
        drop_buried();
    }
    result
}

#[cold]
fn drop_buried() {
    BURIED.set(false);
    // One at a time: stopping a worker runs callbacks, which may drop more of them.
    while let Some(owner) = buried() {
        drop(owner);
    }
}

fn buried() -> Option<Box<dyn Any>> {
    THREAD.with(|thread| {
        let mut buried = thread.buried.borrow_mut();
        let owner = buried.pop();
        if owner.is_none() {
            *buried = Vec::new();
        }
        owner
    })
}

/// Sets a worker or a domain aside that was dropped inside a callback.
pub(crate) fn bury(owner: impl Any) {
    THREAD.with(|thread| thread.buried.borrow_mut().push(Box::new(owner)));
    BURIED.set(true);
}

/// Runs what C called. A panic ends here; [`resume`] lets it go on.
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

/// Lets a panic go on that a callback started.
#[inline]
pub(crate) fn resume() {
    if PANICKED.get() {
        go_on();
    }
}

#[cold]
fn go_on() {
    if in_callback() || std::thread::panicking() {
        return;
    }
    PANICKED.set(false);
    let payload = THREAD.with(|thread| thread.panic.take());
    if let Some(payload) = payload {
        std::panic::resume_unwind(payload);
    }
}
