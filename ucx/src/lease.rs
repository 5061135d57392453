//! Leases: parts of registered memory as buffers, for one writer or any number of readers.

use std::ops::Range;

use crate::buffer::{Buffer, BufferMut};
use crate::memory::Memory;
use crate::ranges::RangeLease;

impl Memory {
    /// A part of the memory as a buffer that nobody else has until it is dropped. `None` when it is
    /// not all inside or some of it is leased.
    #[must_use]
    pub fn lease(&self, range: Range<usize>) -> Option<Lease> {
        Taken::new(self, range, false).map(Lease)
    }

    /// As [`lease`](Memory::lease), for requests that only read. Any number of them may share
    /// bytes.
    #[must_use]
    pub fn share(&self, range: Range<usize>) -> Option<SharedLease> {
        Taken::new(self, range, true).map(SharedLease)
    }
}

/// A leased part of registered memory. Dropping it ends the lease.
#[derive(Debug)]
struct Taken {
    memory: Memory,
    part: RangeLease,
}

impl Taken {
    fn new(memory: &Memory, range: Range<usize>, shared: bool) -> Option<Taken> {
        if range.end > memory.len() {
            return None;
        }
        let part = memory.ranges().take(range, shared)?;
        Some(Taken { memory: memory.clone(), part })
    }

    fn len(&self) -> usize {
        self.part.range().len()
    }

    fn start(&self) -> *mut u8 {
        self.memory.at(self.part.range().start, self.len())
    }
}

/// A part of registered [`Memory`], as a buffer. While it exists, nobody else in this process
/// writes to these bytes. A peer with the remote key still can; a request then sees a mixture. A
/// worker of another context treats it as memory that is not registered.
#[derive(Debug)]
pub struct Lease(Taken);

impl Lease {
    /// Where it lies in the memory.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.0.part.range()
    }

    /// Copies bytes in.
    ///
    /// # Panics
    ///
    /// When the bytes are not all inside the lease.
    pub fn write(&mut self, offset: usize, from: &[u8]) {
        let range = self.0.part.range();
        let end = offset.checked_add(from.len());
        assert!(end.is_some_and(|end| end <= range.len()), "writing past the end of a lease");
        let to = self.0.memory.at(range.start + offset, from.len());
        // SAFETY: the bytes are inside; `from` is Rust's own memory, so elsewhere.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }
}

// SAFETY: as below; the lease is the only one on its bytes, and registered memory is written
// through raw pointers only.
unsafe impl BufferMut for Lease {
    fn start_mut(&mut self) -> *mut u8 {
        self.0.start()
    }
}

/// A [`Lease`] for requests that read: any number of these may share bytes.
#[derive(Debug)]
pub struct SharedLease(Taken);

macro_rules! buffers {
    ($($lease:ty),*) => {$(
        // SAFETY: the bytes are in memory that the lease keeps alive and in place. Nobody in this
        // process writes to them: another lease on them only reads, too.
        unsafe impl Buffer for $lease {
            fn start(&self) -> *const u8 {
                self.0.start()
            }
            fn len(&self) -> usize {
                self.0.len()
            }
            fn memory(&self) -> Option<&Memory> {
                Some(&self.0.memory)
            }
        }
    )*};
}

buffers!(Lease, SharedLease);
