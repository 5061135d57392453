//! The all-gathers of the crate, also with bad participants. Tests with `mpirun` are elsewhere.

mod in_process;
mod meeting;
mod rendezvous;
mod unknown_peers;

use std::thread;
use std::time::{Duration, Instant};

use urom_host::DocaError;
use urom_host::gather::{AllGather, BoxError, Error, InProcess};

use meeting::group;

const LIMIT: Duration = Duration::from_secs(20);

fn block(index: u32, round: u32, length: usize) -> Vec<u8> {
    let first = (index << 4 ^ round << 6) as u8;
    (0..length).map(|at| at as u8 ^ first).collect()
}

fn exchange(gather: &mut dyn AllGather, own: &[u8]) -> Result<Vec<u8>, BoxError> {
    gather.begin(own)?;
    finish(gather, own.len())
}

fn finish(gather: &mut dyn AllGather, length: usize) -> Result<Vec<u8>, BoxError> {
    let mut blocks = vec![0; length * gather.participants() as usize];
    let deadline = Instant::now() + LIMIT;
    while !gather.test(&mut blocks)? {
        assert!(Instant::now() < deadline, "the exchange never ends");
        std::thread::yield_now();
    }
    Ok(blocks)
}

fn exchanges(gather: &mut dyn AllGather, lengths: &[usize]) {
    for (&length, round) in lengths.iter().zip(0..) {
        let own = block(gather.index(), round, length);
        let blocks = exchange(gather, &own).unwrap();
        for (index, found) in (0..).zip(blocks.chunks(length.max(1))) {
            assert!(found == block(index, round, length), "of {index}, exchange {round}");
        }
    }
}

fn code(error: &BoxError) -> DocaError {
    error.downcast_ref::<Error>().unwrap().code()
}

fn groups(participants: u32) -> [Vec<Box<dyn AllGather + Send>>; 2] {
    let in_process = InProcess::group(participants).into_iter();
    [
        in_process.map(|participant| Box::new(participant) as _).collect(),
        group(participants).into_iter().map(|participant| Box::new(participant) as _).collect(),
    ]
}

#[test]
fn participants_exchange_blocks_of_any_length_again_and_again() {
    // Several times the size of a socket's buffers.
    let big = 6 << 20;
    for group in groups(4) {
        thread::scope(|scope| {
            for mut participant in group {
                scope.spawn(move || exchanges(&mut *participant, &[8, 0, 1, big, 8, 100_000, 0]));
            }
        });
    }
}

#[test]
fn blocks_of_different_lengths_are_an_error_for_both() {
    for mut group in groups(2) {
        let (mut other, mut first) = (group.pop().unwrap(), group.pop().unwrap());
        other.begin(b"12").unwrap();
        assert!(!other.test(&mut [0; 4]).unwrap());
        let error = exchange(&mut *first, b"1234").unwrap_err();
        assert_eq!(error.to_string(), "participant 1 gives 2 bytes, participant 0 4");
        assert_eq!(code(&error), DocaError::INVALID_VALUE);
        let error = finish(&mut *other, 2).unwrap_err();
        assert!(error.to_string().contains("participant 0"), "{error}");
    }
}

#[test]
fn one_exchange_at_a_time() {
    for mut group in groups(1) {
        group[0].begin(b"a").unwrap();
        assert_eq!(code(&group[0].begin(b"b").unwrap_err()), DocaError::BAD_STATE);
        assert_eq!(finish(&mut *group[0], 1).unwrap(), b"a", "the first goes on");
        let error = group[0].test(&mut [0]).unwrap_err();
        assert_eq!(code(&error), DocaError::BAD_STATE, "none is under way");
    }
}
