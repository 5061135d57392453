//! Functions for generated code that build a description and check field offsets and sizes.

use super::{
    Comparison, Condition, Constant, Count, Field, FieldKind, FoundType, Given, Messages, Payload,
    Presence, Sign, Term, Type, Variant,
};
use crate::DEFAULT_MAX_MESSAGE;
use crate::wire::ConstStr;

impl Variant {
    #[doc(hidden)]
    pub const NONE: Variant =
        Variant { name: "", docs: "", tag: 0, also: None, reply: None, fields: &[], payloads: &[] };
}

impl Payload {
    #[doc(hidden)]
    pub const NONE: Payload = Payload {
        name: "",
        docs: "",
        ty: Type::Int { bytes: 1, signed: false },
        count: Count::Fixed(0),
        address: None,
        presence: Presence::Always,
        constants: &[] as &[Constant],
        optional: false,
    };
}

impl Field {
    #[doc(hidden)]
    #[must_use]
    pub const fn optional(mut self) -> Field {
        self.optional = true;
        self
    }
}

pub const WORD: Type = Type::Int { bytes: 8, signed: false };

const fn item(kind: FieldKind, name: &'static str, ty: Type) -> Field {
    Field { name, docs: "", kind, ty, offset: 0, optional: false }
}

#[must_use]
pub const fn plain(name: &'static str, ty: Type) -> Field {
    item(FieldKind::Plain, name, ty)
}

#[must_use]
pub const fn echo(name: &'static str, ty: Type) -> Field {
    item(FieldKind::Echo, name, ty)
}

#[must_use]
pub const fn address(name: &'static str, of: &'static str, ty: Type) -> Field {
    item(FieldKind::Address { of }, name, ty)
}

#[must_use]
pub const fn length(name: &'static str, of: &'static str, ty: Type) -> Field {
    item(FieldKind::Length { of }, name, ty)
}

/// The word with the location of the payload `of`.
#[must_use]
pub const fn selector(name: &'static str, of: &'static str, ty: Type) -> Field {
    item(FieldKind::Selector { of }, name, ty)
}

#[must_use]
pub const fn when(text: &'static str, compares: Option<Comparison>) -> Presence {
    Presence::When(Condition { text, compares })
}

#[must_use]
pub const fn compare(left: Term, sign: Sign, right: Term) -> Option<Comparison> {
    Some(Comparison { left, sign, right })
}

#[must_use]
pub const fn given(text: &'static str, term: Option<Term>) -> Count {
    Count::Given(Given { text, term })
}

/// Returns the description that a probe found, or an opaque description of `T`.
///
/// # Panics
/// The description and the type have different sizes or alignments.
#[must_use]
#[track_caller]
pub const fn ty<T>(found: FoundType<T>, name: &'static str) -> Type {
    match found.ty() {
        Some(ty) => {
            assert!(
                ty.size() == size_of::<T>() && ty.align() == align_of::<T>(),
                "this type has another size or alignment than its `Described` says"
            );
            ty
        }
        None => Type::Opaque { name, size: size_of::<T>(), align: align_of::<T>() },
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) size: usize,
    pub(super) align: usize,
}

pub(super) const fn align_up(offset: usize, align: usize) -> usize {
    offset.div_ceil(align) * align
}

/// Returns the offset of each field: header fields follow the tag, others are in the union.
#[must_use]
pub const fn offsets<const N: usize>(layout: &Layout, fields: &[Field; N]) -> [usize; N] {
    let mut at = [0; N];
    let (mut end, mut i) = (layout.tag_len, 0);
    while i < N {
        if i == layout.header {
            end = layout.union_at;
        }
        at[i] = align_up(end, fields[i].ty.align());
        end = at[i] + fields[i].ty.size();
        i += 1;
    }
    at
}

