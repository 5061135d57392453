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
/// ```
/// use std::sync::Arc;
/// use ucx::{Buffer, MemoryHandle};
///
/// /// Bytes that several requests send at a time.
/// struct Shared(Arc<Vec<u8>>);
///
/// // SAFETY: a vector's bytes are on the heap, shared ones are never written, and they live as long as this handle.
/// unsafe impl Buffer for Shared {
///     fn start(&self) -> *const u8 {
///         self.0.as_ptr()
///     }
///
///     fn len(&self) -> usize {
///         self.0.len()
///     }
///
///     // They are registered nowhere; so says the default, too.
///     fn memory(&self) -> Option<MemoryHandle<'_>> {
///         None
///     }
/// }
///
/// assert!(!Shared(Arc::new(vec![1])).is_empty());
/// ```
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

/// Bytes on the heap, or static ones: with `mut` those of which the value is the only owner.
macro_rules! buffers {
    ($($type:ty)*; mut $($unique:ty)*) => {
        $(
            // SAFETY: the bytes live as long as the value, do not move with it, and nobody changes
            // them while a request owns it.
            unsafe impl Buffer for $type {
                fn start(&self) -> *const u8 {
                    self.as_ptr()
                }
                fn len(&self) -> usize {
                    <[u8]>::len(self)
                }
            }
        )*
        $(
            // SAFETY: as above; the value is the only owner, and its bytes are initialised.
            unsafe impl BufferMut for $unique {
                fn start_mut(&mut self) -> *mut u8 {
                    self.as_mut_ptr()
                }
            }
        )*
    };
}

buffers!(Vec<u8> Box<[u8]> Arc<[u8]> Rc<[u8]> &'static [u8]; mut Vec<u8> Box<[u8]>);
