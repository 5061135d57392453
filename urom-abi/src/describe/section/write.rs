//! Writing a description, in constants; and its fingerprint, a hash of what is written.

use super::{Build, FORMAT, HEADER_LEN, MAGIC, MAX_DEPTH, MAX_LEN, Panic};
use crate::describe::{
    Constant, Count, EnumValue, Field, FieldKind, Messages, Payload, Presence, Protocol,
    StructField, Term, Type, Variant,
};
use crate::hash::Hash;

/// How many bytes [`write`](fn@write) writes.
///
/// # Panics
/// As [`write`](fn@write).
#[must_use]
pub const fn len(protocol: &Protocol, build: &Build) -> usize {
    let mut writer = Writer { out: Out::Nothing, at: 0, docs: true };
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
    let mut writer = Writer { out: Out::Bytes(out), at: 0, docs: true };
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
    let mut counting = Writer { out: Out::Nothing, at: 0, docs: false };
    counting.all(0, protocol, build);
    let len = counting.at;
    let mut bytes = vec![0; len];
    let mut writer = Writer { out: Out::Bytes(&mut bytes), at: 0, docs: false };
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
        let mut writer = Writer { out: Out::Hash(Hash::new()), at: 0, docs: false };
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

struct Writer<'a> {
    out: Out<'a>,
    at: usize,
    docs: bool,
}

/// Calls a method for every element of a list, behind their number.
macro_rules! list {
    ($writer:ident, $list:expr, $item:ident $(, $more:expr)*) => {{
        let list = $list;
        $writer.length(list.len());
        let mut i = 0;
        while i < list.len() {
            $writer.$item(&list[i] $(, $more)*);
            i += 1;
        }
    }};
}

