//! Memory of a host: what [`Context::memory`](crate::Context::memory) gives.

mod services;
mod transfer;
#[cfg(feature = "ucx")]
mod ucx;

use std::fmt;
use std::ops::RangeBounds;
use std::rc::Rc;
use std::sync::atomic::Ordering;

pub use urom_abi::host_memory::MemoryPath;
use urom_abi::host_memory::{self, MemoryAction, MemoryOperation};
pub use urom_memory::{Access, Chunks, Exported, MemoryRange, View};
use zerocopy::FromZeros;

pub(crate) use self::services::MemoryServices;
use crate::{DocaError, Error, Result};

/// A part of a host's memory, which the host shares with this worker.
///
/// The host may write to it at any time, and so may others whom it lets. So bytes are copied in and
/// out, and no safe call gives a slice of them. A value keeps the memory reachable, also when the
/// host leaves meanwhile. A clone costs an addition; using memory allocates nothing, except over
/// the network.
///
/// It stays on the worker's thread.
///
/// ```
/// use urom_pdk::memory::MemoryRange;
/// use urom_pdk::prelude::*;
///
/// /// Adds up the numbers in the host's memory, and counts that in its first word.
/// async fn sum(cx: &Context, range: MemoryRange) -> Result<f64> {
///     let memory = cx.memory(range)?;
///     let (mut sum, mut block) = (0.0, [0; 4096]);
///     for at in (0..memory.len()).step_by(block.len()) {
///         let len = block.len().min((memory.len() - at) as usize);
///         memory.read(at, &mut block[..len]).await?;
///         let numbers = block[..len].chunks_exact(8);
///         sum += numbers.map(|it| f64::from_le_bytes(it.try_into().unwrap())).sum::<f64>();
///     }
///     memory.fetch_add(0, 1).await?;
///     Ok(sum)
/// }
/// ```
pub struct HostMemory {
    services: Rc<MemoryServices>,
    opened: host_memory::HostMemory,
    dest_id: u64,
    /// Which part of what was opened this is.
    offset: u64,
    len: u64,
}

impl HostMemory {
    /// Opens memory of the host of a connection.
    pub(crate) fn open(
        services: &Rc<MemoryServices>,
        dest_id: u64,
        range: MemoryRange,
    ) -> Result<HostMemory> {
        let MemoryRange { memory, offset, len } = range;
        let opened = services.open(dest_id, memory, offset, len).map_err(|code| {
            let why = match code {
                DocaError::NOT_FOUND => {
                    "the host does not share it with this worker, or not any more: \
                     Mmap::share of urom_host does that"
                }
                DocaError::INVALID_VALUE => "these bytes are not all in it",
                DocaError::NOT_SUPPORTED => {
                    "this worker cannot reach a host's memory, as NVIDIA's: there, the host \
                     exports its memory by UCX (ucp_memh_pack) and the plugin imports it"
                }
                _ => "the worker did not open it",
            };
            Error::new(code, format!("{range}: {why}"))
        })?;
        Ok(HostMemory { services: Rc::clone(services), opened, dest_id, offset: 0, len })
    }

    /// How long it is, in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the host allows. A plugin may write if it
    /// [lets others write](Access::others_write).
    #[must_use]
    pub fn access(&self) -> Access {
        Access::from_bits_truncate(self.opened.access)
    }

