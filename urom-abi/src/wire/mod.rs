//! Reading and writing commands and notifications, byte for byte as C lays them out.
//!
//! A message is a fixed part (`{ tag; header fields; union of structs }`, padded to the largest
//! variant) and the inline payloads behind it, in order, without padding between them. The macros
//! compute the offsets; this module is what they call. Nothing here panics on the bytes it is
//! given, and nothing trusts a length that stands in them.

mod error;
#[doc(hidden)]
pub mod inline;
mod kinds;
mod reply;
mod sentence;
mod serve;
mod value;
mod word;

// Hidden, their items may do without documentation.
#[doc(hidden)]
mod fixed;
#[doc(hidden)]
mod read;
#[doc(hidden)]
mod whole;
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
    read::{Behind, Part, Tail, by_address, decoded, start},
    reply::{Notifications, ReplyOf, refusal},
    serve::{FILE as SERVE_FILE, serve},
    std::vec::Vec,
    value::{AnyBytes, NotAnyBytes, Value, Zero, assert_element},
    whole::{Decoded, Encoded, Written, encode, encoded_len, read, used},
    word::{Count, Word},
    write::{
        address_word, address_word_when, agrees, agrees_when, bytes, give, length_word, message,
        payload, reply, selector_word, total, unset,
    },
};

type Name = &'static str;
