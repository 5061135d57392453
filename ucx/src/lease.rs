//! Leases: parts of registered memory as buffers for requests, for one that writes or for any
//! number that read.

use std::ops::Range;

use crate::buffer::{Buffer, BufferMut};
use crate::memory::{Memory, MemoryHandle};
use crate::ranges::RangeLease;

impl Memory {
    /// A part of the memory as a buffer for requests, for nobody else until it is dropped. `None`
    /// when it is not all inside or some of it is leased.
    #[must_use]
    pub fn lease(&self, range: Range<usize>) -> Option<Lease> {
        Taken::new(self, range, false).map(Lease)
    }

    /// As [`lease`](Memory::lease), for requests that only read: any number of them may share
    /// bytes.
    #[must_use]
    pub fn share(&self, range: Range<usize>) -> Option<SharedLease> {
        Taken::new(self, range, true).map(SharedLease)
    }
}

/// A part of registered memory that was taken out of the others' hands. Dropping it gives it back.
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

/// A part of registered [`Memory`], as a buffer for requests. While it exists, nobody else in this
/// process writes to these bytes; a peer with the remote key still can, and what a request then
/// sees is a mixture.
///
/// A worker of another context takes it as memory that is not registered.
///
/// ```
/// use ucx::{Buffer, Lease};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let context = ucx::Context::builder(ucx::Features::TAG).config("TLS", "self").build()?;
/// # let worker = context.worker()?;
/// # let endpoint = worker.endpoint().error_mode(ucx::ErrorMode::None).connect(&worker.address()?)?;
/// # let memory = ucx::Memory::allocate(&context, 4096)?;
/// let Some(mut part): Option<Lease> = memory.lease(1024..2048) else { unreachable!() };
/// part.write(0, b"a header");
/// assert!(memory.lease(2000..3000).is_none(), "these two would share bytes");
/// assert_eq!((part.range(), part.len()), (1024..2048, 1024));
///
/// let (sent, part) = endpoint.tag_send(7, part).wait();
/// sent?;
/// # Ok(())
/// # }
/// ```
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

// SAFETY: the bytes are in memory that the lease keeps alive and in place, and the lease is the
// only one on them.
unsafe impl Buffer for Lease {
    fn start(&self) -> *const u8 {
        self.0.start()
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn memory(&self) -> Option<MemoryHandle<'_>> {
        Some(self.0.memory.handle())
    }
}

// SAFETY: as above; registered memory is written through raw pointers only.
unsafe impl BufferMut for Lease {
    fn start_mut(&mut self) -> *mut u8 {
        self.0.start()
    }
}

/// A part of registered [`Memory`], as a buffer for requests that read it: any number of these may
/// share bytes. Otherwise as a [`Lease`].
#[derive(Debug)]
pub struct SharedLease(Taken);

// SAFETY: the bytes are in memory that the lease keeps alive and in place, and every other lease on
// them only reads.
unsafe impl Buffer for SharedLease {
    fn start(&self) -> *const u8 {
        self.0.start()
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn memory(&self) -> Option<MemoryHandle<'_>> {
        Some(self.0.memory.handle())
    }
}
