//! loom's types instead of those of `urom-wire/src/sync.rs`, `urom-pdk/src/sync.rs` and
//! `urom-host/src/wait/sync.rs`.

use std::cell::Cell;
use std::io;

use loom::sync::Condvar;
pub(crate) use loom::sync::Mutex;
use loom::sync::atomic;
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
pub(crate) use std::sync::{Arc, PoisonError};

/// A flag. loom takes operations for acquire and release at most, but models fences in full. What
/// sequential consistency adds is that no load comes before a store that it follows: there is a
/// fence between the two if both are.
#[derive(Debug)]
pub(crate) struct AtomicBool(atomic::AtomicBool);

impl AtomicBool {
    pub(crate) fn new(value: bool) -> AtomicBool {
        AtomicBool(atomic::AtomicBool::new(value))
    }

    pub(crate) fn load(&self, order: Ordering) -> bool {
        if order == Ordering::SeqCst && STORED.with(Cell::take) {
            fence(order);
        }
        self.0.load(order)
    }

    pub(crate) fn store(&self, value: bool, order: Ordering) {
        // Nothing comes between what a swap reads and what it writes. loom lets a store come there,
        // but no other swap. A store ends what a release before it gives to whoever reads it, and
        // this does not: flags that more than one thread raises are swapped in what is modelled, or
        // stored under a lock.
        self.swap(value, order);
    }

    pub(crate) fn swap(&self, value: bool, order: Ordering) -> bool {
        if order == Ordering::SeqCst {
            STORED.with(|stored| stored.set(true));
        }
        self.0.swap(value, order)
    }
}

loom::thread_local! {
    /// Whether this thread has stored with sequential consistency, and loaded nothing so since.
    static STORED: Cell<bool> = Cell::new(false);
}

/// A descriptor that is readable from `raise` to `lower`.
#[derive(Debug)]
pub(crate) struct EventFd {
    readable: Mutex<bool>,
    changed: Condvar,
}

impl EventFd {
    pub(crate) fn new() -> io::Result<EventFd> {
        Ok(EventFd { readable: Mutex::new(false), changed: Condvar::new() })
    }

    pub(crate) fn raise(&self) {
        *self.readable.lock().unwrap() = true;
        self.changed.notify_all();
    }

    pub(crate) fn lower(&self) {
        *self.readable.lock().unwrap() = false;
    }

    pub(crate) fn is_readable(&self) -> bool {
        *self.readable.lock().unwrap()
    }

    /// `poll` without a limit: a wake-up that is lost is a deadlock, which loom reports.
    pub(crate) fn wait(&self) {
        let mut readable = self.readable.lock().unwrap();
        while !*readable {
            readable = self.changed.wait(readable).unwrap();
        }
    }
}
