//! [`SyncEvent`]: a counter that several threads and processes share and wait for.

mod export;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use urom_abi::DocaError;
use urom_abi::memory::{Access, MemoryRange};
use urom_abi::sync_event::Condition;

use crate::buffer::Element;
use crate::error::{Error, Result};
use crate::mmap::Mmap;
use crate::remote::elsewhere;
use crate::watcher::{MemoryOwner, Watch};
use crate::word::Word;

/// A 64-bit counter that several threads and processes share and wait for (`doca_sync_event`).
///
/// It is a word of a memory map: a command carries its [`range`](Self::range), and the plugin opens
/// it with `Context::sync_event` of `urom_pdk`. Another process of the same user on the same
/// machine opens it by [`import`](Self::import). DOCA has one publisher and one subscriber for each
/// event. Here any process may be both, if the map's permissions let it write and read.
///
/// [`set`](Self::set) and [`add`](Self::add) wake all waiting threads, in every process. A plain
/// store, such as one of C's, does not wake them: they poll with a backoff from 50 µs to 10 ms.
///
/// A clone is a second handle. Handles keep the map, and any thread may use them. After `fork`, the
/// child must [`import`](Self::import) the event: on an inherited handle only [`get`](Self::get)
/// works, and all other calls fail with `BAD_STATE`.
///
/// ```
/// use urom_memory::SyncEvent;
/// # fn main() -> urom_memory::Result<()> {
/// let event = SyncEvent::new()?;
/// let done = event.clone();
/// std::thread::scope(|scope| {
///     scope.spawn(move || done.add(1));
///     assert_eq!(event.wait_until_greater_blocking(0, None)?, 1);
///     Ok(())
/// })
/// # }
/// ```
#[derive(Clone)]
pub struct SyncEvent {
    map: Arc<Mmap>,
    offset: u64,
}

impl SyncEvent {
    /// Makes a counter of 0 in new memory (`doca_sync_event_create` and `doca_sync_event_start`).
    /// Plugins and other processes may read and write it.
    ///
    /// # Errors
    /// As [`Mmap::allocate`].
    pub fn new() -> Result<SyncEvent> {
        let map = Mmap::allocate(8, Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE)?;
        Ok(SyncEvent { map: Arc::new(map), offset: 0 })
    }

    /// Makes a counter `offset` bytes from the start of a map (`doca_sync_event_set_addr`,
    /// `doca_sync_event_set_doca_buf`). The counter keeps the present number. While a handle
    /// exists, [`Mmap::try_exclusive_bytes`] fails with `IN_USE`.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the map does not contain these 8 bytes, or they are not aligned.
    pub fn in_memory(map: &Mmap, offset: u64) -> Result<SyncEvent> {
        map.inner().check()?;
        map.view().word(offset)?;
        Ok(SyncEvent { map: Arc::new(map.again()), offset })
    }

    /// Makes a counter in the first 8 bytes of a buffer's data, for the C library.
    #[doc(hidden)]
    pub fn in_element(element: &Element) -> Result<SyncEvent> {
        let span = element.span();
        let space = (span.head + span.len).saturating_sub(span.data);
        let map = element.map().ok_or_else(|| Error::invalid("the buffer is in no inventory"))?;
        if map.view().is_none() {
            return Err(elsewhere(map.id));
        }
        if space < 8 {
            return Err(Error::invalid(format!(
                "a sync event takes 8 bytes, the buffer has {space} from its data on"
            )));
        }
        SyncEvent::in_memory(&Mmap::of(map), span.data)
    }

