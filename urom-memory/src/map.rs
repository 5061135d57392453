//! [`Map`]: what buffers can lie in.

use std::sync::Arc;

use crate::inner::Inner;
use crate::mmap::Mmap;
use crate::remote::RemoteMmap;

/// What buffers can lie in: [`Mmap`] and [`RemoteMmap`].
pub trait Map: sealed::Sealed {}

impl Map for Mmap {}
impl Map for RemoteMmap {}

pub(crate) mod sealed {
    use super::*;

    pub trait Sealed {
        #[doc(hidden)]
        fn memory(&self) -> Memory<'_>;
    }

    /// The memory of a map.
    #[derive(Debug)]
    pub struct Memory<'a>(pub(crate) &'a Arc<Inner>);

    impl Sealed for Mmap {
        fn memory(&self) -> Memory<'_> {
            Memory(self.inner())
        }
    }

    impl Sealed for RemoteMmap {
        fn memory(&self) -> Memory<'_> {
            Memory(self.inner())
        }
    }
}
