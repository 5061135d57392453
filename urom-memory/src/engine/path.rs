//! [`Path`]: the way of the bytes between this process and a host's memory.

use std::fmt;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use urom_abi::DocaError;
use urom_abi::host_memory::{MemoryAction, MemoryOperation, MemoryPath};

use super::Region;
use crate::error::Result;
use crate::view::View;

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
    /// Returns `IN_PROGRESS` for one that ends later, and then keeps the region until it has ended.
    ///
    /// # Safety
    /// The operation stays where it is until it has ended, and its `local` has as many bytes as it
    /// moves. Nobody else uses it during the call.
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
/// `NOT_SUPPORTED` for an action that only UCX can run, and those of [`View`].
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
