//! Encodes commands from `field=value` and decodes notifications, by their description. A
//! description contains conditions and lengths as Rust text. Remarks list uncomputed expressions.

mod decode;
mod encode;
mod memory;
mod names;
mod place;
mod shown;
mod signature;
mod value;

#[cfg(test)]
mod tests;

pub(crate) use decode::{Decoded, decode, not_echoed};
pub(crate) use encode::{Assignment, Encoded, encode};
pub(crate) use memory::{Memories, size};
pub(crate) use shown::Shown;
pub(crate) use signature::{command, signatures};
pub(crate) use value::bytes;
