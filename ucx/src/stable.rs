//! Values whose bytes stay in place, as buffers.

use std::ops::{Deref, DerefMut};

use stable_deref_trait::StableDeref;

use crate::buffer::{Buffer, BufferMut};

/// Makes a buffer of any value whose bytes stay in place when it moves (`StableDeref<Target =
/// [u8]>`): UROM's payloads and held commands, memory maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stable<B>(B);

impl<B> Stable<B> {
    /// Wraps a value.
    #[inline]
    pub const fn new(value: B) -> Self {
        Stable(value)
    }

    /// Returns the value.
    #[inline]
    pub fn into_inner(self) -> B {
        self.0
    }
}

impl<B> Deref for Stable<B> {
    type Target = B;

    #[inline]
    fn deref(&self) -> &B {
        &self.0
    }
}

impl<B> DerefMut for Stable<B> {
    #[inline]
    fn deref_mut(&mut self) -> &mut B {
        &mut self.0
    }
}

// SAFETY: `StableDeref` promises that the bytes live as long as the value, do not move with it, and
// that every `deref` returns the same bytes. Other owners, such as clones, only read.
unsafe impl<B: StableDeref<Target = [u8]> + 'static> Buffer for Stable<B> {
    #[inline]
    fn start(&self) -> *const u8 {
        self.0.as_ptr()
    }
    #[inline]
    fn len(&self) -> usize {
        self.0.deref().len()
    }
}

// SAFETY: as above; `deref_mut` returns the bytes of `deref`, and excludes other owners.
unsafe impl<B: StableDeref<Target = [u8]> + DerefMut + 'static> BufferMut for Stable<B> {
    #[inline]
    fn start_mut(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_value_wherever_it_goes() {
        let mut buffer = Stable::new(vec![1, 2, 3].into_boxed_slice());
        let at = buffer.start();
        assert_eq!((buffer.start_mut().cast_const(), Buffer::len(&buffer)), (at, 3));
        let moved = Box::new(buffer);
        assert_eq!(moved.start(), at);
        assert_eq!(*moved.into_inner(), [1, 2, 3]);
    }
}
