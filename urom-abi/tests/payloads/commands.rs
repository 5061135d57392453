//! Borrowed payloads: what is written, what is read back, and what is refused.

use std::num::NonZeroU64;

use proptest::prelude::*;
use urom_abi::wire::{DecodeProblem, EncodeError};
use urom_abi::{Data, DocaError, Elements, Registered};

use crate::command::*;

fn registered(memory: u64, address: u64, len: u64) -> Data<'static> {
    Registered { memory: NonZeroU64::new(memory).unwrap(), address, len }.into()
}

/// The words of `maybe` and `extra`: address and length.
fn words(bytes: &[u8]) -> [(u64, u64); 2] {
    let fixed = bytes.first_chunk().unwrap();
    [
        (MAYBE_ADDR.read(fixed).into(), MAYBE_LEN.read(fixed).into()),
        (EXTRA_ADDR.read(fixed), EXTRA_LEN.read(fixed).into()),
    ]
}

/// The words of `body`: address, length, memory.
fn body_words(bytes: &[u8]) -> (u32, u64, u64) {
    let fixed = bytes.first_chunk().unwrap();
    (BODY_ADDR.read(fixed), BODY_LEN.read(fixed), BODY_MEMORY.read(fixed))
}

#[test]
fn nothing_set_is_zeros() {
    let bytes = Everything::default().to_bytes();
    let mut expected = vec![0; LEN + 4];
    expected[0] = 3;
    assert_eq!(bytes, expected);
    assert_eq!(Everything::decode(&bytes), Ok(Everything::default()));
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
    let bytes = command.to_bytes();
    assert_eq!(&bytes[LEN..], b"abckey!\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0ambody");
    assert_eq!(DATA_LEN.read(bytes.first_chunk().unwrap()), 3);
    assert_eq!((words(&bytes), body_words(&bytes)), ([(1, 1), (1, 1)], (1, 4, 0)));
    assert_eq!(Everything::decode(&bytes), Ok(command));
}

#[test]
fn address_words_say_not_null_only_for_bytes_that_are_there_or_that_they_decide_about() {
    let empty = Everything {
        flags: 1,
        extra: Some(Elements::default()),
        maybe: Some(&[]),
        ..Everything::default()
    };
    let bytes = empty.to_bytes();
    assert_eq!((words(&bytes), body_words(&bytes)), ([(1, 0), (0, 0)], (0, 0, 0)));
    assert_eq!(Everything::decode(&bytes), Ok(empty));
}

#[test]
fn registered_memory_travels_in_its_words_alone() {
    let command =
        Everything { body: registered(9, 0x8000_0000, u64::MAX), ..Everything::default() };
    let bytes = command.to_bytes();
    assert_eq!(bytes.len(), LEN + 4);
    assert_eq!(body_words(&bytes), (0x8000_0000, u64::MAX, 9));
    assert_eq!(Everything::decode(&bytes), Ok(command));
}

