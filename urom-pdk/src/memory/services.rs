//! The worker's services for hosts' memory.

use std::cell::Cell;
#[cfg(feature = "ucx")]
use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::NonNull;
#[cfg(feature = "ucx")]
use std::rc::Rc;

use urom_abi::extension::WorkerServices;
use urom_abi::host_memory::{HostMemory, MemoryOperation};
use urom_abi::plugin::WorkerCtx;
use urom_abi::{DocaError, DocaStatus};
use urom_memory::Watch;

pub(crate) struct MemoryServices {
    ctx: NonNull<WorkerCtx>,
    services: WorkerServices,
    is_open: Cell<bool>,
    watches: u64,
    #[cfg(feature = "ucx")]
    borrows: RefCell<Vec<BorrowedRange>>,
}

impl MemoryServices {
    pub(crate) fn new(ctx: NonNull<WorkerCtx>, services: WorkerServices) -> MemoryServices {
        MemoryServices {
            ctx,
            services,
            is_open: Cell::new(true),
            watches: Watch::new_group(),
            #[cfg(feature = "ucx")]
            borrows: RefCell::default(),
        }
    }

    pub(crate) fn close_all(&self) {
        self.is_open.set(false);
        Watch::end_group(self.watches);
    }

    pub(super) fn watches(&self) -> u64 {
        self.watches
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_open.get()
    }

    pub(crate) fn open(
        &self,
        dest_id: u64,
        memory: u64,
        offset: u64,
        len: u64,
    ) -> Result<HostMemory, DocaError> {
        let open = self.services.open_memory.filter(|_| self.is_open());
        let open = open.ok_or(DocaError::NOT_SUPPORTED)?;
        let mut opened = HostMemory::NONE;
        // SAFETY: the worker's function, with the context of its `attach` and a writable `opened`.
        unsafe { open(self.ctx.as_ptr(), dest_id, memory, offset, len, &mut opened) }.check()?;
        Ok(opened)
    }

    /// `BAD_STATE` when the plugin is closed.
    /// # Safety
    /// The operation does not move until it has ended, and has as many bytes as it transfers.
    pub(crate) unsafe fn run(
        &self,
        handle: *mut c_void,
        operation: *mut MemoryOperation,
    ) -> DocaStatus {
        match self.services.run_memory.filter(|_| self.is_open()) {
            // SAFETY: the worker's function with its context; the caller guarantees the operation.
            Some(run) => unsafe { run(self.ctx.as_ptr(), handle, operation) },
            None => DocaStatus::BAD_STATE,
        }
    }

    pub(crate) fn keep(&self, handle: *mut c_void) {
        if let Some(keep) = self.services.keep_memory.filter(|_| self.is_open()) {
            // SAFETY: the worker's function, with the context of its `attach`.
            unsafe { keep(self.ctx.as_ptr(), handle) };
        }
    }

    pub(crate) fn close(&self, handle: *mut c_void) {
        if let Some(close) = self.services.close_memory.filter(|_| self.is_open()) {
            // SAFETY: the worker's function, with the context of its `attach`.
            unsafe { close(self.ctx.as_ptr(), handle) };
        }
    }
}

/// Bytes of a host in use by UCX requests: connection, addresses, and whether they are read only.
#[cfg(feature = "ucx")]
type BorrowedRange = (u64, std::ops::Range<u64>, bool);

#[cfg(feature = "ucx")]
pub(crate) struct RangeBorrow {
    of: Rc<MemoryServices>,
    taken: BorrowedRange,
}

#[cfg(feature = "ucx")]
impl MemoryServices {
    /// Claims bytes; `None` when a request uses some of them exclusively.
    pub(crate) fn borrow_range(
        self: &Rc<Self>,
        dest_id: u64,
        range: std::ops::Range<u64>,
        shared: bool,
    ) -> Option<RangeBorrow> {
        let clashes = |(of, other, reads): &BorrowedRange| {
            *of == dest_id
                && !(*reads && shared)
                && other.start.max(range.start) < other.end.min(range.end)
        };
        let mut borrows = self.borrows.borrow_mut();
        if borrows.iter().any(clashes) {
            return None;
        }
        let taken = (dest_id, range, shared);
        borrows.push(taken.clone());
        Some(RangeBorrow { of: Rc::clone(self), taken })
    }
}

#[cfg(feature = "ucx")]
impl Drop for RangeBorrow {
    fn drop(&mut self) {
        let mut borrows = self.of.borrows.borrow_mut();
        // Equal borrows are all read-only: any of them can be removed.
        if let Some(at) = borrows.iter().position(|taken| *taken == self.taken) {
            borrows.swap_remove(at);
        }
    }
}
