//! Writes a description at compile time, and computes its fingerprint, a hash of the same bytes.

use super::{Build, FORMAT, HEADER_LEN, MAGIC, MAX_DEPTH, MAX_LEN};
use crate::describe::{Protocol, Type};
use crate::hash::Hash;

/// Returns the length of a description in bytes.
///
/// # Panics
/// As [`array`].
#[must_use]
pub const fn len(protocol: &Protocol, build: &Build) -> usize {
    let mut writer = SectionWriter::new(Out::Nothing, true);
    writer.all(0, protocol, build);
    writer.at
}

/// Returns the bytes of a description. `LEN` is the result of [`len`].
///
/// # Panics
/// The description is longer than [`MAX_LEN`](super::MAX_LEN); an offset, a size, an alignment or a
/// text is 4 GiB or more; or types are nested more than 64 deep.
#[must_use]
pub const fn array<const LEN: usize>(protocol: &Protocol, build: &Build) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    SectionWriter::new(Out::Bytes(&mut bytes), true).all(LEN, protocol, build);
    bytes
}

/// Returns the bytes of a description at run time, for comparisons.
///
/// # Panics
/// As [`array`].
#[must_use]
pub fn bytes(protocol: &Protocol, build: &Build, docs: bool) -> Vec<u8> {
    let mut counting = SectionWriter::new(Out::Nothing, docs);
    counting.all(0, protocol, build);
    let mut bytes = vec![0; counting.at];
    SectionWriter::new(Out::Bytes(&mut bytes), docs).all(counting.at, protocol, build);
    bytes
}

impl Protocol {
    /// Returns a hash of name, version and every message: names, tags, types, offsets, payloads.
    /// Two builds with the same fingerprint decode each other's bytes correctly.
    /// [`difference`](Self::difference) names the first difference of two protocols.
    ///
    /// Documentation, names of lifetimes, the enums' own names and the `optional` flags do not
    /// count. A structure or an enum that does not derive [`Described`](crate::describe::Described)
    /// counts by name, size and alignment. An expression of `len` or `when` counts by its text and
    /// the values of its [constants](crate::describe::Constant), but not by the functions it calls.
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        let mut writer = SectionWriter::new(Out::Hash(Hash::new()), false);
        writer.protocol(self);
        match writer.out {
            Out::Hash(hash) => hash.value(),
            Out::Nothing | Out::Bytes(_) => 0,
        }
    }
}

enum Out<'a> {
    Nothing,
    Bytes(&'a mut [u8]),
    /// Only facts that two builds must agree on.
    Hash(Hash),
}

pub(super) struct SectionWriter<'a> {
    out: Out<'a>,
    at: usize,
    docs: bool,
    depth: usize,
}

impl<'a> SectionWriter<'a> {
    const fn new(out: Out<'a>, docs: bool) -> SectionWriter<'a> {
        SectionWriter { out, at: 0, docs, depth: 0 }
    }

    const fn all(&mut self, len: usize, protocol: &Protocol, build: &Build) {
        self.raw(&MAGIC);
        self.raw(&FORMAT.to_le_bytes());
        self.length(&len.saturating_sub(HEADER_LEN));
        self.build(build);
        self.protocol(protocol);
        assert!(self.at <= MAX_LEN, "a description has at most 16 MiB");
    }

    /// Returns whether to include facts that do not change a message's bytes.
    pub(super) const fn is_whole(&self) -> bool {
        !matches!(self.out, Out::Hash(_))
    }

    pub(super) const fn ty(&mut self, ty: &Type) {
        assert!(self.depth <= MAX_DEPTH, "a field's type is nested more than 64 deep");
        self.depth += 1;
        self.any_type(ty);
        self.depth -= 1;
    }

    pub(super) const fn docs(&mut self, docs: &str) {
        self.text(if self.docs { docs } else { "" });
    }

    pub(super) const fn choice(&mut self, number: u8) {
        self.raw(&[number]);
    }

    pub(super) const fn truth(&mut self, truth: &bool) {
        self.choice(*truth as u8);
    }

    pub(super) const fn text(&mut self, text: &str) {
        self.length(&text.len());
        self.raw(text.as_bytes());
    }

    pub(super) const fn length(&mut self, length: &usize) {
        assert!(*length <= u32::MAX as usize, "a length in a description has at most 32 bits");
        self.raw(&(*length as u32).to_le_bytes());
    }

    pub(super) const fn count(&mut self, count: &usize) {
        self.raw(&count.to_le_bytes());
    }

    pub(super) const fn number(&mut self, number: &u64) {
        self.raw(&number.to_le_bytes());
    }

    pub(super) const fn value(&mut self, value: &i128) {
        self.raw(&value.to_le_bytes());
    }

    const fn raw(&mut self, bytes: &[u8]) {
        match &mut self.out {
            Out::Nothing => {}
            Out::Bytes(out) => {
                let (_, target) = out.split_at_mut(self.at);
                let (target, _) = target.split_at_mut(bytes.len());
                // One step for the compiler: loops over bytes exceed its limit for constants.
                target.copy_from_slice(bytes);
            }
            Out::Hash(hash) => *hash = hash.bytes(bytes),
        }
        self.at += bytes.len();
    }
}
