//! Checks the generated code against a protocol's description, for arbitrary bytes.
//!
//! The description defines the words and their meaning, so this is a second, slow and independent
//! decoder. It decides for most messages whether they are well formed, and for all messages what a
//! rewrite must give.

use urom_abi::describe::{Count, Field, FieldKind, Messages, Presence, Type, Variant};

use crate::exact;
use crate::subject::Subject;

/// Arbitrary bytes as a command: enum, structures and description agree, and the refusal is right.
pub fn command(subject: &Subject, bytes: &[u8]) {
    let bytes = &*exact(bytes);
    let messages = &subject.description.commands;
    let found = by_tag(messages, bytes);
    let read = (subject.command)(bytes);
    let shape = found.and_then(|(_, variant)| Shape::of(messages, variant, bytes, true));
    if let Some(well_formed) = verdict(messages, bytes, shape.as_ref()) {
        assert_eq!(read.is_ok(), well_formed, "{read:?} {bytes:02x?}");
    }
    for (index, decode) in subject.commands.iter().enumerate() {
        let typed = decode(bytes);
        if found.is_some_and(|(at, _)| at == index) {
            assert_eq!(typed, read);
        } else {
            typed.expect_err("another command's structure");
        }
    }
    if let Ok(again) = &read {
        shape.expect("it has a tag that is known").compare(bytes, again);
        assert_eq!((subject.command)(again).as_ref(), Ok(again));
    }
    if let Err(error) = &read {
        assert!(!error.to_string().is_empty());
    }
    assert_eq!((subject.refusal)(bytes), refusal(subject, bytes));
}

/// Arbitrary bytes as a notification, read by copy, in place, and as each kind of answer.
pub fn notification(subject: &Subject, bytes: &[u8]) {
    let bytes = &*exact(bytes);
    let messages = &subject.description.notifications;
    let found = by_tag(messages, bytes);
    let read = (subject.notification)(bytes);
    let shape = found.and_then(|(_, variant)| Shape::of(messages, variant, bytes, false));
    if let Some(well_formed) = verdict(messages, bytes, shape.as_ref()) {
        assert_eq!(read.is_ok(), well_formed, "{read:?} {bytes:02x?}");
    }
    if let Ok(again) = &read {
        shape.expect("it has a tag that is known").compare(bytes, again);
        assert_eq!((subject.notification)(again).as_ref(), Ok(again));
    }
    if let Err(error) = &read {
        assert!(!error.to_string().is_empty());
    }
    for (variant, decode) in messages.variants.iter().zip(subject.replies) {
        let echoed = echoed(messages, variant).next();
        let value = echoed.and_then(|field| number(bytes, field.offset, 8)).unwrap_or(0);
        let typed = decode(bytes, value);
        let tag = number(bytes, 0, messages.tag.size());
        if tag == Some(variant.tag) {
            assert_eq!(typed, read);
        } else if tag.is_none_or(|tag| variant.also != Some(tag)) {
            typed.as_ref().expect_err("another notification's structure");
        } else if let Ok(again) = &typed {
            let shape = Shape::of(messages, variant, bytes, false).expect("it was read");
            let mut first = exact(bytes);
            let tag = messages.tag.size();
            first[..tag].copy_from_slice(&variant.tag.to_le_bytes()[..tag]);
            shape.compare(&first, again);
        }
        if echoed.is_some() {
            decode(bytes, !value).expect_err("an answer that repeats something else");
        }
    }
}

