//! Messages taken apart by their description. The bytes are a peer's: nothing in them is believed.

use urom_abi::Count as Number;
use urom_abi::describe::{
    Condition, Count, Field, FieldKind, Given, Messages, Misfit, Payload, Presence, Type, Variant,
};

use super::encode::{is_value, selector};
use super::expr::{self, Names};
use super::place::{self, Place};
use super::shown::Shown;
use super::value::is_byte;

/// A message that was taken apart.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) variant: &'static Variant,
    /// The values, by name: fields first, then payloads.
    pub(crate) fields: Vec<(&'static str, Shown)>,
    /// What the message's length leaves open or contradicts.
    pub(crate) problems: Vec<String>,
    /// What the description alone does not say.
    pub(crate) remarks: Vec<String>,
}

/// Takes a message apart. It is `expected` when its tag is one of that message's; otherwise whichever its tag says.
///
/// # Errors
/// A sentence, when the tag is nobody's or the fixed part is not all there.
pub(crate) fn decode(
    messages: &Messages,
    expected: Option<&'static Variant>,
    bytes: &[u8],
) -> Result<Decoded, String> {
    let tag = Place { ty: messages.tag, offset: 0 }.integer(bytes);
    let tag = tag.ok_or_else(|| format!("{}: too few for a tag", Number(bytes.len(), "byte")))?;
    let is_tag = |own: u64| i128::from(own) == tag;
    let own = expected.filter(|variant| is_tag(variant.tag) || variant.also.is_some_and(is_tag));
    let variant = own.or_else(|| messages.find(bytes)).ok_or_else(|| {
        let known: Vec<_> = messages
            .variants
            .iter()
            .map(|variant| format!("{} ({})", variant.tag, variant.name))
            .collect();
        format!("its tag {tag} is none of {}", known.join(", "))
    })?;
    let (fixed, behind) = bytes.split_at_checked(messages.len).ok_or_else(|| {
        format!(
            "{}: {}, but the fixed part alone takes {}",
            variant.name,
            Number(bytes.len(), "byte"),
            messages.len
        )
    })?;
    let mut reader = Reader {
        messages,
        variant,
        fixed,
        behind,
        lens: Vec::new(),
        problems: Vec::new(),
        remarks: Vec::new(),
    };
    let own = place::fields(messages, variant).filter(|field| is_value(field));
    let mut fields: Vec<_> = own.map(|field| (field.name, reader.value(field))).collect();
    for payload in variant.payloads {
        let value = reader.payload(payload);
        fields.push((payload.name, value));
    }
    let Reader { behind, mut problems, remarks, .. } = reader;
    if !behind.is_empty() && problems.is_empty() {
        problems.push(format!(
            "{} more than the message's fields call for",
            Number(behind.len(), "byte")
        ));
    }
    Ok(Decoded { variant, fields, problems, remarks })
}

/// The echoed fields in which an answer does not repeat its command.
pub(crate) fn not_echoed(
    (commands, command, sent): (&Messages, &Variant, &[u8]),
    (notifications, notification, got): (&Messages, &Variant, &[u8]),
) -> Vec<&'static str> {
    let echoed = notifications.header.iter().chain(notification.fields);
    let echoed = echoed.filter(|field| field.kind == FieldKind::Echo);
    let differs = echoed.filter(|field| {
        let of = |field: &urom_abi::describe::Field| Place { ty: field.ty, offset: field.offset };
        let mut asked = place::fields(commands, command);
        let asked = asked.find(|other| other.kind == FieldKind::Echo && other.name == field.name);
        asked.is_some_and(|asked| of(asked).of(sent) != of(field).of(got))
    });
    differs.map(|field| field.name).collect()
}

struct Reader<'a> {
    messages: &'a Messages,
    variant: &'static Variant,
    fixed: &'a [u8],
    behind: &'a [u8],
    /// How many elements the payloads had that were read.
    lens: Vec<(&'static str, i128)>,
    problems: Vec<String>,
    remarks: Vec<String>,
}

impl<'a> Reader<'a> {
    fn value(&mut self, field: &'static Field) -> Shown {
        let bytes = Place { ty: field.ty, offset: field.offset }.of(self.fixed).unwrap_or_default();
        if let Some(wrong) = Misfit::find(&field.ty, bytes) {
            self.problems.push(format!("{}{}: {wrong}", field.name, wrong.path()));
        }
        value(&field.ty, bytes)
    }

    fn word(&self, path: &str) -> Option<i128> {
        place::find(self.messages, self.variant, path)?.integer(self.fixed)
    }

    fn payload(&mut self, payload: &Payload) -> Shown {
        let address = payload.address.and_then(|word| self.word(word));
        let (there, says) = match payload.presence {
            Presence::Always => (Some(true), ""),
            Presence::Registered => {
                let elsewhere = match selector(self.variant, payload) {
                    Some(selector) => self.word(selector.name) != Some(0),
                    None => address == Some(0),
                };
                if elsewhere {
                    return Shown::Registered(self.count(payload).unwrap_or_default());
                }
                (Some(true), "")
            }
            Presence::ByAddress => (address.map(|address| address != 0), "its address"),
            Presence::When(Condition { text, compares }) => {
                (compares.and_then(|compares| expr::holds(&compares, self)), text)
            }
        };
        match there {
            Some(true) => {}
            Some(false) => return Shown::Absent,
            None => return self.rest(payload, &format!("whether it is there says `{says}`")),
        }
        match self.count(payload) {
            Some(count) => self.take(payload, count),
            None => match payload.count {
                Count::Given(Given { text, .. }) => {
                    self.rest(payload, &format!("how long it is says `{text}`"))
                }
                Count::Word(_) | Count::Fixed(_) => {
                    self.problems.push(format!(
                        "{}: the description does not say how long it is",
                        payload.name
                    ));
                    Shown::Absent
                }
            },
        }
    }

