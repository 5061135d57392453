//! Every form of a payload, byte for byte, in both directions.

mod forms_protocol;

use forms_protocol::{
    Apart, Beside, Color, Command, Done, Empty, Given, Location, Maybe, Nested, Notification, One,
    Optional, Outer, Owned, Protocol,
};
use urom_abi::protocol::{Protocol as _, Reply, Request};
use urom_abi::wire::{DecodeProblem, EncodeError};
use urom_abi::{DocaError, Elements, Payload};

const LEN: usize = Protocol::COMMAND_LEN;
const ANSWER: usize = Protocol::NOTIFICATION_LEN;

fn message(len: usize, parts: &[(usize, &[u8])], tail: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; len];
    for (at, part) in parts {
        bytes[*at..at + part.len()].copy_from_slice(part);
    }
    bytes.extend_from_slice(tail);
    bytes
}

fn encode<'a>(command: impl Request + Clone + Into<Command<'a>>) -> Vec<u8> {
    let mut out = vec![0xee; 2048];
    let len = command.encode(&mut out).unwrap();
    assert_eq!(Some(len), command.encoded_len());
    let mut again = vec![0xdd; 2048];
    let whole: Command<'a> = command.clone().into();
    assert_eq!((whole.encode(&mut again), whole.encoded_len()), (Ok(len), Some(len)));
    assert_eq!(out[..len], again[..len]);
    let mut short = vec![0xcc; len - 1];
    assert!(
        matches!(command.encode(&mut short), Err(EncodeError::TooBig { need, .. }) if need == len)
    );
    assert!(short.iter().all(|byte| *byte == 0xcc));
    out.truncate(len);
    out
}

fn corruptions(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..bytes.len()).flat_map(move |at| {
        (1..=255).map(move |change| {
            let mut corrupt = bytes.to_vec();
            corrupt[at] ^= change;
            corrupt
        })
    })
}

fn without_address(mut command: Command<'_>) -> Command<'_> {
    if let Command::Nested { outer, .. } = &mut command {
        outer.location.address = 0;
    }
    command
}

/// Checks that other lengths and bytes do not decode to `command`.
fn is_exactly(bytes: &[u8], command: Command<'_>) {
    assert_eq!(Command::decode(bytes), Ok(command));
    for len in 0..bytes.len() {
        assert!(Command::decode(&bytes[..len]).is_err(), "{len} bytes");
    }
    let long = [bytes, &[0]].concat();
    let expected = DecodeProblem::Length { found: long.len(), expected: bytes.len() };
    assert_eq!(Command::decode(&long).unwrap_err().problem, expected);
    let mut out = vec![0; 4096];
    for corrupt in corruptions(bytes) {
        if let Ok(command) = Command::decode(&corrupt) {
            let len = command.encode(&mut out).unwrap();
            assert_eq!(len, corrupt.len());
            let again = Command::decode(&out[..len]).unwrap();
            // An address word only signals presence, so its value may differ.
            assert_eq!(without_address(again), without_address(command));
        }
        let _ = Protocol::refusal(&corrupt).unwrap();
    }
}

fn mismatch(command: &impl Request) -> &'static str {
    let mut out = vec![0xee; 2048];
    let error = command.encode(&mut out).unwrap_err();
    assert_eq!(DocaError::from(error), DocaError::INVALID_VALUE);
    assert!(out.iter().all(|byte| *byte == 0xee), "nothing is written");
    match error {
        EncodeError::Mismatch { field, .. } => field,
        other => panic!("{other}"),
    }
}

#[test]
fn words_stand_beside_their_payload() {
    let beside =
        Beside { worker: 0x0201, first: b"abc", between: 7, second: Elements::from(&[5u16, 6]) };
    let bytes = encode(beside);
    // { u32 tag; u16 worker; union { { u64 address, length; u8 between; u64 address, length; } } }
    let parts: [(usize, &[u8]); 6] =
        [(4, &[1, 2]), (8, &[1]), (16, &[3]), (24, &[7]), (32, &[1]), (40, &[2])];
    assert_eq!(bytes, message(LEN, &parts, b"abc\x05\0\x06\0"));
    is_exactly(&bytes, beside.into());
}

#[test]
fn words_stand_apart_from_their_payload() {
    let apart = Apart {
        worker: 0,
        named: Elements::from(&[0x0403_0201u32]),
        color_before: 9,
        color: Color::White,
        unaddressed: b"xy",
    };
    let bytes = encode(apart);
    // { u8 count; u8 before; u16 color; u32 address; u64 length; } at 8
    let parts: [(usize, &[u8]); 6] =
        [(0, &[1]), (8, &[1]), (9, &[9]), (10, &[0x0e]), (12, &[1]), (16, &[2])];
    assert_eq!(bytes, message(LEN, &parts, &[1, 2, 3, 4, b'x', b'y']));
    is_exactly(&bytes, apart.into());
    let many = [0u32; 256];
    assert_eq!(mismatch(&Apart { named: Elements::from(&many), ..apart }), "named");

    let mut odd = bytes;
    odd[10] = 0xff;
    let error = Command::decode(&odd).unwrap_err();
    assert_eq!((error.message, error.field), ("Apart", "color"));
    assert_eq!(error.problem, DecodeProblem::Invalid("is not a color"));
}

