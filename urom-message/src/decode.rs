//! Decodes messages by their description. The bytes come from a peer and are not trusted.

use urom_abi::Quantity;
use urom_abi::describe::{Count, FieldKind, Messages, Misfit, Payload, Presence, Type, Variant};

use super::datum::Datum;
use super::location::{self, DescribedMessage, Location, fields, is_byte, is_value};

/// A message that was read.
#[derive(Debug)]
pub struct Decoded {
    /// Its variant.
    pub variant: &'static Variant,
    /// Its fields and payloads, in wire order, with their names.
    pub fields: Vec<(&'static str, Datum)>,
    /// Missing or surplus bytes, and invalid values.
    pub problems: Vec<String>,
    /// Facts that the description does not determine.
    pub remarks: Vec<String>,
}

/// Decodes a message: the `expected` variant if its tag matches, otherwise the variant of the tag.
///
/// # Errors
/// The tag is unknown, or the fixed part incomplete.
pub fn decode(
    messages: &Messages,
    expected: Option<&'static Variant>,
    bytes: &[u8],
) -> Result<Decoded, String> {
    let len = Quantity(bytes.len(), "byte");
    let tag = Location { ty: messages.tag, offset: 0 }.integer(bytes);
    let tag = tag.ok_or_else(|| format!("{len}: too few for a tag"))?;
    let is_tag = |own: u64| i128::from(own) == tag;
    let own = expected.filter(|variant| is_tag(variant.tag) || variant.also.is_some_and(is_tag));
    let variant = own.or_else(|| messages.find(bytes)).ok_or_else(|| {
        let known = messages.variants.iter();
        let known = known.map(|variant| format!("{} ({})", variant.tag, variant.name));
        format!("its tag {tag} is not among {}", known.collect::<Vec<_>>().join(", "))
    })?;
    let (fixed, behind) = bytes.split_at_checked(messages.len).ok_or_else(|| {
        format!("{}: {len}, but the fixed part alone takes {}", variant.name, messages.len)
    })?;
    let decoded =
        Decoded { variant, fields: Vec::new(), problems: Vec::new(), remarks: Vec::new() };
    let message = DescribedMessage { messages, variant, fixed: fixed.to_vec(), lens: Vec::new() };
    let mut reader = PayloadReader { message, behind, decoded };
    for field in fields(messages, variant).filter(|field| is_value(field)) {
        let bytes = Location::of(field).bytes(fixed).unwrap_or_default();
        if let Some(wrong) = Misfit::find(&field.ty, bytes) {
            reader.problem(format!("{}{}: {wrong}", field.name, wrong.path()));
        }
        reader.decoded.fields.push((field.name, value(&field.ty, bytes)));
    }
    for payload in variant.payloads {
        let value = reader.payload(payload);
        reader.decoded.fields.push((payload.name, value));
    }
    let PayloadReader { behind, mut decoded, .. } = reader;
    if !behind.is_empty() && decoded.problems.is_empty() {
        let more = Quantity(behind.len(), "byte");
        decoded.problems.push(format!("{more} more than the message's fields call for"));
    }
    Ok(decoded)
}

/// Returns the echoed fields that differ between a command and its answer.
pub fn not_echoed(
    (commands, command, sent): (&Messages, &Variant, &[u8]),
    (notifications, notification, got): (&Messages, &Variant, &[u8]),
) -> Vec<&'static str> {
    let echoed = fields(notifications, notification).filter(|field| field.kind == FieldKind::Echo);
    let differs = echoed.filter(|field| {
        let mut asked = fields(commands, command);
        let asked = asked.find(|other| other.kind == FieldKind::Echo && other.name == field.name);
        asked.is_some_and(|asked| Location::of(asked).bytes(sent) != Location::of(field).bytes(got))
    });
    differs.map(|field| field.name).collect()
}

struct PayloadReader<'a> {
    /// With the lengths of the payloads so far.
    message: DescribedMessage<'a>,
    behind: &'a [u8],
    decoded: Decoded,
}

