//! The first thing that two definitions of a protocol disagree on, in words.

use std::fmt::Write as _;

use super::{
    Constant, Count, EnumValue, Field, FieldKind, Messages, Payload, Presence, Protocol,
    StructField, Type, Variant,
};

impl Protocol {
    /// What a host, built with this definition, and a plugin, built with `plugin`'s, disagree on
    /// first; `None` when their [fingerprints](Self::fingerprint) are equal.
    #[must_use]
    pub fn difference(&self, plugin: &Protocol) -> Option<String> {
        let (ours, theirs) = (facts(self), facts(plugin));
        let mut pairs = ours.iter().zip(&theirs);
        let only = |who, other, fact: &Fact| {
            format!("the {who} has {}, which is {}, and the {other} does not", fact.of, fact.is)
        };
        // A command and a notification may have one name.
        let is_in = |facts: &[Fact], fact: &Fact| {
            facts.iter().any(|other| (other.of_commands, &other.of) == (fact.of_commands, &fact.of))
        };
        let text = match pairs.find(|(ours, theirs)| ours != theirs) {
            Some((ours, theirs))
                if (ours.of_commands, &ours.of) == (theirs.of_commands, &theirs.of) =>
            {
                format!("{} is {} at the host, {} at the plugin", ours.of, ours.is, theirs.is)
            }
            Some((our, their)) => match (is_in(&theirs, our), is_in(&ours, their)) {
                (true, false) => only("plugin", "host", their),
                (false, true) => only("host", "plugin", our),
                _ => format!(
                    "the host has {}, which is {}, where the plugin has {}, which is {}",
                    our.of, our.is, their.of, their.is
                ),
            },
            None if ours.len() > theirs.len() => only("host", "plugin", &ours[theirs.len()]),
            None => only("plugin", "host", theirs.get(ours.len())?),
        };
        // A plugin's file may hold any text.
        Some(text.chars().fold(String::new(), |mut text, c| {
            if c.is_control() {
                text.extend(c.escape_unicode());
            } else {
                text.push(c);
            }
            text
        }))
    }
}

/// One thing that must be equal: what it is of, and what it is.
#[derive(PartialEq)]
struct Fact {
    of_commands: bool,
    of: String,
    is: String,
}

/// All that a fingerprint is made of. Sizes come last: what makes them differ is named first.
fn facts(protocol: &Protocol) -> Vec<Fact> {
    let mut facts = Facts { all: Vec::new(), of_commands: true };
    facts.add("the plugin's name".to_owned(), format!("`{}`", protocol.name));
    facts.add("`version`".to_owned(), protocol.version.to_string());
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
    fn add(&mut self, of: String, is: String) {
        self.all.push(Fact { of_commands: self.of_commands, of, is });
    }

    fn messages(&mut self, kind: &str, messages: &Messages) {
        self.add(format!("the tag of {kind}"), messages.tag.to_string());
        for field in messages.header {
            self.field(kind, field);
        }
        for variant in messages.variants {
            self.variant(variant);
        }
        let Messages { len, union_at, .. } = messages;
        self.add(format!("the size of {kind}"), format!("{len} bytes (union at byte {union_at})"));
    }

    fn variant(&mut self, variant: &Variant) {
        let Variant { name, tag, also, reply, .. } = variant;
        let kind = if self.of_commands { "command" } else { "notification" };
        let mut is = format!("a {kind} with tag {tag}");
        // Writing to a string cannot fail.
        if let Some(also) = also {
            _ = write!(is, " (also {also})");
        }
        if let Some(reply) = reply {
            _ = write!(is, " and answer `{reply}`");
        }
        self.add(format!("`{name}`"), is);
        for field in variant.fields {
            self.field(name, field);
        }
        for payload in variant.payloads {
            self.payload(name, payload);
        }
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
        self.add(format!("`{path}`"), format!("{ty} (byte {offset}{more})"));
        self.inside(path, ty);
    }

    fn inside(&mut self, path: &str, ty: &Type) {
        match *ty {
            Type::Array { of, .. } => self.inside(&format!("{path}[]"), of),
            Type::Struct(of) => {
                for StructField { name, offset, ty, .. } in of.fields {
                    self.placed(&format!("{path}.{name}"), ty, *offset, "");
                }
                self.add(format!("the size of `{path}`"), extent(of.size, of.align));
            }
            Type::Opaque { size, align, .. } => {
                self.add(format!("the size of `{path}`"), extent(size, align));
            }
            Type::Enum(of) => {
                let sign = if of.signed { "i" } else { "u" };
                self.add(
                    format!("the integer type of `{path}`"),
                    format!("{sign}{}", 8 * of.bytes),
                );
                for EnumValue { name, value, .. } in of.values {
                    self.add(format!("value {value} of `{}`", of.name), format!("`{name}`"));
                }
            }
            Type::Int { .. } | Type::Float { .. } | Type::Bool | Type::Char | Type::Utf8 => {}
        }
    }

    fn payload(&mut self, owner: &str, payload: &Payload) {
        let Payload { name, ty, count, address, presence, constants, .. } = payload;
        let mut facts = Vec::new();
        let mut number = String::new();
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
        let facts =
            if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
        let is = format!("a payload of {number}{ty}{facts}");
        self.add(format!("`{owner}.{name}`"), is);
        for Constant { name: constant, value } in *constants {
            let in_length = matches!(count, Count::Given(length) if length.text.contains(constant));
            let key = if in_length { "length" } else { "condition" };
            let is = value.map_or_else(|| "no number".to_owned(), |value| value.to_string());
            self.add(format!("`{constant}` in the {key} of `{owner}.{name}`"), is);
        }
        self.inside(&format!("{owner}.{name}[]"), ty);
    }
}

fn extent(size: usize, align: usize) -> String {
    format!("{size} bytes (alignment {align})")
}
