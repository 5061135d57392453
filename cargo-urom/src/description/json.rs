//! A protocol's description as JSON.

use serde_json::{Value, json};
use urom_abi::describe::{
    Count, EnumValue, Field, FieldKind, Messages, Payload, Presence, Protocol, StructField, Type,
    Variant,
};
use urom_message::is_plain;

use urom_message::Datum;

/// Fields may be added, but not removed.
pub(crate) fn protocol(of: &Protocol) -> Value {
    json!({
        "name": of.name, "version": of.version,
        "fingerprint": format!("{:#018x}", of.fingerprint()),
        "commands": messages(&of.commands), "notifications": messages(&of.notifications),
    })
}

/// Finds a name with control characters. Documentation and Rust expressions are not names.
pub(super) fn odd_name(json: &Value) -> Option<&str> {
    match json {
        Value::String(name) => (!is_plain(name)).then_some(name),
        Value::Array(items) => items.iter().find_map(odd_name),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !["docs", "when", "expression"].contains(&name.as_str()))
            .find_map(|(_, value)| odd_name(value)),
        _ => None,
    }
}

fn messages(of: &Messages) -> Value {
    json!({
        "name": of.name, "docs": docs(of.docs),
        "tag": ty(&of.tag), "len": of.len, "union_at": of.union_at,
        "header": list(of.header, field), "variants": list(of.variants, variant),
    })
}

fn variant(of: &Variant) -> Value {
    json!({
        "name": of.name, "docs": docs(of.docs),
        "tag": of.tag, "also": of.also, "reply": of.reply,
        "fields": list(of.fields, field), "payloads": list(of.payloads, payload),
    })
}

fn field(of: &Field) -> Value {
    let (kind, payload) = match of.kind {
        FieldKind::Plain => ("plain", None),
        FieldKind::Echo => ("echo", None),
        FieldKind::Address { of } => ("address", Some(of)),
        FieldKind::Length { of } => ("length", Some(of)),
        FieldKind::Selector { of } => ("selector", Some(of)),
    };
    json!({
        "name": of.name, "docs": docs(of.docs),
        "kind": kind, "payload": payload, "optional": of.optional,
        "offset": of.offset, "size": of.ty.size(), "type": ty(&of.ty),
    })
}

fn payload(of: &Payload) -> Value {
    let count = match of.count {
        Count::Word(word) => json!({ "word": word }),
        Count::Fixed(count) => json!({ "fixed": count }),
        Count::Given(length) => json!({ "expression": length.text }),
    };
    let when = match (of.presence, of.address) {
        (Presence::When(condition), _) => Some(condition.text.to_owned()),
        (Presence::ByAddress, Some(address)) => Some(format!("{address} != 0")),
        _ => None,
    };
    json!({
        "name": of.name, "docs": docs(of.docs),
        "element": ty(&of.ty), "count": count, "address": of.address, "when": when,
        "registered": of.presence == Presence::Registered, "optional": of.optional,
    })
}

fn ty(of: &Type) -> Value {
    let (part, what) = match of {
        Type::Int { signed: true, .. } => ("kind", "signed".into()),
        Type::Int { signed: false, .. } => ("kind", "unsigned".into()),
        Type::Float { .. } => ("kind", "float".into()),
        Type::Bool => ("kind", "bool".into()),
        Type::Char => ("kind", "char".into()),
        Type::Utf8 => ("kind", "text".into()),
        Type::Opaque { .. } => ("kind", "opaque".into()),
        Type::Enum(of) => ("values", list(of.values, enum_value)),
        Type::Array { of, len } => ("array", json!({ "of": ty(of), "len": len })),
        Type::Struct(of) => ("fields", list(of.fields, member)),
    };
    json!({ "name": of.to_string(), "size": of.size(), "align": of.align(), (part): what })
}

fn enum_value(of: &EnumValue) -> Value {
    json!({ "name": of.name, "docs": docs(of.docs), "value": Datum::Int(of.value).json() })
}

fn member(of: &StructField) -> Value {
    json!({ "name": of.name, "docs": docs(of.docs), "offset": of.offset, "type": ty(&of.ty) })
}

fn list<T>(items: &[T], json: impl Fn(&T) -> Value) -> Value {
    items.iter().map(json).collect()
}

/// Removes the space after `///` in each line.
fn docs(text: &str) -> String {
    let lines = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}
