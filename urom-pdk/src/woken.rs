//! Woken slots: a word of bits, set by wakers on any thread and taken by the executor.

use crate::sync::{AtomicU64, Ordering};

pub(crate) const SLOTS: u32 = 63;

/// Set before the worker sleeps. It is in the same word: a wake is seen first or sees this bit.
const ASLEEP: u64 = 1 << SLOTS;

#[derive(Debug)]
pub(crate) struct Woken {
    bits: AtomicU64,
}

impl Default for Woken {
    fn default() -> Woken {
        Woken::new()
    }
}

impl Woken {
    pub(crate) fn new() -> Woken {
        Woken { bits: AtomicU64::new(0) }
    }

    /// Releases this thread's writes to `take`. Returns whether the caller must wake the worker.
    #[inline]
    #[must_use]
    pub(crate) fn set(&self, bits: u64) -> bool {
        self.bits.fetch_or(bits, Ordering::AcqRel) & ASLEEP != 0
    }

    /// Returns the bits set since the last call.
    #[inline]
    pub(crate) fn take(&self) -> u64 {
        // A load first keeps the cache line shared with waking threads: usually the word is 0.
        if self.bits.load(Ordering::Relaxed) == 0 {
            0
        } else {
            self.bits.swap(0, Ordering::Acquire) & !ASLEEP
        }
    }

    /// Sets `ASLEEP`. Returns whether the worker may sleep, without a wake since
    /// [`take`](Self::take). Releases this thread's writes to `set`.
    pub(crate) fn fall_asleep(&self) -> bool {
        self.bits.fetch_or(ASLEEP, Ordering::Release) & !ASLEEP == 0
    }

    pub(crate) fn wake_up(&self) {
        self.bits.fetch_and(!ASLEEP, Ordering::Relaxed);
    }
}
