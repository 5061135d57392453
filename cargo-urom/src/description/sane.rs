//! Refuses descriptions that a macro cannot produce. The file is not trusted.

use urom_abi::describe::{Count, Field, Messages, Payload, Protocol};
use urom_message::plain;

use super::json;

const MOST: usize = 1 << 26;

/// Refuses sizes and offsets that cause large allocations or writes outside of a message, and names
/// with control characters, which could act on a terminal or in a C header.
pub(crate) fn sane(protocol: &Protocol) -> Result<(), String> {
    for messages in [&protocol.commands, &protocol.notifications] {
        let Messages { name, len, tag, header, variants, .. } = messages;
        let fields = header.iter().chain(variants.iter().flat_map(|variant| variant.fields));
        let fits = |field: &Field| {
            field.offset.checked_add(field.ty.size()).is_some_and(|end| end <= *len)
        };
        let is_small = |payload: &Payload| {
            let count = if let Count::Fixed(count) = payload.count { count.max(1) } else { 1 };
            payload.ty.size().checked_mul(count).is_some_and(|bytes| bytes <= MOST) && count <= MOST
        };
        let mut payloads = variants.iter().flat_map(|variant| variant.payloads);
        let is_possible = (tag.size()..=MOST).contains(len) && payloads.all(is_small);
        if !is_possible || !fields.into_iter().all(fits) {
            return Err(format!(
                "its description of {} describes an impossible message; build the plugin anew",
                plain(name)
            ));
        }
    }
    match json::odd_name(&json::protocol(protocol)) {
        Some(name) => Err(format!(
            "its description has the name `{}`, which nothing in Rust can have; build the plugin \
             anew",
            plain(name)
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use urom_abi::describe::{FieldKind, Presence, Struct, StructField, Type, Variant};
    use urom_abi::protocol::Protocol as Described;
    use urom_message::is_plain;

    use super::*;

    const GRAPH: &Protocol = <graph_protocol::Protocol as Described>::DESCRIPTION;
    const FIELD: Field = GRAPH.commands.variants[0].fields[0];
    const WORD: Type = FIELD.ty;
    const PAYLOAD: Payload = Payload {
        name: "rest",
        docs: "",
        ty: WORD,
        count: Count::Fixed(1),
        address: None,
        presence: Presence::Always,
        constants: &[],
        optional: false,
    };

    fn messages(field: Field, payload: Payload) -> Messages {
        let variant = Variant {
            fields: Box::leak(Box::new([field])),
            payloads: Box::leak(Box::new([payload])),
            ..GRAPH.commands.variants[0]
        };
        Messages { variants: Box::leak(Box::new([variant])), ..GRAPH.commands }
    }

    fn refuses(hostile: &[Messages], part: &str) {
        for commands in hostile {
            let why = verdict(*commands).expect_err("it is not sane");
            assert!(why.contains(part) && is_plain(&why), "{commands:?}: {why}");
        }
    }

    fn verdict(commands: Messages) -> Result<(), String> {
        sane(&Protocol { commands, ..*GRAPH })
    }

    #[test]
    fn the_output_of_the_macros_is_sane() {
        assert_eq!(verdict(messages(FIELD, PAYLOAD)), Ok(()));
        assert_eq!(sane(<sandbox_protocol::Protocol as Described>::DESCRIPTION), Ok(()));
    }

    #[test]
    fn sizes_that_no_message_can_have_are_refused() {
        let huge = Type::Array { of: &WORD, len: MOST };
        let empty = Type::Array { of: &WORD, len: 0 };
        let byte = Field { offset: 0, ty: Type::Int { bytes: 1, signed: false }, ..FIELD };
        let len = |len| Messages { len, ..messages(FIELD, PAYLOAD) };
        let field = |field| messages(field, PAYLOAD);
        let payload =
            |ty, count| messages(FIELD, Payload { ty, count: Count::Fixed(count), ..PAYLOAD });
        let outside: &[Field] = Box::leak(Box::new([Field { offset: 16, ..FIELD }]));
        let hostile = [
            len(MOST + 1),
            len(usize::MAX),
            Messages { len: 7, ..field(byte) },
            Messages { header: outside, ..messages(FIELD, PAYLOAD) },
            field(Field { offset: 9, ..FIELD }),
            field(Field { offset: usize::MAX, ..FIELD }),
            field(Field { ty: huge, ..FIELD }),
            payload(huge, 1),
            payload(WORD, MOST),
            payload(WORD, usize::MAX),
            payload(empty, usize::MAX),
        ];
        refuses(&hostile, "Command describes an impossible message");
    }

    #[test]
    fn names_that_would_move_a_cursor_or_end_a_line_are_refused_wherever_they_stand() {
        const BAD: &str = "a\u{1b}[2J";
        const BAD_STRUCT: Struct = Struct { name: "S", docs: "", size: 0, align: 1, fields: &[] };
        let field = |field| messages(field, PAYLOAD);
        let payload = |payload| messages(FIELD, payload);
        let structure =
            |of: Struct| field(Field { ty: Type::Struct(Box::leak(Box::new(of))), ..FIELD });
        let member = StructField { name: "a\nb", docs: "", offset: 0, ty: WORD };
        let opaque = Type::Opaque { name: "\u{9b}", size: 0, align: 1 };
        let array = Type::Array { of: Box::leak(Box::new(opaque)), len: 1 };
        let hostile = [
            Messages { name: BAD, ..messages(FIELD, PAYLOAD) },
            field(Field { name: BAD, ..FIELD }),
            field(Field { name: "a\u{202e}b", ..FIELD }),
            field(Field { kind: FieldKind::Length { of: BAD }, ..FIELD }),
            payload(Payload { name: BAD, ..PAYLOAD }),
            payload(Payload { address: Some(BAD), ..PAYLOAD }),
            payload(Payload { count: Count::Word(BAD), ..PAYLOAD }),
            payload(Payload { ty: array, ..PAYLOAD }),
            structure(Struct { name: BAD, ..BAD_STRUCT }),
            structure(Struct { fields: Box::leak(Box::new([member])), ..BAD_STRUCT }),
        ];
        refuses(&hostile, "which nothing in Rust can have");
    }
}
