//! Participants in one process.

use std::thread;

use urom_host::DocaError;
use urom_host::gather::{AllGather, Error, InProcess};

use crate::{block, exchange, exchanges, finish};

#[test]
fn participants_on_threads_exchange_blocks_of_any_length_again_and_again() {
    thread::scope(|scope| {
        for mut participant in InProcess::group(5) {
            scope.spawn(move || exchanges(&mut participant, &[8, 0, 1, 100_000, 8, 8, 0]));
        }
    });
}

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
    assert_eq!(error.to_string(), "participant 2 is gone");
    assert_eq!(error.downcast_ref::<Error>().unwrap().code(), DocaError::CONNECTION_RESET);
}

#[test]
fn blocks_of_different_lengths_are_an_error_for_both() {
    let mut group = InProcess::group(2);
    group[0].begin(b"1234").unwrap();
    group[1].begin(b"12").unwrap();
    let error = finish(&mut group[0], 4).unwrap_err();
    assert_eq!(error.to_string(), "participant 1 gives 2 bytes, participant 0 4");
    assert_eq!(error.downcast_ref::<Error>().unwrap().code(), DocaError::INVALID_VALUE);
    finish(&mut group[1], 2).unwrap_err();
}

#[test]
fn one_exchange_at_a_time() {
    let mut alone = InProcess::group(1).remove(0);
    alone.test(&mut [0]).unwrap_err();
    alone.begin(b"a").unwrap();
    let error = alone.begin(b"b").unwrap_err();
    assert_eq!(error.downcast_ref::<Error>().unwrap().code(), DocaError::BAD_STATE);
    assert_eq!(finish(&mut alone, 1).unwrap(), b"a", "the first goes on");
}
