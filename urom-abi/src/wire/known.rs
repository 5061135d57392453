//! Payload sizes that are known when a protocol is compiled.

use super::Plain;
use super::inline::Outgoing;

/// The proof that values of a type can be the elements of a payload: its size, which is not 0 for one that can.
pub const fn element<T: Plain>() -> usize {
    size_of::<T>()
}

/// The size in bytes of a payload whose type says it; 0 for one whose type does not.
pub const fn fixed_size<P: Outgoing>() -> usize {
    match P::FIXED {
        Some(bytes) => bytes,
        None => 0,
    }
}

/// The size in bytes of a payload of `count` elements, or the largest number when it cannot be counted.
pub const fn size_of_elements<P: Outgoing>(count: usize) -> usize {
    count.saturating_mul(P::UNIT)
}

/// The length of a message of a fixed part of `fixed` bytes and payloads of these sizes, or the largest number.
///
/// ```
/// use urom_abi::wire::known_len;
/// const { assert!(known_len(72, &[200, 3800]) == 4072) };
/// assert_eq!(known_len(72, &[usize::MAX, 1]), usize::MAX);
/// ```
pub const fn known_len(fixed: usize, payloads: &[usize]) -> usize {
    let (mut total, mut i) = (fixed, 0);
    while i < payloads.len() {
        total = total.saturating_add(payloads[i]);
        i += 1;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Elements;

    #[test]
    fn a_size_is_that_of_the_type_or_of_its_elements() {
        assert_eq!((fixed_size::<&[u8; 200]>(), fixed_size::<&[u8]>()), (200, 0));
        assert_eq!(size_of_elements::<Elements<'_, u32>>(3), 12);
        assert_eq!(size_of_elements::<Elements<'_, u32>>(usize::MAX), usize::MAX);
    }
}
