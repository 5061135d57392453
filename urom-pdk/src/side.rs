//! The plugin side as generated code sees it, and the contexts it passes to handlers.

use std::future::Future;
use std::time::Instant;

use urom_abi::plugin::WorkerNotify;
use urom_abi::protocol::{AnswerPlace, Now, PluginSide, Protocol, Room};
use urom_abi::shared::SharedCommand;

use crate::cancel::{Cancel, Unless};
use crate::memory::{HostMemory, Memories, MemoryRange, SyncEvent};
use crate::worker_side::WorkerSide;
use crate::{CancelReason, DomainHandle, Domains, Error, Held, Result, Tasks};

/// The plugin side of a protocol: the one implementation of [`PluginSide`].
///
/// A protocol's trait `Handler` is generic over its side, and [`urom_plugin`](crate::urom_plugin)
/// fills this one in. Code that takes handlers of any type names it, as in
/// `H: sandbox::Handler<Side>`.
#[derive(Clone, Copy, Debug)]
pub struct Side;

impl PluginSide for Side {
    type OpenContext = OpenContext;
    type Context = Context;
    type Error = Error;

    #[inline]
    fn place(cx: &Context, _: Now) -> AnswerPlace<'_> {
        let mut place = cx.worker.take_place()?;
        // SAFETY: the worker's place, which is valid while the command's first poll runs and was
        // just taken; `Now` says that it is let go of in this poll.
        let bytes = unsafe { place.as_mut() };
        Some(Room { bytes, written: cx.worker.written() })
    }
}

/// What a handler sees while it opens.
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

    /// The plugin's name, as its protocol states it.
    pub fn plugin_name(&self) -> &'static str {
        self.plugin
    }

    /// The protocol's version, which a host compares with its own.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The worker's domain look-ups, to be kept and used later and on any thread; commands have
    /// [`Context::domains`].
    pub fn domains(&self) -> DomainHandle {
        self.worker.domains.clone()
    }

    /// What starts futures that run beside the commands, now and later.
    pub fn tasks(&self) -> Tasks {
        self.worker.tasks().clone()
    }

    /// The worker's id on its service. `None` in a worker that is not this kit's.
    pub fn worker_id(&self) -> Option<u64> {
        self.worker.worker_id()
    }

    /// The worker's group (`doca_urom_worker_set_gid`), 0 by default. `None` in a worker that is
    /// not this kit's.
    pub fn group_id(&self) -> Option<u32> {
        self.worker.group_id().and_then(|group| group.try_into().ok())
    }

    /// The longest message in bytes that the worker takes, its header included: 24 bytes before a
    /// command, 32 before a notification. A host may allow less: see [`Context::message_limit`].
    /// `None` in a worker that is not this kit's.
    pub fn message_limit(&self) -> Option<usize> {
        self.worker.message_limit()
    }
}

/// What a handler sees beside each command: where it came from, and what the worker knows of its
/// domains.
///
/// It stays on the worker's thread.
///
/// ```
/// use std::cell::RefCell;
/// use std::collections::HashMap;
/// use urom_pdk::prelude::*;
///
/// /// Counts commands by the connection they came in on.
/// struct Counting {
///     seen: RefCell<HashMap<u64, u64>>,
/// }
///
/// impl Counting {
///     async fn count(&self, cx: &Context) -> Result<u64> {
///         let mut seen = self.seen.borrow_mut();
///         let count = seen.entry(cx.dest_id()).or_default();
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
    /// The executor's, which outlives every context: so that a command counts nothing.
    worker: &'static WorkerSide,
    cancel: Cancel,
}

impl Context {
    #[inline]
    pub(crate) fn new(command: SharedCommand, worker: &'static WorkerSide) -> Context {
        Context { command, worker, cancel: Cancel::default() }
    }

    /// The connection the command came in on (`urom_worker_cmd_desc::dest_id`). Commands of one
    /// connection share it; a host may have several. The notification goes back to it.
    #[inline]
    pub fn dest_id(&self) -> u64 {
        self.command.dest_id()
    }

    /// The id the service gave to this plugin (`urom_worker_cmd::type`): one bit of a mask.
    #[inline]
    pub fn plugin_id(&self) -> u64 {
        self.command.header().plugin_id
    }

