//! Writing a description, in constants; and its fingerprint, a hash of what is written.

use super::{Build, FORMAT, HEADER_LEN, MAGIC, MAX_DEPTH, MAX_LEN};
use crate::describe::{Comparison, Protocol, Term, Type};
use crate::hash::Hash;

/// How many bytes [`write`](fn@write) writes.
///
/// # Panics
/// As [`write`](fn@write).
#[must_use]
pub const fn len(protocol: &Protocol, build: &Build) -> usize {
    let mut writer = Writer::new(Out::Nothing, true);
    writer.all(0, protocol, build);
    writer.at
}

/// Writes a description, in a constant expression or outside of one.
///
/// # Panics
/// Unless `out` has exactly as many bytes as [`len`] says; for more than
/// [`MAX_LEN`](super::MAX_LEN) of them; for an offset, a size, an alignment or a text of 4 GiB or
/// more; for a type that is nested more than 64 deep; for a constant of more than 64 bits.
pub const fn write(protocol: &Protocol, build: &Build, out: &mut [u8]) {
    let len = out.len();
    let mut writer = Writer::new(Out::Bytes(out), true);
    writer.all(len.saturating_sub(HEADER_LEN), protocol, build);
    assert!(writer.at == len, "the place for a description has its very length");
    assert!(len <= MAX_LEN, "a description has at most 16 MiB");
}

/// The bytes of [`write`](fn@write) as an array, whose length [`len`] gives.
///
/// # Panics
/// As [`write`](fn@write).
#[must_use]
pub const fn array<const LEN: usize>(protocol: &Protocol, build: &Build) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    write(protocol, build, &mut bytes);
    bytes
}

/// A description without its documentation, for programs that compare it.
///
/// # Panics
/// As [`write`](fn@write).
#[must_use]
pub fn without_docs(protocol: &Protocol, build: &Build) -> Vec<u8> {
    let mut counting = Writer::new(Out::Nothing, false);
    counting.all(0, protocol, build);
    let len = counting.at;
    let mut bytes = vec![0; len];
    let mut writer = Writer::new(Out::Bytes(&mut bytes), false);
    writer.all(len - HEADER_LEN, protocol, build);
    bytes
}

impl Protocol {
    /// A hash of name, version and every message: names, tags, types, offsets, payloads. Two builds
    /// with the same fingerprint read each other's bytes alike. [`difference`](Self::difference)
    /// names what two different ones disagree on.
    ///
    /// Documentation, names of lifetimes, the enums' own names and which fields a host may leave
    /// out do not count. A structure or an enum that does not derive
    /// [`Described`](crate::describe::Described) counts by name, size and alignment. An expression
    /// of `len` or `when` counts by its text and the values of its
    /// [constants](crate::describe::Constant): what a function in it computes is not known.
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        let mut writer = Writer::new(Out::Hash(Hash::new()), false);
        writer.protocol(self);
        match writer.out {
            Out::Hash(hash) => hash.value(),
            Out::Nothing | Out::Bytes(_) => 0,
        }
    }
}

/// Where a description is written.
enum Out<'a> {
    /// Its bytes are only counted.
    Nothing,
    Bytes(&'a mut [u8]),
    /// Only what two builds must agree on.
    Hash(Hash),
}

pub(super) struct Writer<'a> {
    out: Out<'a>,
    at: usize,
    docs: bool,
    /// How deep the type that is written is nested.
    depth: usize,
}

impl<'a> Writer<'a> {
    const fn new(out: Out<'a>, docs: bool) -> Writer<'a> {
        Writer { out, at: 0, docs, depth: 0 }
    }

    const fn all(&mut self, len: usize, protocol: &Protocol, build: &Build) {
        self.raw(&MAGIC);
        self.raw(&FORMAT.to_le_bytes());
        self.length(&len);
        self.build(build);
        self.protocol(protocol);
    }

    /// Whether also that is written which does not change a message's bytes.
    pub(super) const fn is_whole(&self) -> bool {
        !matches!(self.out, Out::Hash(_))
    }

    pub(super) const fn tag(&mut self, tag: &Type) {
        self.ty(tag);
    }

    pub(super) const fn compares(&mut self, compares: &Option<Comparison>) {
        match compares {
            None => self.choice(0),
            Some(of) => {
                self.choice(1 + of.sign as u8);
                self.term(&of.left);
                self.term(&of.right);
            }
        }
    }

    pub(super) const fn known_number(&mut self, value: &Option<i128>) {
        match *value {
            None => self.choice(0),
            Some(value) => self.signed(value),
        }
    }

    const fn signed(&mut self, value: i128) {
        assert!(
            value >= i64::MIN as i128 && value <= u64::MAX as i128,
            "a constant has at most 64 bits"
        );
        self.choice(if value < 0 { 2 } else { 1 });
        self.number(&(value as u64));
    }

    pub(super) const fn term(&mut self, term: &Term) {
        match *term {
            Term::Number(value) => self.signed(value),
            Term::Field(path) => self.named(3, path),
            Term::Length(payload) => self.named(4, payload),
            Term::Constant(name) => self.named(5, name),
        }
    }

    pub(super) const fn ty(&mut self, ty: &Type) {
        assert!(self.depth <= MAX_DEPTH, "a field's type is nested more than 64 deep");
        self.depth += 1;
        match *ty {
            Type::Int { bytes, signed } => {
                self.choice(0);
                self.bytes(&bytes);
                self.sign(&signed);
            }
            Type::Float { bytes } => {
                self.choice(1);
                self.length(&bytes);
            }
            Type::Array { of, len } => {
                self.choice(2);
                self.ty(of);
                self.count(&len);
            }
            Type::Struct(of) => {
                self.choice(3);
                self.structure(of);
            }
            Type::Opaque { name, size, align } => {
                self.named(4, name);
                self.length(&size);
                self.align(&align);
            }
            Type::Bool => self.choice(5),
            Type::Char => self.choice(6),
            Type::Utf8 => self.choice(7),
            Type::Enum(of) => {
                self.choice(8);
                self.enumeration(of);
            }
        }
        self.depth -= 1;
    }

    const fn named(&mut self, number: u8, text: &str) {
        self.choice(number);
        self.text(text);
    }

    pub(super) const fn bytes(&mut self, bytes: &usize) {
        self.length(bytes);
    }

    pub(super) const fn sign(&mut self, signed: &bool) {
        self.truth(signed);
    }

    pub(super) const fn enum_number(&mut self, value: &i128) {
        // In two's complement when it is signed: the enum says so.
        self.number(&(*value as u64));
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

    pub(super) const fn align(&mut self, align: &usize) {
        self.length(align);
    }

    pub(super) const fn length(&mut self, length: &usize) {
        assert!(*length <= u32::MAX as usize, "a length in a description has at most 32 bits");
        self.raw(&(*length as u32).to_le_bytes());
    }

    pub(super) const fn count(&mut self, count: &usize) {
        self.number(&(*count as u64));
    }

    pub(super) const fn number(&mut self, number: &u64) {
        self.raw(&number.to_le_bytes());
    }

    const fn raw(&mut self, bytes: &[u8]) {
        match &mut self.out {
            Out::Nothing => {}
            Out::Bytes(out) => {
                let (_, room) = out.split_at_mut(self.at);
                let (room, _) = room.split_at_mut(bytes.len());
                // As one step of the compiler's: loops over bytes meet its limit for constants.
                room.copy_from_slice(bytes);
            }
            Out::Hash(hash) => *hash = hash.bytes(bytes),
        }
        self.at += bytes.len();
    }
}
