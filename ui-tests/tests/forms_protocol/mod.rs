//! Every form of a payload, beside and apart from its words, with a header and a narrow tag.

#![allow(dead_code, reason = "each test program uses another part")]

use urom_abi::{Elements, Payload, urom_command, urom_notification};

/// Not plain data, so it needs a codec.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Color {
    #[default]
    Black,
    White,
}

pub(crate) mod color {
    use super::Color;

    pub(crate) type Wire = u16;

    pub(crate) fn encode(color: &Color) -> u16 {
        match color {
            Color::Black => 0x0b,
            Color::White => 0x0e,
        }
    }

    pub(crate) fn decode(wire: u16) -> Result<Color, &'static str> {
        match wire {
            0x0b => Ok(Color::Black),
            0x0e => Ok(Color::White),
            _ => Err("is not a color"),
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub(crate) struct Outer {
    pub(crate) location: Location,
    pub(crate) more: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub(crate) struct Location {
    pub(crate) address: u32,
    pub(crate) length: u16,
    pub(crate) other: u16,
}

#[urom_command(plugin = "worker_forms", version = 1, tag = u32)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Command<'msg> {
    #[urom(reply = Done)]
    Beside {
        #[urom(header, echo)]
        worker: u16,
        #[urom(inline)]
        first: &'msg [u8],
        between: u8,
        #[urom(inline)]
        second: Elements<'msg, u16>,
    },
    /// Words that are fields, reordered, narrower, or missing.
    #[urom(reply = Done)]
    Apart {
        #[urom(header, echo)]
        worker: u16,
        #[urom(word)]
        count: u8,
        #[urom(inline, addr = address, len = count)]
        named: Elements<'msg, u32>,
        color_before: u8,
        #[urom(with = color)]
        color: Color,
        #[urom(word)]
        address: u32,
        #[urom(inline, addr = none)]
        unaddressed: &'msg [u8],
    },
    #[urom(reply = Done)]
    Nested {
        #[urom(header, echo)]
        worker: u16,
        outer: Outer,
        #[urom(inline, addr = outer.location.address, len = outer.location.length)]
        data: Option<&'msg [u8]>,
    },
    #[urom(reply = Done)]
    Given {
        #[urom(header, echo)]
        worker: u16,
        rows: i32,
        columns: u32,
        #[urom(inline, addr = none, len = rows)]
        index: &'msg [u8],
        #[urom(inline, addr = none, len = cells(rows, columns))]
        table: Elements<'msg, u64>,
        #[urom(inline, addr = none, len = 3)]
        three: Elements<'msg, u16>,
        #[urom(inline, addr = none)]
        magic: &'msg [u8; 4],
        #[urom(inline, addr = none, len = index.first().copied())]
        by_first: &'msg [u8],
        #[urom(inline, len = LENGTH)]
        constant: &'msg [u8],
    },
    #[urom(reply = Done)]
    Maybe {
        #[urom(header, echo)]
        worker: u16,
        #[urom(inline)]
        by_address: Option<&'msg [u8]>,
        #[urom(inline)]
        fixed: Option<&'msg [u8; 2]>,
        flags: u8,
        #[urom(inline, addr = none, len = 2, when = flags & 1 != 0)]
        first: Option<Elements<'msg, u16>>,
        #[urom(inline, when = matches!(by_address, Some(bytes) if !bytes.is_empty()))]
        second: Option<&'msg [u8]>,
        #[urom(with = color)]
        color: Color,
        #[urom(inline, addr = none, when = *color == Color::White)]
        white: Option<&'msg [u8]>,
    },
    #[urom(reply = Done)]
    Optional {
        #[urom(header, echo)]
        worker: u16,
        #[urom(optional)]
        number: u32,
        #[urom(optional, with = color)]
        color: Color,
        #[urom(optional, inline)]
        bytes: &'msg [u8],
        #[urom(optional, inline)]
        array: &'msg [u8; 3],
        #[urom(optional, inline)]
        elements: Elements<'msg, u16>,
        #[urom(optional, inline)]
        maybe: Option<&'msg [u8]>,
    },
    #[urom(reply = Owned)]
    Empty {
        #[urom(header, echo)]
        worker: u16,
    },
}

const LENGTH: u8 = 1;

fn cells(rows: i32, columns: u32) -> Option<u32> {
    u32::try_from(rows).ok()?.checked_mul(columns)
}

#[urom_notification(tag = u8)]
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Notification {
    #[urom(tag = 255)]
    Done {
        #[urom(header, echo)]
        worker: u16,
    },
    #[urom(tag = 3)]
    Owned {
        #[urom(header, echo)]
        worker: u16,
        #[urom(inline, len = count)]
        numbers: Payload<u32>,
        #[urom(word)]
        count: u8,
        #[urom(inline)]
        maybe: Option<Payload>,
        #[urom(with = color)]
        color: Color,
        #[urom(inline, addr = none, len = numbers.len(), when = *color == Color::White)]
        as_many: Option<Payload>,
    },
    #[urom(tag = 4)]
    One {
        #[urom(header, echo)]
        worker: u16,
        #[urom(inline)]
        pairs: Payload<[u16; 2]>,
    },
}