impl PayloadReader<'_> {
    fn problem(&mut self, problem: String) {
        self.decoded.problems.push(problem);
    }

    fn payload(&mut self, payload: &Payload) -> Datum {
        let message = &self.message;
        let address = payload.address.and_then(|word| message.word(word));
        let count = message.count(&payload.count);
        match payload.presence {
            Presence::Always => {}
            Presence::Registered => {
                let elsewhere = match message.selector(payload) {
                    Some(selector) => message.word(selector.name) != Some(0),
                    None => address == Some(0),
                };
                if elsewhere {
                    return Datum::Registered(count.unwrap_or_default());
                }
            }
            Presence::ByAddress if address == Some(0) => return Datum::Absent,
            Presence::ByAddress => {}
            Presence::When(condition) => match message.holds(&condition) {
                Some(true) => {}
                Some(false) => return Datum::Absent,
                None => {
                    let why = format!("whether it is there says `{}`", condition.text);
                    return self.rest(payload, &why);
                }
            },
        }
        match (count, payload.count) {
            (Some(count), _) => self.take(payload, count),
            (None, Count::Given(length)) => {
                self.rest(payload, &format!("how long it is says `{}`", length.text))
            }
            (None, Count::Word(_) | Count::Fixed(_)) => {
                let name = payload.name;
                self.problem(format!("{name}: the description does not say how long it is"));
                Datum::Absent
            }
        }
    }

    fn take(&mut self, payload: &Payload, count: i128) -> Datum {
        let (name, size) = (payload.name, payload.ty.size());
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(size));
        let Some((taken, rest)) = bytes.and_then(|bytes| self.behind.split_at_checked(bytes))
        else {
            let found = self.behind.len();
            self.problem(format!(
                "{name}: {count} elements of {size} bytes, but {found} bytes are left"
            ));
            self.behind = &[];
            return Datum::Absent;
        };
        self.behind = rest;
        self.message.lens.push((name, count.try_into().unwrap_or(u64::MAX)));
        if payload.ty == Type::Utf8
            && let Err(error) = std::str::from_utf8(taken)
        {
            self.problem(format!("{name}: no UTF-8: {error}"));
        }
        elements(&payload.ty, taken)
    }

    fn rest(&mut self, payload: &Payload, why: &str) -> Datum {
        self.decoded.remarks.push(format!(
            "`{}` is all that was left of the message: {why}, which is Rust and cannot be computed \
             here",
            payload.name
        ));
        let rest = std::mem::take(&mut self.behind);
        match rest.len().checked_rem(payload.ty.size()) {
            Some(0) => elements(&payload.ty, rest),
            _ => Datum::Bytes(rest.to_vec()),
        }
    }
}

fn elements(ty: &Type, bytes: &[u8]) -> Datum {
    if is_byte(ty) {
        return Datum::Bytes(bytes.to_vec());
    }
    if *ty == Type::Utf8 {
        return match std::str::from_utf8(bytes) {
            Ok(text) => Datum::Text(text.to_owned()),
            Err(_) => Datum::Bytes(bytes.to_vec()),
        };
    }
    // Avoids a chunk size of zero.
    Datum::List(bytes.chunks(ty.size().max(1)).map(|element| value(ty, element)).collect())
}

fn value(ty: &Type, bytes: &[u8]) -> Datum {
    match *ty {
        Type::Int { signed, .. } => integer(bytes, signed),
        Type::Utf8 => elements(ty, bytes),
        Type::Float { .. } => match (bytes.first_chunk(), bytes.first_chunk()) {
            (_, Some(eight)) => Datum::Float(f64::from_le_bytes(*eight)),
            (Some(four), None) => Datum::Float(short(f32::from_le_bytes(*four))),
            (None, None) => Datum::Bytes(bytes.to_vec()),
        },
        Type::Bool => match bytes {
            [byte @ (0 | 1)] => Datum::Bool(*byte == 1),
            _ => integer(bytes, false),
        },
        Type::Char => {
            let code = location::integer(bytes, false).and_then(|code| u32::try_from(code).ok());
            let letter = code.and_then(char::from_u32);
            letter.map_or_else(|| integer(bytes, false), |letter| Datum::Text(letter.to_string()))
        }
        Type::Enum(of) => {
            let number = location::integer(bytes, of.signed);
            let known = of.values.iter().find(|value| Some(value.value) == number);
            known.map_or_else(|| integer(bytes, of.signed), |value| Datum::Name(value.name))
        }
        Type::Array { of, .. } => elements(of, bytes),
        Type::Struct(of) => {
            let fields = of.fields.iter().map(|field| {
                let end = field.offset.saturating_add(field.ty.size());
                (field.name, value(&field.ty, bytes.get(field.offset..end).unwrap_or_default()))
            });
            Datum::Record(fields.collect())
        }
        Type::Opaque { .. } => Datum::Bytes(bytes.to_vec()),
    }
}

fn integer(bytes: &[u8], signed: bool) -> Datum {
    location::integer(bytes, signed).map_or_else(|| Datum::Bytes(bytes.to_vec()), Datum::Int)
}

/// Converts without additional digits: 0.1, not 0.10000000149011612.
fn short(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| value.into())
}
