//! [`Map`]: what buffers can lie in.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::inner::Inner;
use crate::mmap::Mmap;
use crate::remote::RemoteMmap;

/// What buffers can lie in: [`Mmap`] and [`RemoteMmap`].
pub trait Map: sealed::Sealed {}

#[doc(hidden)]
impl dyn Map + '_ {
    /// How many buffers lie in it.
    pub fn buffers(&self) -> u32 {
        self.memory().0.buffers.load(Ordering::Relaxed)
    }

    /// How many shares, copies and buffers there are.
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
        fn memory(&self) -> Handle<'_>;
    }

    /// What a map is a handle of.
    #[derive(Debug)]
    pub struct Handle<'a>(pub(crate) &'a Arc<Inner>);

    impl Sealed for Mmap {
        fn memory(&self) -> Handle<'_> {
            Handle(self.inner())
        }
    }

    impl Sealed for RemoteMmap {
        fn memory(&self) -> Handle<'_> {
            Handle(self.inner())
        }
    }
}