#[must_use]
pub const fn placed<const N: usize>(
    mut fields: [Field; N],
    at: [usize; N],
    docs: [&'static str; N],
) -> [Field; N] {
    let mut i = 0;
    while i < N {
        (fields[i].offset, fields[i].docs) = (at[i], docs[i]);
        i += 1;
    }
    fields
}

const fn ends(start: usize, fields: &[Field]) -> Extent {
    let (mut size, mut align, mut i) = (start, 1, 0);
    while i < fields.len() {
        let ty = fields[i].ty;
        size = align_up(size, ty.align()) + ty.size();
        align = most(align, ty.align());
        i += 1;
    }
    Extent { size, align }
}

/// Returns the extent of a structure of these fields: size 0 and alignment 1 if empty.
const fn structure(fields: &[Field]) -> Extent {
    let Extent { size, align } = ends(0, fields);
    Extent { size: align_up(size, align), align }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    tag_len: usize,
    header: usize,
    /// Offset of the union of the variants' structures.
    pub union_at: usize,
    pub len: usize,
}

/// Returns the layout of `{ tag; header fields; union of one structure for each variant }`.
#[must_use]
pub const fn layout(tag: Type, header: usize, variants: &[&[Field]]) -> Layout {
    let (mut size, mut align, mut i) = (0, 1, 0);
    while i < variants.len() {
        let variant = structure(variants[i].split_at(header).1);
        size = most(size, variant.size);
        align = most(align, variant.align);
        i += 1;
    }
    let head = ends(tag.size(), variants[0].split_at(header).0);
    let whole = most(most(tag.align(), head.align), align);
    let union_at = align_up(head.size, align);
    let len = align_up(union_at + align_up(size, align), whole);
    Layout { tag_len: tag.size(), header, union_at, len }
}

const fn most(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

#[must_use]
pub const fn known<const N: usize>(messages: &Messages) -> [(&'static str, u64); N] {
    let mut known = [("", 0); N];
    let mut i = 0;
    while i < N {
        known[i] = (messages.variants[i].name, messages.variants[i].tag);
        i += 1;
    }
    known
}

/// Fails the compilation, at the call, when the fixed part of a message and its payloads of
/// constant length never fit behind a header of `header` bytes.
///
/// # Panics
/// In that case. The text names the message, or the largest message for a too large fixed part.
#[track_caller]
pub const fn assert_fits(messages: &Messages, header: usize) {
    let most = DEFAULT_MAX_MESSAGE - header;
    let (mut largest, mut i) = (("", 0), 0);
    while i < messages.variants.len() {
        let variant = &messages.variants[i];
        let (size, len) = (structure(variant.fields).size, constant_len(messages.len, variant));
        if size >= largest.1 {
            largest = (variant.name, size);
        }
        if messages.len <= most && len > most {
            let text = takes(variant.name, len, header);
            let text = text.text(": give a payload a length word, to send it in parts");
            panic!("{}", text.as_str());
        }
        i += 1;
    }
    if messages.len > most {
        let text = takes(largest.0, messages.len, header);
        let text = text.text(
            ", and every variant takes as many as the largest: send what is large as an inline payload",
        );
        panic!("{}", text.as_str());
    }
}

/// Returns the length of a message with its unconditional payloads of constant length.
const fn constant_len(fixed: usize, variant: &Variant) -> usize {
    let (mut len, mut i) = (fixed, 0);
    while i < variant.payloads.len() {
        let payload = variant.payloads[i];
        if let (Count::Fixed(count), Presence::Always) = (payload.count, payload.presence) {
            len = len.saturating_add(count.saturating_mul(payload.ty.size()));
        }
        i += 1;
    }
    len
}

const fn takes(variant: &str, len: usize, header: usize) -> ConstStr {
    let found = ConstStr::new().text("`").text(variant).text("` takes ").number(len).text(" bytes");
    found
        .text(" and its header ")
        .number(header)
        .text(", but a message has at most ")
        .number(DEFAULT_MAX_MESSAGE)
        .text(" bytes by default")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Described;

    #[repr(C)]
    struct Sample {
        a: u8,
        b: u16,
        c: u8,
        d: f64,
        e: [u16; 3],
    }

    const fn of(ty: Type) -> Field {
        plain("", ty)
    }

    const FIELDS: [Field; 5] =
        [of(u8::TYPE), of(u16::TYPE), of(u8::TYPE), of(f64::TYPE), of(<[u16; 3]>::TYPE)];

    #[test]
    fn a_structure_lies_as_the_compiler_lays_it() {
        use std::mem::offset_of;
        let want = [
            offset_of!(Sample, a),
            offset_of!(Sample, b),
            offset_of!(Sample, c),
            offset_of!(Sample, d),
            offset_of!(Sample, e),
        ];
        let all = Layout { tag_len: 8, header: 0, union_at: 0, len: size_of::<Sample>() };
        assert_eq!(offsets(&all, &FIELDS), want);
        let header = offsets(&Layout { tag_len: 1, header: 2, union_at: 16, len: 40 }, &FIELDS);
        assert_eq!(header, [1, 2, 16, 24, 32]);
        assert_eq!(placed(FIELDS, want, ["a", "b", "c", "d", "e"]).map(|field| field.offset), want);
        let extent = structure(&FIELDS);
        assert_eq!((extent.size, extent.align), (size_of::<Sample>(), align_of::<Sample>()));
    }

    #[test]
    fn a_union_is_as_large_and_as_aligned_as_its_most_demanding_members() {
        let byte = of(u8::TYPE);
        let (twelve, eight) = ([byte, of(<[u32; 3]>::TYPE)], [byte, of(u64::TYPE)]);
        let of_bytes = layout(u8::TYPE, 1, &[&twelve, &eight, &[byte]]);
        assert_eq!(of_bytes, Layout { tag_len: 1, header: 1, union_at: 8, len: 24 });
        let empty = layout(u16::TYPE, 0, &[&[]]);
        assert_eq!(empty, Layout { tag_len: 2, header: 0, union_at: 2, len: 2 });
        let padded = layout(u32::TYPE, 1, &[&[of(u64::TYPE)]]);
        assert_eq!((padded.union_at, padded.len), (16, 16));
    }

    const fn large(payloads: &'static [Payload]) -> Variant {
        Variant { name: "Large", payloads, ..Variant::NONE }
    }

    fn message(variants: &'static [Variant]) -> Messages {
        let tag = u64::TYPE;
        Messages { name: "M", docs: "", tag, len: 72, union_at: 8, header: &[], variants }
    }

    #[test]
    fn payloads_of_known_length_count_when_they_are_always_there() {
        const SIXTEEN: Payload =
            Payload { ty: u16::TYPE, count: Count::Fixed(2000), ..Payload::NONE };
        assert_fits(&message(const { &[large(&[SIXTEEN])] }), 24);
        const BY_ADDRESS: Payload = Payload { presence: Presence::ByAddress, ..SIXTEEN };
        assert_fits(&message(const { &[large(&[BY_ADDRESS, SIXTEEN])] }), 24);
        let twice = message(const { &[large(&[SIXTEEN, SIXTEEN])] });
        let text = *std::panic::catch_unwind(|| assert_fits(&twice, 24))
            .unwrap_err()
            .downcast::<String>()
            .unwrap();
        let want = "`Large` takes 8072 bytes and its header 24, but a message has at most 4096 bytes by default";
        assert!(text.starts_with(want), "{text}");
    }
}
