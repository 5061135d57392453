//! The ring of a host and a worker on one machine: two directions of cells in shared memory, and a
//! bell for each side, an eventfd that ends its sleep. The host makes the ring and hands its
//! descriptors over at the worker's socket. A host that stops, dies or writes garbage only stops
//! its own ring. A written frame is visible at once: frames are not batched.

pub(crate) mod cells;
#[cfg(test)]
mod cells_tests;
#[cfg(any(test, feature = "test-util"))]
pub(crate) mod local;
mod memory;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

pub use self::cells::{Garbage, cells_of};
use self::cells::{Lane, LaneReader, LaneWriter};
use self::memory::Half;
use crate::sync::{Arc, EventFd};

pub type RingReader = LaneReader<Half>;

pub type RingWriter = LaneWriter<Half>;

pub type Ring = (RingReader, RingWriter);

#[derive(Debug)]
pub struct RingDescriptors {
    memory: OwnedFd,
    worker_bell: EventFd,
    host_bell: EventFd,
}

pub const DESCRIPTORS: usize = 3;

impl RingDescriptors {
    pub fn as_fds(&self) -> [BorrowedFd<'_>; DESCRIPTORS] {
        [self.memory.as_fd(), self.worker_bell.as_fd(), self.host_bell.as_fd()]
    }
}

/// Creates a ring: the host's end, woken by `bell`, and the descriptors for the worker.
pub fn create(bell: &EventFd, limit: usize) -> io::Result<(Ring, RingDescriptors)> {
    let (memory, [there, back]) = memory::create()?;
    let (worker_bell, host_bell) = (EventFd::new()?, bell.try_clone()?);
    let ring = end(back, there, worker_bell.try_clone()?, limit);
    Ok((ring, RingDescriptors { memory, worker_bell, host_bell }))
}

/// Opens the worker's end of a ring, and the bell that ends the worker's sleep.
pub fn open(fds: [OwnedFd; DESCRIPTORS], limit: usize) -> io::Result<(Ring, EventFd)> {
    let [memory, worker_bell, host_bell] = fds;
    let [there, back] = memory::open(&memory)?;
    let ring = end(there, back, EventFd::received(host_bell)?, limit);
    Ok((ring, EventFd::received(worker_bell)?))
}

fn end(from: Half, to: Half, bell: EventFd, limit: usize) -> Ring {
    let bell = Arc::new(bell);
    let reader = LaneReader::new(Lane::new(from, Arc::clone(&bell)), limit);
    let writer = LaneWriter::new(Lane::new(to, bell));
    (reader, writer)
}
