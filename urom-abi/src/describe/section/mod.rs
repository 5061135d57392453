//! A protocol's description as bytes: what `#[urom_plugin]` puts into the plugin's file, for
//! programs to read without loading it.
//!
//! The bytes stand in the ELF section [`SECTION`] and refer to nothing outside it. All numbers are
//! little-endian:
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | [`MAGIC`] |
//! | 4 | [`FORMAT`] |
//! | 4 | how many bytes follow |
//! | ... | the [`Build`], then the [`Protocol`], field by field in the order of their definitions |
//! | ... | perhaps zeros, which do not count: a plugin that is built for the address sanitizer has them |
//!
//! A text or a list is its length in 4 bytes and what it holds, a choice is one byte and what
//! belongs to it, `Option` being 0 or 1. Offsets, sizes and alignments take 4 bytes, tags, versions
//! and counts 8, values of constants and enums 16. Any change takes another format number.

mod layout;
mod read;
mod write;

use super::Protocol;

pub use read::read;
// For generated code, the service and fuzzers.
#[doc(hidden)]
pub use read::check;
#[doc(hidden)]
pub use write::{array, bytes, len};

/// The section's name.
pub const SECTION: &str = ".urom.description";

/// What the section begins with.
#[doc(hidden)]
pub const MAGIC: [u8; 8] = *b"uromdesc";

/// The number of this layout.
#[doc(hidden)]
pub const FORMAT: u32 = 5;

/// The most bytes that a section may have: a thousand times what large protocols take, and little
/// enough to be kept.
#[doc(hidden)]
pub const MAX_LEN: usize = 1 << 24;

/// Magic, format and length.
const HEADER_LEN: usize = 16;

/// How deep a type may be nested in others: enough for what people write, and little enough for any
/// stack.
const MAX_DEPTH: usize = 64;

/// What a plugin's file says of itself.
///
/// ```
/// use urom_abi::describe::section::{Description, Panic};
///
/// fn show(description: &Description) {
///     let (protocol, build) = (description.protocol, description.build);
///     println!("{} version {}, by urom-pdk {}", protocol.name, protocol.version, build.kit);
///     if build.panic == Panic::Abort {
///         println!("a panic ends its worker");
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// What it speaks.
    pub protocol: &'static Protocol,
    /// How it was built.
    pub build: Build,
}

/// How a plugin was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build {
    /// The version of `urom-pdk`.
    pub kit: &'static str,
    /// What a panic does.
    pub panic: Panic,
}

/// What a panic does (`-C panic`, `profile.*.panic`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panic {
    /// It becomes the status of one command.
    Unwind,
    /// It ends the worker's process.
    Abort,
}

/// Why bytes are no description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// They do not begin with [`MAGIC`].
    #[error("the section {SECTION} does not begin as a description does")]
    Magic,
    /// Their layout is another than [`FORMAT`].
    #[error(
        "the description has the layout {found} and this program reads {FORMAT}: \
         use a program of the kit that built the plugin"
    )]
    Format {
        /// The number of theirs.
        found: u32,
    },
    /// They are fewer than they say, or more, and what is more is not zeros.
    #[error(
        "the description should have {stated} bytes behind its header and has {found}: \
         the file was cut, or holds several"
    )]
    Length {
        /// How many should follow the header.
        stated: usize,
        /// How many do.
        found: usize,
    },
    /// They are more than [`MAX_LEN`].
    #[error("the description has {found} bytes, and {MAX_LEN} is the most")]
    TooLong {
        /// How many there are.
        found: u64,
    },
    /// Something in them cannot be.
    #[error("the description is damaged before its byte {at}: {problem}")]
    Malformed {
        /// Where it ends, from the section's first byte.
        at: usize,
        /// What it is.
        problem: &'static str,
    },
}
