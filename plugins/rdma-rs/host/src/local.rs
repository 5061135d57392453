//! Local memory of an operation: its source or destination.

use rdma_protocol::MemoryRange;
use smallvec::SmallVec;
use urom_host::Result;
use urom_host::memory::{Buffer, ShareGuard, Slice};

pub(crate) type Ranges = SmallVec<[MemoryRange; 4]>;

mod sealed {
    use super::*;

    pub trait Sealed {
        fn each_map(&self, visit: &mut dyn FnMut(ShareGuard)) -> Result<()>;
    }
}

pub(crate) use sealed::Sealed;

/// The source of an operation: the data of a [`Buffer`] list, a [`Slice`] of a map, or `()`.
pub trait Source: sealed::Sealed {
    /// Visits the source's ranges.
    #[doc(hidden)]
    fn pieces(&self, add: &mut dyn FnMut(MemoryRange));
}

/// The destination of an operation. A [`Slice`] or `()` has a fixed size.
///
/// A [`Buffer`] receives a message from the start of its data to its end, in each element of its
/// list, and its data is then the message. The bytes of a read replace its data.
pub trait Destination: sealed::Sealed {
    /// Visits the ranges for a message.
    #[doc(hidden)]
    fn receive_ranges(&self, add: &mut dyn FnMut(MemoryRange));

    /// Visits the ranges for a read.
    #[doc(hidden)]
    fn read_ranges(&self, add: &mut dyn FnMut(MemoryRange));

    /// Records the length of the message.
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
    fn receive_ranges(&self, _: &mut dyn FnMut(MemoryRange)) {}

    fn read_ranges(&self, _: &mut dyn FnMut(MemoryRange)) {}

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
    fn receive_ranges(&self, add: &mut dyn FnMut(MemoryRange)) {
        add(self.range());
    }

    fn read_ranges(&self, add: &mut dyn FnMut(MemoryRange)) {
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
    fn receive_ranges(&self, add: &mut dyn FnMut(MemoryRange)) {
        Buffer::receive_ranges(self).for_each(add);
    }

    fn read_ranges(&self, add: &mut dyn FnMut(MemoryRange)) {
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
    fn receive_ranges(&self, add: &mut dyn FnMut(MemoryRange)) {
        (**self).receive_ranges(add);
    }

    fn read_ranges(&self, add: &mut dyn FnMut(MemoryRange)) {
        (**self).read_ranges(add);
    }

    fn received(&self, len: u64) -> Result<()> {
        (**self).received(len)
    }
}
