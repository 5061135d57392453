//! Local memory of an operation: what bytes come from, and what they go to.

use rdma_protocol::MemoryRange;
use smallvec::SmallVec;
use urom_host::Result;
use urom_host::memory::{Buffer, ShareGuard, Slice};

/// The ranges of a list.
pub(crate) type Ranges = SmallVec<[MemoryRange; 4]>;

mod sealed {
    use super::*;

    pub trait Sealed {
        /// The maps that the bytes lie in.
        fn each_map(&self, visit: &mut dyn FnMut(ShareGuard)) -> Result<()>;
    }
}

pub(crate) use sealed::Sealed;

/// What bytes come from: the data of a [`Buffer`] or of each element of its list, a [`Slice`] of a
/// map, or `()` for no bytes.
pub trait Source: sealed::Sealed {
    /// The bytes.
    #[doc(hidden)]
    fn pieces(&self, add: &mut dyn FnMut(MemoryRange));
}

/// What bytes go to. A [`Slice`] or `()` takes as many as it has.
///
/// A [`Buffer`] takes the bytes of a message from the beginning of its data to its end, in each
/// element of its list, and its data are then what came. The bytes of a read go to its data.
pub trait Destination: sealed::Sealed {
    /// Where a message goes.
    #[doc(hidden)]
    fn rooms(&self, add: &mut dyn FnMut(MemoryRange));

    /// Where the bytes of a read go.
    #[doc(hidden)]
    fn places(&self, add: &mut dyn FnMut(MemoryRange));

    /// Notes how long the message was.
    #[doc(hidden)]
    fn received(&self, len: u64) -> Result<()>;
}

impl Sealed for () {
    fn each_map(&self, _: &mut dyn FnMut(ShareGuard)) -> Result<()> {
        Ok(())
    }
}

impl Source for () {
    fn pieces(&self, _: &mut dyn FnMut(MemoryRange)) {}
}

impl Destination for () {
    fn rooms(&self, _: &mut dyn FnMut(MemoryRange)) {}

    fn places(&self, _: &mut dyn FnMut(MemoryRange)) {}

    fn received(&self, _: u64) -> Result<()> {
        Ok(())
    }
}

impl Sealed for Slice {
    fn each_map(&self, visit: &mut dyn FnMut(ShareGuard)) -> Result<()> {
        visit(self.guard());
        Ok(())
    }
}

impl Source for Slice {
    fn pieces(&self, add: &mut dyn FnMut(MemoryRange)) {
        add(self.range());
    }
}

impl Destination for Slice {
    fn rooms(&self, add: &mut dyn FnMut(MemoryRange)) {
        add(self.range());
    }

    fn places(&self, add: &mut dyn FnMut(MemoryRange)) {
        add(self.range());
    }

    fn received(&self, _: u64) -> Result<()> {
        Ok(())
    }
}

impl Sealed for Buffer {
    fn each_map(&self, visit: &mut dyn FnMut(ShareGuard)) -> Result<()> {
        for guard in self.guards() {
            visit(guard?);
        }
        Ok(())
    }
}

impl Source for Buffer {
    fn pieces(&self, add: &mut dyn FnMut(MemoryRange)) {
        self.list().for_each(add);
    }
}

impl Destination for Buffer {
    fn rooms(&self, add: &mut dyn FnMut(MemoryRange)) {
        Buffer::rooms(self).for_each(add);
    }

    fn places(&self, add: &mut dyn FnMut(MemoryRange)) {
        self.list().for_each(add);
    }

    fn received(&self, len: u64) -> Result<()> {
        Ok(Buffer::received(self, len)?)
    }
}

impl<T: Sealed> Sealed for &T {
    fn each_map(&self, visit: &mut dyn FnMut(ShareGuard)) -> Result<()> {
        (**self).each_map(visit)
    }
}

impl<T: Source> Source for &T {
    fn pieces(&self, add: &mut dyn FnMut(MemoryRange)) {
        (**self).pieces(add);
    }
}

impl<T: Destination> Destination for &T {
    fn rooms(&self, add: &mut dyn FnMut(MemoryRange)) {
        (**self).rooms(add);
    }

    fn places(&self, add: &mut dyn FnMut(MemoryRange)) {
        (**self).places(add);
    }

    fn received(&self, len: u64) -> Result<()> {
        (**self).received(len)
    }
}
