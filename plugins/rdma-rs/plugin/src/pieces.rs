//! The memory of an operation: a list of ranges of a host's memory.

use std::ops::Range;

use rdma_protocol::{Access, MemoryRange};
use smallvec::SmallVec;
use urom_pdk::memory::{HostMemory, Memories};
use urom_pdk::{prelude::*, time};

use crate::LIMITS;

/// Block size of reads and writes of unmapped memory.
pub(crate) const BLOCK: u64 = 1 << 20;

#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    /// The non-empty pieces. Only a longer list allocates.
    list: SmallVec<[HostMemory; 1]>,
    len: u64,
}

impl Pieces {
    /// Opens ranges; the host needs read and write access, and the plugin too for writes.
    pub(crate) fn open(
        memories: &Memories,
        ranges: impl ExactSizeIterator<Item = MemoryRange>,
        writes: bool,
    ) -> Result<Pieces> {
        let (count, most) = (ranges.len(), LIMITS.list as usize);
        ensure!(count <= most, DocaError::TOO_BIG, "{count} buffers in a list exceed {most}");
        let mut pieces = Pieces::default();
        for range in ranges.filter(|range| range.len > 0) {
            let memory = memories.open(range)?;
            memory.require(Access::LOCAL_READ_WRITE)?;
            ensure!(
                !writes || memory.access().others_write(),
                DocaError::NOT_PERMITTED,
                "{range}: the plugin may only read it: share it with rdma_host"
            );
            pieces.len = pieces.len.saturating_add(range.len);
            pieces.list.push(memory);
        }
        let (len, most) = (pieces.len, LIMITS.message);
        ensure!(len <= most, DocaError::TOO_BIG, "{len} bytes exceed {most}");
        Ok(pieces)
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn parts(&self, most: u64) -> impl Iterator<Item = (u64, HostMemory)> {
        self.with_offsets().flat_map(move |(at, piece)| {
            let starts = (0..piece.len()).step_by(most as usize);
            starts.map(move |from| (at + from, piece.slice(from..piece.len().min(from + most))))
        })
    }

    fn with_offsets(&self) -> impl Iterator<Item = (u64, &HostMemory)> {
        self.list.iter().scan(0, |end, piece| {
            let at = *end;
            *end += piece.len();
            Some((at, piece))
        })
    }

    pub(crate) fn part(&self, range: Range<u64>) -> Pieces {
        let within = self.with_offsets().filter_map(|(at, piece)| {
            let (start, end) = (range.start.max(at), range.end.min(at + piece.len()));
            (start < end).then(|| piece.slice(start - at..end - at))
        });
        Pieces { list: within.collect(), len: range.end - range.start }
    }

    pub(crate) fn single(&self) -> Option<&HostMemory> {
        self.list.first().filter(|_| self.list.len() == 1)
    }

    pub(crate) fn are_mapped(&self) -> bool {
        self.list.iter().all(|piece| piece.mapped().is_some())
    }

    pub(crate) fn copy_from(&self, bytes: &[u8]) -> Result<u64> {
        for (at, piece) in self.with_offsets() {
            if let Some(view) = piece.mapped() {
                view.copy_from(0, &bytes[at as usize..(at + piece.len()) as usize])?;
            }
        }
        Ok(self.len)
    }

    pub(crate) async fn write(&self, bytes: &[u8]) -> Result<u64> {
        for (at, piece) in self.parts(BLOCK) {
            piece.write(0, &bytes[at as usize..(at + piece.len()) as usize]).await?;
            // The kernel copies inside the call, so yield between blocks.
            time::yield_now().await;
        }
        Ok(self.len)
    }

    pub(crate) fn overlaps(&self, other: &Pieces) -> bool {
        let range = |piece: &HostMemory| piece.address()..piece.address() + piece.len();
        self.list.iter().map(range).any(|one| {
            other.list.iter().map(range).any(|two| one.start.max(two.start) < one.end.min(two.end))
        })
    }
}

impl From<HostMemory> for Pieces {
    fn from(memory: HostMemory) -> Pieces {
        let len = memory.len();
        Pieces { list: (len > 0).then_some(memory).into_iter().collect(), len }
    }
}
