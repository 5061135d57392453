//! A plugin's file as JSON.

use serde_json::{Value, json};
use urom_abi::describe::section::Panic;
use urom_abi::describe::{
    Count, Field, FieldKind, Messages, Payload, Presence, Protocol, Type, Variant,
};

use crate::description::PluginFile;
use crate::elf::SYMBOLS;
use crate::message::Shown;

/// Fields may come to it, and none goes.
pub(super) fn file(file: &PluginFile) -> Value {
    let elf = &file.elf;
    let mut value = json!({
        "file": file.path,
        "plugin": file.plugin_name().ok(),
        "machine": elf.machine.as_ref().ok(),
        "symbols": SYMBOLS.map(|name| json!({ "name": name, "exported": elf.export(name).is_some() })),
        "needed": elf.needed,
        "described": file.description.is_some(),
    });
    if let (Some(description), Some(object)) = (&file.description, value.as_object_mut()) {
        let Protocol { name, version, commands, notifications } = description.protocol;
        let panic = match description.build.panic {
            Panic::Unwind => "unwind",
            Panic::Abort => "abort",
        };
        let described = json!({
            "name": name,
            "version": version,
            "fingerprint": format!("{:#018x}", description.protocol.fingerprint()),
            "build": { "kit": description.build.kit, "panic": panic },
            "commands": messages(commands),
            "notifications": messages(notifications),
        });
        object.insert("protocol".to_owned(), described);
    }
    value
}

fn messages(of: &Messages) -> Value {
    json!({
        "name": of.name,
        "docs": docs(of.docs),
        "tag": ty(&of.tag),
        "len": of.len,
        "union_at": of.union_at,
        "header": of.header.iter().map(field).collect::<Vec<_>>(),
        "variants": of.variants.iter().map(variant).collect::<Vec<_>>(),
    })
}

fn variant(of: &Variant) -> Value {
    json!({
        "name": of.name,
        "docs": docs(of.docs),
        "tag": of.tag,
        "also": of.also,
        "reply": of.reply,
        "fields": of.fields.iter().map(field).collect::<Vec<_>>(),
        "payloads": of.payloads.iter().map(payload).collect::<Vec<_>>(),
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
        "name": of.name,
        "docs": docs(of.docs),
        "kind": kind,
        "payload": payload,
        "offset": of.offset,
        "size": of.ty.size(),
        "type": ty(&of.ty),
        "optional": of.optional,
    })
}

fn payload(of: &Payload) -> Value {
    let count = match of.count {
        Count::Word(word) => json!({ "word": word }),
        Count::Fixed(count) => json!({ "fixed": count }),
        Count::Given(length) => json!({ "expression": length.text }),
    };
    let when = match of.presence {
        Presence::When(condition) => Some(condition.text.to_owned()),
        Presence::ByAddress => of.address.map(|address| format!("{address} != 0")),
        Presence::Always | Presence::Registered => None,
    };
    json!({
        "name": of.name,
        "docs": docs(of.docs),
        "element": ty(&of.ty),
        "count": count,
        "address": of.address,
        "when": when,
        "registered": of.presence == Presence::Registered,
        "optional": of.optional,
    })
}

/// A type: its name and size, and what it consists of.
fn ty(of: &Type) -> Value {
    let mut value = json!({ "name": of.to_string(), "size": of.size(), "align": of.align() });
    let inner = match of {
        Type::Int { signed, .. } => ("kind", json!(if *signed { "signed" } else { "unsigned" })),
        Type::Float { .. } => ("kind", json!("float")),
        Type::Bool => ("kind", json!("bool")),
        Type::Char => ("kind", json!("char")),
        Type::Utf8 => ("kind", json!("text")),
        Type::Enum(of) => {
            let values = of.values.iter().map(|value| {
                let number = Shown::Int(value.value).json();
                json!({ "name": value.name, "docs": docs(value.docs), "value": number })
            });
            ("values", values.collect())
        }
        Type::Opaque { .. } => ("kind", json!("opaque")),
        Type::Array { of, len } => ("array", json!({ "of": ty(of), "len": len })),
        Type::Struct(of) => {
            let fields = of.fields.iter().map(|field| {
                json!({ "name": field.name, "docs": docs(field.docs), "offset": field.offset, "type": ty(&field.ty) })
            });
            ("fields", fields.collect())
        }
    };
    if let Some(object) = value.as_object_mut() {
        object.insert(inner.0.to_owned(), inner.1);
    }
    value
}

/// Documentation without the space that `///` leaves in front of each line.
fn docs(text: &str) -> String {
    let lines = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}
