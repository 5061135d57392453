//! Messages between a domain's processes, and from them to their workers.
//!
//! Each process describes its part, a [`Participant`], in a blob. The out-of-band exchange carries
//! [`Verdict`]s with the blobs' lengths, then the blobs, padded to the longest. The concatenated
//! blobs are the *table*, which each process sends to its workers in pieces of [`PIECE`] bytes. A
//! last round carries [`Verdict`]s again.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};
use urom_abi::{DocaError, DocaStatus, WorkerId};

use super::control::Failure;
use super::{bounded, bytes};
use crate::plain::{Plain, U32, U64};

pub const MAX_TABLE: usize = 64 << 20;
/// The most processes, and also the most workers, of a domain.
pub const MAX_MEMBERS: usize = 1 << 16;
pub const MAX_SEGMENTS: usize = 1 << 20;
/// A longer message could count as silence on a slow link: see
/// [`PEER_TIMEOUT`](super::control::PEER_TIMEOUT).
pub const PIECE: usize = 32 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participant<'a> {
    #[serde(borrow, deserialize_with = "bounded::list::<_, _, MAX_MEMBERS>")]
    pub members: Vec<Member<'a>>,
    #[serde(borrow, deserialize_with = "bounded::list::<_, _, MAX_SEGMENTS>")]
    pub segments: Vec<Segment<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member<'a> {
    pub id: u64,
    #[serde(borrow, deserialize_with = "bounded::list::<_, _, { urom_abi::MAX_PLUGINS }>")]
    pub addresses: Vec<Address<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address<'a> {
    pub plugin: &'a str,
    #[serde(borrow, serialize_with = "bytes::serialize")]
    pub address: &'a [u8],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment<'a> {
    pub va: u64,
    pub len: u64,
    #[serde(borrow, serialize_with = "bytes::serialize")]
    pub memh: &'a [u8],
    #[serde(borrow, serialize_with = "bytes::serialize")]
    pub mkey: &'a [u8],
}

impl Participant<'_> {
    pub fn encode(&self) -> Vec<u8> {
        // A vector accepts all bytes, so this does not fail.
        postcard::to_stdvec(self).unwrap_or_default()
    }
}

/// A blob's length, and in the last round that the workers have the table; or a failure.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Verdict {
    magic: [u8; 8],
    code: U32,
    text_len: U32,
    blob_len: U64,
    text: [u8; VERDICT_TEXT],
}

const VERDICT_TEXT: usize = 240;

const MAGIC: [u8; 8] = *b"uromdom2";

impl Plain for Verdict {}

impl Verdict {
    pub fn new(result: Result<usize, &Failure>) -> Verdict {
        let mut verdict = Verdict { magic: MAGIC, ..Verdict::zeroed() };
        match result {
            Ok(len) => verdict.blob_len = (len as u64).into(),
            Err(failure) => {
                let text = &failure.text.as_bytes()[..failure.text.len().min(VERDICT_TEXT)];
                verdict.code = failure.code.code().into();
                verdict.text_len = (text.len() as u32).into();
                verdict.text[..text.len()].copy_from_slice(text);
            }
        }
        verdict
    }

    /// The result; `None` for malformed bytes.
    pub fn result(&self) -> Option<Result<u64, Failure>> {
        let text = self.text.get(..self.text_len.get() as usize)?;
        if self.magic != MAGIC {
            return None;
        }
        let failed = |code| Failure::new(code, String::from_utf8_lossy(text));
        Some(DocaStatus(self.code.get()).check().map(|()| self.blob_len.get()).map_err(failed))
    }
}

/// A table under construction. Its participants are checked, also against each other.
#[derive(Debug, Default)]
pub struct Table<'a> {
    pub participants: Vec<Participant<'a>>,
    owners: HashMap<u64, usize>,
    addresses: usize,
    segments: usize,
}

