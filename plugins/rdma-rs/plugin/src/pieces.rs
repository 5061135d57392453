//! The local memory of an operation: a list of parts of the host's memory, one after the other.

use std::ops::Range;
use std::time::Duration;

use rdma_protocol::{Access, MemoryRange};
use urom_pdk::memory::{HostMemory, Memories};
use urom_pdk::{prelude::*, time};

use crate::{LIMITS, List};

/// Bytes of one piece are read or written in blocks of this size where they are not mapped.
pub(crate) const BLOCK: u64 = 1 << 20;

#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    /// Those with bytes.
    list: List<HostMemory>,
    len: u64,
}

impl Pieces {
    /// Opens the ranges of a list, which the host may read and write itself, and this plugin if
    /// bytes go there.
    pub(crate) fn open(
        memories: &Memories,
        ranges: impl ExactSizeIterator<Item = MemoryRange>,
        writes: bool,
    ) -> Result<Pieces> {
        if ranges.len() > LIMITS.list as usize {
            let text = format!("{} buffers in a list: {} are the most", ranges.len(), LIMITS.list);
            return Err(Error::new(DocaError::TOO_BIG, text));
        }
        let mut pieces = Pieces::default();
        for range in ranges.filter(|range| range.len > 0) {
            let memory = memories.open(range)?;
            if !memory.access().contains(Access::LOCAL_READ_WRITE) {
                let text = format!("{range}: local memory of an operation is LOCAL_READ_WRITE");
                return Err(Error::new(DocaError::NOT_PERMITTED, text));
            }
            if writes && !memory.access().others_write() {
                let text = format!(
                    "{range}: it was shared with permissions to read alone; end that share, and \
                     let rdma_host share it"
                );
                return Err(Error::new(DocaError::NOT_PERMITTED, text));
            }
            pieces.len = pieces.len.saturating_add(range.len);
            pieces.list.push(memory);
        }
        if pieces.len > LIMITS.message {
            let text = format!("{} bytes: {} are the most", pieces.len, LIMITS.message);
            return Err(Error::new(DocaError::TOO_BIG, text));
        }
        Ok(pieces)
    }

    pub(crate) fn of(memory: HostMemory) -> Pieces {
        let len = memory.len();
        Pieces { list: List::from_iter((len > 0).then_some(memory)), len }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The pieces in parts of at most so many bytes, each with where it begins.
    pub(crate) fn parts_of(&self, most: u64) -> impl Iterator<Item = (u64, HostMemory)> {
        self.parts().flat_map(move |(at, piece)| {
            (0..piece.len())
                .step_by(most as usize)
                .map(move |from| (at + from, piece.slice(from..piece.len().min(from + most))))
        })
    }

    /// The pieces, each with where it begins.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (u64, &HostMemory)> {
        self.list.iter().scan(0, |end, piece| {
            let at = *end;
            *end += piece.len();
            Some((at, piece))
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    /// What of the pieces the bytes in a range of the whole are.
    fn within(&self, range: Range<u64>) -> impl Iterator<Item = (u64, HostMemory)> {
        self.parts().filter_map(move |(at, piece)| {
            let start = range.start.max(at);
            let end = range.end.min(at + piece.len());
            (start < end).then(|| (start, piece.slice(start - at..end - at)))
        })
    }

    /// The one piece that a range of the whole lies in.
    pub(crate) fn single(&self, range: Range<u64>) -> Option<HostMemory> {
        let (_, piece) = self.within(range.clone()).next()?;
        (piece.len() == range.end - range.start).then_some(piece)
    }

    /// Copies bytes into mapped pieces. Whether they are mapped; nothing is copied otherwise.
    pub(crate) fn copy_from(&self, at: u64, bytes: &[u8]) -> Result<bool> {
        let range = at..at + bytes.len() as u64;
        if self.within(range.clone()).any(|(_, piece)| piece.mapped().is_none()) {
            return Ok(false);
        }
        for (start, piece) in self.within(range) {
            let from = (start - at) as usize;
            let bytes = &bytes[from..from + piece.len() as usize];
            if let Some(view) = piece.mapped() {
                view.copy_from(0, bytes)?;
            }
        }
        Ok(true)
    }

    /// Copies bytes into pieces on any path.
    pub(crate) async fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let parts: List<_> = self.within(at..at + bytes.len() as u64).collect();
        for (start, piece) in parts {
            let from = (start - at) as usize;
            let bytes = &bytes[from..from + piece.len() as usize];
            for (block, bytes) in (0..).zip(bytes.chunks(BLOCK as usize)) {
                piece.write(block * BLOCK, bytes).await?;
                // The kernel copies in the call: others have their turn.
                time::sleep(Duration::ZERO).await;
            }
        }
        Ok(())
    }

    /// Whether some bytes of these are bytes of the others.
    pub(crate) fn overlaps(&self, other: &Pieces) -> bool {
        let range = |piece: &HostMemory| piece.address()..piece.address() + piece.len();
        self.list.iter().map(range).any(|one| {
            other.list.iter().map(range).any(|two| one.start.max(two.start) < one.end.min(two.end))
        })
    }
}
