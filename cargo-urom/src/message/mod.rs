//! Messages by description: commands made of `field=value`, and notifications taken apart.
//! Conditions and lengths that a definition gives as Rust expressions are text in its description.
//! The simple ones are computed; a remark says that the others were not checked.

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
