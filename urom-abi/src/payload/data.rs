//! Payloads that are either in the message or in registered memory.

use std::num::NonZeroU64;

use super::Payload;

/// What a command sends: bytes that travel with it, or memory registered with the plugin.
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
    /// Memory that stays where it is.
    Registered(Registered),
}

/// Memory that was registered with the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Registered {
    /// The plugin's id for it (`memh_id`), 0 on the wire for none.
    pub memory: NonZeroU64,
    /// The address in the registering process.
    pub address: u64,
    /// How many bytes there are.
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

/// What a notification brings: bytes that came with it, or how many landed in registered memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Received {
    /// The bytes themselves.
    Inline(Payload),
    /// They are in the memory that the command named.
    Registered {
        /// How many bytes.
        len: u64,
    },
}

impl Received {
    /// How many bytes there are, wherever they are.
    pub fn len(&self) -> u64 {
        match self {
            Received::Inline(payload) => payload.len() as u64,
            Received::Registered { len } => *len,
        }
    }

    /// Whether there is none.
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
