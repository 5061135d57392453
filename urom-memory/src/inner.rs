//! [`MapInner`]: the memory that a map, its shares and its buffers keep alive.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use memmap2::MmapRaw;
use urom_abi::DocaError;
use urom_abi::memory::Access;
use urom_os::fork::{Maker, PerProcess};

use crate::error::{Error, Result};
use crate::exported::Exported;
use crate::memfd::Memfd;
use crate::view::View;

#[derive(Debug)]
pub(crate) struct MapInner {
    pub(crate) maker: Maker,
    pub(crate) id: u64,
    /// Address of the first byte in the owner's process.
    pub(crate) address: u64,
    pub(crate) len: u64,
    pub(crate) access: Access,
    pub(crate) backing: Backing,
    pub(crate) buffers: AtomicU32,
    /// Whether an uncounted user received a descriptor of it.
    pub(crate) is_given_away: AtomicBool,
}

#[derive(Debug)]
pub(crate) enum Backing {
    Memfd(Memfd),
    Vec {
        start: *mut u8,
        capacity: usize,
    },
    /// Owned by the caller of `Mmap::from_raw`.
    Lent(*mut u8),
    /// Another process's memory, mapped here.
    Received {
        map: MmapRaw,
        is_writable: bool,
    },
    /// Another process's memory, not mapped here.
    Elsewhere,
}

// SAFETY: the pointers are to memory that any thread may use, by the contracts of the constructors.
// It is accessed through `View`, which is `Sync`, and freed by the last owner.
unsafe impl Send for MapInner {}
// SAFETY: as above.
unsafe impl Sync for MapInner {}

impl Backing {
    /// Returns whether the memory is this process's own.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self, Backing::Memfd(_) | Backing::Vec { .. } | Backing::Lent(_))
    }
}

impl MapInner {
    pub(crate) fn new(exported: Exported, backing: Backing) -> Arc<MapInner> {
        let is_local = backing.is_local();
        Arc::new(MapInner {
            maker: Maker::here(),
            id: exported.id(),
            address: exported.address(),
            len: exported.len(),
            access: exported.access(),
            backing,
            buffers: 0.into(),
            // The owner of another process's memory has its descriptor.
            is_given_away: (!is_local).into(),
        })
    }

    /// Returns the address in this process and whether it is writable; `None` if not mapped.
    fn local(&self) -> Option<(*mut u8, bool)> {
        let may_write = self.access.contains(Access::LOCAL_READ_WRITE);
        match &self.backing {
            Backing::Memfd(memory) => Some((memory.map.as_mut_ptr(), may_write)),
            Backing::Vec { start, .. } | Backing::Lent(start) => Some((*start, may_write)),
            Backing::Received { map, is_writable } => Some((map.as_mut_ptr(), *is_writable)),
            Backing::Elsewhere => None,
        }
    }

    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        check(self.maker)
    }

    /// Checks that others may use the memory. `whose` is a prefix for the error message.
    pub(crate) fn check_export(&self, whose: &str) -> Result<()> {
        self.check()?;
        if self.access.others_read() {
            return Ok(());
        }
        Err(Error::not_permitted(format!(
            "{whose}memory {:#x} cannot be exported: others lack permission to use it; make the \
             memory with PCI_READ_ONLY, PCI_READ_WRITE, RDMA_READ, RDMA_WRITE or RDMA_ATOMIC",
            self.id
        )))
    }

    pub(crate) fn view(&self) -> Option<View<'_>> {
        let (start, is_writable) = self.local()?;
        // SAFETY: the memory is allocated as long as `self`. Only
        // `Mmap::try_exclusive_bytes` makes references to
        // it, and requires the only handle.
        Some(unsafe { View::from_raw(start, self.len, is_writable) })
    }
}

impl Drop for MapInner {
    fn drop(&mut self) {
        if let Backing::Vec { start, capacity } = self.backing {
            // SAFETY: from a vector of this length and capacity, which only this frees.
            drop(unsafe { Vec::from_raw_parts(start, self.len as usize, capacity) });
        }
    }
}

/// Fails with `BAD_STATE` in a child of the process `maker`.
#[inline]
pub(crate) fn check(maker: Maker) -> Result<()> {
    maker.check().map_err(|why| {
        Error::new(DocaError::BAD_STATE, format!("{why}: make it again in this process"))
    })
}

/// Returns a number that is unique in this process. Each process begins at a random number.
pub(crate) fn next_id() -> u64 {
    // The hash keys are the same in two children of one process.
    static NEXT: PerProcess<AtomicU64> =
        PerProcess::new(|| AtomicU64::new(RandomState::new().hash_one(std::process::id())));
    loop {
        // In a command, zero means: without memory.
        match NEXT.fetch_add(1, Ordering::Relaxed) {
            0 => {}
            id => return id,
        }
    }
}
