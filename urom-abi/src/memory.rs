//! Memory ranges and permissions in commands. `urom-memory` contains the memory itself.

use std::fmt;
use std::ops::{Bound, Range, RangeBounds};

use bytemuck::{Pod, Zeroable};

use crate::Described;

bitflags::bitflags! {
    /// Permissions of a memory's owner and of others (`enum doca_access_flag`). Others are all
    /// plugins that share it. Here an `RDMA_` permission acts like its `PCI_` counterpart.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Access: u32 {
        /// The owner may read. The value is 0, because every other permission includes it.
        const LOCAL_READ_ONLY = 0;
        /// The owner may read and write.
        const LOCAL_READ_WRITE = 1;
        /// DOCA: peers may read over a network. Here plugins may read.
        const RDMA_READ = 1 << 1;
        /// DOCA: peers may write over a network. Here as [`PCI_READ_WRITE`](Self::PCI_READ_WRITE).
        const RDMA_WRITE = 1 << 2;
        /// DOCA: atomics over a network. Here as [`PCI_READ_WRITE`](Self::PCI_READ_WRITE).
        const RDMA_ATOMIC = 1 << 3;
        /// DOCA: the DPU may read. Here plugins may read.
        const PCI_READ_ONLY = 1 << 4;
        /// DOCA: the DPU may read and write. Here plugins may also use atomic operations.
        const PCI_READ_WRITE = 1 << 5;
        /// DOCA: the DPU's accesses may be reordered. No effect here.
        const PCI_RELAXED_ORDERING = 1 << 6;
    }
}

impl Access {
    /// Returns whether others may read. Only such memory can be exported and shared.
    #[must_use]
    pub const fn others_read(self) -> bool {
        self.intersects(Access::RDMA_READ.union(Access::PCI_READ_ONLY)) || self.others_write()
    }

    /// Returns whether others may write and use atomic operations.
    #[must_use]
    pub const fn others_write(self) -> bool {
        self.intersects(Access::PCI_READ_WRITE.union(Access::RDMA_WRITE).union(Access::RDMA_ATOMIC))
    }
}

/// A part of a memory map in a command. The receiver checks it: it does not grant access.
///
/// ```
/// use urom_abi::memory::MemoryRange;
///
/// let whole = MemoryRange { memory: 7, offset: 0, len: 4096 };
/// let last = whole.slice(4000..);
/// assert_eq!((last.memory, last.offset, last.len), (7, 4000, 96));
/// assert_eq!(last.get(..97), None);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable, Described)]
pub struct MemoryRange {
    /// The number of the memory map.
    pub memory: u64,
    /// Offset of the range in the map, in bytes.
    pub offset: u64,
    /// Length of the range in bytes.
    pub len: u64,
}

assert_layout!(MemoryRange, 24, align 8, { memory @ 0, offset @ 8, len @ 16 });

impl MemoryRange {
    /// Returns a part of this range, in bytes from its start; `None` outside it.
    #[must_use]
    pub fn get(&self, range: impl RangeBounds<u64>) -> Option<MemoryRange> {
        let Range { start, end } = bounds(range, self.len);
        let len = end.checked_sub(start).filter(|_| end <= self.len)?;
        Some(MemoryRange { memory: self.memory, offset: self.offset.checked_add(start)?, len })
    }

    /// Same as [`get`](Self::get), but panics.
    ///
    /// # Panics
    /// The part is outside this range.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<u64>) -> MemoryRange {
        let part = bounds(range, self.len);
        match self.get(part.clone()) {
            Some(part) => part,
            None => panic!("the part {part:?} does not lie within {self}"),
        }
    }

    /// Returns the end of the range, in bytes from the start of the map; `None` on overflow.
    #[must_use]
    pub const fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.len)
    }
}

/// Returns start and end in memory of `size` bytes, unchecked: the end may precede the start.
#[doc(hidden)]
pub fn bounds(range: impl RangeBounds<u64>, size: u64) -> Range<u64> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => size.max(start),
    };
    start..end
}

impl fmt::Display for MemoryRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {} of memory {:#x}", self.len, self.offset, self.memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: MemoryRange = MemoryRange { memory: 7, offset: 100, len: 10 };

    #[test]
    fn a_part_lies_within_its_range() {
        for (start, end) in [(0, 0), (0, 10), (3, 7), (10, 10)] {
            let part = RANGE.slice(start..end);
            assert_eq!(part, MemoryRange { memory: 7, offset: 100 + start, len: end - start });
        }
        assert_eq!(RANGE.get(..), Some(RANGE));
        assert_eq!(RANGE.get(2..=9), Some(RANGE.slice(2..)));
        assert_eq!(RANGE.get((Bound::Excluded(1), Bound::Unbounded)), Some(RANGE.slice(2..)));
    }

    #[test]
    fn a_part_outside_the_range_is_none() {
        for (start, end) in [(0, 11), (11, 11), (7, 3), (u64::MAX, u64::MAX), (u64::MAX, 0)] {
            assert_eq!(RANGE.get(start..end), None, "{start} {end}");
        }
        assert_eq!(RANGE.get(..=u64::MAX), None);
        assert_eq!(RANGE.get((Bound::Excluded(u64::MAX), Bound::Unbounded)), None);
        let impossible = MemoryRange { memory: 0, offset: u64::MAX, len: u64::MAX };
        assert_eq!((impossible.get(1..), impossible.end()), (None, None));
    }

    #[test]
    #[should_panic(expected = "the part 5..11 does not lie within 10 bytes at 100 of memory 0x7")]
    fn a_slice_outside_panics() {
        let _ = RANGE.slice(5..11);
    }

    #[test]
    fn access_bits_decide_the_permissions_of_others() {
        assert!(!Access::LOCAL_READ_ONLY.others_read());
        assert!(!Access::LOCAL_READ_WRITE.union(Access::PCI_RELAXED_ORDERING).others_read());
        for reads in [Access::RDMA_READ, Access::PCI_READ_ONLY] {
            assert!(reads.others_read() && !reads.others_write());
        }
        for writes in [Access::RDMA_WRITE, Access::RDMA_ATOMIC, Access::PCI_READ_WRITE] {
            assert!(writes.others_read() && writes.others_write());
        }
        assert_eq!(Access::from_bits(128), None);
    }
}
