//! Memory with a stable address for C code.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use urom_os::fork::PerProcess;

/// Memory that is leaked because it may still be in use. Leak checkers find it here.
static KEPT: PerProcess<Mutex<Vec<FixedMemory>>> = PerProcess::new(Mutex::default);

/// Zeroed memory, 8-aligned, never moved. Owners of its address read and write it.
#[derive(Debug)]
pub(super) struct FixedMemory(Vec<Cell<u64>>);

impl FixedMemory {
    pub(super) fn new(len: usize) -> Option<FixedMemory> {
        let mut words = Vec::new();
        // At least one word: hosts may read at any pointer they get.
        let count = len.div_ceil(8).max(1);
        words.try_reserve_exact(count).ok()?;
        words.resize(count, Cell::new(0));
        Some(FixedMemory(words))
    }

    pub(super) const fn none() -> FixedMemory {
        FixedMemory(Vec::new())
    }

    /// Leaks the memory.
    pub(super) fn keep(self) {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.try_reserve(1).is_ok() {
            kept.push(self);
        } else {
            std::mem::forget(self);
        }
    }

    /// Returns the length in bytes, at least the requested length.
    pub(super) fn len(&self) -> usize {
        self.0.len() * 8
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.0.as_ptr().cast_mut().cast()
    }
}

/// Copies bytes; short copies (nearly all commands and notifications) are inlined.
#[inline]
pub(super) fn copy(bytes: &[u8], target: &mut [u8]) {
    let len = bytes.len().min(target.len());
    // SAFETY: both have `len` bytes, and `target` is borrowed exclusively.
    unsafe { urom_abi::copy(bytes.as_ptr(), target.as_mut_ptr(), len) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_kept_can_still_be_written_to_and_is_found() {
        let memory = FixedMemory::new(100).unwrap();
        let start = memory.start();
        memory.keep();
        // SAFETY: it has 100 bytes and is never freed.
        unsafe { start.write_bytes(7, 100) };
        assert!(KEPT.lock().unwrap().iter().any(|kept| kept.start() == start));
    }

    #[test]
    fn a_copy_of_any_length_is_whole_and_no_more() {
        let bytes: Vec<u8> = (1..=100).collect();
        for len in 0..=bytes.len() {
            let mut target = [0; 101];
            copy(&bytes[..len], &mut target[..len]);
            assert_eq!((&target[..len], target[len]), (&bytes[..len], 0), "{len}");
        }
    }
}
