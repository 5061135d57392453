//! Decoded values, as text and as JSON.

use std::fmt;

#[cfg(feature = "json")]
use serde_json::{Value, json};
use urom_abi::Quantity;

use crate::text::is_plain;

/// A value of a field or a payload.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// An integer.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// UTF-8 text, or a character.
    Text(String),
    /// A value of an enum, by its name.
    Name(&'static str),
    /// An array, or the elements of a payload.
    List(Vec<Datum>),
    /// A structure's fields with their names.
    Record(Vec<(&'static str, Datum)>),
    /// Bytes without a more precise type.
    Bytes(Vec<u8>),
    /// A payload that the message does not have.
    Absent,
    /// A payload in registered memory, with its length in bytes.
    Registered(i128),
}

const MOST: usize = 256;

impl Datum {
    /// Converts to JSON. Bytes become an object. Numbers that JSON cannot represent become strings.
    #[cfg(feature = "json")]
    #[must_use]
    pub fn json(&self) -> Value {
        match self {
            Datum::Int(value) => u64::try_from(*value)
                .map(Value::from)
                .or_else(|_| i64::try_from(*value).map(Value::from))
                .unwrap_or_else(|_| value.to_string().into()),
            Datum::Float(value) if value.is_finite() => json!(value),
            Datum::Float(value) => value.to_string().into(),
            Datum::Bool(value) => json!(value),
            Datum::Text(text) => json!(text),
            Datum::Name(name) => json!(name),
            Datum::List(items) => items.iter().map(Datum::json).collect(),
            Datum::Record(fields) => Value::Object(
                fields.iter().map(|(name, value)| ((*name).to_owned(), value.json())).collect(),
            ),
            Datum::Bytes(bytes) => {
                json!({ "len": bytes.len(), "hex": hex(bytes), "text": text(bytes) })
            }
            Datum::Absent => Value::Null,
            Datum::Registered(bytes) => {
                json!({ "registered": Datum::Int(*bytes).json() })
            }
        }
    }
}

/// The notation of arguments; bytes are followed by their length.
impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Int(value) => write!(f, "{value}"),
            Datum::Float(value) => write!(f, "{value}"),
            Datum::Bool(value) => write!(f, "{value}"),
            Datum::Text(text) if is_plain(text) => f.write_str(text),
            Datum::Text(text) => write!(f, "{}", text.escape_debug()),
            Datum::Name(name) => f.write_str(&crate::text::plain(name)),
            Datum::List(items) => {
                let items: Vec<_> = items.iter().map(Datum::to_string).collect();
                write!(f, "[{}]", items.join(","))
            }
            Datum::Record(fields) => {
                let fields = fields.iter().map(|(name, value)| format!("{name}={value}"));
                write!(f, "{{{}}}", fields.collect::<Vec<_>>().join(","))
            }
            Datum::Bytes(bytes) => {
                let len = Quantity(bytes.len(), "byte");
                match (text(bytes), bytes.split_at_checked(MOST)) {
                    (_, Some((some, [_, ..]))) => write!(f, "hex:{}.. ({len})", hex(some)),
                    (Some(text), _) => write!(f, "{text} ({len})"),
                    (None, _) => write!(f, "hex:{} ({len})", hex(bytes)),
                }
            }
            Datum::Absent => f.write_str("(not there)"),
            Datum::Registered(bytes) => write!(f, "(in registered memory, {bytes} bytes)"),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (!text.is_empty() && is_plain(text)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_text_where_there_is_text() {
        assert_eq!(Datum::Bytes(b"hello".into()).to_string(), "hello (5 bytes)");
        assert_eq!(Datum::Bytes(b"a\x1b[2J".into()).to_string(), "hex:611b5b324a (5 bytes)");
        assert_eq!(Datum::Bytes(vec![]).to_string(), "hex: (0 bytes)");
        assert_eq!(Datum::Bytes(b"a".into()).to_string(), "a (1 byte)");
        let long = Datum::Bytes(vec![0xff; 1000]).to_string();
        assert!(long.len() < 600 && long.ends_with(".. (1000 bytes)"), "{long}");
        let record =
            Datum::Record(vec![("a", Datum::Int(-1)), ("b", Datum::List(vec![Datum::Float(0.5)]))]);
        assert_eq!(record.to_string(), "{a=-1,b=[0.5]}");
    }

    #[test]
    fn scripts_see_every_number_and_every_byte() {
        assert_eq!(Datum::Int(i128::from(u64::MAX)).json().to_string(), "18446744073709551615");
        assert_eq!(Datum::Int(i128::from(i64::MIN)).json().to_string(), "-9223372036854775808");
        assert_eq!(Datum::Float(f64::NAN).json(), json!("NaN"));
        let bytes = Datum::Bytes(vec![0xff; 1000]).json();
        assert_eq!((bytes["len"].clone(), bytes["text"].clone()), (json!(1000), Value::Null));
        assert_eq!(bytes["hex"].as_str().map(str::len), Some(2000));
        assert_eq!(Datum::Absent.json(), Value::Null);
        assert_eq!(Datum::Registered(7).json(), json!({ "registered": 7 }));
    }
}