#[test]
fn words_stand_in_a_nested_structure() {
    let outer = Outer { location: Location { other: 5, ..Location::default() }, more: 6 };
    let nested = Nested { worker: 0, outer, data: Some(b"data") };
    let bytes = encode(nested);
    let parts: [(usize, &[u8]); 5] = [(0, &[2]), (8, &[1]), (12, &[4]), (14, &[5]), (16, &[6])];
    assert_eq!(bytes, message(LEN, &parts, b"data"));
    let location = Location { address: 1, length: 4, other: 5 };
    is_exactly(&bytes, Nested { outer: Outer { location, ..outer }, ..nested }.into());

    let empty = encode(Nested { data: Some(b""), ..nested });
    assert_eq!(empty, message(LEN, &[(0, &[2]), (8, &[1]), (14, &[5]), (16, &[6])], b""));
    let absent = encode(Nested { data: None, ..nested });
    assert_eq!(absent, message(LEN, &[(0, &[2]), (14, &[5]), (16, &[6])], b""));
    assert_eq!(Nested::decode(&absent), Ok(Nested { data: None, ..nested }));
    let long = [0; 65_536];
    assert_eq!(mismatch(&Nested { data: Some(&long), ..nested }), "data");
}

#[test]
fn other_fields_give_lengths() {
    let given = Given {
        worker: 0,
        rows: 2,
        columns: 1,
        index: &[1, 9],
        table: Elements::from(&[3u64, 4]),
        three: Elements::from(&[5u16, 6, 7]),
        magic: b"UROM",
        by_first: b"f",
        constant: b"c",
    };
    let bytes = encode(given);
    let tail =
        [&[1, 9, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 6, 0, 7, 0][..], b"UROMfc"]
            .concat();
    assert_eq!(bytes, message(LEN, &[(0, &[3]), (8, &[2]), (12, &[1]), (16, &[1])], &tail));
    is_exactly(&bytes, given.into());

    assert_eq!(mismatch(&Given { rows: 1, ..given }), "index");
    assert_eq!(mismatch(&Given { rows: -1, ..given }), "index");
    assert_eq!(mismatch(&Given { columns: 3, ..given }), "table");
    assert_eq!(mismatch(&Given { columns: u32::MAX, ..given }), "table");
    assert_eq!(mismatch(&Given { three: Elements::default(), ..given }), "three");
    assert_eq!(mismatch(&Given { by_first: b"", ..given }), "by_first");
    assert_eq!(mismatch(&Given { constant: b"", ..given }), "constant");

    let error = |at: usize, value: u8| {
        let mut wrong = bytes.clone();
        wrong[at..at + 4].fill(value);
        let error = Command::decode(&wrong).unwrap_err();
        assert!(
            matches!(error.problem, DecodeProblem::NoLength | DecodeProblem::Length { .. }),
            "{error}"
        );
        (error.message, error.field)
    };
    assert_eq!(error(8, 0xff), ("Given", "index"));
    assert_eq!(error(8, 0x7f), ("Given", "index"));
    assert_eq!(error(12, 0xff), ("Given", "table"));
    assert_eq!(error(12, 0x7f), ("Given", "table"));
}

#[test]
fn payloads_are_there_on_conditions() {
    let none = Maybe {
        worker: 0,
        by_address: None,
        fixed: None,
        flags: 0,
        first: None,
        second: None,
        color: Color::Black,
        white: None,
    };
    let bytes = encode(none);
    // { address, length; address; u8 flags; address, length; u16 color; length } at 8
    assert_eq!(bytes, message(LEN, &[(0, &[4]), (56, &[0x0b])], b""));
    is_exactly(&bytes, none.into());

    let all = Maybe {
        by_address: Some(b"a"),
        fixed: Some(b"bc"),
        flags: 3,
        first: Some(Elements::from(&[1u16, 2])),
        second: Some(b"de"),
        color: Color::White,
        white: Some(b"fgh"),
        ..none
    };
    let bytes = encode(all);
    let parts: [(usize, &[u8]); 9] = [
        (0, &[4]),
        (8, &[1]),
        (16, &[1]),
        (24, &[1]),
        (32, &[3]),
        (40, &[1]),
        (48, &[2]),
        (56, &[0x0e]),
        (64, &[3]),
    ];
    assert_eq!(bytes, message(LEN, &parts, b"abc\x01\0\x02\0defgh"));
    is_exactly(&bytes, all.into());

    assert_eq!(mismatch(&Maybe { first: None, ..all }), "first");
    assert_eq!(mismatch(&Maybe { flags: 2, ..all }), "first");
    assert_eq!(mismatch(&Maybe { by_address: Some(b""), ..all }), "second");
    assert_eq!(mismatch(&Maybe { white: None, ..all }), "white");
    // Empty is not absent, and the value of its address word is ignored.
    let empty = Maybe { second: Some(b""), ..all };
    let bytes = encode(empty);
    assert_eq!(bytes[40..56], [0; 16]);
    is_exactly(&bytes, empty.into());
}

