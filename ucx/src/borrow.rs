//! Borrowed ranges of registered memory, as buffers for one writer or any number of readers.

use std::ops::Range;

use crate::buffer::{Buffer, BufferMut};
use crate::memory::Memory;
use crate::ranges::RangeBorrow;

impl Memory {
    /// Borrows a range exclusively; `None` when it is not all inside or overlaps another borrow.
    #[must_use]
    pub fn try_borrow_mut(&self, range: Range<usize>) -> Option<BorrowedRange> {
        BorrowedRange::new(self, range)
    }

    /// Borrows a range for requests that only read; such borrows may overlap.
    #[must_use]
    pub fn try_borrow(&self, range: Range<usize>) -> Option<SharedRange> {
        BorrowedRange::new(self, range)
    }
}

/// A range of registered [`Memory`], as a buffer. Dropping it ends the borrow. Meanwhile no other
/// code of this process writes to these bytes. A peer with the remote key still can; a request then
/// sees a mixture. A worker of another context treats the range as unregistered memory.
#[derive(Debug)]
pub struct BorrowedRange<const SHARED: bool = false> {
    memory: Memory,
    part: RangeBorrow,
}

/// A [`BorrowedRange`] for requests that read; such borrows may overlap.
pub type SharedRange = BorrowedRange<true>;

impl<const SHARED: bool> BorrowedRange<SHARED> {
    fn new(memory: &Memory, range: Range<usize>) -> Option<Self> {
        if range.end > memory.len() {
            return None;
        }
        let part = memory.ranges().take(range, SHARED)?;
        Some(BorrowedRange { memory: memory.clone(), part })
    }

    /// Returns the borrowed range.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.part.range()
    }

    fn at(&self) -> *mut u8 {
        self.memory.at(self.range().start, self.range().len())
    }
}

impl BorrowedRange {
    /// Copies bytes in.
    ///
    /// # Panics
    /// When the bytes are not all inside the range.
    pub fn write(&mut self, offset: usize, from: &[u8]) {
        let range = self.range();
        let end = offset.checked_add(from.len());
        assert!(
            end.is_some_and(|end| end <= range.len()),
            "writing past the end of a borrowed range"
        );
        let to = self.memory.at(range.start + offset, from.len());
        // SAFETY: the bytes are inside; `from` is Rust's own memory, so it does not overlap.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }
}

// SAFETY: the borrow keeps the memory alive and in place, and overlapping borrows only read.
unsafe impl<const SHARED: bool> Buffer for BorrowedRange<SHARED> {
    fn start(&self) -> *const u8 {
        self.at()
    }

    fn len(&self) -> usize {
        self.range().len()
    }

    fn memory(&self) -> Option<&Memory> {
        Some(&self.memory)
    }
}

// SAFETY: as above; the borrow is exclusive, and `Memory::read` copies through raw pointers.
unsafe impl BufferMut for BorrowedRange {
    fn start_mut(&mut self) -> *mut u8 {
        self.at()
    }
}
