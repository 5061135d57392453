//! Payloads that are either in the message or in registered memory.

use std::num::NonZeroU64;

use super::Payload;

/// The payload of a command: inline bytes, or memory registered with the plugin.
///
/// ```
/// use std::num::NonZeroU64;
/// use urom_abi::{Data, Registered};
///
/// let memory = Registered { memory: NonZeroU64::MIN, address: 0x7f00_0000, len: 1 << 20 };
/// assert_eq!(Data::from(b"hello"), Data::Inline(&[104, 101, 108, 108, 111]));
/// assert_eq!(Data::from(memory), Data::Registered(memory));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Data<'a> {
    /// The bytes themselves.
    Inline(&'a [u8]),
    /// Registered memory.
    Registered(Registered),
}

/// Memory registered with the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Registered {
    /// The plugin's id for it (`memh_id`); 0 on the wire means none.
    pub memory: NonZeroU64,
    /// The address in the registering process.
    pub address: u64,
    /// Its length in bytes.
    pub len: u64,
}

impl Default for Data<'_> {
    fn default() -> Self {
        Data::Inline(&[])
    }
}

impl<'a> From<&'a [u8]> for Data<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Data::Inline(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Data<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Data::Inline(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Data<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Data::Inline(bytes)
    }
}

impl From<Registered> for Data<'_> {
    fn from(registered: Registered) -> Self {
        Data::Registered(registered)
    }
}

/// The payload of a notification: inline bytes, or the number of bytes in registered memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Received {
    /// The bytes themselves.
    Inline(Payload),
    /// The bytes are in the command's registered memory.
    Registered {
        /// Number of bytes.
        len: u64,
    },
}

impl Received {
    /// Returns the number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Received::Inline(payload) => payload.len() as u64,
            Received::Registered { len } => *len,
        }
    }

    /// Returns whether the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for Received {
    fn default() -> Self {
        Received::Inline(Payload::default())
    }
}

impl From<Payload> for Received {
    fn from(payload: Payload) -> Self {
        Received::Inline(payload)
    }
}
