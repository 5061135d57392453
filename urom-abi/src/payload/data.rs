//! Payloads that are either in the message or in registered memory.

use std::num::NonZeroU64;

use super::Payload;

/// What a command sends: bytes that travel with it, or memory that the plugin was given a handle
/// for.
///
/// ```
/// use std::num::NonZeroU64;
/// use urom_abi::{Data, Registered};
///
/// let memory = NonZeroU64::new(3).ok_or("the plugin gives no id 0")?;
/// let sent: [Data<'_>; 2] =
///     [Data::from(b"hello"), Data::from(Registered { memory, address: 0x7f00_0000_0000, len: 1 << 20 })];
/// for data in sent {
///     match data {
///         Data::Inline(bytes) => println!("{} bytes travel along", bytes.len()),
///         Data::Registered(there) => println!("{} bytes stay at {:#x}", there.len, there.address),
///     }
/// }
/// # Ok::<(), &str>(())
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
    /// The plugin's id for the registration (`memh_id`). On the wire, 0 stands for none.
    pub memory: NonZeroU64,
    /// Where the bytes begin, in the address space of whoever registered them.
    pub address: u64,
    /// How many bytes there are.
    pub len: u64,
}

impl Default for Data<'_> {
    /// No bytes.
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

/// What a notification brings: bytes that came with it, or word of how many landed in registered
/// memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Received {
    /// The bytes themselves.
    Inline(Payload),
    /// They are in the memory that the command named.
    Registered {
        /// How many bytes landed there.
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
    /// No bytes.
    fn default() -> Self {
        Received::Inline(Payload::default())
    }
}

impl From<Payload> for Received {
    fn from(payload: Payload) -> Self {
        Received::Inline(payload)
    }
}
