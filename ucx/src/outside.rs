//! Memory that somebody outside this program may write at any time, as buffers.

use crate::buffer::{Buffer, BufferMut};

/// Bytes that others may write while a request sends them, such as memory that is shared with
/// another process, and what keeps them where they are. A send of bytes that change meanwhile sends
/// any mixture of old and new ones.
#[derive(Debug)]
pub struct Outside<T> {
    start: *mut u8,
    len: usize,
    _owner: T,
}

impl<T> Outside<T> {
    /// The `len` bytes at `start`, which `owner` keeps.
    ///
    /// # Safety
    /// The bytes are in host memory, initialised and readable until `owner` is dropped, wherever it
    /// is moved. Nobody holds a reference to them.
    pub const unsafe fn new(start: *const u8, len: usize, owner: T) -> Outside<T> {
        Outside { start: start.cast_mut(), len, _owner: owner }
    }
}

// SAFETY: the promise of `new`. UCX copies the bytes in C, so a write by others at the same time
// changes what is copied and nothing else.
unsafe impl<T: 'static> Buffer for Outside<T> {
    fn start(&self) -> *const u8 {
        self.start
    }
    fn len(&self) -> usize {
        self.len
    }
}

/// As [`Outside`], for bytes that a request may also receive into.
#[derive(Debug)]
pub struct OutsideMut<T>(Outside<T>);

impl<T> OutsideMut<T> {
    /// The `len` bytes at `start`, which `owner` keeps.
    ///
    /// # Safety
    /// As [`Outside::new`], and the bytes are writable.
    pub const unsafe fn new(start: *mut u8, len: usize, owner: T) -> OutsideMut<T> {
        // SAFETY: the caller vouches for the bytes until `owner` is dropped, and for writes to
        // them.
        OutsideMut(unsafe { Outside::new(start, len, owner) })
    }
}

// SAFETY: as that of `Outside`.
unsafe impl<T: 'static> Buffer for OutsideMut<T> {
    fn start(&self) -> *const u8 {
        self.0.start()
    }
    fn len(&self) -> usize {
        self.0.len()
    }
}

// SAFETY: as above; the bytes are writable by the promise of `new`.
unsafe impl<T: 'static> BufferMut for OutsideMut<T> {
    fn start_mut(&mut self) -> *mut u8 {
        self.0.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_lives_as_long_as_the_buffer() {
        let mut bytes = [7_u8; 16];
        let (start, owner) = (bytes.as_mut_ptr(), std::rc::Rc::new(()));
        let kept = std::rc::Rc::downgrade(&owner);
        // SAFETY: the array stays until the end, and nobody has a reference to it meanwhile.
        let mut buffer = unsafe { OutsideMut::new(start, 16, owner) };
        assert_eq!((buffer.start(), Buffer::len(&buffer)), (start.cast_const(), 16));
        assert_eq!((buffer.start_mut(), kept.strong_count()), (start, 1));
        drop(buffer);
        assert_eq!(kept.strong_count(), 0);
    }
}
