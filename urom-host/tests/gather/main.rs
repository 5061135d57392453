//! The ready all-gathers, among themselves and with bad participants. Those that need `mpirun` are
//! tested with the whole path.

mod in_process;
mod meeting;
mod rendezvous;
mod strangers;

use std::time::{Duration, Instant};

use urom_host::gather::{AllGather, BoxError};

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(20);

/// What participant `index` gives in exchange number `round`.
fn block(index: u32, round: u32, length: usize) -> Vec<u8> {
    (0..length as u32).map(|at| (at ^ index << 4 ^ round << 6).to_le_bytes()[0]).collect()
}

/// Runs an exchange to its end.
fn exchange(gather: &mut impl AllGather, own: &[u8]) -> Result<Vec<u8>, BoxError> {
    gather.begin(own)?;
    finish(gather, own.len())
}

/// Tests an exchange until it is over.
fn finish(gather: &mut impl AllGather, length: usize) -> Result<Vec<u8>, BoxError> {
    let mut blocks = vec![0; length * gather.participants() as usize];
    let deadline = Instant::now() + LIMIT;
    while !gather.test(&mut blocks)? {
        assert!(Instant::now() < deadline, "the exchange never ends");
        std::thread::yield_now();
    }
    Ok(blocks)
}

/// Exchanges blocks of the given lengths, and checks what comes of it.
fn exchanges(gather: &mut impl AllGather, lengths: &[usize]) {
    for (&length, round) in lengths.iter().zip(0..) {
        let blocks = exchange(gather, &block(gather.index(), round, length)).unwrap();
        let expected: Vec<u8> =
            (0..gather.participants()).flat_map(|index| block(index, round, length)).collect();
        assert!(blocks == expected, "participant {}, exchange {round}", gather.index());
    }
}
