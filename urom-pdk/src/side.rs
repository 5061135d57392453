//! The plugin side of generated code, and the contexts that handlers receive.

use std::future::Future;
use std::time::Instant;

use urom_abi::ConnectionId;
use urom_abi::plugin::WorkerNotify;
use urom_abi::protocol::{AnswerBuffer, AnswerBytes, Now, PluginSide, Protocol};
use urom_abi::shared::SharedCommand;

use crate::cancel::{Cancel, UnlessCancelled};
use crate::memory::{HostMemory, Memories, MemoryRange, SyncEvent};
use crate::worker_side::WorkerSide;
use crate::{CancelReason, DomainHandle, Domains, Error, Held, Result, Tasks};

/// The plugin side of a protocol, inserted into the generic trait `Handler` by
/// [`urom_plugin`](crate::urom_plugin). Generic code names it, as in `H: sandbox::Handler<Side>`.
#[derive(Clone, Copy, Debug)]
pub struct Side;

impl PluginSide for Side {
    type OpenContext = OpenContext;
    type Context = Context;
    type Error = Error;

    #[inline]
    fn answer_buffer(cx: &Context, _: Now) -> AnswerBuffer<'_> {
        let mut buffer = cx.worker.take_answer_buffer()?;
        // SAFETY: the worker's buffer is valid during the command's first poll and was just taken;
        // `Now` guarantees that its user drops it in this poll.
        let bytes = unsafe { buffer.as_mut() };
        Some(AnswerBytes { bytes, written: cx.worker.written() })
    }
}

/// The context of a handler's `open`.
#[derive(Debug)]
pub struct OpenContext {
    plugin: &'static str,
    version: u64,
    worker: WorkerSide,
}

impl OpenContext {
    pub(crate) fn of<P: Protocol>(worker: WorkerSide) -> OpenContext {
        OpenContext { plugin: P::NAME, version: P::VERSION, worker }
    }

    pub(crate) fn worker(&self) -> &WorkerSide {
        &self.worker
    }

    pub(crate) fn into_worker(self) -> WorkerSide {
        self.worker
    }

    /// Returns the plugin's name in its protocol.
    pub fn plugin_name(&self) -> &'static str {
        self.plugin
    }

    /// Returns the protocol's version, which a host compares with its own.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the look-ups for any time and thread; commands have [`Context::domains`].
    pub fn domains(&self) -> DomainHandle {
        self.worker.domains.clone()
    }

    /// Returns the handle that starts futures beside the commands.
    pub fn tasks(&self) -> Tasks {
        self.worker.tasks().clone()
    }

    /// Returns the worker's id on its service; `None` outside this kit's worker.
    pub fn worker_id(&self) -> Option<u64> {
        self.worker.worker_id()
    }

    /// Returns the worker's group (`doca_urom_worker_set_gid`); `None` outside this kit's worker.
    pub fn group_id(&self) -> Option<u32> {
        self.worker.group_id().and_then(|group| group.try_into().ok())
    }

    /// Returns the longest message in bytes that the worker accepts, including its header of 24
    /// bytes (command) or 32 bytes (notification); `None` outside this kit's worker. A host may
    /// allow less: see [`Context::message_limit`].
    pub fn message_limit(&self) -> Option<usize> {
        self.worker.message_limit()
    }
}

/// The context of a command: its origin and look-ups. It stays on the worker's thread.
///
/// ```
/// use std::cell::RefCell;
/// use std::collections::HashMap;
/// use urom_pdk::prelude::*;
///
/// /// Counts commands by the connection they came in on.
/// struct Counting {
///     seen: RefCell<HashMap<ConnectionId, u64>>,
/// }
///
/// impl Counting {
///     async fn count(&self, cx: &Context) -> Result<u64> {
///         let mut seen = self.seen.borrow_mut();
///         let count = seen.entry(cx.connection()).or_default();
///         *count += 1;
///         log::debug!("plugin {:#x}: command {count}", cx.plugin_id());
///         Ok(*count)
///     }
///
///     async fn is_there(&self, cx: &Context, member: u64) -> Result<bool> {
///         cx.domains().contains(member)
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Context {
    command: SharedCommand,
    /// The executor's, which outlives every context: no reference count for each command.
    worker: &'static WorkerSide,
    cancel: Cancel,
}

impl Context {
    #[inline]
    pub(crate) fn new(command: SharedCommand, worker: &'static WorkerSide) -> Context {
        Context { command, worker, cancel: Cancel::default() }
    }

    /// Returns the connection of the command, which also gets the notification.
    #[inline]
    pub fn connection(&self) -> ConnectionId {
        self.command.dest_id().into()
    }

    /// The number of [`connection`](Self::connection).
    #[deprecated(note = "use `connection`, which returns a `ConnectionId`")]
    pub fn dest_id(&self) -> u64 {
        self.command.dest_id()
    }

    /// Returns the plugin's id on its service (`urom_worker_cmd::type`): one bit of a mask.
    #[inline]
    pub fn plugin_id(&self) -> u64 {
        self.command.header().plugin_id
    }

