//! [`Region`]: a host's shared memory, and the [`Path`] to its bytes.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use urom_abi::DocaError;
use urom_abi::host_memory::{HostMemory, MemoryAction, MemoryOperation, MemoryPath};
use urom_abi::memory::Access;

use crate::error::{Error, Result};
use crate::view::View;

/// Memory as its host describes it.
#[derive(Clone, Copy, Debug)]
pub struct Offered {
    /// Number of the share. Sharing a memory again makes a new number.
    pub share: u64,
    pub memory: u64,
    /// Address of its first byte in the host.
    pub address: u64,
    pub len: u64,
    pub access: Access,
}

impl Offered {
    #[must_use]
    pub fn refuse(&self, code: DocaError, why: &str) -> Error {
        Error::new(code, format!("memory {:#x} cannot be shared: {why}", self.memory))
    }

    pub(super) fn check(&self) -> Result<()> {
        let &Offered { address, len, access, .. } = self;
        if len == 0 || address.checked_add(len).is_none() || isize::try_from(len).is_err() {
            return Err(self.refuse(DocaError::INVALID_VALUE, "there is no such range"));
        }
        if !access.others_read() {
            let why = "its permissions are its owner's alone";
            return Err(self.refuse(DocaError::NOT_PERMITTED, why));
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
pub(super) struct ConnectionState {
    pub(super) is_over: Cell<bool>,
    pub(super) count: Cell<usize>,
}

/// One memory. It stays reachable until this is dropped, or its host leaves.
pub struct Region {
    offered: Offered,
    connection: Rc<ConnectionState>,
    path: Box<dyn Path>,
    /// Dropped after the path, when the last use of the memory has ended.
    _keep: Box<dyn Any>,
}

impl Region {
    /// Makes a region outside of any `Shares`, for tests of a path.
    #[must_use]
    pub fn alone(offered: Offered, path: Box<dyn Path>) -> Rc<Region> {
        Region::new(offered, Rc::default(), path, Box::new(()))
    }

    pub(super) fn new(
        offered: Offered,
        connection: Rc<ConnectionState>,
        path: Box<dyn Path>,
        keep: Box<dyn Any>,
    ) -> Rc<Region> {
        Rc::new(Region { offered, connection, path, _keep: keep })
    }

    #[must_use]
    pub fn offered(&self) -> &Offered {
        &self.offered
    }

    #[must_use]
    pub fn path(&self) -> &dyn Path {
        &*self.path
    }

    pub(super) fn whole(&self) -> HostMemory {
        HostMemory {
            mapping: self.path.mapping(),
            address: self.offered.address,
            len: self.offered.len,
            access: self.offered.access.bits(),
            path: self.path.kind(),
            ..HostMemory::NONE
        }
    }

    /// Whether the memory cannot be reached any more: the host may have reused its addresses.
    pub(super) fn is_lost(&self) -> bool {
        self.connection.is_over.get() && self.path.mapping().is_null()
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Region").field(&self.offered).field(&self.path).finish()
    }
}

pub trait Path: fmt::Debug {
    fn kind(&self) -> MemoryPath;

    /// Returns the address in this process, or NULL if not mapped. A mapping outlives its host.
    fn mapping(&self) -> *mut u8 {
        ptr::null_mut()
    }

    /// Runs a checked operation, `at` bytes from the start of the region. Returns `IN_PROGRESS` if
    /// the operation ends later, and keeps the region until then. Reads and writes on
    /// [`MAPPED`](MemoryPath::MAPPED) and [`PROCESS`](MemoryPath::PROCESS) end in the call.
    ///
    /// # Safety
    /// The operation does not move until it has ended, and its `local` has as many bytes as it
    /// moves. The caller does not access either during the call.
    unsafe fn run(
        &self,
        region: &Rc<Region>,
        at: u64,
        operation: NonNull<MemoryOperation>,
    ) -> Result<(), DocaError>;
}

/// Runs a checked operation on bytes of this process.
///
/// # Errors
/// `NOT_SUPPORTED` for a send by UCX, and the errors of [`View`].
///
/// # Safety
/// The operation's `local` has as many bytes as it moves, not covered by any reference.
pub unsafe fn run_in_place(
    view: View<'_>,
    at: u64,
    operation: &mut MemoryOperation,
) -> Result<(), DocaError> {
    let &mut MemoryOperation { action, len, local, operand, compare, .. } = operation;
    match action {
        // SAFETY: the caller's promise for `local`.
        MemoryAction::READ => unsafe { view.copy_to_raw(at, local, len) }?,
        // SAFETY: the caller's promise for `local`.
        MemoryAction::WRITE => unsafe { view.copy_from_raw(at, local, len) }?,
        MemoryAction::TAG_SEND => return Err(DocaError::NOT_SUPPORTED),
        // The owner's address is aligned; the mapping may not be.
        _ => operation.result = view.word(at)?.run(action, operand, compare)?,
    }
    Ok(())
}