#[test]
fn a_notification_has_several_payloads() {
    let echo = Empty { worker: 0x0201 }.echo();
    let owned = Owned {
        numbers: Payload::from(vec![1u32, 2]),
        maybe: Some(Payload::from(b"abc")),
        color: Color::White,
        as_many: Some(Payload::from(b"de")),
    };
    let desc = owned.clone().into_descriptor(&echo).unwrap();
    // { u8 tag; u16 worker; union { { u64 address; u8 count; u64 address, length; u16 color; } } }
    let parts: [(usize, &[u8]); 7] =
        [(0, &[3]), (2, &[1, 2]), (8, &[1]), (16, &[2]), (24, &[1]), (32, &[3]), (40, &[0x0e])];
    let bytes = message(ANSWER, &parts, &[1, 0, 0, 0, 2, 0, 0, 0, b'a', b'b', b'c', b'd', b'e']);
    assert_eq!(desc.payload(), bytes);
    assert_eq!(Owned::decode(&bytes[..], &echo), Ok(owned.clone()));
    let whole = Notification::decode(&bytes).unwrap();
    assert!(
        matches!(&whole, Notification::Owned { worker: 0x0201, numbers, .. } if numbers.len() == 2)
    );
    let mut again = vec![0xee; bytes.len()];
    assert_eq!(
        (whole.encode(&mut again), whole.encoded_len()),
        (Ok(bytes.len()), Some(bytes.len()))
    );
    assert_eq!(again, bytes);

    let wrong = Owned { as_many: Some(Payload::from(b"d")), ..owned.clone() };
    assert!(matches!(
        wrong.into_descriptor(&echo),
        Err(EncodeError::Mismatch { field: "as_many", .. })
    ));
    let wrong = Owned { color: Color::Black, ..owned };
    assert!(matches!(
        wrong.into_descriptor(&echo),
        Err(EncodeError::Mismatch { field: "as_many", .. })
    ));
    for len in 0..bytes.len() {
        assert!(Owned::decode(&bytes[..len], &echo).is_err(), "{len} bytes");
        assert!(Notification::decode(&bytes[..len]).is_err(), "{len} bytes");
    }
    for corrupt in corruptions(&bytes) {
        if let Ok(notification) = Notification::decode(&corrupt) {
            let len = notification.encode(&mut again).unwrap();
            assert_eq!(Notification::decode(&again[..len]), Ok(notification));
        }
    }
    assert!(Owned::decode(&[&bytes[..], &[0]].concat()[..], &echo).is_err());
    assert!(Done::decode(&bytes[..], &Beside::decode(&[0; LEN]).unwrap().echo()).is_err());
}

#[test]
fn memory_of_a_notification_counts_elements() {
    let mut pairs = One::payload(3).unwrap();
    assert_eq!((pairs.len(), pairs.as_bytes().len()), (3, 12));
    pairs.truncate(1);
    let address = pairs.as_bytes().as_ptr();
    let echo = forms_protocol::OneEcho { worker: 1 };
    let desc = One { pairs }.into_descriptor(&echo).unwrap();
    let parts: [(usize, &[u8]); 3] = [(0, &[4]), (2, &[1]), (16, &[1])];
    let mut expected = message(ANSWER, &parts, &[0; 4]);
    expected[8] = 1;
    assert_eq!(desc.payload(), expected);
    assert_eq!(desc.payload()[ANSWER..].as_ptr(), address);
}

#[test]
fn a_refusal_is_the_zeroed_answer_with_the_header() {
    let empty = encode(Empty { worker: 0x0201 });
    assert_eq!(empty, message(LEN, &[(0, &[6]), (4, &[1, 2])], b""));
    let refusal = Protocol::refusal(&empty).unwrap();
    assert_eq!(refusal.payload(), message(ANSWER, &[(0, &[3]), (2, &[1, 2])], b""));
}

#[test]
fn unset_fields_are_empty() {
    let unset = Optional {
        worker: 0,
        number: 0,
        color: Color::default(),
        bytes: &[],
        array: &[0; 3],
        elements: Elements::default(),
        maybe: None,
    };
    let bytes = encode(unset);
    is_exactly(&bytes, unset.into());
    assert_eq!(bytes.len(), LEN + 3);
}
