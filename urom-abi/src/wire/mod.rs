//! Reading and writing commands and notifications, byte for byte as C lays them out.
//!
//! A message is a fixed part (`{ tag; header fields; union of structs }`, padded to the largest
//! variant) and the inline payloads behind it, in order, without padding between them. The macros
//! compute the offsets; this module is what they call. Nothing here panics on the bytes it is
//! given, and nothing trusts a length that stands in them.

mod error;
#[doc(hidden)]
mod fixed;
#[doc(hidden)]
pub mod inline;
#[doc(hidden)]
mod kinds;
mod known;
#[doc(hidden)]
mod read;
#[doc(hidden)]
mod reply;
#[doc(hidden)]
mod sentence;
#[doc(hidden)]
mod serve;
mod value;
#[doc(hidden)]
mod whole;
#[doc(hidden)]
mod word;
#[doc(hidden)]
mod write;

pub use error::{DecodeError, DecodeProblem, EncodeError};
pub use value::Plain;

// What follows is for generated code, and for tests that stand in for it.
pub(crate) use sentence::Sentence;
#[doc(hidden)]
pub use {
    fixed::{Field, Tag, any_field, exact, field, notification, own_tag, room, tag, unknown},
    inline::{Borrowed, Optional, Outgoing, Owned},
    known::assert_element,
    read::{Behind, Part, Tail, by_address, decoded, start},
    reply::{Notifications, ReplyOf, refusal},
    serve::{FILE as SERVE_FILE, serve},
    std::vec::Vec,
    value::{AnyBytes, NotAnyBytes, Value, Zero},
    whole::{Decoded, Encoded, Written, encode, encoded_len, read, used},
    word::{Count, Word},
    write::{
        address_word, address_word_when, agrees, agrees_when, bytes, give, length_word, message,
        payload, reply, selector_word, total, unset,
    },
};

use bytemuck::{AnyBitPattern, NoUninit};

/// The name of a message or of a field, or what is wrong with it.
type Name = &'static str;

/// Reads a plain value at `offset`, or `None` when the bytes end before it does. The bytes need no
/// alignment.
#[inline]
pub fn get<T: AnyBitPattern>(bytes: &[u8], offset: usize) -> Option<T> {
    let end = offset.checked_add(size_of::<T>())?;
    bytes.get(offset..end).map(bytemuck::pod_read_unaligned)
}

/// Writes a plain value at `offset`, or gives `None` and writes nothing when there is no room.
#[inline]
pub fn put<T: NoUninit>(bytes: &mut [u8], offset: usize, value: &T) -> Option<()> {
    let end = offset.checked_add(size_of::<T>())?;
    bytes.get_mut(offset..end)?.copy_from_slice(bytemuck::bytes_of(value));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_where_it_was_written_at_any_alignment() {
        for offset in 0..9 {
            let mut bytes = [0u8; 17];
            put(&mut bytes, offset, &0x1122_3344_5566_7788u64).unwrap();
            assert_eq!(get::<u64>(&bytes, offset), Some(0x1122_3344_5566_7788));
        }
    }

    #[test]
    fn nothing_is_read_or_written_past_the_end() {
        let mut bytes = [7u8; 8];
        for offset in [1, 8, 9, usize::MAX - 3, usize::MAX] {
            assert_eq!(get::<u64>(&bytes, offset), None);
            assert_eq!(put(&mut bytes, offset, &0u64), None);
        }
        assert_eq!(bytes, [7; 8]);
    }
}
