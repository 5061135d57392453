//! Memory that UCX may use for as long as a request lasts.

use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use crate::context::Context;
use crate::memory::Memory;
use crate::status::{Result, Status};

/// Host memory that a request can own while UCX reads it.
///
/// A request moves its buffer, so the bytes must not lie in the value itself. A value that claims
/// its bytes for itself when it is moved, as `Box` does, is fine: requests keep their buffers in
/// `MaybeUninit`, where such claims do not count.
///
/// # Safety
/// From a call of [`start`](Buffer::start) until the value is dropped or taken apart, even when the
/// value is moved:
///
/// - `start()..start() + len()` stays where it is, readable and in host memory, and both calls
///   return the same again;
/// - nobody writes to these bytes, unless through this value and outside of requests, or the bytes
///   are nobody's in Rust: no reference to them exists, as with [`Outside`](crate::Outside);
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

    /// The registered memory that these bytes belong to, if any; it spares UCX the search. A worker
    /// of another context ignores it.
    fn memory(&self) -> Option<&Memory> {
        None
    }
}

/// Host memory that a request can own while UCX writes it.
///
/// # Safety
/// As for [`Buffer`], and the bytes are writable and initialised. Nobody else in this program
/// writes them at that time, or they are nobody's in Rust, as with
/// [`OutsideMut`](crate::OutsideMut). Copies through raw pointers, such as
/// [`Memory::read`](crate::Memory::read), may see any mixture of old and new bytes.
pub unsafe trait BufferMut: Buffer {
    /// The first byte, for writing: the same address as [`Buffer::start`].
    fn start_mut(&mut self) -> *mut u8;
}

impl Memory {
    /// Registers a buffer, which lives as long as the registration: `ucp_mem_map`.
    ///
    /// # Errors
    /// `INVALID_PARAM` for no bytes, and UCX's others. The buffer is dropped.
    pub fn map(context: &Context, buffer: impl BufferMut) -> Result<Memory> {
        // On the heap first, so that the pointer is taken from where the buffer stays.
        let mut buffer = Box::new(buffer);
        let length = buffer.len();
        let what = || format!("registering {length} bytes of memory");
        let start = NonNull::new(buffer.start_mut()).filter(|_| length > 0);
        let start = start.ok_or_else(|| Status::INVALID_PARAM.during(what()))?;
        Memory::registered(context, start, length, buffer, what())
    }
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
