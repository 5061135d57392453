//! Which slots were woken: a word of bits that wakers on any thread set, and that the executor
//! takes.

use crate::sync::{AtomicU64, Ordering};

/// One bit for each slot of a chunk.
#[derive(Debug)]
pub(crate) struct Woken {
    bits: AtomicU64,
}

impl Woken {
    pub(crate) fn new() -> Woken {
        Woken { bits: AtomicU64::new(0) }
    }

    /// Sets bits. Whoever takes them sees what this thread did before.
    #[inline]
    pub(crate) fn set(&self, bits: u64) {
        self.bits.fetch_or(bits, Ordering::Release);
    }

    /// Those that were set since the last call.
    #[inline]
    pub(crate) fn take(&self) -> u64 {
        // Looking first keeps the line shared with the threads that wake: most of the time nothing
        // is there.
        if self.bits.load(Ordering::Relaxed) == 0 {
            0
        } else {
            self.bits.swap(0, Ordering::Acquire)
        }
    }
}
