//! Buffers in memory that code outside this program may write at any time.

use crate::buffer::{Buffer, BufferMut};

/// Bytes that other code may write during a send, such as memory shared with another process, and
/// their owner. If they change during a send, the peer gets any mixture of old and new bytes.
#[derive(Debug)]
pub struct Outside<T> {
    start: *mut u8,
    len: usize,
    _owner: T,
}

impl<T> Outside<T> {
    /// Makes a buffer of the `len` bytes at `start`, which `owner` keeps.
    ///
    /// # Safety
    /// The bytes are in host memory, initialised, readable and unreferenced while `owner` exists.
    pub const unsafe fn new(start: *const u8, len: usize, owner: T) -> Outside<T> {
        Outside { start: start.cast_mut(), len, _owner: owner }
    }
}

// SAFETY: the promise of `new`. UCX copies in C, so concurrent writes only change the copy.
unsafe impl<T: 'static> Buffer for Outside<T> {
    fn start(&self) -> *const u8 {
        self.start
    }
    fn len(&self) -> usize {
        self.len
    }
}

/// An [`Outside`] buffer that a request may also write.
#[derive(Debug)]
pub struct OutsideMut<T>(Outside<T>);

impl<T> OutsideMut<T> {
    /// Makes a buffer of the `len` bytes at `start`, which `owner` keeps.
    ///
    /// # Safety
    /// The rules of [`Outside::new`] apply, and the bytes are writable.
    pub const unsafe fn new(start: *mut u8, len: usize, owner: T) -> OutsideMut<T> {
        // SAFETY: the caller vouches for the bytes, and for writes, until `owner` is dropped.
        OutsideMut(unsafe { Outside::new(start, len, owner) })
    }
}

// SAFETY: same as for `Outside`.
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
        // SAFETY: the array outlives the buffer, and is not referenced meanwhile.
        let mut buffer = unsafe { OutsideMut::new(start, 16, owner) };
        assert_eq!((buffer.start(), Buffer::len(&buffer)), (start.cast_const(), 16));
        assert_eq!((buffer.start_mut(), kept.strong_count()), (start, 1));
        drop(buffer);
        assert_eq!(kept.strong_count(), 0);
    }
}
