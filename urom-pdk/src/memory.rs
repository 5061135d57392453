//! Memory of a host: the type of [`Context::memory`](crate::Context::memory).

mod services;
mod sync_event;
mod transfer;
#[cfg(feature = "ucx")]
mod ucx;

use std::fmt;
use std::ops::RangeBounds;
use std::rc::Rc;

pub use urom_abi::host_memory::MemoryPath;
use urom_abi::host_memory::{self, MemoryAction, MemoryOperation};
use urom_abi::memory::bounds;
pub use urom_memory::{Access, Chunks, Condition, Exported, MemoryRange, View};
use zerocopy::FromZeros;

pub(crate) use self::services::MemoryServices;
pub use self::sync_event::SyncEvent;
use crate::{DocaError, DocaStatus, Error, Result, bail, ensure};

/// The memory that a connection's host shares with this worker, for use outside of its commands. It
/// stays on the worker's thread. After the host has left, `open` fails with `NOT_FOUND`.
#[derive(Clone)]
pub struct Memories {
    services: Rc<MemoryServices>,
    dest_id: u64,
}

impl Memories {
    pub(crate) fn of(services: &Rc<MemoryServices>, dest_id: u64) -> Memories {
        Memories { services: Rc::clone(services), dest_id }
    }

    /// Opens a part of the memory.
    ///
    /// # Errors
    /// As [`Context::memory`](crate::Context::memory).
    pub fn open(&self, range: MemoryRange) -> Result<HostMemory> {
        HostMemory::open(&self.services, self.dest_id, range)
    }
}

impl fmt::Debug for Memories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memories").field("dest_id", &self.dest_id).finish_non_exhaustive()
    }
}

/// A part of a host's memory, which the host shares with this worker (`open_memory` of
/// `urom_plugin_extension.h`; DOCA has no such call). Hosts and other workers may write to it at
/// any time, so operations copy bytes and do not return slices. Offsets and lengths are in bytes.
///
/// A value keeps the memory open after its command. [Mapped](Self::mapped) memory stays usable
/// after its host has left; other operations then fail with `CONNECTION_RESET`. A clone increments
/// a count. Only operations over the network allocate. All futures may be dropped, but a write or
/// an atomic operation may still happen. All values stay on the worker's thread.
///
/// ```
/// use urom_pdk::memory::MemoryRange;
/// use urom_pdk::prelude::*;
///
/// /// Adds up the numbers in the host's memory, and counts that in `calls`.
/// async fn sum(cx: &Context, range: MemoryRange, calls: MemoryRange) -> Result<f64> {
///     let memory = cx.memory(range)?;
///     let (mut sum, mut block) = (0.0, [0; 4096]);
///     for at in (0..memory.len()).step_by(block.len()) {
///         let len = block.len().min((memory.len() - at) as usize);
///         memory.read(at, &mut block[..len]).await?;
///         let numbers = block[..len].chunks_exact(8);
///         sum += numbers.map(|it| f64::from_le_bytes(it.try_into().unwrap())).sum::<f64>();
///     }
///     cx.memory(calls)?.fetch_add(0, 1).await?;
///     Ok(sum)
/// }
/// ```
pub struct HostMemory {
    services: Rc<MemoryServices>,
    opened: host_memory::HostMemory,
    dest_id: u64,
    offset: u64,
    len: u64,
}

