//! Byte tables of messages, compared with the macros' encodings.
#![allow(dead_code, reason = "every test program uses a part of it")]

use urom_abi::protocol::{Reply, Request};

/// A handwritten message: a fixed part of zeros, words at offsets, and a tail.
#[derive(Clone)]
pub(crate) struct Table(Vec<u8>);

impl Table {
    pub(crate) fn new(fixed: usize) -> Table {
        Table(vec![0; fixed])
    }

    pub(crate) fn word(self, offset: usize, value: u64) -> Table {
        self.bytes(offset, &value.to_le_bytes())
    }

    pub(crate) fn half(self, offset: usize, value: u32) -> Table {
        self.bytes(offset, &value.to_le_bytes())
    }

    pub(crate) fn bytes(mut self, offset: usize, bytes: &[u8]) -> Table {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub(crate) fn then(mut self, bytes: &[u8]) -> Table {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

pub(crate) fn encodes_as<C: Request>(command: &C, table: &Table) {
    let mut out = vec![0xee; table.as_bytes().len()];
    assert_eq!(command.encode(&mut out), Ok(out.len()));
    assert_eq!(out, table.as_bytes());
}

pub(crate) fn answers_as<R: Reply>(reply: R, echo: &R::Echo, table: &Table) {
    let desc = reply.into_descriptor(echo).unwrap();
    assert_eq!(desc.payload(), table.as_bytes());
    assert_eq!(desc.header().len, table.as_bytes().len() as u64);
}
