//! Memory that UCX may use until a request ends.

use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use crate::context::Context;
use crate::memory::Memory;
use crate::status::{Result, Status};

/// Host memory that a request can own while UCX reads it.
///
/// A request moves its buffer, so the bytes must not lie in the value itself. `Box` is allowed:
/// requests keep buffers in `MaybeUninit`, which disables its claim of unique access.
///
/// # Safety
/// From [`start`](Buffer::start) until the value is dropped or taken apart, even if it is moved:
///
/// - `start()` and `len()` are constant, and the bytes stay in place, readable, in host memory;
/// - no other code writes to these bytes; the owner writes only through this value and outside of
///   requests. Bytes without any Rust reference, as in [`Outside`](crate::Outside), are exempt;
/// - the bytes lie inside [`memory`](Buffer::memory), which stays registered.
pub unsafe trait Buffer: 'static {
    /// Returns the first byte; may be dangling when the length is zero.
    fn start(&self) -> *const u8;

    /// Returns the length in bytes.
    fn len(&self) -> usize;

    /// Returns whether the length is 0.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the registered memory of these bytes, if any. Workers of other contexts ignore it.
    fn memory(&self) -> Option<&Memory> {
        None
    }
}

/// Host memory that a request can own while UCX writes it.
///
/// # Safety
/// The rules of [`Buffer`] apply, and the bytes are writable and initialised. No other code of this
/// program writes them during the request. Bytes without any Rust reference, as in
/// [`OutsideMut`](crate::OutsideMut), are exempt. Copies through raw pointers, such as
/// [`Memory::read`](crate::Memory::read), may return any mixture of old and new bytes.
pub unsafe trait BufferMut: Buffer {
    /// Returns the first byte, for writing: the same address as [`Buffer::start`].
    fn start_mut(&mut self) -> *mut u8;
}

impl Memory {
    /// Registers a buffer until the registration is dropped: `ucp_mem_map`.
    ///
    /// # Errors
    /// `INVALID_PARAM` for an empty buffer, or UCX's error. The buffer is dropped.
    pub fn map(context: &Context, buffer: impl BufferMut) -> Result<Memory> {
        // Move the buffer to the heap before taking the pointer to its bytes.
        let mut buffer = Box::new(buffer);
        let length = buffer.len();
        let what = || format!("registering {length} bytes of memory");
        let start = NonNull::new(buffer.start_mut()).filter(|_| length > 0);
        let start = start.ok_or_else(|| Status::INVALID_PARAM.during(what()))?;
        Memory::registered(context, start, length, buffer, what())
    }
}

// SAFETY: the length is 0.
unsafe impl Buffer for () {
    fn start(&self) -> *const u8 {
        std::ptr::null()
    }
    fn len(&self) -> usize {
        0
    }
}

macro_rules! buffers {
    ($($type:ty)*; mut $($unique:ty)*) => {
        $(
            // SAFETY: the bytes live as long as the value, in place, unchanged while a request owns
            // it.
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