    fn count(&self, payload: &Payload) -> Option<i128> {
        match payload.count {
            Count::Word(word) => self.word(word),
            Count::Fixed(count) => count.try_into().ok(),
            Count::Given(length) => length.term.and_then(|term| expr::number(&term, self)),
        }
    }

    fn take(&mut self, payload: &Payload, count: i128) -> Shown {
        let size = payload.ty.size();
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(size));
        let Some((taken, rest)) = bytes.and_then(|bytes| self.behind.split_at_checked(bytes))
        else {
            let found = self.behind.len();
            self.problems.push(format!(
                "{}: {count} elements of {size} bytes, but {found} bytes are left",
                payload.name
            ));
            self.behind = &[];
            return Shown::Absent;
        };
        self.behind = rest;
        self.lens.push((payload.name, count));
        if payload.ty == Type::Utf8
            && let Err(error) = std::str::from_utf8(taken)
        {
            self.problems.push(format!("{}: no UTF-8: {error}", payload.name));
        }
        elements(&payload.ty, taken)
    }

    /// All that is left, for want of knowing better.
    fn rest(&mut self, payload: &Payload, why: &str) -> Shown {
        self.remarks.push(format!(
            "`{}` is all that was left of the message: {why}, which is Rust and cannot be computed here",
            payload.name
        ));
        let rest = std::mem::take(&mut self.behind);
        match rest.len().checked_rem(payload.ty.size()) {
            Some(0) => elements(&payload.ty, rest),
            _ => Shown::Bytes(rest.to_vec()),
        }
    }
}

impl Names for Reader<'_> {
    fn field(&self, path: &str) -> Option<i128> {
        self.word(path)
    }

    fn constant(&self, path: &str) -> Option<i128> {
        place::constant(self.variant, path)
    }

    fn len(&self, name: &str) -> Option<i128> {
        self.lens.iter().find(|(payload, _)| *payload == name).map(|(_, len)| *len)
    }
}

fn elements(ty: &Type, bytes: &[u8]) -> Shown {
    if is_byte(ty) {
        return Shown::Bytes(bytes.to_vec());
    }
    if *ty == Type::Utf8 {
        return match std::str::from_utf8(bytes) {
            Ok(text) => Shown::Text(text.to_owned()),
            Err(_) => Shown::Bytes(bytes.to_vec()),
        };
    }
    // Elements without bytes cannot be counted by them.
    Shown::List(bytes.chunks(ty.size().max(1)).map(|element| value(ty, element)).collect())
}

fn value(ty: &Type, bytes: &[u8]) -> Shown {
    match *ty {
        Type::Int { signed, .. } => integer(bytes, signed),
        Type::Utf8 => elements(ty, bytes),
        Type::Float { .. } => match (bytes.first_chunk(), bytes.first_chunk()) {
            (_, Some(eight)) => Shown::Float(f64::from_le_bytes(*eight)),
            (Some(four), None) => Shown::Float(short(f32::from_le_bytes(*four))),
            (None, None) => Shown::Bytes(bytes.to_vec()),
        },
        Type::Bool => match bytes {
            [0] => Shown::Bool(false),
            [1] => Shown::Bool(true),
            _ => unsigned(bytes),
        },
        Type::Char => {
            let code =
                place::integer(bytes, false).and_then(|code| char::from_u32(code.try_into().ok()?));
            code.map_or_else(|| unsigned(bytes), |code| Shown::Text(code.to_string()))
        }
        Type::Enum(of) => {
            let number = place::integer(bytes, of.signed);
            let known = of.values.iter().find(|value| Some(value.value) == number);
            known.map_or_else(|| integer(bytes, of.signed), |value| Shown::Name(value.name))
        }
        Type::Array { of, .. } => elements(of, bytes),
        Type::Struct(of) => {
            let fields = of.fields.iter().map(|field| {
                let end = field.offset.saturating_add(field.ty.size());
                (field.name, value(&field.ty, bytes.get(field.offset..end).unwrap_or_default()))
            });
            Shown::Record(fields.collect())
        }
        Type::Opaque { .. } => Shown::Bytes(bytes.to_vec()),
    }
}

/// An integer, or bytes that are too many for one.
fn integer(bytes: &[u8], signed: bool) -> Shown {
    place::integer(bytes, signed).map_or_else(|| Shown::Bytes(bytes.to_vec()), Shown::Int)
}

fn unsigned(bytes: &[u8]) -> Shown {
    integer(bytes, false)
}

/// The number that is written as a short one is: 0.1, and not 0.10000000149011612.
fn short(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| value.into())
}
