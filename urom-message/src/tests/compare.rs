//! Differences of messages, and the memory that commands name.

use memory_protocol as memory;

use super::*;
use crate::{difference, ranges};

const MEMORY: &describe::Protocol = memory::Protocol::DESCRIPTION;

fn tag_received(tag: u8, data: &[u8]) -> Vec<u8> {
    let recv =
        sandbox::TagRecv { context: 3, buffer: 0, count: 9, tag: 0, tag_mask: 0, memh_id: 0 };
    let data = urom_abi::Received::Inline(urom_abi::Payload::from(data));
    let answer = sandbox::TagReceived { data, sender_tag: tag.into(), status: 0 };
    answer.into_descriptor(&recv.echo()).unwrap().payload().to_vec()
}

#[test]
fn the_first_field_that_differs_is_shown_with_both_values() {
    let messages = Some(&SANDBOX.notifications);
    let (was, is) = (tag_received(6, b"hello"), tag_received(7, b"hallo"));
    let all = |ignored: &[&str]| {
        let ignored: Vec<_> = ignored.iter().map(|&name| name.to_owned()).collect();
        difference(messages, (&was, &is), &ignored)
    };
    assert_eq!(all(&[]).unwrap(), "sender_tag = 7; recorded: 6");
    assert_eq!(all(&["sender_tag"]).unwrap(), "data = hallo (5 bytes); recorded: hello (5 bytes)");
    assert_eq!(all(&["sender_tag", "data"]), None);
    assert_eq!(difference(messages, (&was, &was), &[]), None);
}

#[test]
fn another_message_and_missing_bytes_are_differences() {
    let messages = Some(&SANDBOX.notifications);
    let was = tag_received(6, b"hello");
    let mut other = was.clone();
    other[0] = 1;
    let text = difference(messages, (&was, &other), &[]).unwrap();
    assert_eq!(text, "the answer is TagSent; recorded: TagReceived");
    for len in 0..was.len() {
        assert!(difference(messages, (&was, &was[..len]), &[]).is_some(), "{len} bytes");
        assert!(difference(None, (&was[..len], &was), &[]).is_some(), "{len} bytes");
    }
    let text = difference(None, (b"same+1", b"same+234"), &[]).unwrap();
    assert_eq!(text, "from byte 5 of 8: 234 (3 bytes); recorded, of 6: 1 (1 byte)");
}

#[test]
fn the_address_word_of_a_payload_is_not_a_value() {
    let was = tag_received(6, b"hello");
    let differ = (0..was.len()).filter(|&at| {
        let mut is = was.clone();
        is[at] ^= 0x10;
        difference(Some(&SANDBOX.notifications), (&was, &is), &[]).is_some()
    });
    let mut word = SANDBOX.notifications.variants.iter().flat_map(|variant| variant.fields);
    let word = word.find(|it| matches!(it.kind, describe::FieldKind::Address { .. }));
    let at = word.unwrap().offset;
    let differ: Vec<_> = differ.collect();
    assert!(!differ.contains(&(at + 1)) && differ.contains(&(was.len() - 1)), "{differ:?}");
}

#[test]
fn arrays_of_nothing_name_no_memory() {
    use urom_abi::describe::{Field, Messages, Struct, Type, Variant};
    const NOTHING: Type = Type::Array { of: &Type::Struct(&EMPTY), len: usize::MAX };
    const EMPTY: Struct = Struct { name: "Odd", docs: "", size: 0, align: 1, fields: &[] };
    let variant = MEMORY.commands.variants[0];
    let field = Field { ty: NOTHING, ..variant.fields[0] };
    let fields = &*Box::leak(Box::new([field]));
    let variants = &*Box::leak(Box::new([Variant { fields, ..variant }]));
    let messages = Messages { variants, ..MEMORY.commands };
    assert_eq!(ranges(&messages, &[0; 64]), []);
}

#[test]
fn memory_is_found_by_the_types_of_the_fields() {
    let range = |memory, len| MemoryRange { memory, offset: 1, len };
    let memories = Memories::from([("a".to_owned(), range(7, 64)), ("b".to_owned(), range(8, 64))]);
    let made = |name, fields: &str| {
        let command = command(&MEMORY.commands, name).unwrap();
        encode(&MEMORY.commands, command, &given(fields), &memories).unwrap().bytes
    };
    let found = |bytes: &[u8]| {
        let found = ranges(&MEMORY.commands, bytes);
        found.into_iter().map(|it| it.range).collect::<Vec<_>>()
    };
    let copy = made("copy", "from=a to=b[4..8] piece=1");
    assert_eq!(found(&copy), [range(7, 64), MemoryRange { memory: 8, offset: 5, len: 4 }]);
    let at = ranges(&MEMORY.commands, &copy)[1].at;
    assert_eq!(copy[at..at + 8], 8_u64.to_ne_bytes());
    assert_eq!(found(&made("process", "")), []);
    for len in 0..copy.len() {
        assert!(found(&copy[..len]).len() <= 2, "{len} bytes");
    }
    assert_eq!(found(&[0xff; 64]), []);
}
