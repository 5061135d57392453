//! Borrowed payloads: encoding, decoding, and rejected bytes.

use std::num::NonZeroU64;

use urom_abi::protocol::Request as _;
use urom_abi::wire::{DecodeProblem, EncodeError};
use urom_abi::{Data, DocaError, Elements, Registered};

use crate::message::Everything;
use crate::{get, put};

const LEN: usize = crate::message::Command::FIXED_LEN;
const N: usize = 8;
const DATA_LEN: usize = 16;
const MAYBE: usize = 18;
const BODY_LEN: usize = 24;
const EXTRA_LEN: usize = 48;

fn nothing() -> Everything<'static> {
    Everything {
        n: 0,
        flags: 0,
        data: &[],
        key: &[0; 4],
        counts: Elements::default(),
        extra: None,
        maybe: None,
        body: Data::default(),
    }
}

fn bytes_of(command: &Everything<'_>) -> Vec<u8> {
    let mut bytes = vec![0xee; command.encoded_len().unwrap()];
    assert_eq!(command.encode(&mut bytes), Ok(bytes.len()));
    bytes
}

fn registered(memory: u64, address: u64, len: u64) -> Data<'static> {
    Registered { memory: NonZeroU64::new(memory).unwrap(), address, len }.into()
}

fn words(bytes: &[u8]) -> [(u64, u64); 2] {
    let maybe: [u8; 2] = get(bytes, MAYBE).unwrap();
    let extra_len: u32 = get(bytes, EXTRA_LEN).unwrap();
    [(maybe[0].into(), maybe[1].into()), (get(bytes, 40).unwrap(), extra_len.into())]
}

fn body_words(bytes: &[u8]) -> (u32, u64, u64) {
    (get(bytes, 20).unwrap(), get(bytes, BODY_LEN).unwrap(), get(bytes, 32).unwrap())
}

#[test]
fn nothing_set_is_zeros() {
    let bytes = bytes_of(&nothing());
    let mut expected = vec![0; LEN + 4];
    expected[0] = 3;
    assert_eq!(bytes, expected);
    assert_eq!(Everything::decode(&bytes), Ok(nothing()));
}

#[test]
fn payloads_follow_one_another_without_padding_and_their_words_describe_them() {
    let command = Everything {
        n: 1,
        flags: 1,
        data: b"abc",
        key: b"key!",
        counts: (&[0x0403_0201, 0x0807_0605]).into(),
        extra: Some((&[0x0a09]).into()),
        maybe: Some(b"m"),
        body: b"body".into(),
    };
    let bytes = bytes_of(&command);
    assert_eq!(&bytes[LEN..], b"abckey!\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0ambody");
    assert_eq!(get::<u16>(&bytes, DATA_LEN), Some(3));
    assert_eq!((words(&bytes), body_words(&bytes)), ([(1, 1), (1, 1)], (1, 4, 0)));
    assert_eq!(Everything::decode(&bytes), Ok(command));
}

#[test]
fn address_words_are_set_only_for_bytes_that_exist_or_that_they_select() {
    let empty =
        Everything { flags: 1, extra: Some(Elements::default()), maybe: Some(&[]), ..nothing() };
    let bytes = bytes_of(&empty);
    assert_eq!((words(&bytes), body_words(&bytes)), ([(1, 0), (0, 0)], (0, 0, 0)));
    assert_eq!(Everything::decode(&bytes), Ok(empty));
}

#[test]
fn registered_memory_travels_in_its_words_alone() {
    let command = Everything { body: registered(9, 0x8000_0000, u64::MAX), ..nothing() };
    let bytes = bytes_of(&command);
    assert_eq!(bytes.len(), LEN + 4);
    assert_eq!(body_words(&bytes), (0x8000_0000, u64::MAX, 9));
    assert_eq!(Everything::decode(&bytes), Ok(command));
}

#[test]
fn contradicting_fields_are_a_mismatch_that_names_the_payload_and_writes_nothing() {
    let long = vec![0; 65_536];
    let fine = nothing();
    let (one, none) = (Some(Elements::from(&[1u16])), None);
    for (field, command) in [
        ("data", Everything { data: &long, ..fine }),
        ("maybe", Everything { maybe: Some(&long[..256]), ..fine }),
        ("counts", Everything { n: 1, ..fine }),
        ("counts", Everything { n: 1, counts: (&[1]).into(), ..fine }),
        ("counts", Everything { n: -1, ..fine }),
        ("counts", Everything { n: i32::MAX, ..fine }),
        ("extra", Everything { extra: one, ..fine }),
        ("extra", Everything { flags: 1, extra: none, ..fine }),
        ("body", Everything { body: registered(1, 1 << 32, 0), ..fine }),
    ] {
        let mut out = vec![7; 70_000];
        match command.encode(&mut out) {
            Err(error @ EncodeError::Mismatch { message: "Everything", field: found, .. }) => {
                assert_eq!(found, field, "{error}");
                assert_eq!(DocaError::from(error), DocaError::INVALID_VALUE);
            }
            other => panic!("{field}: {other:?}"),
        }
        assert!(out.iter().all(|byte| *byte == 7), "{field}");
    }
}

