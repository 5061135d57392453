//! [`Word`]: an atomic word of 8 bytes in shared memory, and waits for it.

use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

use urom_abi::DocaError;
use urom_abi::host_memory::MemoryAction;
use urom_abi::sync_event::Condition;

use crate::error::{Error, Result};
use crate::futex;
use crate::view::View;

/// A wait polls for plain stores, which do not wake it. First poll interval;
pub(crate) const FIRST_PAUSE: Duration = Duration::from_micros(50);
/// the interval doubles up to this limit.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// An aligned word of a [`View`], as a counter.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Word<'a> {
    view: View<'a>,
    at: NonNull<u64>,
}

impl<'a> View<'a> {
    /// Loads the 8 bytes at `offset` atomically, with `Acquire`. The view may be read-only.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the word lies outside of the view or is not aligned to 8 bytes.
    #[inline]
    pub fn load_u64(&self, offset: u64) -> Result<u64> {
        Ok(self.word(offset)?.load())
    }

    #[doc(hidden)]
    #[inline]
    pub fn word(&self, offset: u64) -> Result<Word<'a>> {
        let at = self.aligned(offset)?;
        // SAFETY: `aligned` found the word in this view.
        Ok(unsafe { Word::new(*self, at) })
    }
}

impl<'a> Word<'a> {
    /// # Safety
    /// `at` is an aligned word of the view.
    pub(crate) unsafe fn new(view: View<'a>, at: NonNull<u64>) -> Word<'a> {
        Word { view, at }
    }

    pub(crate) fn address(&self) -> NonNull<u64> {
        self.at
    }

    fn atomic(&self) -> &'a AtomicU64 {
        // SAFETY: the word is aligned and within the view for `'a`. All other accesses are opaque
        // copies and atomics. In read-only memory, only `load` uses it.
        unsafe { AtomicU64::from_ptr(self.at.as_ptr()) }
    }

    /// Loads the number (`Acquire`).
    #[inline]
    #[must_use]
    pub fn load(&self) -> u64 {
        // Rust permits only relaxed loads in memory that is mapped read-only.
        let value = self.atomic().load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        value
    }

    /// Stores a number and wakes all waiting threads.
    ///
    /// # Errors
    /// `NOT_PERMITTED` in a read-only view.
    pub fn set(&self, value: u64) -> Result<()> {
        self.view.writable()?;
        self.atomic().store(value, Ordering::Release);
        futex::wake(self.atomic());
        Ok(())
    }

    /// Adds a number, wakes all waiting threads, and returns the number before the addition.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn add(&self, value: u64) -> Result<u64> {
        self.view.writable()?;
        let before = self.atomic().fetch_add(value, Ordering::AcqRel);
        futex::wake(self.atomic());
        Ok(before)
    }

    /// Runs an action on the word without blocking. A change wakes all waiting threads.
    ///
    /// # Errors
    /// `NOT_PERMITTED` for a change in a read-only view, `NOT_SUPPORTED` for actions not on words.
    pub fn run(&self, action: MemoryAction, operand: u64, compare: u64) -> Result<u64> {
        let is_load = action == MemoryAction::LOAD;
        if is_load || Condition::of(action, operand, compare).is_some() {
            return Ok(self.load());
        }
        self.view.writable()?;
        let before = action.run_atomic(self.atomic(), operand, compare).ok_or_else(|| {
            Error::new(DocaError::NOT_SUPPORTED, format!("{action:?} is not about a word"))
        })?;
        futex::wake(self.atomic());
        Ok(before)
    }

    /// Blocks this thread until the condition is met. Returns `None` after the timeout.
    #[must_use]
    pub fn wait(&self, condition: Condition, timeout: Option<Duration>) -> Option<u64> {
        // A timeout beyond the last instant never passes.
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut pause = FIRST_PAUSE;
        loop {
            let seen = self.load();
            if condition.is_met(seen) {
                return Some(seen);
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return None;
            }
            let longest = left.map_or(pause, |left| left.min(pause));
            pause = match futex::wait(self.atomic(), seen, longest) {
                true => (pause * 2).min(LONGEST_PAUSE),
                false => FIRST_PAUSE,
            };
        }
    }
}

impl fmt::Debug for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Word({} at {:p})", self.load(), self.at)
    }
}
