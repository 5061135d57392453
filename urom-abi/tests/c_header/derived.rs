//! Fields as the macros describe them: words without names, and codecs.

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
    const WORD: Type = u64::TYPE;
    let derived = rest::Protocol::DESCRIPTION;
    assert_eq!((derived.name, derived.version), ("rest", 7));
    let Messages { name, docs, tag, len, union_at, header, variants } = derived.commands;
    assert_eq!((name, docs), ("Command", " All commands.\n\n And more."));
    assert_eq!((tag, len, union_at, header), (u8::TYPE, 64, 8, &[][..]));
    let [Variant { name, docs, tag, also, reply, fields, payloads }] = variants else {
        panic!("{variants:?}")
    };
    assert_eq!((*name, *docs, *tag, *also, *reply), ("Ask", " Asks.", 0, None, Some("Done")));
    let shape = |field: &Field| (field.name, field.docs, field.kind, field.ty, field.offset);
    let share = Type::Array { of: &u16::TYPE, len: 2 };
    let expected = [
        ("data_addr", "", FieldKind::Address { of: "data" }, WORD, 8),
        ("data_len", "", FieldKind::Length { of: "data" }, WORD, 16),
        ("type", " A number.", FieldKind::Plain, u8::TYPE, 24),
        ("maybe_addr", "", FieldKind::Address { of: "maybe" }, WORD, 32),
        ("maybe_len", "", FieldKind::Length { of: "maybe" }, WORD, 40),
        ("key_addr", "", FieldKind::Address { of: "key" }, WORD, 48),
        ("share", " A share.", FieldKind::Plain, share, 56),
    ];
    assert!(fields.iter().map(shape).eq(expected), "{fields:?}");
    let shape = |payload: &Payload| {
        let Payload { name, docs, ty, count, address, presence, .. } = *payload;
        (name, docs, ty, count, address, presence)
    };
    let (always, by_address) = (Presence::Always, Presence::ByAddress);
    let word = Count::Word;
    let expected = [
        ("data", " A payload.", u8::TYPE, word("data_len"), Some("data_addr"), always),
        ("maybe", " Perhaps.", u8::TYPE, word("maybe_len"), Some("maybe_addr"), by_address),
        ("key", "", u8::TYPE, Count::Fixed(12), Some("key_addr"), always),
    ];
    assert!(payloads.iter().map(shape).eq(expected), "{payloads:?}");
    let Messages { tag, len, variants: [done], .. } = derived.notifications else {
        panic!("{derived:?}")
    };
    assert_eq!((tag, len), (u16::TYPE, 24));
    let words = Type::Array { of: &u32::TYPE, len: 3 };
    let expected = ("words", "", words, word("words_len"), Some("words_addr"), always);
    assert_eq!(shape(&done.payloads[0]), expected);
    holds(
        derived,
        "
        sizeof(struct rest_command) == 64
        offsetof(struct rest_command, ask.type) == 24
        offsetof(struct rest_notification, done.words_len) == 16
        REST_PLUGIN_VERSION == 7
        ",
    );
}