#[test]
fn a_message_that_does_not_fit_is_too_big_and_leaves_the_bytes_alone() {
    let command = Everything { data: b"abc", ..nothing() };
    let need = LEN + 7;
    for capacity in [0, LEN - 1, LEN, need - 1] {
        let mut out = vec![7; capacity];
        let too_big = EncodeError::TooBig { message: "Everything", need, capacity };
        assert_eq!(command.encode(&mut out), Err(too_big));
        assert_eq!(out, vec![7; capacity]);
    }
    let mut out = vec![7; need + 1];
    assert_eq!(command.encode(&mut out), Ok(need));
    assert_eq!(out[need], 7);
}

#[test]
fn a_length_that_cannot_be_counted_is_none() {
    assert_eq!(urom_abi::wire::total(8, &[usize::MAX - 8, 0]), Some(usize::MAX));
    assert_eq!(urom_abi::wire::total(8, &[usize::MAX - 8, 1]), None);
}

fn refused<T: bytemuck::Pod>(field: &str, at: usize, value: T) -> DecodeProblem {
    let mut bytes =
        bytes_of(&Everything { flags: 1, extra: Some(Elements::default()), ..nothing() });
    put(&mut bytes, at, &value).unwrap();
    let error = Everything::decode(&bytes).unwrap_err();
    assert_eq!((error.message, error.field), ("Everything", field));
    error.problem
}

#[test]
fn lengths_that_the_bytes_do_not_have_are_refused_by_name() {
    let found = LEN + 4;
    let short = |expected| DecodeProblem::Length { found, expected };
    assert_eq!(refused("data", DATA_LEN, 5_u16), short(LEN + 5));
    assert_eq!(refused("key", DATA_LEN, 1_u16), short(LEN + 5));
    assert_eq!(refused("counts", N, 1), short(LEN + 12));
    assert_eq!(refused("extra", EXTRA_LEN, 1), short(LEN + 6));
    assert_eq!(refused("maybe", MAYBE, [0x80_u8, 9]), short(LEN + 13));
    assert_eq!(refused("body", BODY_LEN, 1_u64), short(LEN + 5));
    assert_eq!(refused("body", BODY_LEN, u64::MAX), short(usize::MAX));
}

#[test]
fn expressions_without_a_length_are_refused() {
    assert_eq!(refused("counts", N, -1), DecodeProblem::NoLength);
    assert_eq!(refused("counts", N, i32::MAX), DecodeProblem::NoLength);
    for count in [None, Some(-1), Some(1 << 64), Some(i128::MIN)] {
        assert_eq!(taken::<&[u8]>(count), DecodeProblem::NoLength, "{count:?}");
    }
}

#[test]
fn a_length_over_what_memory_can_hold_is_out_of_range() {
    let (found, most) = (u64::MAX, i64::MAX as u64 / 4);
    let problem = taken::<Elements<'_, u32>>(Some(i128::from(found)));
    assert_eq!(problem, DecodeProblem::OutOfRange { found, most });
}

fn taken<P: urom_abi::wire::Borrowed<'static> + std::fmt::Debug>(
    count: Option<i128>,
) -> DecodeProblem {
    let (_, mut behind) = urom_abi::wire::start::<0>("M", &[]).unwrap();
    behind.take::<P>("data", true, count).unwrap_err().problem
}

#[test]
fn an_absent_payload_is_not_read_whatever_its_length_word_says() {
    let mut bytes = bytes_of(&nothing());
    put(&mut bytes, EXTRA_LEN, &u32::MAX).unwrap();
    put(&mut bytes, MAYBE + 1, &200_u8).unwrap();
    assert_eq!(Everything::decode(&bytes), Ok(nothing()));
}

#[test]
fn bytes_that_nothing_calls_for_are_refused() {
    let mut bytes = bytes_of(&nothing());
    let expected = bytes.len();
    bytes.push(0);
    let error = Everything::decode(&bytes).unwrap_err();
    assert_eq!(error.field, "length");
    assert_eq!(error.problem, DecodeProblem::Length { found: expected + 1, expected });
}
