//! Messages by description: commands made of `field=value`, notifications taken apart, whatever the
//! plugin.
//!
//! A typed program has encoders and decoders of its own, which the macros made. This module does
//! the same from a [`describe::Protocol`](urom_abi::describe::Protocol) alone, byte for byte, as
//! far as the description goes: conditions and lengths that the definition gives as Rust
//! expressions are text here. The simple ones are computed; a remark says that the others were
//! not checked.

mod decode;
mod encode;
mod fields;
mod names;
mod place;
mod shown;
mod signature;
mod value;

#[cfg(test)]
mod tests;

pub(crate) use decode::{Decoded, decode, not_echoed};
pub(crate) use encode::{Assignment, encode};
pub(crate) use shown::Shown;
pub(crate) use signature::{command, signatures};
pub(crate) use value::{bytes, missing_bracket};
