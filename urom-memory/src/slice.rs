//! [`Slice`]: a part of a map that keeps the map's memory.

use std::ops::RangeBounds;
use std::sync::Arc;

use urom_abi::memory::MemoryRange;

use crate::inner::MapInner;
use crate::mmap::{Mmap, ShareGuard};
use crate::view::View;

/// A part of a map that keeps the memory allocated, for operations that outlive the call. While it
/// exists, [`Mmap::try_exclusive_bytes`] fails with `IN_USE`. Any thread may use it.
#[derive(Clone, Debug)]
pub struct Slice {
    map: Arc<MapInner>,
    range: MemoryRange,
}

impl Mmap {
    /// Returns a part of the map, in bytes from its beginning.
    ///
    /// # Panics
    /// When the range does not lie within the map.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<u64>) -> Slice {
        Slice { map: Arc::clone(self.inner()), range: self.range().slice(range) }
    }
}

impl Slice {
    /// Returns the part as a command's field.
    #[must_use]
    pub fn range(&self) -> MemoryRange {
        self.range
    }

    /// Returns the bytes, which other processes may write at any time.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        let (start, end) = (self.range.offset, self.range.offset + self.range.len);
        let part = self.map.view().and_then(|view| view.slice(start..end).ok());
        part.expect("a slice lies in a map of this process")
    }

    /// Returns the whole map, for a share.
    #[doc(hidden)]
    #[must_use]
    pub fn guard(&self) -> ShareGuard {
        ShareGuard::of(&self.map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Access;

    #[test]
    fn a_slice_keeps_the_memory_of_its_map() {
        let mut map = Mmap::from_vec(vec![7; 100], Access::LOCAL_READ_WRITE).unwrap();
        let slice = map.slice(10..20);
        assert_eq!((slice.range(), slice.view().len()), (map.range().slice(10..20), 10));
        assert!(map.try_exclusive_bytes().is_err());
        drop(map);
        let mut bytes = [0; 10];
        slice.view().copy_to(0, &mut bytes).unwrap();
        assert_eq!(bytes, [7; 10]);
    }

    #[test]
    #[should_panic(expected = "does not lie within")]
    fn a_slice_beyond_the_map_is_refused() {
        let map = Mmap::from_vec(vec![7; 100], Access::LOCAL_READ_WRITE).unwrap();
        let _ = map.slice(90..101);
    }
}
