//! [`Region`]: one memory that a host shares, and the [`Path`] of its bytes.

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
    /// The number of the share. A memory that is shared again has another one.
    pub share: u64,
    /// The memory's number in commands.
    pub memory: u64,
    /// Where it begins in the host.
    pub address: u64,
    /// How long it is, in bytes.
    pub len: u64,
    /// The host's permissions.
    pub access: Access,
}

impl Offered {
    /// The error of memory that cannot be shared.
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

/// The connection of a host. All regions of the host refer to it.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) is_over: Cell<bool>,
    pub(super) count: Cell<usize>,
}

/// One memory. It stays reachable as long as this, or until its host leaves.
pub struct Region {
    offered: Offered,
    connection: Rc<Connection>,
    path: Box<dyn Path>,
    /// Dropped behind the path, when the last use of the memory has ended.
    _keep: Box<dyn Any>,
}

impl Region {
    /// A region in no table: for a test of a path.
    #[must_use]
    pub fn alone(offered: Offered, path: Box<dyn Path>) -> Rc<Region> {
        Region::new(offered, Rc::default(), path, Box::new(()))
    }

    pub(super) fn new(
        offered: Offered,
        connection: Rc<Connection>,
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

    /// Whether no path leads to the memory any more: its host may use the addresses for something
    /// else by now.
    pub(super) fn is_lost(&self) -> bool {
        self.connection.is_over.get() && self.path.mapping().is_null()
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Region").field(&self.offered).field(&self.path).finish()
    }
}

/// The way of the bytes of one memory.
pub trait Path: fmt::Debug {
    /// Its number for hosts and plugins.
    fn kind(&self) -> MemoryPath;

    /// Where the memory begins in this process; NULL where it is not mapped. Memory that is mapped
    /// outlives its host.
    fn mapping(&self) -> *mut u8 {
        ptr::null_mut()
    }

    /// Runs an operation that the engine has checked, `at` bytes from the begin of the region.
    /// For an operation that ends later it returns `IN_PROGRESS`, and keeps the region until then.
    /// Reads and writes on [`MAPPED`](MemoryPath::MAPPED) and [`PROCESS`](MemoryPath::PROCESS) end
    /// in the call.
    ///
    /// # Safety
    /// The operation stays where it is until it has ended, and its `local` has as many bytes as it
    /// moves. The caller leaves both alone during the call.
    unsafe fn run(
        &self,
        region: &Rc<Region>,
        at: u64,
        operation: NonNull<MemoryOperation>,
    ) -> Result<(), DocaError>;
}

/// Runs an operation that is checked on bytes of this process.
///
/// # Errors
/// `NOT_SUPPORTED` for a send by UCX, and the errors of [`View`].
///
/// # Safety
/// The operation's `local` has as many bytes as it moves, and no reference is used for them.
pub unsafe fn run_in_place(
    view: View<'_>,
    at: u64,
    operation: &mut MemoryOperation,
) -> Result<(), DocaError> {
    let &mut MemoryOperation { action, len, local, operand, compare, .. } = operation;
    match action {
        // SAFETY: the caller's place.
        MemoryAction::READ => unsafe { view.copy_to_raw(at, local, len) }?,
        // SAFETY: the caller's bytes.
        MemoryAction::WRITE => unsafe { view.copy_from_raw(at, local, len) }?,
        MemoryAction::TAG_SEND => return Err(DocaError::NOT_SUPPORTED),
        // The owner's address is aligned; the mapping may begin elsewhere in a page.
        _ => operation.result = view.word(at)?.run(action, operand, compare)?,
    }
    Ok(())
}
