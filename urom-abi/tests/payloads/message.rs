//! Messages with every kind of payload, and the offsets of their words.

use urom_abi::{Data, Elements, Payload, Received, urom_command, urom_notification};

/// Doubles what the wire says.
fn doubled(n: i32) -> Option<i32> {
    n.checked_mul(2)
}

#[urom_command(plugin = "payloads", version = 1)]
pub(crate) enum Command<'a> {
    #[urom(tag = 3, reply = Got)]
    Everything {
        n: i32,
        flags: u32,
        #[urom(word)]
        data_len: u16,
        #[urom(word)]
        maybe_addr: u8,
        #[urom(word)]
        maybe_len: u8,
        #[urom(word)]
        body_addr: u32,
        #[urom(word)]
        body_len: u64,
        #[urom(word)]
        body_memory: u64,
        #[urom(word)]
        extra_addr: u64,
        #[urom(word)]
        extra_len: u32,
        #[urom(inline, addr = none, len = data_len)]
        data: &'a [u8],
        #[urom(inline, addr = none)]
        key: &'a [u8; 4],
        #[urom(inline, addr = none, len = doubled(n))]
        counts: Elements<'a, u32>,
        #[urom(inline, addr = extra_addr, len = extra_len, when = flags & 1 != 0)]
        extra: Option<Elements<'a, u16>>,
        #[urom(inline, addr = maybe_addr, len = maybe_len)]
        maybe: Option<&'a [u8]>,
        #[urom(inline, addr = body_addr, len = body_len, unless = body_memory)]
        body: Data<'a>,
    },
}

#[urom_notification]
pub(crate) enum Notification {
    /// Three payloads.
    #[urom(tag = 1)]
    Brought {
        #[urom(word)]
        list_len: u32,
        #[urom(word)]
        note_len: u32,
        #[urom(word)]
        data_addr: u64,
        #[urom(word)]
        data_len: u64,
        #[urom(word)]
        note_addr: u64,
        #[urom(inline, addr = data_addr, len = data_len)]
        data: Received,
        #[urom(inline, addr = none, len = list_len)]
        list: Payload<u32>,
        #[urom(inline, addr = note_addr, len = note_len)]
        note: Option<Payload<u16>>,
    },
    /// One payload, whose length word is all that describes it.
    #[urom(tag = 2)]
    Got {
        #[urom(word)]
        list_len: u32,
        #[urom(inline, addr = none, len = list_len)]
        list: Payload<u32>,
    },
}