    /// Returns the worker's domain look-ups. Their answers are borrowed from this context.
    #[inline]
    pub fn domains(&self) -> Domains<'_> {
        self.worker.domains.borrowed()
    }

    /// Returns the host's deadline, if any, as an instant of [`now`](crate::time::now). It counts
    /// from the command's arrival: later than at the host. `None` outside this kit's worker.
    pub fn deadline(&self) -> Option<Instant> {
        self.worker.deadline(&self.command)
    }

    /// Opens the part of a host's memory that a command names (`open_memory` of
    /// `urom_plugin_extension.h`), until the value is dropped. The command's connection must share
    /// it. This call checks the range; each operation checks the permissions.
    ///
    /// # Errors
    /// `NOT_FOUND` when this connection does not share the memory; `INVALID_VALUE` when the range
    /// is out of bounds; `NOT_SUPPORTED` outside this kit's worker, or with `uromd --plain-doca`.
    pub fn memory(&self, range: MemoryRange) -> Result<HostMemory> {
        HostMemory::open(self.worker.memory(), self.command.dest_id(), range)
    }

    /// Opens a counter in 8 bytes of a host's [`memory`](Self::memory) (`doca_sync_event`).
    ///
    /// # Errors
    /// As [`memory`](Self::memory); `INVALID_VALUE` also unless the range is 8 aligned bytes.
    pub fn sync_event(&self, range: MemoryRange) -> Result<SyncEvent> {
        SyncEvent::open(self.worker.memory(), self.command.dest_id(), range)
    }

    /// Returns a handle that opens memory of this command's host later.
    pub fn memories(&self) -> Memories {
        Memories::of(self.worker.memory(), self.command.dest_id())
    }

    /// Waits until the command is cancelled by the host or its deadline, or the host left; forever
    /// outside this kit's worker. The answer of a command that continues is discarded.
    pub fn cancelled(&self) -> impl Future<Output = CancelReason> {
        self.cancel.cancelled()
    }

    /// Runs `future` until it ends or [cancellation](Self::cancelled). A ready value is never lost.
    ///
    /// ```
    /// use urom_pdk::prelude::*;
    ///
    /// # async fn next_message() -> u64 { 7 }
    /// async fn receive(cx: &Context) -> Result<u64> {
    ///     // The receive ends with the command, so it takes no message from the next one.
    ///     Ok(cx.unless_cancelled(next_message()).await?)
    /// }
    /// ```
    ///
    /// # Errors
    /// The reason, which becomes the code `SKIPPED` by `?`. `future` is dropped before.
    #[inline]
    pub fn unless_cancelled<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, CancelReason>> {
        UnlessCancelled::new(future, &self.cancel)
    }

    /// Returns the longest message to this host, with its header; `None` outside this kit's worker.
    pub fn message_limit(&self) -> Option<usize> {
        self.worker.connection_limit(self.command.dest_id())
    }

    /// Returns the longest answer in bytes to this command: fixed part and payload. Longer answers
    /// reach the host as `TOO_BIG`. `None` outside this kit's worker.
    pub fn longest_answer(&self) -> Option<usize> {
        Some(self.message_limit()?.saturating_sub(size_of::<WorkerNotify>()))
    }

    /// Returns the worker's id on its service; `None` outside this kit's worker.
    pub fn worker_id(&self) -> Option<u64> {
        self.worker.worker_id()
    }

    /// Returns the worker's group (`doca_urom_worker_set_gid`); `None` outside this kit's worker.
    pub fn group_id(&self) -> Option<u32> {
        self.worker.group_id().and_then(|group| group.try_into().ok())
    }

    pub(crate) fn cancel(&self, reason: CancelReason) {
        self.cancel.set(reason);
    }

    /// Keeps `bytes` of this command, such as a payload, together with the command's memory, for
    /// operations that outlive the future, such as a UCX send. It does not copy or allocate.
    ///
    /// # Errors
    /// `INVALID_VALUE` when `bytes` are not part of this command. An empty slice is always valid.
    #[inline]
    pub fn hold(&self, bytes: &[u8]) -> Result<Held> {
        Held::new(&self.command, bytes)
    }

    #[inline]
    pub(crate) fn command(&self) -> &SharedCommand {
        &self.command
    }

    #[inline]
    pub(crate) fn into_command(self) -> SharedCommand {
        self.cancel.end();
        self.command
    }
}

#[cfg(test)]
impl Context {
    pub(crate) fn for_test(command: urom_abi::descriptor::CommandDesc) -> Context {
        struct Bare(WorkerSide);
        // SAFETY: tests of contexts do not call their worker.
        unsafe impl Send for Bare {}
        // SAFETY: as above.
        unsafe impl Sync for Bare {}
        static BARE: std::sync::LazyLock<Bare> = std::sync::LazyLock::new(|| {
            Bare(WorkerSide::new(std::ptr::NonNull::dangling(), DomainHandle::for_test()))
        });
        Context::new(command.into(), &BARE.0)
    }
}
