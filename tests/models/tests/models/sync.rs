//! loom's types in the place of `urom-service/src/sync.rs`.

use std::io;

use loom::sync::Condvar;
pub(crate) use loom::sync::Mutex;
pub(crate) use loom::sync::atomic::{AtomicBool, Ordering};
pub(crate) use std::sync::PoisonError;

/// A descriptor that is readable from `raise` to `lower`.
#[derive(Debug)]
pub(crate) struct Wake {
    readable: Mutex<bool>,
    changed: Condvar,
}

impl Wake {
    pub(crate) fn new() -> io::Result<Wake> {
        Ok(Wake { readable: Mutex::new(false), changed: Condvar::new() })
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