impl Writer<'_> {
    const fn all(&mut self, len: usize, protocol: &Protocol, build: &Build) {
        self.bytes(&MAGIC);
        self.bytes(&FORMAT.to_le_bytes());
        self.length(len);
        self.text(build.kit);
        self.choice(match build.panic {
            Panic::Unwind => 0,
            Panic::Abort => 1,
        });
        self.protocol(protocol);
    }

    const fn protocol(&mut self, protocol: &Protocol) {
        self.text(protocol.name);
        self.number(protocol.version);
        self.messages(&protocol.commands);
        self.messages(&protocol.notifications);
    }

    /// Whether also that is written which does not change a message's bytes.
    const fn is_whole(&self) -> bool {
        !matches!(self.out, Out::Hash(_))
    }

    const fn messages(&mut self, messages: &Messages) {
        if self.is_whole() {
            self.text(messages.name);
        }
        self.docs(messages.docs);
        self.ty(&messages.tag, 0);
        self.length(messages.len);
        self.length(messages.union_at);
        list!(self, messages.header, field);
        list!(self, messages.variants, variant);
    }

    const fn variant(&mut self, variant: &Variant) {
        self.text(variant.name);
        self.docs(variant.docs);
        self.number(variant.tag);
        match variant.also {
            None => self.choice(0),
            Some(also) => {
                self.choice(1);
                self.number(also);
            }
        }
        self.optional(variant.reply);
        list!(self, variant.fields, field);
        list!(self, variant.payloads, payload);
    }

    const fn field(&mut self, field: &Field) {
        self.text(field.name);
        self.docs(field.docs);
        match field.kind {
            FieldKind::Plain => self.choice(0),
            FieldKind::Echo => self.choice(1),
            FieldKind::Address { of } => self.chosen(2, of),
            FieldKind::Length { of } => self.chosen(3, of),
            FieldKind::Selector { of } => self.chosen(4, of),
        }
        self.ty(&field.ty, 0);
        self.length(field.offset);
        self.optional_at_host(field.optional);
    }

    const fn payload(&mut self, payload: &Payload) {
        self.text(payload.name);
        self.docs(payload.docs);
        self.ty(&payload.ty, 0);
        match payload.count {
            Count::Word(word) => self.chosen(0, word),
            Count::Fixed(count) => {
                self.choice(1);
                self.number(count as u64);
            }
            Count::Given(length) => {
                self.chosen(2, length.text);
                match &length.term {
                    // The text says as much.
                    _ if !self.is_whole() => {}
                    None => self.choice(0),
                    Some(term) => {
                        self.choice(1);
                        self.term(term);
                    }
                }
            }
        }
        self.optional(payload.address);
        match &payload.presence {
            Presence::Always => self.choice(0),
            Presence::ByAddress => self.choice(1),
            Presence::Registered => self.choice(2),
            Presence::When(condition) => {
                self.chosen(3, condition.text);
                match &condition.compares {
                    _ if !self.is_whole() => {}
                    None => self.choice(0),
                    Some(of) => {
                        self.choice(1 + of.sign as u8);
                        self.term(&of.left);
                        self.term(&of.right);
                    }
                }
            }
        }
        list!(self, payload.constants, constant);
        self.optional_at_host(payload.optional);
    }

    const fn optional_at_host(&mut self, optional: bool) {
        if self.is_whole() {
            self.choice(optional as u8);
        }
    }

    const fn constant(&mut self, constant: &Constant) {
        self.text(constant.name);
        match constant.value {
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
        self.number(value as u64);
    }

    const fn term(&mut self, term: &Term) {
        match *term {
            Term::Number(value) => self.signed(value),
            Term::Field(path) => self.chosen(3, path),
            Term::Length(payload) => self.chosen(4, payload),
            Term::Constant(name) => self.chosen(5, name),
        }
    }

    const fn ty(&mut self, ty: &Type, depth: usize) {
        assert!(depth <= MAX_DEPTH, "a field's type is nested more than 64 deep");
        match *ty {
            Type::Int { bytes, signed } => {
                self.choice(0);
                self.length(bytes);
                self.choice(signed as u8);
            }
            Type::Float { bytes } => {
                self.choice(1);
                self.length(bytes);
            }
            Type::Array { of, len } => {
                self.choice(2);
                self.ty(of, depth + 1);
                self.number(len as u64);
            }
            Type::Struct(of) => {
                self.chosen(3, of.name);
                self.docs(of.docs);
                self.length(of.size);
                self.length(of.align);
                list!(self, of.fields, member, depth + 1);
            }
            Type::Opaque { name, size, align } => {
                self.chosen(4, name);
                self.length(size);
                self.length(align);
            }
            Type::Bool => self.choice(5),
            Type::Char => self.choice(6),
            Type::Utf8 => self.choice(7),
            Type::Enum(of) => {
                self.chosen(8, of.name);
                self.docs(of.docs);
                self.length(of.bytes);
                self.choice(of.signed as u8);
                list!(self, of.values, value);
            }
        }
    }

    const fn member(&mut self, field: &StructField, depth: usize) {
        self.text(field.name);
        self.docs(field.docs);
        self.length(field.offset);
        self.ty(&field.ty, depth);
    }

    const fn docs(&mut self, docs: &str) {
        self.text(if self.docs { docs } else { "" });
    }

    const fn value(&mut self, value: &EnumValue) {
        self.text(value.name);
        self.docs(value.docs);
        // In two's complement when it is signed: the enum says so.
        self.number(value.value as u64);
    }

    const fn optional(&mut self, text: Option<&str>) {
        match text {
            None => self.choice(0),
            Some(text) => self.chosen(1, text),
        }
    }

    const fn chosen(&mut self, number: u8, text: &str) {
        self.choice(number);
        self.text(text);
    }

    const fn choice(&mut self, number: u8) {
        self.bytes(&[number]);
    }

    const fn text(&mut self, text: &str) {
        self.length(text.len());
        self.bytes(text.as_bytes());
    }

    const fn length(&mut self, length: usize) {
        assert!(length <= u32::MAX as usize, "a length in a description has at most 32 bits");
        self.bytes(&(length as u32).to_le_bytes());
    }

    const fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    const fn bytes(&mut self, bytes: &[u8]) {
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
