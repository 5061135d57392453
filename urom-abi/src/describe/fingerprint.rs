//! One number for all that two builds of a protocol must agree on.

use super::{
    Constant, Count, EnumValue, Field, FieldKind, Messages, Payload, Presence, Protocol,
    StructField, Type, Variant,
};
use crate::hash::Hash;

impl Protocol {
    /// A hash of name, version and every message: names, tags, types, offsets, payloads. Two builds
    /// with the same fingerprint read each other's bytes alike. [`difference`](Self::difference)
    /// names what two different ones disagree on.
    ///
    /// Documentation, names of lifetimes, the enums' own names and which fields a host may leave
    /// out do not count. A structure or an enum that does not derive
    /// [`Described`](super::Described) counts by name, size and alignment. An expression of `len`
    /// or `when` counts by its text and the values of its [constants](super::Constant): what a
    /// function in it computes is not known.
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        let hash = Hash::new().text(self.name).number(self.version);
        messages(messages(hash, &self.commands), &self.notifications).value()
    }
}

/// Adds every element of a list, and how many there are.
macro_rules! list {
    ($hash:ident, $list:expr, $item:path) => {{
        let list = $list;
        $hash = $hash.number(list.len() as u64);
        let mut i = 0;
        while i < list.len() {
            $hash = $item($hash, &list[i]);
            i += 1;
        }
    }};
}

const fn messages(hash: Hash, messages: &Messages) -> Hash {
    let mut hash = ty(hash, &messages.tag);
    hash = hash.number(messages.len as u64).number(messages.union_at as u64);
    list!(hash, messages.header, field);
    list!(hash, messages.variants, variant);
    hash
}

const fn variant(hash: Hash, variant: &Variant) -> Hash {
    let mut hash = hash.text(variant.name).number(variant.tag);
    hash = match variant.also {
        None => hash.number(0),
        Some(also) => hash.number(1).number(also),
    };
    hash = optional(hash, variant.reply);
    list!(hash, variant.fields, field);
    list!(hash, variant.payloads, payload);
    hash
}

const fn field(hash: Hash, field: &Field) -> Hash {
    let hash = ty(hash.text(field.name).number(field.offset as u64), &field.ty);
    match field.kind {
        FieldKind::Plain => hash.number(0),
        FieldKind::Echo => hash.number(1),
        FieldKind::Address { of } => hash.number(2).text(of),
        FieldKind::Length { of } => hash.number(3).text(of),
        FieldKind::Selector { of } => hash.number(4).text(of),
    }
}

const fn payload(hash: Hash, payload: &Payload) -> Hash {
    let hash = ty(hash.text(payload.name), &payload.ty);
    let hash = match payload.count {
        Count::Word(word) => hash.number(0).text(word),
        Count::Fixed(count) => hash.number(1).number(count as u64),
        Count::Given(length) => hash.number(2).text(length.text),
    };
    let hash = optional(hash, payload.address);
    // The text of an expression says as much as its structure.
    let mut hash = match payload.presence {
        Presence::Always => hash.number(0),
        Presence::ByAddress => hash.number(1),
        Presence::Registered => hash.number(2),
        Presence::When(condition) => hash.number(3).text(condition.text),
    };
    list!(hash, payload.constants, constant);
    hash
}

const fn constant(hash: Hash, constant: &Constant) -> Hash {
    let hash = hash.text(constant.name);
    match constant.value {
        None => hash.number(0),
        Some(value) => hash.number(1 + (value < 0) as u64).number(value as u64),
    }
}

const fn ty(hash: Hash, of: &Type) -> Hash {
    match *of {
        Type::Int { bytes, signed } => hash.number(0).number(bytes as u64).number(signed as u64),
        Type::Float { bytes } => hash.number(1).number(bytes as u64),
        Type::Array { of, len } => ty(hash.number(2).number(len as u64), of),
        Type::Struct(of) => {
            let mut hash =
                hash.number(3).text(of.name).number(of.size as u64).number(of.align as u64);
            list!(hash, of.fields, member);
            hash
        }
        Type::Opaque { name, size, align } => {
            hash.number(4).text(name).number(size as u64).number(align as u64)
        }
        Type::Bool => hash.number(5),
        Type::Char => hash.number(6),
        Type::Utf8 => hash.number(7),
        Type::Enum(of) => {
            let mut hash =
                hash.number(8).text(of.name).number(of.bytes as u64).number(of.signed as u64);
            list!(hash, of.values, value);
            hash
        }
    }
}

const fn value(hash: Hash, value: &EnumValue) -> Hash {
    // In two's complement when it is signed: the enum says so.
    hash.text(value.name).number(value.value as u64)
}

const fn member(hash: Hash, field: &StructField) -> Hash {
    ty(hash.text(field.name).number(field.offset as u64), &field.ty)
}

const fn optional(hash: Hash, text: Option<&str>) -> Hash {
    match text {
        None => hash.number(0),
        Some(text) => hash.number(1).text(text),
    }
}
