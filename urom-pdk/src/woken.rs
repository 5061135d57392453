//! Which slots were woken: a word of bits that wakers on any thread set, and that the executor
//! takes.

use crate::sync::{AtomicU64, Ordering};

pub(crate) const SLOTS: u32 = 63;

/// Set while the worker sleeps, or is about to. A bit of the same word, so that each wake either is
/// seen before the sleep or sees that there is one.
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

    /// Sets bits. Whoever takes them sees what this thread did before. Whether the worker sleeps:
    /// then the caller wakes it.
    #[inline]
    #[must_use]
    pub(crate) fn set(&self, bits: u64) -> bool {
        self.bits.fetch_or(bits, Ordering::AcqRel) & ASLEEP != 0
    }

    /// Those that were set since the last call. The worker is awake.
    #[inline]
    pub(crate) fn take(&self) -> u64 {
        // Looking first keeps the line shared with the threads that wake: most of the time nothing
        // is there.
        if self.bits.load(Ordering::Relaxed) == 0 {
            0
        } else {
            self.bits.swap(0, Ordering::Acquire) & !ASLEEP
        }
    }

    /// Notes that the worker is about to sleep. Whether nothing was woken since the last
    /// [`take`](Self::take): otherwise it must not. Whoever sees that it sleeps sees what this
    /// thread did before.
    pub(crate) fn fall_asleep(&self) -> bool {
        self.bits.fetch_or(ASLEEP, Ordering::Release) & !ASLEEP == 0
    }

    pub(crate) fn wake_up(&self) {
        self.bits.fetch_and(!ASLEEP, Ordering::Relaxed);
    }
}
