//! Memory that can be given to UCX for as long as a request lasts.

use std::rc::Rc;
use std::sync::Arc;

use crate::memory::MemoryHandle;

/// Host memory that a request can own while UCX reads it.
///
/// A request moves its buffer along: into a future, into the worker when the request is dropped
/// early. So the bytes must not lie in the value itself. A value that claims its bytes for itself
/// when it is moved, as `Box` does, is fine: requests keep their buffers where such claims do not
/// count (`MaybeUninit`).
///
/// # Safety
///
/// From a call of [`start`](Buffer::start) until the value is dropped or taken apart, even when the
/// value is moved:
///
/// - `start()..start() + len()` stays where it is, readable and in host memory, and both calls
///   return the same again;
/// - nobody writes to these bytes, unless through this value and outside of requests;
/// - the bytes lie in what [`memory`](Buffer::memory) names, which stays registered.
pub unsafe trait Buffer: 'static {
    /// The first byte. May be dangling when the length is zero.
    fn start(&self) -> *const u8;

    /// How many bytes.
    fn len(&self) -> usize;

    /// Whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The registration that these bytes belong to, if they belong to one; it spares UCX the search
    /// for it. A worker of another context than the registration's does without.
    fn memory(&self) -> Option<MemoryHandle<'_>> {
        None
    }
}

/// Host memory that a request can own while UCX writes it.
///
/// # Safety
///
/// As for [`Buffer`], and the bytes are writable, initialised, and nobody else reads or writes them
/// at that time.
pub unsafe trait BufferMut: Buffer {
    /// The first byte, for writing: the same address as [`Buffer::start`].
    fn start_mut(&mut self) -> *mut u8;
}

// SAFETY: no bytes at all.
unsafe impl Buffer for () {
    fn start(&self) -> *const u8 {
        std::ptr::null()
    }
    fn len(&self) -> usize {
        0
    }
}

// SAFETY: a vector's bytes are on the heap, and it cannot be changed while a request owns it.
unsafe impl Buffer for Vec<u8> {
    fn start(&self) -> *const u8 {
        self.as_ptr()
    }
    fn len(&self) -> usize {
        self.len()
    }
}

// SAFETY: as above; the vector is the only owner, and its first `len` bytes are initialised.
unsafe impl BufferMut for Vec<u8> {
    fn start_mut(&mut self) -> *mut u8 {
        self.as_mut_ptr()
    }
}

// SAFETY: a box's bytes are on the heap.
unsafe impl Buffer for Box<[u8]> {
    fn start(&self) -> *const u8 {
        self.as_ptr()
    }
    fn len(&self) -> usize {
        (**self).len()
    }
}

// SAFETY: the box is the only owner.
unsafe impl BufferMut for Box<[u8]> {
    fn start_mut(&mut self) -> *mut u8 {
        self.as_mut_ptr()
    }
}

// SAFETY: shared bytes are on the heap, live as long as this handle does, and are never written
// while shared.
unsafe impl Buffer for Arc<[u8]> {
    fn start(&self) -> *const u8 {
        self.as_ptr()
    }
    fn len(&self) -> usize {
        (**self).len()
    }
}

// SAFETY: as for `Arc`.
unsafe impl Buffer for Rc<[u8]> {
    fn start(&self) -> *const u8 {
        self.as_ptr()
    }
    fn len(&self) -> usize {
        (**self).len()
    }
}

// SAFETY: static bytes never move and never change.
unsafe impl Buffer for &'static [u8] {
    fn start(&self) -> *const u8 {
        self.as_ptr()
    }
    fn len(&self) -> usize {
        (**self).len()
    }
}
