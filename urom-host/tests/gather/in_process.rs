//! Participants in one process.

use urom_host::DocaError;
use urom_host::gather::{AllGather, InProcess};

use crate::{block, code, exchange, exchanges, finish};

#[test]
fn participants_on_one_thread_exchange_too() {
    let mut group = InProcess::group(3);
    for round in 0..3 {
        for participant in &mut group {
            participant.begin(&block(participant.index(), round, 4)).unwrap();
        }
        let results: Vec<_> =
            group.iter_mut().map(|participant| finish(participant, 4).unwrap()).collect();
        let expected: Vec<u8> = (0..3).flat_map(|index| block(index, round, 4)).collect();
        assert!(results.iter().all(|blocks| *blocks == expected));
    }
}

#[test]
fn a_group_of_one_waits_for_nobody() {
    exchanges(&mut InProcess::alone(), &[3, 0, 5]);
    assert!(InProcess::group(0).is_empty());
}

#[test]
fn an_exchange_is_not_over_before_the_last_has_begun() {
    let mut group = InProcess::group(2);
    group[0].begin(b"a").unwrap();
    let mut blocks = [0; 2];
    assert!(!group[0].test(&mut blocks).unwrap());
    assert_eq!(exchange(&mut group[1], b"b").unwrap(), b"ab");
    assert!(group[0].test(&mut blocks).unwrap());
    assert_eq!(&blocks, b"ab");
}

#[test]
fn one_who_is_ahead_waits_for_the_others_with_its_next_block_in() {
    let mut group = InProcess::group(2);
    group[0].begin(b"a").unwrap();
    assert_eq!(exchange(&mut group[1], b"b").unwrap(), b"ab");
    group[1].begin(b"d").unwrap();
    let mut blocks = [0; 2];
    assert!(!group[1].test(&mut blocks).unwrap());
    assert_eq!(finish(&mut group[0], 1).unwrap(), b"ab");
    assert_eq!(exchange(&mut group[0], b"c").unwrap(), b"cd");
    assert!(group[1].test(&mut blocks).unwrap());
    assert_eq!(&blocks, b"cd");
}

#[test]
fn a_participant_that_is_gone_fails_the_exchange_unless_its_block_is_in() {
    let mut group = InProcess::group(3);
    let mut gone = group.pop().unwrap();
    gone.begin(b"c").unwrap();
    drop(gone);
    group[1].begin(b"b").unwrap();
    assert_eq!(exchange(&mut group[0], b"a").unwrap(), b"abc");
    assert_eq!(finish(&mut group[1], 1).unwrap(), b"abc");
    let error = exchange(&mut group[0], b"a").unwrap_err();
    assert_eq!(error.to_string(), "participant 2 has left");
    assert_eq!(code(&error), DocaError::CONNECTION_RESET);
}
