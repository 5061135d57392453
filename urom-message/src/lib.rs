//! Encodes commands from `field=value` and decodes notifications, by their description. A
//! description contains conditions and lengths as Rust text. Remarks list uncomputed expressions.

mod datum;
mod decode;
mod encode;
mod location;
mod memory;
mod names;
mod signature;
mod value;

#[cfg(test)]
mod tests;

pub(crate) use datum::Datum;
pub(crate) use decode::{Decoded, decode, not_echoed};
pub(crate) use encode::{Assignment, Encoded, encode};
pub(crate) use memory::{Memories, size};
pub(crate) use signature::{command, signatures};
pub(crate) use value::bytes;
