//! What UCX's own bytes of a worker's address must be like for UCX to find its way through them: it is told no length, and ends
//! the process over a version that it does not know.
//!
//! The layouts, UCX's first and the second, which `UCX_ADDRESS_VERSION=v2` asks for, are the same in 1.13 as in 1.22.

/// An address of the first layout has the 64-bit id of its worker always, one of the second if this flag is set.
const HAS_ID: u8 = 1 << 1;
/// The address is one client's of many.
const HAS_CLIENT: u8 = 1 << 2;
/// A name for people to read: `UCX_ADDRESS_DEBUG_INFO`.
const HAS_NAME: u8 = 1 << 0;

/// In the byte where the devices begin: there is none.
const NO_DEVICE: u8 = u8::MAX;
/// In a device's first byte: no transport uses it. UCX also writes its release in one such.
const NO_TRANSPORT: u8 = 1 << 7;

/// In the byte with a length: the last of its list.
const LAST: u8 = 1 << 7;
/// With the length of a device's address: a byte with a number of paths comes before it.
const HAS_PATHS: u8 = 1 << 6;
/// With the length of a device's address: a byte with its place in the machine comes before it.
const HAS_PLACE: u8 = 1 << 5;
/// With the length of a transport's address: addresses of endpoints follow, as in UCX's own messages, but in no worker's address.
const HAS_ENDPOINTS: u8 = 1 << 6;

/// What is left of an address.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        Some(self.bytes(1)?[0])
    }

    /// The flags above `mask`, and the number below, which in the second layout stands in a byte of its own if it does not fit.
    fn number(&mut self, mask: u8, layout: Layout) -> Option<(u8, u8)> {
        let byte = self.byte()?;
        let number = byte & mask;
        let extended = layout == Layout::Second && number == mask;
        Some((byte & !mask, if extended { self.byte()? } else { number }))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    First,
    Second,
}

/// A way to reach a worker, of those that its address names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transport {
    /// UCX's sum of the transport's name.
    name: [u8; 2],
    /// Whether there is an address of the device, and one of the transport on it.
    has: (bool, bool),
    /// How long a message it takes in one piece, in 64 bytes. The first layout does not say.
    room: u16,
}

/// The least that a transport takes, unless UCX's own takes less: below, UCX has no room for headers of its own, which it does not
/// expect. Transports take 4 KiB or more.
const LEAST_ROOM: u16 = 1024 / 64;

impl Transport {
    /// Whether UCX finds there what it looks for where `known` is its own: it reads an address that is missing, too.
    pub(super) fn has_what(&self, known: &Transport) -> bool {
        let has = self.has.0 >= known.has.0 && self.has.1 >= known.has.1;
        self.name != known.name || (has && self.room >= known.room.min(LEAST_ROOM))
    }
}

/// The transports of a worker's address; `None` for what is not laid out as one, to its last byte.
pub(super) fn read(raw: &[u8]) -> Option<Vec<Transport>> {
    let mut rest = Reader(raw);
    let first = rest.byte()?;
    let (layout, flags) = match first & 0xf {
        0 => (Layout::First, first >> 4),
        1 => (Layout::Second, rest.byte()?),
        _ => return None,
    };
    if layout == Layout::First || flags & HAS_ID != 0 {
        rest.bytes(8)?;
    }
    if flags & HAS_CLIENT != 0 {
        rest.bytes(8)?;
    }
    if flags & HAS_NAME != 0 {
        let length = rest.byte()?;
        rest.bytes(length.into())?;
    }
    let mut transports = Vec::new();
    if rest.0 != [NO_DEVICE] {
        while !device(&mut rest, layout, &mut transports)? {}
        rest.0.is_empty().then_some(())?;
    }
    Some(transports)
}

/// Reads a device and its transports; whether it was the last.
fn device(rest: &mut Reader, layout: Layout, transports: &mut Vec<Transport>) -> Option<bool> {
    let (domain, _) = rest.number(if layout == Layout::First { 0x1f } else { 0x7f }, layout)?;
    let (flags, length) = rest.number(0x1f, layout)?;
    for flag in [HAS_PATHS, HAS_PLACE] {
        if flags & flag != 0 {
            rest.byte()?;
        }
    }
    rest.bytes(length.into())?;
    let mut last = domain & NO_TRANSPORT != 0;
    while !last {
        last = transport(rest, layout, length != 0, transports)?;
    }
    Some(flags & LAST != 0)
}

/// Reads a transport; whether it was the device's last.
fn transport(
    rest: &mut Reader,
    layout: Layout,
    has_device: bool,
    transports: &mut Vec<Transport>,
) -> Option<bool> {
    let name = *rest.bytes(2)?.first_chunk()?;
    let room = match layout {
        Layout::First => {
            rest.bytes(16)?;
            u16::MAX
        }
        Layout::Second => u16::from_le_bytes(*rest.bytes(8)?[4..].first_chunk()?),
    };
    let (flags, length) = rest.number(0x3f, layout)?;
    rest.bytes(length.into())?;
    transports.push(Transport { name, has: (has_device, length != 0), room });
    (flags & HAS_ENDPOINTS == 0).then_some(flags & LAST != 0)
}