impl<'a> Table<'a> {
    /// Reads a whole table. Fails as [`take`](Table::take), and for an empty table.
    pub fn read(bytes: &'a [u8]) -> Result<Table<'a>, Failure> {
        let (mut table, mut rest) = (Table::default(), bytes);
        while !rest.is_empty() {
            rest = table.take(rest)?;
        }
        if table.participants.is_empty() {
            return Err(Failure::new(DocaError::IO_FAILED, "the domain's table is empty"));
        }
        Ok(table)
    }

    pub fn members(&self) -> usize {
        self.owners.len()
    }

    pub fn addresses(&self) -> usize {
        self.addresses
    }

    pub fn segments(&self) -> usize {
        self.segments
    }

    /// Adds the participant whose blob is at the start of `bytes`. Returns the remaining bytes.
    ///
    /// # Errors
    /// `IO_FAILED` for a malformed blob, `INVALID_VALUE` for invalid contents, such as a worker id
    /// of another participant, `TOO_BIG` beyond the limits. The text names the participant.
    pub fn take(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Failure> {
        let number = self.participants.len();
        let (participant, rest) = postcard::take_from_bytes::<Participant<'a>>(bytes).map_err(|error| {
            let text = format!(
                "what participant {number} of the domain sent cannot be read ({error}): use the same release in all \
                 processes, and an all-gather that carries bytes as they are"
            );
            Failure::new(DocaError::IO_FAILED, text)
        })?;
        self.add(participant)?;
        Ok(rest)
    }

    fn add(&mut self, participant: Participant<'a>) -> Result<(), Failure> {
        let number = self.participants.len();
        let wrong = |what: String| {
            let text = format!("participant {number} of the domain: {what}");
            Err(Failure::new(DocaError::INVALID_VALUE, text))
        };
        if participant.members.is_empty() {
            return wrong(
                "it lacks a worker: use an all-gather that carries bytes as they are".to_owned(),
            );
        }
        for member in &participant.members {
            self.addresses += member.addresses.len();
            for (at, address) in member.addresses.iter().enumerate() {
                let again =
                    member.addresses[..at].iter().any(|other| other.plugin == address.plugin);
                if address.plugin.is_empty() || again {
                    return wrong(format!(
                        "worker {} names the plugin `{}` twice, or without a name",
                        WorkerId(member.id),
                        address.plugin
                    ));
                }
                // A plugin does not get the length: it reads the bytes that the frame counts.
                if !address.address.is_empty() && !urom_abi::address::is_sound(address.address) {
                    return wrong(format!(
                        "the address of plugin `{}` at worker {} was damaged on its way",
                        address.plugin,
                        WorkerId(member.id)
                    ));
                }
            }
            match self.owners.entry(member.id) {
                Entry::Vacant(entry) => entry.insert(number),
                Entry::Occupied(entry) => {
                    let text = format!(
                        "the domain worker id {} is used by participant {} and by participant {number}: give every \
                         worker of the domain an id of its own",
                        member.id,
                        entry.get()
                    );
                    return Err(Failure::new(DocaError::INVALID_VALUE, text));
                }
            };
        }
        for (at, segment) in participant.segments.iter().enumerate() {
            if !is_range(segment.va, segment.len) {
                return wrong(format!(
                    "its buffer {at}, {} bytes at {:#x}, cannot be",
                    segment.len, segment.va
                ));
            }
        }
        self.segments += participant.segments.len();
        if self.owners.len() > MAX_MEMBERS || self.segments > MAX_SEGMENTS {
            let text = format!(
                "the domain has more than {MAX_MEMBERS} workers or more than {MAX_SEGMENTS} buffers: make it smaller"
            );
            return Err(Failure::new(DocaError::TOO_BIG, text));
        }
        self.participants.push(participant);
        Ok(())
    }
}

pub fn is_range(va: u64, len: u64) -> bool {
    va != 0 && len != 0 && va.checked_add(len - 1).is_some()
}

#[cfg(test)]
#[path = "domain_tests.rs"]
mod tests;