    /// Where it begins in the host's process.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.opened.address + self.offset
    }

    /// Which way its bytes take.
    #[must_use]
    pub fn path(&self) -> MemoryPath {
        self.opened.path
    }

    /// A part of it, in bytes from its beginning.
    ///
    /// # Panics
    /// When the range does not lie within.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<u64>) -> HostMemory {
        let bounds = (range.start_bound().cloned(), range.end_bound().cloned());
        match self.get(bounds) {
            Some(part) => part,
            None => panic!("the range {bounds:?} does not lie within {} bytes", self.len),
        }
    }

    /// A part of it, in bytes from its beginning; `None` when the range does not lie within.
    #[must_use]
    pub fn get(&self, range: impl RangeBounds<u64>) -> Option<HostMemory> {
        let own = MemoryRange { memory: 0, offset: self.offset, len: self.len };
        let part = own.get(range)?;
        Some(self.part(part.offset, part.len))
    }

    fn part(&self, offset: u64, len: u64) -> HostMemory {
        let &HostMemory { ref services, opened, dest_id, .. } = self;
        services.keep(opened.handle);
        HostMemory { services: Rc::clone(services), opened, dest_id, offset, len }
    }

    /// Its bytes in this process, to be used in place; `None` unless they are
    /// [mapped](MemoryPath::MAPPED).
    #[must_use]
    pub fn mapped(&self) -> Option<View<'_>> {
        if self.opened.mapping.is_null() || !self.services.is_open() {
            return None;
        }
        let start = self.opened.mapping.wrapping_add(self.offset as usize);
        // SAFETY: the worker maps these bytes until they are closed, which the drop of the last
        // value does; until the plugin is closed it calls nothing else that could. They may be
        // written to if the host allows it, and nobody has a reference to them.
        Some(unsafe { View::from_raw(start, self.len, self.access().others_write()) })
    }

    /// Copies bytes from `offset` on to a place of this process. Bytes that others write meanwhile
    /// arrive as any mixture of old and new.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there are not as many; `IO_FAILED` when the memory is not there any
    /// more, `CONNECTION_RESET` when the host is gone, neither of them for memory that is mapped;
    /// `NO_MEMORY` when there is no room for a copy, over the network alone.
    pub async fn read(&self, offset: u64, to: &mut [u8]) -> Result<()> {
        if let Some(view) = self.mapped() {
            return Ok(view.copy_to(offset, to)?);
        }
        let operation = self.operation(MemoryAction::READ, offset, to.len() as u64)?;
        match self.opened.path {
            MemoryPath::NETWORK => {
                let room = self.room(&operation)?;
                let (_, bytes) = self.transfer(operation, room, None).await?;
                to.copy_from_slice(&bytes);
                Ok(())
            }
            _ => self.at_once(MemoryOperation { local: to.as_mut_ptr(), ..operation }),
        }
    }

    /// Copies bytes of this process to those from `offset` on.
    ///
    /// # Errors
    /// As [`read`](Self::read), and `NOT_PERMITTED` when the host allows nobody to write.
    pub async fn write(&self, offset: u64, from: &[u8]) -> Result<()> {
        if let Some(view) = self.mapped() {
            return Ok(view.copy_from(offset, from)?);
        }
        let operation = self.operation(MemoryAction::WRITE, offset, from.len() as u64)?;
        match self.opened.path {
            MemoryPath::NETWORK => {
                let mut bytes = self.room(&operation)?;
                bytes.copy_from_slice(from);
                self.transfer(operation, bytes, None).await.map(drop)
            }
            // It is only read.
            _ => self.at_once(MemoryOperation { local: from.as_ptr().cast_mut(), ..operation }),
        }
    }

    /// Adds to the 8 bytes at `offset`, a number in the host's byte order, and gives what was there
    /// before. Overflow wraps. Nobody who uses atomic operations sees anything in between.
    ///
    /// # Errors
    /// As [`write`](Self::write); `INVALID_VALUE` also when the host's address of these bytes is no
    /// multiple of 8.
    pub async fn fetch_add(&self, offset: u64, value: u64) -> Result<u64> {
        if let Some(view) = self.mapped() {
            return Ok(view.atomic_u64(offset)?.fetch_add(value, Ordering::AcqRel));
        }
        self.atomic(MemoryAction::FETCH_ADD, offset, value, 0).await
    }

    /// Puts a number into the 8 bytes at `offset`, and gives what was there before.
    ///
    /// # Errors
    /// As [`fetch_add`](Self::fetch_add).
    pub async fn swap(&self, offset: u64, value: u64) -> Result<u64> {
        if let Some(view) = self.mapped() {
            return Ok(view.atomic_u64(offset)?.swap(value, Ordering::AcqRel));
        }
        self.atomic(MemoryAction::SWAP, offset, value, 0).await
    }

    /// Puts `new` into the 8 bytes at `offset` if `expected` is there, and gives what was there
    /// before.
    ///
    /// # Errors
    /// As [`fetch_add`](Self::fetch_add).
    pub async fn compare_swap(&self, offset: u64, expected: u64, new: u64) -> Result<u64> {
        if let Some(view) = self.mapped() {
            let word = view.atomic_u64(offset)?;
            let found = word.compare_exchange(expected, new, Ordering::AcqRel, Ordering::Acquire);
            return Ok(found.unwrap_or_else(|found| found));
        }
        self.atomic(MemoryAction::COMPARE_SWAP, offset, new, expected).await
    }

    async fn atomic(
        &self,
        action: MemoryAction,
        offset: u64,
        operand: u64,
        compare: u64,
    ) -> Result<u64> {
        let operation = self.operation(action, offset, 8)?;
        let operation = MemoryOperation { operand, compare, ..operation };
        self.transfer(operation, Vec::new(), None).await.map(|(result, _)| result)
    }

    /// An operation on bytes that are all inside.
    fn operation(&self, action: MemoryAction, offset: u64, len: u64) -> Result<MemoryOperation> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len => {
                Ok(MemoryOperation::new(action, self.offset + offset, len))
            }
            _ => Err(Error::new(
                DocaError::INVALID_VALUE,
                format!("{len} bytes at {offset} do not lie within memory of {} bytes", self.len),
            )),
        }
    }

    /// Room for the bytes that an operation moves.
    fn room(&self, operation: &MemoryOperation) -> Result<Vec<u8>> {
        room(operation.len).map_err(|code| self.failed(operation, code))
    }

    /// Runs an operation that ends in the call.
    fn at_once(&self, mut operation: MemoryOperation) -> Result<()> {
        // SAFETY: a read or write of memory that is not reached over the network ends in the call,
        // and `local` has as many bytes.
        let code = unsafe { self.services.run(self.opened.handle, &raw mut operation) };
        self.check(&operation, code)
    }

    fn check(&self, operation: &MemoryOperation, code: DocaError) -> Result<()> {
        code.check().map_err(|code| self.failed(operation, code))
    }

    #[cold]
    fn failed(&self, operation: &MemoryOperation, code: DocaError) -> Error {
        let what = match operation.action {
            MemoryAction::READ => "reading",
            MemoryAction::WRITE => "writing",
            MemoryAction::TAG_SEND => "sending",
            _ => "an atomic operation on",
        };
        let why = match code {
            DocaError::NOT_PERMITTED => "the host allows nobody to write to it",
            DocaError::INVALID_VALUE => "the bytes are not aligned to 8, or outside of it",
            DocaError::IO_FAILED => "the host has unmapped it",
            DocaError::CONNECTION_RESET => "the host is gone",
            DocaError::NOT_SUPPORTED => "it cannot be done on this path",
            DocaError::NO_MEMORY => "there is no room for a copy",
            _ => "the worker could not do it",
        };
        let (len, at, path) = (operation.len, operation.offset, self.opened.path.name());
        let text = format!("{what} {len} bytes at {at} of a host's memory ({path}): {why}");
        Error::new(code, text)
    }
}

impl Clone for HostMemory {
    fn clone(&self) -> HostMemory {
        self.part(self.offset, self.len)
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        self.services.close(self.opened.handle);
    }
}

impl fmt::Debug for HostMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.opened.path.name();
        write!(f, "HostMemory({} bytes at {:#x}, {path})", self.len, self.address())
    }
}

/// So many zeros. A host chooses the length of its memory, which may be more than there is here:
/// that is an error, and not the end of the worker. Pages that nobody writes to are not touched.
fn room(len: u64) -> Result<Vec<u8>, DocaError> {
    let len = usize::try_from(len).map_err(|_| DocaError::NO_MEMORY)?;
    u8::new_vec_zeroed(len).map_err(|_| DocaError::NO_MEMORY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_for_more_than_there_is_is_an_error() {
        for len in [1 << 63, u64::MAX] {
            assert_eq!(room(len), Err(DocaError::NO_MEMORY));
        }
        assert_eq!((room(0), room(3)), (Ok(Vec::new()), Ok(vec![0; 3])));
    }
}
