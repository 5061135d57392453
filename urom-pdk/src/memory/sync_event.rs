//! [`SyncEvent`]: a counter in a host's memory.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use urom_abi::host_memory::{MemoryAction, MemoryOperation};
use urom_memory::{Condition, MemoryRange, Watch};

use super::{HostMemory, MemoryPath, MemoryServices};
use crate::{DocaError, Error, Result, ensure};

/// A 64-bit counter that a host shares with its plugins (`doca_sync_event`, `SyncEvent` of
/// `urom_host`), opened by [`Context::sync_event`](crate::Context::sync_event).
///
/// On the path [`MAPPED`](MemoryPath::MAPPED) host and plugin wake each other through the kernel.
/// On other paths calls are messages to the host's library, which wakes the host's waiters and
/// answers plugins' waits. A value keeps the memory open. It stays on the worker's thread.
///
/// ```
/// use urom_pdk::memory::MemoryRange;
/// use urom_pdk::prelude::*;
///
/// # async fn step() {}
/// /// Counts the steps that are done, and takes the next one when the host says so.
/// async fn steps(cx: &Context, done: MemoryRange, go: MemoryRange) -> Result<()> {
///     let (done, go) = (cx.sync_event(done)?, cx.sync_event(go)?);
///     for number in 0..10 {
///         cx.unless_cancelled(go.wait_until_greater(number)).await??;
///         step().await;
///         done.fetch_add(1).await?;
///     }
///     Ok(())
/// }
/// ```
pub struct SyncEvent {
    memory: HostMemory,
}

impl SyncEvent {
    pub(crate) fn open(
        services: &Rc<MemoryServices>,
        dest_id: u64,
        range: MemoryRange,
    ) -> Result<SyncEvent> {
        let is_word = range.len == 8;
        ensure!(is_word, DocaError::INVALID_VALUE, "{range} is not a sync event: it has 8 bytes");
        let memory = HostMemory::open(services, dest_id, range)?;
        let is_aligned = memory.mapped().is_none_or(|view| view.word(0).is_ok());
        ensure!(
            is_aligned && memory.address().is_multiple_of(8),
            DocaError::INVALID_VALUE,
            "{range} is not a sync event: its address must be a multiple of 8"
        );
        Ok(SyncEvent { memory })
    }

    /// Returns the counter's memory.
    #[must_use]
    pub fn memory(&self) -> &HostMemory {
        &self.memory
    }

    /// Reads the counter (`doca_sync_event_get`). See [`HostMemory::load`].
    ///
    /// # Errors
    /// As [`HostMemory::load`].
    pub async fn get(&self) -> Result<u64> {
        self.memory.load(0).await
    }

    /// Sets the counter and wakes all waiters (`doca_sync_event_update_set`).
    ///
    /// # Errors
    /// As [`HostMemory::swap`].
    pub async fn set(&self, value: u64) -> Result<()> {
        match self.memory.mapped() {
            Some(view) => Ok(view.word(0)?.set(value)?),
            None => self.memory.swap(0, value).await.map(drop),
        }
    }

    /// Adds to the counter, wakes all waiters, and returns the previous number
    /// (`doca_sync_event_update_add`). Overflow wraps.
    ///
    /// # Errors
    /// As [`HostMemory::fetch_add`].
    pub async fn fetch_add(&self, value: u64) -> Result<u64> {
        match self.memory.mapped() {
            Some(view) => Ok(view.word(0)?.add(value)?),
            None => self.memory.fetch_add(0, value).await,
        }
    }

    /// The former name of [`fetch_add`](Self::fetch_add).
    #[deprecated(note = "renamed to `fetch_add`")]
    pub async fn add(&self, value: u64) -> Result<u64> {
        self.fetch_add(value).await
    }

    /// Waits until the counter meets a condition (`doca_sync_event_wait_gt`,
    /// `doca_sync_event_wait_eq`, `doca_sync_event_wait_neq`), and returns the counter. It may miss
    /// a brief match. Other commands run meanwhile. A wait on mapped memory outlives its host: use
    /// [`Context::unless_cancelled`](crate::Context::unless_cancelled).
    ///
    /// # Errors
    /// As [`HostMemory::load`]; `OPERATING_SYSTEM` when the watching thread cannot start.
    pub async fn wait(&self, condition: Condition) -> Result<u64> {
        if self.memory.path() == MemoryPath::MAPPED {
            return MappedWait { watch: None, memory: self.memory.clone(), condition }.await;
        }
        let (action, operand, compare) = condition.action();
        loop {
            // The host answers after a second at the latest.
            let operation =
                MemoryOperation { operand, compare, ..self.memory.operation(action, 0, 8)? };
            let (counter, _) = self.memory.transfer(operation, Vec::new(), None).await?;
            if condition.is_met(counter) {
                return Ok(counter);
            }
        }
    }

    /// Waits until the counter is greater than `value`. See [`wait`](Self::wait).
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub async fn wait_until_greater(&self, value: u64) -> Result<u64> {
        self.wait(Condition::greater(value)).await
    }
}

impl fmt::Debug for SyncEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SyncEvent(at {:#x}, {})", self.memory.address(), self.memory.path().name())
    }
}

struct MappedWait {
    /// First: it ends before the memory is closed.
    watch: Option<Watch>,
    memory: HostMemory,
    condition: Condition,
}

impl Future for MappedWait {
    type Output = Result<u64>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<u64>> {
        let MappedWait { watch, memory, condition } = &mut *self;
        let view = memory.mapped().ok_or_else(|| {
            Error::new(DocaError::BAD_STATE, "waiting for a counter: the plugin is closed")
        })?;
        let (word, waker, group) = (view.word(0)?, task.waker(), memory.services.watches());
        // SAFETY: `memory` keeps the word mapped until the watch drops or `close_all` ends it.
        let begin = || unsafe { Watch::new(word, *condition, waker, group) };
        Watch::poll(watch, word, *condition, waker, begin).map_err(Error::from)
    }
}

impl HostMemory {
    /// Reads the 8 bytes at `offset`, a little-endian number, atomically (`Acquire`). Unless
    /// [`MAPPED`](MemoryPath::MAPPED), it is a message to the host. Only reads must be permitted.
    ///
    /// # Errors
    /// As [`read`](Self::read). `INVALID_VALUE` also when the host's address of these bytes is not
    /// a multiple of 8; `NOT_SUPPORTED` on the path `PROCESS` if UCX does not reach the host.
    pub async fn load(&self, offset: u64) -> Result<u64> {
        self.atomic(MemoryAction::LOAD, offset, 0, 0).await
    }
}
