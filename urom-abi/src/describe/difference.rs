//! The first difference between two definitions of a protocol, as text.

use std::fmt::{Display, Write as _};

use super::{
    Constant, Count, EnumValue, Field, FieldKind, Messages, Payload, Presence, Protocol,
    StructField, Type, Variant,
};

impl Protocol {
    /// Returns the first difference between this definition, of a host, and a plugin's definition;
    /// `None` when their [fingerprints](Self::fingerprint) are equal.
    #[must_use]
    pub fn difference(&self, plugin: &Protocol) -> Option<String> {
        let (ours, theirs) = (facts(self), facts(plugin));
        let has = |facts: &[Fact], fact: &Fact| facts.iter().any(|other| other.of == fact.of);
        let only = |who, other, Fact { of, is }: &Fact| {
            format!("the {who} has {}, which is {is}, and the {other} does not", of.1)
        };
        let equal = ours.iter().zip(&theirs).take_while(|(our, their)| our == their).count();
        let text = match (ours.get(equal), theirs.get(equal)) {
            (Some(our), Some(their)) if our.of == their.of => {
                format!("{} is {} at the host, {} at the plugin", our.of.1, our.is, their.is)
            }
            (Some(our), Some(their)) if has(&theirs, our) == has(&ours, their) => format!(
                "the host has {}, which is {}, where the plugin has {}, which is {}",
                our.of.1, our.is, their.of.1, their.is
            ),
            (Some(our), their) if their.is_none_or(|their| has(&ours, their)) => {
                only("host", "plugin", our)
            }
            (_, their) => only("plugin", "host", their?),
        };
        // A plugin's file may contain any text.
        let visible = |c: char| match c.is_control() {
            true => c.escape_unicode().to_string(),
            false => c.to_string(),
        };
        Some(text.chars().map(visible).collect())
    }
}

#[derive(PartialEq)]
struct Fact {
    /// Whether it belongs to commands, and its name, which commands and notifications can share.
    of: (bool, String),
    is: String,
}

/// Returns all inputs of the fingerprint. Sizes come last, so that their cause is reported first.
fn facts(protocol: &Protocol) -> Vec<Fact> {
    let mut facts = Facts { all: Vec::new(), of_commands: true };
    facts.add("the plugin's name", format_args!("`{}`", protocol.name));
    facts.add("`version`", protocol.version);
    facts.messages("commands", &protocol.commands);
    facts.of_commands = false;
    facts.messages("notifications", &protocol.notifications);
    facts.all
}

struct Facts {
    all: Vec<Fact>,
    of_commands: bool,
}

impl Facts {
    fn add(&mut self, of: impl Display, is: impl Display) {
        self.all.push(Fact { of: (self.of_commands, of.to_string()), is: is.to_string() });
    }

    fn messages(&mut self, kind: &str, messages: &Messages) {
        self.add(format_args!("the tag of {kind}"), messages.tag);
        messages.header.iter().for_each(|field| self.field(kind, field));
        messages.variants.iter().for_each(|variant| self.variant(variant));
        let Messages { len, union_at, .. } = messages;
        let size = format_args!("{len} bytes (union at byte {union_at})").to_string();
        self.add(format_args!("the size of {kind}"), size);
    }

    fn variant(&mut self, variant: &Variant) {
        let Variant { name, tag, also, reply, .. } = variant;
        let kind = if self.of_commands { "command" } else { "notification" };
        let mut is = format!("a {kind} with tag {tag}");
        if let Some(also) = also {
            _ = write!(is, " (also {also})");
        }
        if let Some(reply) = reply {
            _ = write!(is, " and answer `{reply}`");
        }
        self.add(format_args!("`{name}`"), is);
        variant.fields.iter().for_each(|field| self.field(name, field));
        variant.payloads.iter().for_each(|payload| self.payload(name, payload));
    }

    fn field(&mut self, owner: &str, field: &Field) {
        let kind = match field.kind {
            FieldKind::Plain => String::new(),
            FieldKind::Echo => ", echoed".to_owned(),
            FieldKind::Address { of } => format!(", address of `{of}`"),
            FieldKind::Length { of } => format!(", length of `{of}`"),
            FieldKind::Selector { of } => format!(", registered memory of `{of}`"),
        };
        self.placed(&format!("{owner}.{}", field.name), &field.ty, field.offset, &kind);
    }

    fn placed(&mut self, path: &str, ty: &Type, offset: usize, more: &str) {
        self.add(format_args!("`{path}`"), format_args!("{ty} (byte {offset}{more})"));
        self.inside(path, ty);
    }

    fn inside(&mut self, path: &str, ty: &Type) {
        match *ty {
            Type::Array { of, .. } => self.inside(&format!("{path}[]"), of),
            Type::Struct(of) => {
                for StructField { name, offset, ty, .. } in of.fields {
                    self.placed(&format!("{path}.{name}"), ty, *offset, "");
                }
            }
            Type::Enum(of) => {
                let ty = Type::Int { bytes: of.bytes, signed: of.signed };
                self.add(format_args!("the integer type of `{path}`"), ty);
                for EnumValue { name, value, .. } in of.values {
                    let of = format_args!("value {value} of `{}`", of.name).to_string();
                    self.add(of, format_args!("`{name}`"));
                }
            }
            _ => {}
        }
        if let Type::Struct(_) | Type::Opaque { .. } = ty {
            let size = format!("{} bytes (alignment {})", ty.size(), ty.align());
            self.add(format_args!("the size of `{path}`"), size);
        }
    }

    fn payload(&mut self, owner: &str, payload: &Payload) {
        let Payload { name, ty, count, address, presence, constants, .. } = payload;
        let (mut facts, mut number) = (Vec::new(), String::new());
        match count {
            Count::Word(word) => facts.push(format!("length in `{word}`")),
            Count::Fixed(count) => number = format!("{count} "),
            Count::Given(length) => facts.push(format!("length `{}`", length.text)),
        }
        facts.extend(address.map(|address| format!("address in `{address}`")));
        match presence {
            Presence::Always => {}
            Presence::ByAddress => facts.push("present by its address".to_owned()),
            Presence::Registered => facts.push("inline or registered".to_owned()),
            Presence::When(condition) => facts.push(format!("present when `{}`", condition.text)),
        }
        let facts = facts.join(", ");
        let facts = if facts.is_empty() { facts } else { format!(" ({facts})") };
        self.add(
            format_args!("`{owner}.{name}`"),
            format_args!("a payload of {number}{ty}{facts}"),
        );
        for Constant { name: constant, value } in *constants {
            let in_length = matches!(count, Count::Given(length) if length.text.contains(constant));
            let key = if in_length { "length" } else { "condition" };
            let is = value.map_or_else(|| "no number".to_owned(), |value| value.to_string());
            self.add(format_args!("`{constant}` in the {key} of `{owner}.{name}`"), is);
        }
        self.inside(&format!("{owner}.{name}[]"), ty);
    }
}
