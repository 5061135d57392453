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
use crate::watcher::{Owner, Watch};
use crate::word::Word;

/// A counter of 64 bits that several threads and processes share, and wait for
/// (`doca_sync_event`).
///
/// It is a word of a memory map, which host and plugin share as any memory: a command carries
/// [`range`](Self::range), and the plugin opens it with `Context::sync_event` of `urom_pdk`.
/// Another process of the same user on the same machine opens it by [`import`](Self::import). DOCA
/// has one publisher and one subscriber for each event; here everybody may be both whom the map's
/// permissions let write and read.
///
/// [`set`](Self::set) and [`add`](Self::add) wake all who wait, in every process. A store that does
/// not go through a sync event, such as one of C's, wakes nobody: those who wait look by
/// themselves, first after 50 µs and then at a falling rate, at last every 10 ms.
///
/// A clone is a second handle. Handles keep the map, and any thread may use them. A child by `fork`
/// opens the event by [`import`](Self::import), as any other process: there [`get`](Self::get)
/// reads an inherited one, and all else fails with `BAD_STATE`.
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
    /// A counter in memory of its own, from 0 on (`doca_sync_event_create` and
    /// `doca_sync_event_start`). Plugins and other processes may read and write it.
    ///
    /// # Errors
    /// As [`Mmap::allocate`].
    pub fn new() -> Result<SyncEvent> {
        let map = Mmap::allocate(8, Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE)?;
        Ok(SyncEvent { map: Arc::new(map), offset: 0 })
    }

    /// A counter in memory of the user's own, `offset` bytes from the start of the map
    /// (`doca_sync_event_set_addr`, `doca_sync_event_set_doca_buf`). It keeps the number that is
    /// there.
    ///
    /// While there is a handle, [`Mmap::bytes`] fails with `IN_USE`.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the map does not have these 8 bytes, or their address is no multiple of
    /// 8.
    pub fn in_memory(map: &Mmap, offset: u64) -> Result<SyncEvent> {
        map.inner().check()?;
        map.view().word(offset)?;
        Ok(SyncEvent { map: Arc::new(map.again()), offset })
    }

    /// A counter in the first 8 bytes of a buffer's data, for the C library.
    #[doc(hidden)]
    pub fn in_element(element: &Element) -> Result<SyncEvent> {
        let place = element.place();
        let room = (place.head + place.len).saturating_sub(place.data);
        let map = element.map().ok_or_else(|| Error::invalid("the buffer is in no inventory"))?;
        if map.view().is_none() {
            return Err(elsewhere(map.id));
        }
        if room < 8 {
            return Err(Error::invalid(format!(
                "a sync event takes 8 bytes, the buffer has {room} from its data on"
            )));
        }
        SyncEvent::in_memory(&Mmap::of(map), place.data)
    }

    fn word(&self) -> Word<'_> {
        match self.map.view().word(self.offset) {
            Ok(word) => word,
            Err(_) => unreachable!("the word was looked for when the event was made"),
        }
    }

    /// The map that the counter lies in. Share it with a worker before a command names the event.
    #[must_use]
    pub fn memory(&self) -> &Mmap {
        &self.map
    }

    /// The counter as a command's field: 8 bytes of its map.
    #[must_use]
    pub fn range(&self) -> MemoryRange {
        MemoryRange { memory: self.map.id(), offset: self.offset, len: 8 }
    }

    /// The counter (`doca_sync_event_get`). What others did before they changed it is visible
    /// (`Acquire`).
    #[must_use]
    pub fn get(&self) -> u64 {
        self.word().load()
    }

    /// Sets the counter and wakes all who wait (`doca_sync_event_update_set`). What this thread did
    /// before is visible to whoever sees the number (`Release`).
    ///
    /// # Errors
    /// `NOT_PERMITTED` when this process may only read the map.
    pub fn set(&self, value: u64) -> Result<()> {
        self.map.inner().check()?;
        self.word().set(value)
    }

    /// Adds to the counter, wakes all who wait, and returns the number from before
    /// (`doca_sync_event_update_add`). Overflow wraps. Its order is `AcqRel`.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn add(&self, value: u64) -> Result<u64> {
        self.map.inner().check()?;
        self.word().add(value)
    }

    /// Waits for a condition. The future resolves to the counter that met it; that counter may be
    /// another by then.
    ///
    /// One thread of this program watches the counters of all its futures. It starts with the
    /// first, sleeps while nothing changes, and ends a second after the last. A counter that meets
    /// the condition for a moment only may be missed.
    pub fn wait(&self, condition: Condition) -> Wait {
        Wait { watch: None, event: self.clone(), condition }
    }

    /// Waits until the counter is greater than `value`. See [`wait`](Self::wait).
    pub fn wait_until_greater(&self, value: u64) -> Wait {
        self.wait(Condition::greater(value))
    }

    /// Waits for a condition on this thread, which sleeps meanwhile; without a `timeout` for ever
    /// (`doca_sync_event_wait_gt`, `doca_sync_event_wait_eq`, `doca_sync_event_wait_neq`). Returns
    /// the counter that met it.
    ///
    /// # Errors
    /// `TIME_OUT` when it was not met in time. A timeout of zero looks once.
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

    /// Waits on this thread until the counter is greater than `value`. See
    /// [`wait_blocking`](Self::wait_blocking).
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

/// What [`SyncEvent::wait`] returns: resolves to the counter that met the condition. It keeps the
/// counter, and may be dropped and sent to other threads at any time.
///
/// It fails with `OPERATING_SYSTEM` when the thread that watches counters cannot be started, and as
/// all calls with `BAD_STATE` in a child of the process that made the event.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Wait {
    /// First, so that it ends before the event.
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
        let owner = || Arc::clone(event.map.inner()) as Owner;
        // SAFETY: the word is in the memory of that owner.
        let begin = || unsafe { Watch::owned(word, *condition, waker, owner()) };
        Watch::poll(watch, word, *condition, waker, begin)
    }
}
