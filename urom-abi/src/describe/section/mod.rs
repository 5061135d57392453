//! A protocol's description as bytes, which `#[urom_plugin]` puts into the plugin's file. Programs
//! can read it without loading the plugin.
//!
//! The ELF section [`SECTION`] has these bytes, self-contained, with little-endian numbers:
//!
//! | bytes | contents |
//! | --- | --- |
//! | 8 | [`MAGIC`] |
//! | 4 | [`FORMAT`] |
//! | 4 | number of bytes that follow |
//! | ... | the [`Build`], then the [`Protocol`], field by field in the order of their definitions |
//! | ... | optional zeros, which are ignored: the address sanitizer adds them |
//!
//! A text or a list is its length in 4 bytes and its contents. A choice, including `Option` (0 or
//! 1), is one byte and its contents. Offsets, sizes and alignments take 4 bytes, tags, versions and
//! counts 8, values of constants and enums 16. Any change requires a new format number.

mod layout;
mod read;
mod write;

use super::Protocol;

#[doc(hidden)]
pub use read::check;
pub use read::read;
#[doc(hidden)]
pub use write::{array, bytes, len};

/// The section's name.
pub const SECTION: &str = ".urom.description";

#[doc(hidden)]
pub const MAGIC: [u8; 8] = *b"uromdesc";

#[doc(hidden)]
pub const FORMAT: u32 = 5;

/// Maximum length of a section: a thousand times the size of large protocols.
#[doc(hidden)]
pub const MAX_LEN: usize = 1 << 24;

const HEADER_LEN: usize = 16;

/// Bounds the stack.
const MAX_DEPTH: usize = 64;

/// The description in a plugin's file.
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
    /// Its protocol.
    pub protocol: &'static Protocol,
    /// Its build.
    pub build: Build,
}

/// Properties of a plugin's build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build {
    /// The version of `urom-pdk`.
    pub kit: &'static str,
    /// Effect of a panic.
    pub panic: Panic,
}

/// Effect of a panic (`-C panic`, `profile.*.panic`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panic {
    /// It becomes the status of one command.
    Unwind,
    /// It ends the worker's process.
    Abort,
}

/// Why bytes are not a valid description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// They do not begin with [`MAGIC`].
    #[error("the section {SECTION} does not begin as a description does")]
    Magic,
    /// Their layout is not [`FORMAT`].
    #[error(
        "the description has the layout {found} and this program reads {FORMAT}: \
         use a program of the kit that built the plugin"
    )]
    Format {
        /// Their format number.
        found: u32,
    },
    /// Their number differs from the header's length, and any extra bytes are not zeros.
    #[error(
        "the description should have {stated} bytes behind its header and has {found}: \
         the file was cut, or holds several"
    )]
    Length {
        /// Number of bytes according to the header.
        stated: usize,
        /// Actual number of bytes.
        found: usize,
    },
    /// They exceed [`MAX_LEN`].
    #[error("the description has {found} bytes, and {MAX_LEN} is the most")]
    TooLong {
        /// Actual number of bytes.
        found: u64,
    },
    /// They contain an invalid value.
    #[error("the description is damaged before its byte {at}: {problem}")]
    Malformed {
        /// Where it ends, as an offset in the section.
        at: usize,
        /// The problem.
        problem: &'static str,
    },
}
