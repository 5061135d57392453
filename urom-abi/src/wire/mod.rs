//! Decoding and encoding of messages in C's layout, called by generated code: a fixed part, padded
//! to the largest variant, and its inline payloads. Decoding checks every length, without panics.

mod const_str;
mod error;
#[doc(hidden)]
pub mod inline;
mod kinds;
mod reply;
mod serve;
mod value;
mod word;

// Hidden, so that missing documentation is allowed.
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

// For generated code and its tests.
pub(crate) use const_str::ConstStr;
#[doc(hidden)]
pub use {
    fixed::{Field, Tag, any_field, exact, field, fixed_part, notification, own_tag, tag, unknown},
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
