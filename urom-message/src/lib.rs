//! Encodes commands from `field=value` and decodes notifications, by their description. A
//! description contains conditions and lengths as Rust text. Remarks list uncomputed expressions.

mod compare;
mod datum;
mod decode;
mod encode;
mod location;
mod memory;
mod names;
mod signature;
mod text;
mod value;

#[cfg(test)]
mod tests;

pub use compare::{AnswerRef, NamedRange, answer_difference, difference, ranges};
pub use datum::Datum;
pub use decode::{Decoded, decode, not_echoed};
pub use encode::{Assignment, Encoded, encode};
pub use memory::{Memories, size};
pub use names::unknown;
pub use signature::{command, signatures};
pub use text::{acts, is_plain, plain, quoted};
pub use value::bytes;