    /// The worker's domain look-ups. Their answers are borrowed, for as long as this is.
    #[inline]
    pub fn domains(&self) -> Domains<'_> {
        self.worker.domains.borrowed()
    }

    /// When the host gives the command up, if it set a deadline: an instant of [`time::now`]. It
    /// counts from the command's arrival at the worker, so it is later than the host's by the time
    /// that the command was on its way.
    ///
    /// `None` without a deadline, and in a worker that is not this kit's.
    ///
    /// [`time::now`]: crate::time::now
    pub fn deadline(&self) -> Option<Instant> {
        self.worker.deadline(&self.command)
    }

    /// Opens the part of a host's memory that a command names (`open_memory` of
    /// `urom_plugin_extension.h`). The memory must be shared with this worker on the connection
    /// that this command came on. This call checks the range; each operation checks the
    /// permissions.
    ///
    /// The memory stays open until the value is dropped, also beyond this command.
    ///
    /// # Errors
    /// `NOT_FOUND` when this connection does not share the memory, or not any more; `INVALID_VALUE`
    /// when the range is not all in it; `NOT_SUPPORTED` in a worker that is not this kit's, and
    /// with `uromd --plain-doca`.
    pub fn memory(&self, range: MemoryRange) -> Result<HostMemory> {
        HostMemory::open(self.worker.memory(), self.dest_id(), range)
    }

    /// Opens a counter that a host shares, 8 bytes of its memory (`doca_sync_event`). They must be
    /// shared as those of [`memory`](Self::memory).
    ///
    /// # Errors
    /// As [`memory`](Self::memory); `INVALID_VALUE` also when the range does not have 8 bytes, or
    /// their address is no multiple of 8.
    pub fn sync_event(&self, range: MemoryRange) -> Result<SyncEvent> {
        SyncEvent::open(self.worker.memory(), self.dest_id(), range)
    }

    /// The memory that the host of this command shares, to be opened later.
    pub fn memories(&self) -> Memories {
        Memories::of(self.worker.memory(), self.dest_id())
    }

    /// Ends when nobody waits for the command any more: the host gave it up, its deadline passed at
    /// the host, or the host left. A command that goes on is answered as any other, and the answer
    /// is thrown away.
    ///
    /// Never ends in a worker that is not this kit's.
    pub fn cancelled(&self) -> impl Future<Output = CancelReason> {
        self.cancel.cancelled()
    }

    /// What `future` gives, unless the command is [cancelled](Self::cancelled) before. It is polled
    /// first, so what is ready is never lost.
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
    /// The reason, which `?` turns into an error with the code `SKIPPED`; `future` is dropped
    /// before this ends.
    #[inline]
    pub fn unless_cancelled<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, CancelReason>> {
        Unless::new(future, &self.cancel)
    }

    /// The longest message in bytes to this command's host, its header included. `None` in a worker
    /// that is not this kit's.
    pub fn message_limit(&self) -> Option<usize> {
        self.worker.connection_limit(self.dest_id())
    }

    /// The longest answer in bytes to this command: fixed part and payload of its notification. A
    /// longer one reaches its host as `TOO_BIG`. `None` in a worker that is not this kit's.
    pub fn longest_answer(&self) -> Option<usize> {
        Some(self.message_limit()?.saturating_sub(size_of::<WorkerNotify>()))
    }

    /// The worker's id on its service. `None` in a worker that is not this kit's.
    pub fn worker_id(&self) -> Option<u64> {
        self.worker.worker_id()
    }

    /// The worker's group (`doca_urom_worker_set_gid`), 0 by default. `None` in a worker that is
    /// not this kit's.
    pub fn group_id(&self) -> Option<u32> {
        self.worker.group_id().and_then(|group| group.try_into().ok())
    }

    pub(crate) fn cancel(&self, reason: CancelReason) {
        self.cancel.set(reason);
    }

    /// A handle on `bytes` of this command, such as a payload, that keeps the command's memory for
    /// as long as it lives: for what goes on when the command's future is dropped, such as a send
    /// by UCX. Nothing is copied or allocated.
    ///
    /// # Errors
    /// `INVALID_VALUE` when `bytes` are not this command's own. No bytes at all are always fine.
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
    /// The context of a command in a worker without domains.
    pub(crate) fn for_test(command: urom_abi::descriptor::CommandDesc) -> Context {
        struct Bare(WorkerSide);
        // SAFETY: tests of contexts ask their worker for nothing.
        unsafe impl Send for Bare {}
        // SAFETY: tests of contexts ask their worker for nothing.
        unsafe impl Sync for Bare {}
        static BARE: std::sync::LazyLock<Bare> = std::sync::LazyLock::new(|| {
            Bare(WorkerSide::new(std::ptr::NonNull::dangling(), DomainHandle::for_test()))
        });
        Context::new(command.into(), &BARE.0)
    }
}
