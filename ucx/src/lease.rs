//! Leases: ranges of registered memory as buffers, for one writer or any number of readers.

use std::ops::Range;

use crate::buffer::{Buffer, BufferMut};
use crate::memory::Memory;
use crate::ranges::RangeLease;

impl Memory {
    /// Leases a range exclusively; `None` when it is not all inside or overlaps another lease.
    #[must_use]
    pub fn lease(&self, range: Range<usize>) -> Option<Lease> {
        Lease::new(self, range)
    }

    /// Leases a range for requests that only read; such leases may overlap.
    #[must_use]
    pub fn share(&self, range: Range<usize>) -> Option<SharedLease> {
        Lease::new(self, range)
    }
}

/// A range of registered [`Memory`], as a buffer. Dropping it ends the lease. Meanwhile no other
/// code of this process writes to these bytes. A peer with the remote key still can; a request then
/// sees a mixture. A worker of another context treats the range as unregistered memory.
#[derive(Debug)]
pub struct Lease<const SHARED: bool = false> {
    memory: Memory,
    part: RangeLease,
}

/// A [`Lease`] for requests that read; such leases may overlap.
pub type SharedLease = Lease<true>;

impl<const SHARED: bool> Lease<SHARED> {
    fn new(memory: &Memory, range: Range<usize>) -> Option<Self> {
        if range.end > memory.len() {
            return None;
        }
        let part = memory.ranges().take(range, SHARED)?;
        Some(Lease { memory: memory.clone(), part })
    }

    /// Returns the leased range.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.part.range()
    }

    fn at(&self) -> *mut u8 {
        self.memory.at(self.range().start, self.range().len())
    }
}

impl Lease {
    /// Copies bytes in.
    ///
    /// # Panics
    /// When the bytes are not all inside the lease.
    pub fn write(&mut self, offset: usize, from: &[u8]) {
        let range = self.range();
        let end = offset.checked_add(from.len());
        assert!(end.is_some_and(|end| end <= range.len()), "writing past the end of a lease");
        let to = self.memory.at(range.start + offset, from.len());
        // SAFETY: the bytes are inside; `from` is Rust's own memory, so it does not overlap.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }
}

// SAFETY: the lease keeps the memory alive and in place, and overlapping leases only read.
unsafe impl<const SHARED: bool> Buffer for Lease<SHARED> {
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

// SAFETY: as above; the lease is exclusive, and `Memory::read` copies through raw pointers.
unsafe impl BufferMut for Lease {
    fn start_mut(&mut self) -> *mut u8 {
        self.at()
    }
}
