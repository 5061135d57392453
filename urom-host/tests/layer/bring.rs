//! A command with a payload and an answer with one, written as the macros would write them.
//!
//! They have the same layout, because the fake answers with the command's own bytes: tag, script,
//! length, payload.

use graph_protocol::Protocol as Graph;
use urom_abi::Payload;
use urom_abi::descriptor::NotificationDesc;
use urom_abi::protocol::{Incoming, Reply, Request};
use urom_abi::wire::{self, DecodeError, EncodeError, Field, field};

/// The fixed part's length.
pub(crate) const LEN: usize = 24;

const TAG: Field<u64, 0, LEN> = field();
const SCRIPT: Field<u64, 8, LEN> = field();
const COUNT: Field<u64, 16, LEN> = field();

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bring<'a> {
    pub(crate) script: u64,
    /// Bytes that the length word claims beyond those there are.
    pub(crate) lie: u64,
    pub(crate) data: &'a [u8],
}

impl Request for Bring<'_> {
    type Protocol = Graph;
    type Reply = Brought;

    fn encoded_len(&self) -> Option<usize> {
        wire::total(LEN, &[self.data.len()])
    }

    fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        let count: u64 = wire::length_word("Bring", "data", &self.data)?;
        wire::message::<LEN, 1>("Bring", out, [wire::bytes(&self.data)], |fixed| {
            TAG.write(fixed, &1);
            SCRIPT.write(fixed, &self.script);
            COUNT.write(fixed, &count.wrapping_add(self.lie));
        })
    }

    fn echo(&self) {}
}

/// The answer: its payload is split in two at the first byte.
#[derive(Debug, PartialEq)]
pub(crate) struct Brought {
    pub(crate) first: Payload,
    pub(crate) rest: Payload,
}

impl Brought {
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        [&self.first[..], &self.rest[..]].concat()
    }
}

impl Reply for Brought {
    type Echo = ();

    fn read(incoming: impl Incoming, _: Option<&()>) -> Result<(Self, ()), DecodeError> {
        let (fixed, mut behind) = wire::start::<LEN>("Brought", incoming.bytes())?;
        let count = COUNT.read(fixed);
        let (_, first) = behind.part::<Payload>("first", true, count.min(1))?;
        let (_, rest) = behind.part::<Payload>("rest", true, count.saturating_sub(1))?;
        behind.end()?;
        let mut tail = wire::Tail::of(incoming, LEN);
        Ok((Brought { first: tail.take(first), rest: tail.take(rest) }, ()))
    }

    fn into_descriptor(self, _echo: &()) -> Result<NotificationDesc, EncodeError> {
        unreachable!("no plugin answers here")
    }
}

/// The same with one payload, which is not split.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BringWhole<'a>(pub(crate) Bring<'a>);

impl Request for BringWhole<'_> {
    type Protocol = Graph;
    type Reply = Whole;

    fn encoded_len(&self) -> Option<usize> {
        self.0.encoded_len()
    }

    fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        self.0.encode(out)
    }

    fn echo(&self) {}
}

#[derive(Debug)]
pub(crate) struct Whole(pub(crate) Payload);

impl Reply for Whole {
    type Echo = ();

    fn read(incoming: impl Incoming, _: Option<&()>) -> Result<(Self, ()), DecodeError> {
        let (fixed, mut behind) = wire::start::<LEN>("Whole", incoming.bytes())?;
        let (_, part) = behind.part::<Payload>("data", true, COUNT.read(fixed))?;
        behind.end()?;
        Ok((Whole(wire::Tail::of(incoming, LEN).take(part)), ()))
    }

    fn into_descriptor(self, _echo: &()) -> Result<NotificationDesc, EncodeError> {
        unreachable!("no plugin answers here")
    }
}