impl HostMemory {
    pub(crate) fn open(
        services: &Rc<MemoryServices>,
        dest_id: u64,
        range: MemoryRange,
    ) -> Result<HostMemory> {
        let MemoryRange { memory, offset, len } = range;
        let opened = services.open(dest_id, memory, offset, len).map_err(|code| {
            let why = match code {
                DocaError::NOT_FOUND => {
                    "the host does not share it with this worker, or not any more: a host in C \
                     shares it with urom_worker_share_memory, one in Rust with Mmap::share of \
                     urom_host"
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

    /// Returns the length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the length is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the host's permissions for the memory (`enum doca_access_flag`). A plugin may write
    /// with [`others_write`](Access::others_write).
    #[must_use]
    pub fn access(&self) -> Access {
        Access::from_bits_truncate(self.opened.access)
    }

    /// Checks that the host permits all of `needed`.
    ///
    /// # Errors
    /// `NOT_PERMITTED`; the message names the missing permissions.
    pub fn require(&self, needed: Access) -> Result<()> {
        let missing = needed.difference(self.access());
        if missing.is_empty() {
            return Ok(());
        }
        let missing: Vec<_> = missing.iter_names().map(|(name, _)| name).collect();
        let (len, missing) = (self.len, missing.join(" and "));
        bail!(DocaError::NOT_PERMITTED, "{len} bytes of a host lack {missing}")
    }

    /// Returns the address of the first byte in the host's process, not in this process.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.opened.address + self.offset
    }

    /// Returns the path of its bytes. Its [`name`](MemoryPath::name) is for logs.
    #[must_use]
    pub fn path(&self) -> MemoryPath {
        self.opened.path
    }

    /// Returns a part of it. The range is relative to its start.
    ///
    /// # Panics
    /// When the range is out of bounds. Use [`get`](Self::get) for a range from a host.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<u64>) -> HostMemory {
        let range = bounds(range, self.len);
        match self.get(range.clone()) {
            Some(part) => part,
            None => panic!("the range {range:?} does not lie within {} bytes", self.len),
        }
    }

    /// Returns a part, relative to its start, or `None` when it is out of bounds.
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

    /// Returns its bytes in this process; `None` unless [`MAPPED`](MemoryPath::MAPPED) and open.
    #[must_use]
    pub fn mapped(&self) -> Option<View<'_>> {
        if self.opened.mapping.is_null() || !self.services.is_open() {
            return None;
        }
        let start = self.opened.mapping.wrapping_add(self.offset as usize);
        // SAFETY: the worker maps these bytes until the drop of the last value, or the plugin's
        // close. The host may permit writes, and the bytes are never referenced.
        Some(unsafe { View::from_raw(start, self.len, self.access().others_write()) })
    }

    /// Copies `to.len()` bytes from `offset` to memory of this process. Bytes that are written
    /// concurrently arrive as any mixture of old and new.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the range is out of bounds. Memory that is not mapped also fails with
    /// `IO_FAILED` when the host unmapped it, `CONNECTION_RESET` when the host left or its answer
    /// was lost, `NO_MEMORY` (network), and `SHUTDOWN` or `BAD_STATE` during the close.
    pub async fn read(&self, offset: u64, to: &mut [u8]) -> Result<()> {
        if let Some(view) = self.mapped() {
            return Ok(view.copy_to(offset, to)?);
        }
        let operation = self.operation(MemoryAction::READ, offset, to.len() as u64)?;
        match self.opened.path {
            MemoryPath::MAPPED | MemoryPath::PROCESS => {
                self.at_once(MemoryOperation { local: to.as_mut_ptr(), ..operation })
            }
            // The operation may outlive the call.
            _ => {
                let bytes = self.copy_buffer(&operation)?;
                let (_, bytes) = self.transfer(operation, bytes, None).await?;
                to.copy_from_slice(&bytes);
                Ok(())
            }
        }
    }

    /// Copies bytes of this process to the memory at `offset`.
    ///
    /// # Errors
    /// As [`read`](Self::read), and `NOT_PERMITTED` when plugins may only read. After
    /// `CONNECTION_RESET` some or all of the bytes may have been written.
    pub async fn write(&self, offset: u64, from: &[u8]) -> Result<()> {
        if let Some(view) = self.mapped() {
            return Ok(view.copy_from(offset, from)?);
        }
        let operation = self.operation(MemoryAction::WRITE, offset, from.len() as u64)?;
        match self.opened.path {
            // `from` is only read.
            MemoryPath::MAPPED | MemoryPath::PROCESS => {
                self.at_once(MemoryOperation { local: from.as_ptr().cast_mut(), ..operation })
            }
            _ => {
                let mut bytes = self.copy_buffer(&operation)?;
                bytes.copy_from_slice(from);
                self.transfer(operation, bytes, None).await.map(drop)
            }
        }
    }

    /// Adds `value` to the 8 bytes at `offset`, a little-endian number, and returns the previous
    /// number. Overflow wraps. It is atomic for the host and all plugins, with order `AcqRel`. It
    /// is a message to the host's library, except on the path [`MAPPED`](MemoryPath::MAPPED).
    ///
    /// # Errors
    /// As [`write`](Self::write). `INVALID_VALUE` also when the host's address of these bytes is
    /// not a multiple of 8; `NOT_SUPPORTED` on the path `PROCESS` if UCX does not reach the host.
    pub async fn fetch_add(&self, offset: u64, value: u64) -> Result<u64> {
        self.atomic(MemoryAction::FETCH_ADD, offset, value, 0).await
    }

    /// Stores `value` in the 8 bytes at `offset` and returns the previous number, atomically.
    ///
    /// # Errors
    /// As [`fetch_add`](Self::fetch_add).
    pub async fn swap(&self, offset: u64, value: u64) -> Result<u64> {
        self.atomic(MemoryAction::SWAP, offset, value, 0).await
    }

    /// Stores `new` in the 8 bytes at `offset` if they equal `expected`, and returns the previous.
    ///
    /// # Errors
    /// As [`fetch_add`](Self::fetch_add).
    pub async fn compare_swap(&self, offset: u64, expected: u64, new: u64) -> Result<u64> {
        self.atomic(MemoryAction::COMPARE_SWAP, offset, new, expected).await
    }

    async fn atomic(
        &self,
        action: MemoryAction,
        offset: u64,
        operand: u64,
        compare: u64,
    ) -> Result<u64> {
        if let Some(view) = self.mapped() {
            return match action {
                MemoryAction::LOAD => Ok(view.load_u64(offset)?),
                // This instruction wakes no waiter: the calls of a sync event do.
                _ => {
                    let found = action.run_atomic(view.atomic_u64(offset)?, operand, compare);
                    found.ok_or_else(|| DocaError::NOT_SUPPORTED.into())
                }
            };
        }
        let operation = self.operation(action, offset, 8)?;
        let operation = MemoryOperation { operand, compare, ..operation };
        self.transfer(operation, Vec::new(), None).await.map(|(result, _)| result)
    }

    fn operation(&self, action: MemoryAction, offset: u64, len: u64) -> Result<MemoryOperation> {
        let whole = self.len;
        ensure!(
            offset.checked_add(len).is_some_and(|end| end <= whole),
            DocaError::INVALID_VALUE,
            "{len} bytes at {offset} do not lie within memory of {whole} bytes"
        );
        Ok(MemoryOperation::new(action, self.offset + offset, len))
    }

    fn copy_buffer(&self, operation: &MemoryOperation) -> Result<Vec<u8>> {
        zeroed_bytes(operation.len).map_err(|code| self.failed(operation, code))
    }

    fn at_once(&self, mut operation: MemoryOperation) -> Result<()> {
        // SAFETY: `local` is long enough, and `MAPPED` and `PROCESS` end in the call.
        let status = unsafe { self.services.run(self.opened.handle, &raw mut operation) };
        self.check(&operation, status)
    }

    fn check(&self, operation: &MemoryOperation, status: DocaStatus) -> Result<()> {
        status.check().map_err(|code| self.failed(operation, code))
    }

    #[cold]
    fn failed(&self, operation: &MemoryOperation, code: DocaError) -> Error {
        let what = match operation.action {
            MemoryAction::READ => "reading",
            MemoryAction::WRITE => "writing",
            MemoryAction::TAG_SEND => "sending",
            MemoryAction::LOAD => "loading",
            action if Condition::of(action, 0, 0).is_some() => "waiting for",
            _ => "an atomic operation on",
        };
        let why = match code {
            DocaError::NOT_PERMITTED if !operation.action.writes() => {
                "the kernel does not allow it"
            }
            DocaError::NOT_PERMITTED => "the host, or the kernel, does not permit to write to it",
            DocaError::INVALID_VALUE => "the bytes are not aligned to 8, or outside of it",
            DocaError::IO_FAILED => "the host has unmapped it",
            DocaError::CONNECTION_RESET => "the host has left, or its answer was lost",
            DocaError::NOT_SUPPORTED => {
                "it cannot be done on this path: UCX does not reach the host"
            }
            DocaError::NO_MEMORY => "the memory for a copy is exhausted",
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

/// A host chooses the length: too much is an error, not the worker's end.
fn zeroed_bytes(len: u64) -> Result<Vec<u8>, DocaError> {
    let len = usize::try_from(len).map_err(|_| DocaError::NO_MEMORY)?;
    u8::new_vec_zeroed(len).map_err(|_| DocaError::NO_MEMORY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_larger_than_the_memory_is_an_error() {
        for len in [1 << 63, u64::MAX] {
            assert_eq!(zeroed_bytes(len), Err(DocaError::NO_MEMORY));
        }
        assert_eq!((zeroed_bytes(0), zeroed_bytes(3)), (Ok(Vec::new()), Ok(vec![0; 3])));
    }
}