/// The refusal of a command, by the description: zeros, except the tag and the command's echoed
/// fields.
pub fn refusal(subject: &Subject, command: &[u8]) -> Vec<u8> {
    let (commands, notifications) =
        (&subject.description.commands, &subject.description.notifications);
    let mut want = vec![0; notifications.len];
    let mut put = |at: usize, bytes: &[u8]| want[at..at + bytes.len()].copy_from_slice(bytes);
    let tag = notifications.tag.size();
    let Some((_, asked)) = by_tag(commands, command) else {
        put(0, command.get(..tag).unwrap_or_default());
        return want;
    };
    let reply = notifications.variants.iter().find(|variant| asked.reply == Some(variant.name));
    let reply = reply.expect("a command names its answer");
    put(0, &reply.tag.to_le_bytes()[..tag]);
    for (from, to) in echoes(subject, asked, reply) {
        put(to.offset, command.get(from.offset..from.offset + from.ty.size()).unwrap_or_default());
    }
    want
}

/// Checks that `answer` has the kind and the echoed fields for `command`, which is well formed.
pub fn answers(subject: &Subject, command: &[u8], answer: &[u8]) {
    (subject.notification)(answer).expect("a plugin's own notifications can be read");
    let (_, asked) =
        by_tag(&subject.description.commands, command).expect("a command that was served");
    let (_, reply) = by_tag(&subject.description.notifications, answer).expect("it was read");
    assert_eq!(asked.reply, Some(reply.name));
    for (from, to) in echoes(subject, asked, reply) {
        let size = from.ty.size();
        assert_eq!(command[from.offset..][..size], answer[to.offset..][..size], "{}", to.name);
    }
}

fn echoes(
    subject: &Subject,
    asked: &'static Variant,
    reply: &'static Variant,
) -> impl Iterator<Item = (&'static Field, &'static Field)> {
    let commands = &subject.description.commands;
    echoed(&subject.description.notifications, reply).map(move |to| {
        let mut fields = commands.header.iter().chain(asked.fields);
        (fields.find(|from| from.name == to.name).expect("what is echoed was asked"), to)
    })
}

fn echoed(
    messages: &Messages,
    variant: &'static Variant,
) -> impl Iterator<Item = &'static Field> + use<> {
    messages.header.iter().chain(variant.fields).filter(|field| field.kind == FieldKind::Echo)
}

/// Finds the variant whose own tag these bytes begin with, and its index.
fn by_tag(messages: &Messages, bytes: &[u8]) -> Option<(usize, &'static Variant)> {
    let tag = number(bytes, 0, messages.tag.size())?;
    messages.variants.iter().enumerate().find(|(_, variant)| variant.tag == tag)
}

fn number(bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
    let mut word = [0; 8];
    word.get_mut(..size)?.copy_from_slice(bytes.get(offset..offset + size)?);
    Some(u64::from_le_bytes(word))
}

/// Whether the bytes are well formed; `None` if the description does not decide that.
fn verdict(messages: &Messages, bytes: &[u8], shape: Option<&Shape>) -> Option<bool> {
    match shape {
        None | Some(Shape { has_values: false, .. }) => Some(false),
        Some(Shape { behind: None, .. }) => None,
        Some(Shape { behind: Some(behind), .. }) => {
            Some(bytes.len() as u128 == messages.len as u128 + behind)
        }
    }
}

/// Expected value of a byte after a rewrite.
#[derive(Clone, Copy, PartialEq)]
enum Byte {
    /// Padding: zero.
    Zero,
    Same,
    /// The first byte of an address word: 1 or 0.
    Mark(Option<bool>),
}

struct Shape {
    fixed: Vec<Byte>,
    /// Whether every field has a value of its type.
    has_values: bool,
    /// Number of payload bytes; `None` if a Rust expression determines it.
    behind: Option<u128>,
}