#[test]
fn what_does_not_agree_is_a_mismatch_that_names_the_payload_and_writes_nothing() {
    let long = vec![0; 65_536];
    let fine = Everything::default();
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
    let command = Everything { data: b"abc", ..Everything::default() };
    let need = LEN + 7;
    for room in [0, LEN - 1, LEN, need - 1] {
        let mut out = vec![7; room];
        let too_big = EncodeError::TooBig { message: "Everything", need, room };
        assert_eq!(command.encode(&mut out), Err(too_big));
        assert_eq!(out, vec![7; room]);
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

/// The problem of the one field that `change` makes wrong.
fn refused(field: &str, change: impl FnOnce(&mut [u8; LEN])) -> DecodeProblem {
    let mut bytes =
        Everything { flags: 1, extra: Some(Elements::default()), ..Everything::default() }
            .to_bytes();
    change(bytes.first_chunk_mut().unwrap());
    let error = Everything::decode(&bytes).unwrap_err();
    assert_eq!((error.message, error.field), ("Everything", field));
    error.problem
}

#[test]
fn lengths_that_the_bytes_do_not_have_are_refused_by_name() {
    let found = LEN + 4;
    let short = |expected| DecodeProblem::Length { found, expected };
    assert_eq!(refused("data", |fixed| DATA_LEN.write(fixed, &5)), short(LEN + 5));
    assert_eq!(refused("key", |fixed| DATA_LEN.write(fixed, &1)), short(LEN + 5));
    assert_eq!(refused("counts", |fixed| N.write(fixed, &1)), short(LEN + 12));
    assert_eq!(refused("extra", |fixed| EXTRA_LEN.write(fixed, &1)), short(LEN + 6));
    let there = |fixed: &mut [u8; LEN]| {
        MAYBE_ADDR.write(fixed, &0x80);
        MAYBE_LEN.write(fixed, &9);
    };
    assert_eq!(refused("maybe", there), short(LEN + 13));
    assert_eq!(refused("body", |fixed| BODY_LEN.write(fixed, &1)), short(LEN + 5));
    assert_eq!(refused("body", |fixed| BODY_LEN.write(fixed, &u64::MAX)), short(usize::MAX));
}

#[test]
fn counts_that_no_payload_can_have_are_out_of_range() {
    let most = i64::MAX as u64 / 4;
    let negative = DecodeProblem::OutOfRange { found: -2i64 as u64, most };
    assert_eq!(refused("counts", |fixed| N.write(fixed, &-1)), negative);
    let overflow = DecodeProblem::OutOfRange { found: u64::MAX, most };
    assert_eq!(refused("counts", |fixed| N.write(fixed, &i32::MAX)), overflow);
}

#[test]
fn what_was_found_out_of_range_is_more_than_what_is_possible() {
    let refused = |count: Option<i128>| {
        let (_, mut behind) = urom_abi::wire::start::<0>("M", &[]).unwrap();
        behind.take::<&[u8]>("data", true, count).unwrap_err().problem
    };
    for count in [None, Some(-1), Some(1 << 64), Some(i128::MIN)] {
        let DecodeProblem::OutOfRange { found, most } = refused(count) else { panic!("{count:?}") };
        assert!(found > most, "{count:?}: {found}, but at most {most}");
    }
}

#[test]
fn an_absent_payload_is_not_read_whatever_its_length_word_says() {
    let mut bytes = Everything::default().to_bytes();
    let fixed = bytes.first_chunk_mut().unwrap();
    EXTRA_LEN.write(fixed, &u32::MAX);
    MAYBE_LEN.write(fixed, &200);
    assert_eq!(Everything::decode(&bytes), Ok(Everything::default()));
}

#[test]
fn bytes_that_nothing_calls_for_are_refused() {
    let mut bytes = Everything::default().to_bytes();
    let expected = bytes.len();
    bytes.push(0);
    let error = Everything::decode(&bytes).unwrap_err();
    assert_eq!(error.field, "length");
    assert_eq!(error.problem, DecodeProblem::Length { found: expected + 1, expected });
}

/// The parts of a command, owned.
#[derive(Clone, Debug)]
struct Parts {
    data: Vec<u8>,
    key: [u8; 4],
    counts: Vec<u32>,
    extra: Option<Vec<u16>>,
    maybe: Option<Vec<u8>>,
    body: Result<Vec<u8>, (NonZeroU64, u32, u64)>,
}

impl Parts {
    fn command(&self) -> Everything<'_> {
        Everything {
            n: self.counts.len() as i32 / 2,
            flags: u32::from(self.extra.is_some()),
            data: &self.data,
            key: &self.key,
            counts: self.counts[..self.counts.len() / 2 * 2].into(),
            extra: self.extra.as_ref().map(Elements::from),
            maybe: self.maybe.as_deref(),
            body: match &self.body {
                Ok(bytes) => bytes.into(),
                Err((memory, address, len)) => registered(memory.get(), (*address).into(), *len),
            },
        }
    }
}

fn parts() -> impl Strategy<Value = Parts> {
    use proptest::collection::vec;
    use proptest::option::of;
    let body = prop_oneof![
        vec(any::<u8>(), 0..40).prop_map(Ok),
        any::<(NonZeroU64, u32, u64)>().prop_map(Err)
    ];
    (
        vec(any::<u8>(), 0..40),
        any::<[u8; 4]>(),
        vec(any::<u32>(), 0..8),
        of(vec(any::<u16>(), 0..8)),
        of(vec(any::<u8>(), 0..40)),
        body,
    )
        .prop_map(|(data, key, counts, extra, maybe, body)| Parts {
            data,
            key,
            counts,
            extra,
            maybe,
            body,
        })
}

fn config() -> ProptestConfig {
    let cases = if cfg!(miri) { 4 } else { 256 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_was_written_is_read_back(parts in parts()) {
        let command = parts.command();
        let bytes = command.to_bytes();
        prop_assert_eq!(Everything::decode(&bytes), Ok(command));
    }

    #[test]
    fn every_truncation_is_refused(parts in parts()) {
        let bytes = parts.command().to_bytes();
        for len in 0..bytes.len() {
            // A copy of its own, so that a read past the end is one past an allocation.
            let cut = bytes[..len].to_vec();
            prop_assert!(Everything::decode(&cut).is_err(), "{} bytes of {}", len, bytes.len());
        }
    }

    #[test]
    fn every_corruption_of_the_fixed_part_is_refused_or_writes_back_what_it_reads_as(parts in parts(), value: u8) {
        let bytes = parts.command().to_bytes();
        for at in 0..LEN {
            let mut wrong = bytes.clone();
            wrong[at] = value;
            if let Ok(command) = Everything::decode(&wrong) {
                let again = command.to_bytes();
                prop_assert_eq!(Everything::decode(&again), Ok(command));
            }
        }
    }
}
