//! What travels behind the fixed part of a message.
//!
//! A command **borrows** its payloads from whoever sends it, or from the command that a plugin is
//! serving: `&[u8]`, `&[u8; N]`, [`Elements`], [`Data`], and `Option` of all but the last. A
//! notification **owns** its payloads: a [`Payload`], an `Option` of one, or [`Received`], whose
//! memory is the notification's own tail on the plugin side and the task's response on the host
//! side.

mod data;
mod elements;
mod owned;
mod owner;

pub use data::{Data, Received, Registered};
pub use elements::Elements;
pub use owned::Payload;

/// How many bytes an element takes. Elements without bytes could not be counted, so they do not
/// compile.
pub(crate) const fn unit<T>() -> usize {
    const { assert!(size_of::<T>() > 0, "elements of a payload have at least one byte") };
    size_of::<T>()
}
