//! What the macros say of a definition, field by field: words without names, and codecs.

use urom_abi::describe::{
    Count, Described as _, Field, FieldKind, Messages, Payload, Presence, Type, Variant,
};
use urom_abi::protocol::Protocol as _;

use crate::holds;

mod rest {
    use urom_abi::{Payload, urom_command, urom_notification};

    /// Percent as a byte.
    pub(crate) mod percent {
        /// What travels.
        pub(crate) type Wire = [u16; 2];

        /// Writes.
        pub(crate) fn encode(value: &f64) -> Wire {
            [(value * 100.0) as u16, 0]
        }

        /// Reads.
        pub(crate) fn decode(wire: Wire) -> Result<f64, &'static str> {
            Ok(f64::from(wire[0]) / 100.0)
        }
    }

    /// All commands.
    ///
    /// And more.
    #[urom_command(plugin = "rest", version = 7, tag = u8)]
    #[derive(Debug)]
    pub(crate) enum Command<'a> {
        /// Asks.
        #[urom(reply = Done)]
        Ask {
            /// A payload.
            #[urom(inline)]
            data: &'a [u8],
            /// A number.
            r#type: u8,
            /// Perhaps.
            #[urom(inline)]
            maybe: Option<&'a [u8]>,
            #[urom(inline)]
            key: &'a [u8; 12],
            /// A share.
            #[urom(with = percent)]
            share: f64,
        },
    }

    #[urom_notification(tag = u16)]
    #[derive(Debug)]
    pub(crate) enum Notification {
        Done {
            #[urom(inline)]
            words: Payload<[u32; 3]>,
        },
    }
}

#[test]
fn words_without_names_are_named_after_their_payload() {
    const BYTE: Type = u8::TYPE;
    const WORD: Type = u64::TYPE;
    const fn word(name: &'static str, kind: FieldKind, offset: usize) -> Field {
        Field { name, docs: "", kind, ty: WORD, offset, optional: false }
    }
    const DATA: Payload = Payload {
        name: "data",
        docs: " A payload.",
        ty: BYTE,
        count: Count::Word("data_len"),
        address: Some("data_addr"),
        presence: Presence::Always,
        constants: &[],
        optional: false,
    };
    const ASK: Variant = Variant {
        name: "Ask",
        docs: " Asks.",
        tag: 0,
        also: None,
        reply: Some("Done"),
        fields: &[
            word("data_addr", FieldKind::Address { of: "data" }, 8),
            word("data_len", FieldKind::Length { of: "data" }, 16),
            Field {
                name: "type",
                docs: " A number.",
                kind: FieldKind::Plain,
                ty: BYTE,
                offset: 24,
                optional: false,
            },
            word("maybe_addr", FieldKind::Address { of: "maybe" }, 32),
            word("maybe_len", FieldKind::Length { of: "maybe" }, 40),
            word("key_addr", FieldKind::Address { of: "key" }, 48),
            Field {
                name: "share",
                docs: " A share.",
                kind: FieldKind::Plain,
                ty: Type::Array { of: &u16::TYPE, len: 2 },
                offset: 56,
                optional: false,
            },
        ],
        payloads: &[
            DATA,
            Payload {
                name: "maybe",
                docs: " Perhaps.",
                count: Count::Word("maybe_len"),
                address: Some("maybe_addr"),
                presence: Presence::ByAddress,
                ..DATA
            },
            Payload {
                name: "key",
                docs: "",
                count: Count::Fixed(12),
                address: Some("key_addr"),
                ..DATA
            },
        ],
    };
    const DONE: Variant = Variant {
        name: "Done",
        docs: "",
        reply: None,
        fields: &[
            word("words_addr", FieldKind::Address { of: "words" }, 8),
            word("words_len", FieldKind::Length { of: "words" }, 16),
        ],
        payloads: &[Payload {
            name: "words",
            docs: "",
            ty: Type::Array { of: &u32::TYPE, len: 3 },
            count: Count::Word("words_len"),
            address: Some("words_addr"),
            ..DATA
        }],
        ..ASK
    };
    const COMMANDS: Messages = Messages {
        name: "Command",
        docs: " All commands.\n\n And more.",
        tag: BYTE,
        len: 64,
        union_at: 8,
        header: &[],
        variants: &[ASK],
    };
    let derived = rest::Protocol::DESCRIPTION;
    assert_eq!((derived.name, derived.version), ("rest", 7));
    assert_eq!(derived.commands, COMMANDS);
    assert_eq!(
        derived.notifications,
        Messages {
            name: "Notification",
            docs: "",
            tag: u16::TYPE,
            len: 24,
            variants: &[DONE],
            ..COMMANDS
        }
    );
    holds(
        derived,
        "
        sizeof(struct rest_command) == 64
        offsetof(struct rest_command, ask.type) == 24
        offsetof(struct rest_command, ask.key_addr) == 48
        offsetof(struct rest_notification, done.words_len) == 16
        REST_PLUGIN_VERSION == 7
        ",
    );
}
