//! The memory of a ring: a sealed memfd that host and worker map, with one direction in each half.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use memmap2::{Advice, MmapRaw};
use urom_memory::memfd;

use super::cells::{Cell, LaneControl, LaneMemory};
use crate::sync::Arc;

const CELLS: usize = 1024;

/// A direction in the memory. All zeros is an empty one.
#[repr(C)]
#[derive(Debug)]
struct RingDirection {
    control: LaneControl,
    cells: [Cell; CELLS],
}

const BYTES: u64 = 2 * size_of::<RingDirection>() as u64;

/// One half of a ring's memory, which stays mapped while either half is in use.
#[derive(Debug)]
pub struct Half {
    /// In the mapping that `_map` keeps. It does not leave this value.
    direction: &'static RingDirection,
    _map: Arc<MmapRaw>,
}

impl LaneMemory for Half {
    #[inline(always)]
    fn control(&self) -> &LaneControl {
        &self.direction.control
    }

    #[inline(always)]
    fn cells(&self) -> &[Cell] {
        &self.direction.cells
    }
}

pub(super) fn create() -> io::Result<(OwnedFd, [Half; 2])> {
    let (fd, map) = memfd::create("urom-ring", BYTES)?;
    Ok((fd, halves(map)))
}

pub(super) fn open(fd: &OwnedFd) -> io::Result<[Half; 2]> {
    memfd::map_received(fd.as_fd(), 0, BYTES, true).map(halves)
}

fn halves(map: MmapRaw) -> [Half; 2] {
    // A forked child does not use it. Without the advice it would keep a mapping.
    let _ = map.advise(Advice::DontFork);
    let map = Arc::new(map);
    [0, 1].map(|number| {
        let direction = map.as_ptr().cast::<RingDirection>().wrapping_add(number);
        // SAFETY: `map` maps `BYTES` bytes, two directions, page-aligned, and the value keeps it.
        // All fields are atomics: the other process may write at any time, and any bytes are valid.
        // `memfd` seals and checks the file, so it does not shrink under the mapping.
        let direction = unsafe { &*direction };
        Half { direction, _map: Arc::clone(&map) }
    })
}
