//! loom's types for `urom-wire/src/sync.rs`, `urom-pdk/src/sync.rs` and
//! `urom-host/src/wait/sync.rs`.

use std::cell::Cell;
use std::io;

use loom::sync::Condvar;
pub(crate) use loom::sync::Mutex;
use loom::sync::atomic;
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
pub(crate) use std::sync::{Arc, PoisonError};

/// A flag. loom weakens sequentially consistent operations to acquire and release, but models
/// fences in full. So a fence goes between a SeqCst store and a later SeqCst load, which must not
/// be reordered.
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
        // In loom another store can come between the read and the write of a swap, but another swap
        // cannot. Unlike a store, a swap continues the release sequence of an earlier release. So
        // the modelled code must swap, or store under a lock, flags that several threads raise.
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
    /// Whether this thread has made a SeqCst store, and no SeqCst load since.
    static STORED: Cell<bool> = Cell::new(false);
}

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

    /// `poll` without a timeout: loom reports a lost wake-up as a deadlock.
    pub(crate) fn wait(&self) {
        let mut readable = self.readable.lock().unwrap();
        while !*readable {
            readable = self.changed.wait(readable).unwrap();
        }
    }
}
