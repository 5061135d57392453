//! What travels behind the fixed part of a message. A command borrows its payloads, a notification
//! owns them.

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
