//! A message as a byte table says it, and the comparison with what the macros make.

use std::fmt::Debug;

use urom_abi::protocol::{Reply, Request};
use urom_abi::wire::DecodeError;

/// A message written by hand: a fixed part of zeros, words at offsets, and what follows.
#[derive(Clone)]
pub(crate) struct Table(Vec<u8>);

impl Table {
    pub(crate) fn new(fixed: usize) -> Table {
        Table(vec![0; fixed])
    }

    /// An 8-byte word.
    pub(crate) fn word(self, offset: usize, value: u64) -> Table {
        self.bytes(offset, &value.to_le_bytes())
    }

    /// A 4-byte word.
    pub(crate) fn half(self, offset: usize, value: u32) -> Table {
        self.bytes(offset, &value.to_le_bytes())
    }

    pub(crate) fn bytes(mut self, offset: usize, bytes: &[u8]) -> Table {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// Bytes behind the rest.
    pub(crate) fn then(mut self, bytes: &[u8]) -> Table {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// `command` makes exactly the table's bytes, and nothing when there is less room.
pub(crate) fn encodes_as<C: Request>(command: &C, table: &Table) {
    let want = table.as_bytes();
    assert_eq!(command.encoded_len(), Some(want.len()));
    let mut out = vec![0xee; want.len() + 3];
    assert_eq!(command.encode(&mut out), Ok(want.len()));
    assert_eq!(out[..want.len()], *want);
    assert_eq!(out[want.len()..], [0xee; 3]);
    let mut short = vec![0xee; want.len() - 1];
    assert!(command.encode(&mut short).is_err());
    assert!(short.iter().all(|byte| *byte == 0xee), "nothing is written when not all fits");
}

/// `reply` makes exactly the table's bytes.
pub(crate) fn answers_as<R: Reply>(reply: R, echo: &R::Echo, table: &Table) {
    let desc = reply.into_descriptor(echo).unwrap();
    assert_eq!(desc.payload(), table.as_bytes());
    assert_eq!(desc.header().len, table.as_bytes().len() as u64);
}

/// No other length than the table's own is accepted.
pub(crate) fn only_whole<T: Debug>(
    table: &Table,
    decode: impl Fn(&[u8]) -> Result<T, DecodeError>,
) {
    let bytes = table.as_bytes();
    for len in 0..bytes.len() {
        decode(&bytes[..len]).expect_err(&format!("{len} of {} bytes", bytes.len()));
    }
    decode(&[bytes, &[0]].concat()).expect_err("one byte more");
}
