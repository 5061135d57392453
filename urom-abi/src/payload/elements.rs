//! A borrowed, unaligned run of plain values.

use std::marker::PhantomData;

use super::unit;
use crate::wire::Plain;

/// A payload's borrowed elements: a slice of `T` at any alignment, read by value, equal by bytes.
///
/// ```
/// use urom_abi::Elements;
/// let counts = Elements::from(&[3u32, 5, 8]);
/// assert_eq!((counts.len(), counts.get(1), counts.get(3)), (3, Some(5), None));
/// assert_eq!(counts.iter().sum::<u32>(), 16);
/// ```
pub struct Elements<'a, T> {
    bytes: &'a [u8],
    of: PhantomData<T>,
}

impl<'a, T> Elements<'a, T> {
    pub(crate) fn of_bytes(bytes: &'a [u8]) -> Option<Elements<'a, T>> {
        bytes.len().is_multiple_of(unit::<T>()).then_some(Elements { bytes, of: PhantomData })
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / unit::<T>()
    }

    /// Returns whether the length is 0.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn seen(&self) -> Elements<'a, T> {
        *self
    }

    /// Returns the elements' bytes.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<'a, T: Plain> Elements<'a, T> {
    /// Returns the bytes as elements; `None` for a partial element.
    pub fn from_bytes(bytes: &'a [u8]) -> Option<Elements<'a, T>> {
        Elements::of_bytes(bytes)
    }

    /// Returns element `index`, or `None` past the end.
    pub fn get(&self, index: usize) -> Option<T> {
        self.bytes.chunks_exact(unit::<T>()).nth(index).map(bytemuck::pod_read_unaligned)
    }

    /// Iterates over the elements.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + use<'a, T> {
        self.bytes.chunks_exact(unit::<T>()).map(bytemuck::pod_read_unaligned)
    }

    /// Copies the elements.
    pub fn to_vec(&self) -> Vec<T> {
        let mut copy = vec![T::zeroed(); self.len()];
        bytemuck::cast_slice_mut::<T, u8>(&mut copy).copy_from_slice(self.bytes);
        copy
    }

    /// Returns the elements as a slice if they happen to be aligned.
    pub fn as_slice(&self) -> Option<&'a [T]> {
        bytemuck::try_cast_slice(self.bytes).ok()
    }
}

impl<'a, T: Plain> IntoIterator for Elements<'a, T> {
    type Item = T;
    type IntoIter = std::iter::Map<std::slice::ChunksExact<'a, u8>, fn(&[u8]) -> T>;

    fn into_iter(self) -> Self::IntoIter {
        self.bytes.chunks_exact(unit::<T>()).map(bytemuck::pod_read_unaligned)
    }
}

impl<T> Clone for Elements<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Elements<'_, T> {}

impl<T> Default for Elements<'_, T> {
    fn default() -> Self {
        Elements { bytes: &[], of: PhantomData }
    }
}

impl<'a, T: Plain> From<&'a [T]> for Elements<'a, T> {
    fn from(elements: &'a [T]) -> Self {
        let _ = unit::<T>();
        Elements { bytes: bytemuck::cast_slice(elements), of: PhantomData }
    }
}

impl<'a, T: Plain, const N: usize> From<&'a [T; N]> for Elements<'a, T> {
    fn from(elements: &'a [T; N]) -> Self {
        Elements::from(elements.as_slice())
    }
}

impl<'a, T: Plain> From<&'a Vec<T>> for Elements<'a, T> {
    fn from(elements: &'a Vec<T>) -> Self {
        Elements::from(elements.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn elements_are_read_at_any_alignment() {
        let values = [0x0102_0304_0506_0708u64, 9, 10];
        for shift in 0..8 {
            let mut bytes = vec![0xee; shift];
            bytes.extend_from_slice(bytemuck::cast_slice(&values));
            let elements = Elements::<u64>::from_bytes(&bytes[shift..]).unwrap();
            assert_eq!(elements.to_vec(), values);
            assert_eq!(elements.into_iter().collect::<Vec<_>>(), values);
            assert_eq!(elements.iter().rev().collect::<Vec<_>>(), [10, 9, values[0]]);
            let found = [0, 3, usize::MAX].map(|index| elements.get(index));
            assert_eq!(found, [Some(values[0]), None, None]);
            if let Some(slice) = elements.as_slice() {
                assert_eq!(slice, values);
            }
        }
    }

    #[test]
    fn bytes_that_are_no_whole_number_of_elements_are_none() {
        for len in 0..=16 {
            assert_eq!(
                Elements::<u32>::from_bytes(&[0; 16][..len]).is_some(),
                len % 4 == 0,
                "{len}"
            );
        }
    }

    #[test]
    fn an_aligned_slice_is_given_back_as_it_was() {
        let values = vec![1u32, 2, 3];
        let elements = Elements::from(&values);
        assert_eq!(elements.as_slice(), Some(&values[..]));
        assert_eq!(elements, Elements::from(&[1, 2, 3]));
        assert_ne!(elements, Elements::from(&[1, 2, 4]));
        assert_eq!(format!("{elements:?}"), "[1, 2, 3]");
        assert!(Elements::<u64>::default().is_empty());
    }

    #[test]
    fn elements_are_ordered_as_slices_and_equal_ones_have_one_hash() {
        let slices: [&[i16]; 5] = [&[], &[-2], &[-2, 256], &[1], &[256]];
        for a in slices {
            for b in slices {
                assert_eq!(Elements::from(a).cmp(&Elements::from(b)), a.cmp(b), "{a:?} {b:?}");
            }
        }
        // The second is not aligned.
        let bytes = [0u8, 1, 0, 2, 0];
        let shifted = Elements::<u16>::from_bytes(&bytes[1..]).unwrap();
        let set = HashSet::from([Elements::from(&[1u16, 2]), shifted]);
        assert_eq!(set.len(), 1);
    }
}