impl Shape {
    /// Returns the shape of `bytes` if they have a whole fixed part.
    fn of(messages: &Messages, variant: &Variant, bytes: &[u8], is_command: bool) -> Option<Shape> {
        let mut shape =
            Shape { fixed: vec![Byte::Zero; messages.len], has_values: true, behind: Some(0) };
        bytes.get(..messages.len)?;
        shape.mark(0, messages.tag.size(), Byte::Same);
        for field in messages.header.iter().chain(variant.fields) {
            shape.mark(field.offset, field.ty.size(), Byte::Same);
            shape.has_values &= is_value(&field.ty, &bytes[field.offset..]);
        }
        for payload in variant.payloads {
            let word = |name| {
                let (offset, size) =
                    member(variant, name).expect("a described payload's words are described");
                (offset, size, number(bytes, offset, size).expect("within the fixed part"))
            };
            let own = |kind| variant.fields.iter().find(|field| field.kind == kind);
            let selector =
                own(FieldKind::Selector { of: payload.name }).map(|field| word(field.name).2);
            let address = payload.address.map(word);
            // Whether the payload follows the fixed part, and whether its address determines that.
            let by_address = payload.presence == Presence::Registered && !is_command;
            let inline =
                selector.unwrap_or(0) == 0 && !(by_address && address.is_some_and(|at| at.2 == 0));
            let len = match payload.count {
                _ if !inline => Some(0),
                Count::Word(name) => Some(u128::from(word(name).2) * payload.ty.size() as u128),
                Count::Fixed(count) => Some((count * payload.ty.size()) as u128),
                Count::Given(_) => None,
            };
            shape.behind = shape.behind.zip(len).map(|(sum, len)| sum + len);
            if let Some((offset, size, _)) =
                address.filter(|_| selector.is_none_or(|memory| memory == 0))
            {
                shape.mark(offset, size, Byte::Zero);
                let there = if by_address { Some(inline) } else { len.map(|len| len > 0) };
                shape.mark(offset, 1, Byte::Mark(there));
            }
        }
        Some(shape)
    }

    fn mark(&mut self, offset: usize, size: usize, what: Byte) {
        self.fixed[offset..offset + size].fill(what);
    }

    fn compare(&self, bytes: &[u8], again: &[u8]) {
        assert_eq!(again.len(), bytes.len(), "{bytes:02x?}");
        for (at, (byte, (was, is))) in self.fixed.iter().zip(bytes.iter().zip(again)).enumerate() {
            let right = match byte {
                Byte::Zero => *is == 0,
                Byte::Same => is == was,
                Byte::Mark(None) => *is <= 1,
                Byte::Mark(Some(there)) => *is == u8::from(*there),
            };
            assert!(right, "byte {at} was {was:#04x} and is {is:#04x}: {bytes:02x?}");
        }
        assert_eq!(
            again[self.fixed.len()..],
            bytes[self.fixed.len()..],
            "payloads come back as they were"
        );
    }
}

fn is_value(ty: &Type, bytes: &[u8]) -> bool {
    match ty {
        Type::Int { .. } | Type::Float { .. } | Type::Opaque { .. } | Type::Utf8 => true,
        Type::Bool => bytes[0] < 2,
        Type::Char => {
            number(bytes, 0, 4).is_some_and(|value| char::from_u32(value as u32).is_some())
        }
        Type::Enum(of) => {
            let found = number(bytes, 0, of.bytes);
            let mask = u64::MAX >> (64 - 8 * of.bytes);
            of.values.iter().any(|value| Some(value.value as u64 & mask) == found)
        }
        Type::Array { of, len } => (0..*len).all(|at| is_value(of, &bytes[at * of.size()..])),
        Type::Struct(of) => {
            of.fields.iter().all(|field| is_value(&field.ty, &bytes[field.offset..]))
        }
    }
}

/// Offset and size of a field, or of a member of a field: `params.len`.
fn member(variant: &Variant, path: &str) -> Option<(usize, usize)> {
    let mut names = path.split('.');
    let field = names.next()?;
    let field = variant.fields.iter().find(|candidate| candidate.name == field)?;
    let (mut offset, mut ty) = (field.offset, field.ty);
    for name in names {
        let Type::Struct(structure) = ty else { return None };
        let member = structure.fields.iter().find(|candidate| candidate.name == name)?;
        (offset, ty) = (offset + member.offset, member.ty);
    }
    Some((offset, ty.size()))
}
