//! Finds addresses that UCX could not read, before UCX reads them.
//!
//! UCX has no call that checks an address: `ucp_ep_create` gets no length and takes the numbers and
//! lengths in it at their word, so a bad one ends the process. The sum in a `WorkerAddress` finds
//! damage only. This also finds what a sum cannot: raw bytes that were cut, a peer in UCX's unified
//! mode, whose addresses leave out what is read here, and addresses that lack what a transport
//! needs.
//!
//! UCX has two layouts. `UCX_ADDRESS_VERSION=v2` asks for the second. Where things stand in them is
//! the same in 1.13 and in 1.22.

use crate::version::{Version, version};

/// An address of the first layout has the 64-bit id of its worker always, one of the second if this
/// flag is set.
const HAS_ID: u8 = 1 << 1;
/// The address is one client's of many.
const HAS_CLIENT: u8 = 1 << 2;
/// A name for people to read: `UCX_ADDRESS_DEBUG_INFO`.
const HAS_NAME: u8 = 1 << 0;

/// In the byte where the devices begin: there is none.
const NO_DEVICE: u8 = u8::MAX;
/// In a device's first byte: no transport uses it. In one such, the first layout has UCX's release.
const NO_TRANSPORT: u8 = 1 << 7;
/// How many memory domains UCX has room for. It writes behind that room what is said of others.
const MEMORY_DOMAINS: u8 = 64;

/// In the byte with a length: the last of its list.
const LAST: u8 = 1 << 7;
/// With the length of a device's address: a byte with a number of paths comes before it.
const HAS_PATHS: u8 = 1 << 6;
/// With the length of a device's address: a byte with its place in the machine comes before it.
const HAS_PLACE: u8 = 1 << 5;
/// With the length of a transport's address: addresses of endpoints follow, as in UCX's own
/// messages, but in no worker's address.
const HAS_ENDPOINTS: u8 = 1 << 6;

/// In the second layout, of what a transport can do.
const TAKES_MESSAGES: u8 = 1 << 1;
/// The least that such a transport takes in one piece, in 64 bytes: InfiniBand with its smallest
/// packets has as much. UCX ends the process over one that has no room for its own headers. The
/// first layout does not say how much it is.
const LEAST_ROOM: u16 = 3;

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

    /// The flags above `mask`, and the number below, which in the second layout stands in a byte of
    /// its own if it does not fit.
    fn number(&mut self, mask: u8, layout: Layout) -> Option<(u8, u8)> {
        let byte = self.byte()?;
        let number = byte & mask;
        let extended = layout == Layout::Second && number == mask;
        Some((byte & !mask, if extended { self.byte()? } else { number }))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    First,
    Second,
}

/// A way to reach a worker, of those that its address names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transport {
    /// UCX's sum of the transport's name.
    name: [u8; 2],
    has_device_address: bool,
    has_own_address: bool,
    has_room: bool,
}

impl Transport {
    /// Whether UCX can do with it where `known` are its own: it reads an address that is missing,
    /// too.
    fn is_usable(&self, known: &[Transport]) -> bool {
        let has_what = |known: &Transport| {
            self.has_device_address >= known.has_device_address
                && self.has_own_address >= known.has_own_address
        };
        self.has_room && known.iter().filter(|known| known.name == self.name).all(has_what)
    }
}

/// Whether UCX finds its way through an address where `known` are the transports of its own. `None`
/// if that has a layout of its own, as in UCX's unified mode: then only the beginning is looked at.
pub(crate) fn is_legible(raw: &[u8], known: Option<&[Transport]>) -> bool {
    let Some(known) = known else { return begin(&mut Reader(raw)).is_some() };
    read(raw).is_some_and(|said| said.iter().all(|transport| transport.is_usable(known)))
}

/// The transports of a worker's address; `None` for what is not laid out as one, to its last byte.
pub(crate) fn read(raw: &[u8]) -> Option<Vec<Transport>> {
    let mut rest = Reader(raw);
    let layout = begin(&mut rest)?;
    let mut transports = Vec::new();
    if rest.0.first() == Some(&NO_DEVICE) {
        rest.byte()?;
    } else {
        while !device(&mut rest, layout, &mut transports)? {}
    }
    rest.0.is_empty().then_some(transports)
}

/// Reads what comes before the devices.
fn begin(rest: &mut Reader) -> Option<Layout> {
    let first = rest.byte()?;
    let (layout, flags) = match first & 0xf {
        0 => (Layout::First, first >> 4),
        // In the upper half of the first byte stands UCX's release.
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
    Some(layout)
}

/// Reads a device and its transports; whether it was the last.
fn device(rest: &mut Reader, layout: Layout, transports: &mut Vec<Transport>) -> Option<bool> {
    let (unused, memory_domain) = rest.number(0x7f, layout)?;
    let (flags, length) = rest.number(0x1f, layout)?;
    for flag in [HAS_PATHS, HAS_PLACE] {
        if flags & flag != 0 {
            rest.byte()?;
        }
    }
    rest.bytes(length.into())?;
    if unused & NO_TRANSPORT == 0 {
        // Before 1.20 the first layout had two flags in so high a number.
        let memory_domain =
            if has_flags_there(layout) { memory_domain & 0x1f } else { memory_domain };
        (memory_domain < MEMORY_DOMAINS).then_some(())?;
        while !transport(rest, layout, length != 0, transports)? {}
    }
    Some(flags & LAST != 0)
}

fn has_flags_there(layout: Layout) -> bool {
    let since = Version { major: 1, minor: 20, patch: 0 };
    layout == Layout::First && version() < since
}

/// Reads a transport; whether it was the device's last.
fn transport(
    rest: &mut Reader,
    layout: Layout,
    has_device_address: bool,
    transports: &mut Vec<Transport>,
) -> Option<bool> {
    let name = *rest.bytes(2)?.first_chunk()?;
    let has_room = match layout {
        Layout::First => rest.bytes(16).map(|_| true)?,
        Layout::Second => {
            let [_, _, _, _, room @ .., can, _] = *rest.bytes(8)?.first_chunk::<8>()?;
            can & TAKES_MESSAGES == 0 || u16::from_le_bytes(room) >= LEAST_ROOM
        }
    };
    let (flags, length) = rest.number(0x3f, layout)?;
    rest.bytes(length.into())?;
    transports.push(Transport { name, has_device_address, has_own_address: length != 0, has_room });
    (flags & HAS_ENDPOINTS == 0).then_some(flags & LAST != 0)
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
