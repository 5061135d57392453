//! Text that describes the payloads of a message.

use super::comments;
use super::structs::Structs;
use crate::describe::{Count, FieldKind, Payload, Presence, Type, Variant};

/// `c_name` converts a field's path to C.
pub(super) fn list(
    variant: &Variant,
    structs: &Structs,
    c_name: impl Fn(&str) -> String,
) -> Vec<String> {
    if variant.payloads.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["Payloads, in this order:".to_owned()];
    for (number, payload) in (1..).zip(variant.payloads) {
        let selector = variant.fields.iter().find_map(|field| match field.kind {
            FieldKind::Selector { of } if of == payload.name => Some(c_name(field.name)),
            _ => None,
        });
        let address = payload.address.map(&c_name);
        let count = count(payload, structs, &c_name);
        let presence = presence(payload, selector, address);
        let text = format!(" {number}. `{}`: {count}{presence}", payload.name);
        lines.extend(text.lines().map(str::to_owned));
        lines.extend(
            comments::lines(payload.docs)
                .into_iter()
                .map(|line| format!("    {line}").trim_end().to_owned()),
        );
    }
    lines
}

fn count(payload: &Payload, structs: &Structs, c_name: impl Fn(&str) -> String) -> String {
    let count = match payload.count {
        Count::Word(path) => format!("`{}`", c_name(path)),
        Count::Fixed(count) => count.to_string(),
        Count::Given(length) => format!("`{}`", length.text),
    };
    let plural = if payload.count == Count::Fixed(1) { "" } else { "s" };
    match payload.ty {
        Type::Int { bytes: 1, signed: false } => format!("{count} byte{plural}"),
        Type::Utf8 => format!("{count} byte{plural} of UTF-8, without a zero at the end"),
        ty => format!("{count} element{plural} of `{}`", structs.spelled(&ty)),
    }
}

fn presence(payload: &Payload, selector: Option<String>, address: Option<String>) -> String {
    match (payload.presence, selector, address) {
        (Presence::Registered, Some(selector), Some(address)) => {
            format!(
                " if `{selector}` is 0;\n    else none here, and `{address}` is where they lie in registered memory."
            )
        }
        (Presence::Registered, None, Some(address)) => {
            format!(
                " if `{address}` is not 0;\n    else none here, they lie in the command's registered memory."
            )
        }
        (Presence::When(condition), ..) => format!(" if `{}`, else none.", condition.text),
        (Presence::ByAddress, _, Some(address)) => format!(" if `{address} != 0`, else none."),
        (_, _, Some(address)) => format!(";\n    their address word is `{address}`."),
        _ => ".".to_owned(),
    }
}
