//! Messages with payloads, byte for byte, in both directions.

mod protocols;

use std::num::NonZeroU64;

use protocols::sandbox::{
    Command, MapParams, MemMap, MemMapped, Notification, Protocol, TagReceived, TagRecv, TagSend,
    TagSent,
};
use urom_abi::protocol::{Protocol as _, Reply, Request};
use urom_abi::wire::{DecodeError, DecodeProblem, EncodeError};
use urom_abi::{Data, Payload, Received, Registered};

/// The words of a message, then its tail.
fn message(words: &[u64], tail: &[u8]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).chain(tail.iter().copied()).collect()
}

fn encode(command: &impl Request) -> Vec<u8> {
    let mut out = vec![0xee; 4096];
    let len = command.encode(&mut out).unwrap();
    assert_eq!(Some(len), command.encoded_len());
    assert!(out[len..].iter().all(|byte| *byte == 0xee));
    assert!(
        matches!(command.encode(&mut out[..len - 1]), Err(EncodeError::TooBig { need, .. }) if need == len)
    );
    out.truncate(len);
    out
}

#[test]
fn a_send_carries_its_bytes_or_where_they_are() {
    assert_eq!((Protocol::COMMAND_LEN, Protocol::NOTIFICATION_LEN), (72, 48));
    let inline = TagSend { context: 7, dest: 2, data: Data::from(b"hello"), tag: 9 };
    let bytes = encode(&inline);
    assert_eq!(bytes, message(&[1, 7, 2, 1, 5, 9, 0, 0, 0], b"hello"));
    assert_eq!(TagSend::decode(&bytes), Ok(inline));
    assert_eq!(Command::decode(&bytes), Ok(Command::from(inline)));

    let memory = Registered { memory: NonZeroU64::new(3).unwrap(), address: 0x1000, len: 1 << 40 };
    let registered = TagSend { data: Data::from(memory), ..inline };
    let bytes = encode(&registered);
    assert_eq!(bytes, message(&[1, 7, 2, 0x1000, 1 << 40, 9, 3, 0, 0], b""));
    assert_eq!(TagSend::decode(&bytes), Ok(registered));
}

#[test]
fn a_word_can_be_a_member_of_a_structure() {
    let map_params = MapParams { field_mask: 1, memory_type: 5, ..MapParams::default() };
    let map = MemMap { context: 7, map_params, exported_memh: b"memh" };
    let bytes = encode(&map);
    assert_eq!(bytes, message(&[0, 7, 1, 0, 0, 0, 5, 1, 4], b"memh"));
    let map_params = MapParams { exported_memh_buffer: 1, ..map_params };
    assert_eq!(MemMap::decode(&bytes), Ok(MemMap { map_params, ..map }));
    let empty = encode(&MemMap { exported_memh: b"", ..map });
    assert_eq!(empty, message(&[0, 7, 1, 0, 0, 0, 5, 0, 0], b""));
}

#[test]
fn a_notification_owns_what_it_received() {
    let echo =
        TagRecv { context: 7, buffer: 0, count: 8, tag: 9, tag_mask: u64::MAX, memh_id: 0 }.echo();
    let mut memory = TagReceived::payload(8).unwrap();
    memory[..5].copy_from_slice(b"hello");
    memory.truncate(5);
    let address = memory.as_ptr();
    let desc = TagReceived { data: memory.into(), sender_tag: 9, status: -3 }
        .into_descriptor(&echo)
        .unwrap();
    assert_eq!(desc.payload(), message(&[2, 7, 1, 5, 9, 0xfd], b"hello"));
    assert_eq!(desc.payload()[48..].as_ptr(), address);

    let found = TagReceived::decode(desc.payload(), &echo).unwrap();
    let expected = TagReceived { data: Payload::from(b"hello").into(), sender_tag: 9, status: -3 };
    assert_eq!(found, expected);

    let data = Received::Registered { len: 1 << 33 };
    let there = TagReceived { data: data.clone(), sender_tag: 9, status: 0 };
    let desc = there.into_descriptor(&echo).unwrap();
    assert_eq!(desc.payload(), message(&[2, 7, 0, 1 << 33, 9, 0], b""));
    let expected = Notification::TagReceived { context: 7, data, sender_tag: 9, status: 0 };
    assert_eq!(Notification::decode(desc.payload()), Ok(expected));
}

#[test]
fn a_second_tag_is_read_as_an_answer_and_never_written() {
    let map = MemMap { context: 7, map_params: MapParams::default(), exported_memh: b"" };
    let mapped = MemMapped { memh_id: 4 };
    let desc = mapped.into_descriptor(&map.echo()).unwrap();
    assert_eq!(desc.payload(), message(&[0, 7, 4, 0, 0, 0], b""));
    let other = message(&[1, 7, 4, 0, 0, 0], b"");
    assert_eq!(MemMapped::decode(&other[..], &map.echo()), Ok(mapped));
    assert!(matches!(
        Notification::decode(&other),
        Ok(Notification::TagSent { context: 7, status: 4 })
    ));
    let third = MemMapped::decode(&message(&[2, 7, 4, 0, 0, 0], b"")[..], &map.echo());
    assert_eq!(third.unwrap_err().problem, DecodeProblem::OtherTag { found: 2, expected: 0 });
    let sent = TagSend { context: 7, dest: 0, data: Data::default(), tag: 0 };
    assert!(TagSent::decode(&message(&[0, 7, 0, 0, 0, 0], b"")[..], &sent.echo()).is_err());
}

#[test]
fn every_truncation_and_every_byte_too_many_is_an_error() {
    let send = encode(&TagSend { context: 7, dest: 2, data: Data::from(b"hello"), tag: 9 });
    let map =
        encode(&MemMap { context: 7, map_params: MapParams::default(), exported_memh: b"memh" });
    for bytes in [send, map] {
        for len in 0..bytes.len() {
            assert!(Command::decode(&bytes[..len]).is_err(), "{len} bytes");
        }
        for more in 1..9 {
            let long = [&bytes[..], &[0; 9][..more]].concat();
            let problem = DecodeProblem::Length { found: long.len(), expected: bytes.len() };
            assert_eq!(Command::decode(&long).unwrap_err().problem, problem);
        }
    }
    let lies = message(&[1, 7, 2, 1, u64::MAX, 9, 0, 0, 0], b"hello");
    let error = Command::decode(&lies).unwrap_err();
    assert!(matches!(error, DecodeError { message: "TagSend", field: "data", .. }), "{error}");
}
