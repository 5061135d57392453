//! [`Map`]: memory maps that buffers can refer to.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::inner::MapInner;
use crate::mmap::Mmap;
use crate::remote::RemoteMmap;

/// A memory map that buffers can refer to: [`Mmap`] or [`RemoteMmap`].
pub trait Map: sealed::Sealed {}

#[doc(hidden)]
impl dyn Map + '_ {
    /// Returns the number of buffers in the map.
    pub fn buffers(&self) -> u32 {
        self.memory().0.buffers.load(Ordering::Relaxed)
    }

    /// Returns the number of shares, clones and buffers.
    pub fn shares(&self) -> usize {
        Arc::strong_count(self.memory().0) - 1
    }
}

impl Map for Mmap {}
impl Map for RemoteMmap {}

pub(crate) mod sealed {
    use super::*;

    pub trait Sealed {
        #[doc(hidden)]
        fn memory(&self) -> MapHandle<'_>;
    }

    #[derive(Debug)]
    pub struct MapHandle<'a>(pub(crate) &'a Arc<MapInner>);

    impl Sealed for Mmap {
        fn memory(&self) -> MapHandle<'_> {
            MapHandle(self.inner())
        }
    }

    impl Sealed for RemoteMmap {
        fn memory(&self) -> MapHandle<'_> {
            MapHandle(self.inner())
        }
    }
}