    fn word(&self) -> Word<'_> {
        let word = self.map.view().word(self.offset);
        word.expect("the word was looked for when the event was made")
    }

    /// Returns the counter's map. Share it with a worker before a command names the event.
    #[must_use]
    pub fn memory(&self) -> &Mmap {
        &self.map
    }

    /// Returns the counter as a command's field: 8 bytes of its map.
    #[must_use]
    pub fn range(&self) -> MemoryRange {
        MemoryRange { memory: self.map.id(), offset: self.offset, len: 8 }
    }

    /// Returns the counter (`doca_sync_event_get`). Its order is `Acquire`.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.word().load()
    }

    /// Sets the counter (`Release`) and wakes all waiting threads (`doca_sync_event_update_set`).
    ///
    /// # Errors
    /// `NOT_PERMITTED` when the map is read-only for this process.
    pub fn set(&self, value: u64) -> Result<()> {
        self.map.inner().check()?;
        self.word().set(value)
    }

    /// Adds to the counter, wakes all waiting threads, and returns the number before the addition
    /// (`doca_sync_event_update_add`). Overflow wraps. Its order is `AcqRel`.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn fetch_add(&self, value: u64) -> Result<u64> {
        self.map.inner().check()?;
        self.word().add(value)
    }

    /// The former name of [`fetch_add`](Self::fetch_add).
    #[deprecated(note = "renamed to `fetch_add`")]
    pub fn add(&self, value: u64) -> Result<u64> {
        self.fetch_add(value)
    }

    /// Waits for a condition. The future resolves to the counter that met it.
    ///
    /// One thread of this program watches the counters of all its futures. It starts with the first
    /// future, sleeps while nothing changes, and ends a second after the last. It may miss a
    /// counter that meets the condition only for a moment.
    pub fn wait(&self, condition: Condition) -> Wait {
        Wait { watch: None, event: self.clone(), condition }
    }

    /// Waits until the counter is greater than `value`. See [`wait`](Self::wait).
    pub fn wait_until_greater(&self, value: u64) -> Wait {
        self.wait(Condition::greater(value))
    }

    /// Blocks this thread until a condition is met, and returns the counter
    /// (`doca_sync_event_wait_gt`, `doca_sync_event_wait_eq`, `doca_sync_event_wait_neq`).
    ///
    /// # Errors
    /// `TIME_OUT` when it was not met in time. A timeout of zero checks once.
    pub fn wait_blocking(
        &self,
        condition: Condition,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<u64> {
        self.map.inner().check()?;
        let timeout = timeout.into();
        self.word().wait(condition, timeout).ok_or_else(|| {
            let time = timeout.unwrap_or_default();
            let text = format!("{condition} was not met within {time:?}: it is {}", self.get());
            Error::new(DocaError::TIME_OUT, text)
        })
    }

    /// Blocks until the counter is greater than `value`, as [`wait_blocking`](Self::wait_blocking).
    ///
    /// # Errors
    /// As [`wait_blocking`](Self::wait_blocking).
    pub fn wait_until_greater_blocking(
        &self,
        value: u64,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<u64> {
        self.wait_blocking(Condition::greater(value), timeout)
    }
}

impl fmt::Debug for SyncEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SyncEvent({} in {})", self.get(), self.range())
    }
}

/// The future of [`SyncEvent::wait`]: resolves to the counter that met the condition. It keeps the
/// counter allocated. It may be dropped, and sent to other threads, at any time.
///
/// It fails with `OPERATING_SYSTEM` when the watching thread cannot be started, and with
/// `BAD_STATE` in a child of the process that made the event.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Wait {
    /// Dropped before the event.
    watch: Option<Watch>,
    event: SyncEvent,
    condition: Condition,
}

impl Future for Wait {
    type Output = Result<u64>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<u64>> {
        let Wait { watch, event, condition } = &mut *self;
        event.map.inner().check()?;
        let (word, waker) = (event.word(), task.waker());
        let owner = || Arc::clone(event.map.inner()) as MemoryOwner;
        // SAFETY: the owner keeps the word's memory.
        let begin = || unsafe { Watch::owned(word, *condition, waker, owner()) };
        Watch::poll(watch, word, *condition, waker, begin)
    }
}
