//! Memory for plugins: a host allocates it, shares it with a worker, and names ranges in commands.
//!
//! A worker on the same machine maps the memory, or the kernel copies it. For any other worker a
//! thread of this program's library accesses the memory and sends the bytes over UCX.
//!
//! ```no_run
//! use urom_host::memory::{Access, Mmap, Share};
//! # async fn reduce(worker: &urom_host::Worker) -> urom_host::Result<()> {
//! let memory = Mmap::allocate(1 << 24, Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE)?;
//! let shared = memory.share(worker).await?;
//! // What a command carries: a number and a range.
//! let range = shared.slice(0..4096);
//! # let _ = range;
//! // The memory is this program's alone again.
//! shared.unshare().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A [`SyncEvent`] is a counter in such memory that host and plugin wait for. Share its
//! [`memory`](SyncEvent::memory), and send its [`range`](SyncEvent::range).

use std::ffi::{c_char, c_void};
use std::ops::RangeBounds;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_channel::oneshot;
pub use urom_abi::host_memory::MemoryPath;
use urom_abi::host_memory::OfferedMemory;
use urom_abi::{DocaError, DocaStatus};
#[doc(hidden)]
pub use urom_memory::ShareGuard;
pub use urom_memory::{
    Access, Buffer, Chunks, Condition, Error as MemoryError, Exported, Inventory, MemoryRange,
    Mmap, Pool, RemoteMmap, Slice, SyncEvent, View,
};
use urom_os::fork::Maker;

use crate::context::ObjectKind;
use crate::error::{Error, Result, made_here};
use crate::pending::Pending;
use crate::worker::{Context, MemoryUse, Owner, Worker};

/// Sharing memory with a worker.
pub trait Share {
    /// Lets a worker's plugins access this memory, for commands of this connection
    /// (`urom_worker_share_memory`; not in DOCA): read if it [lets others
    /// read](Access::others_read), write if it [lets others write](Access::others_write).
    ///
    /// The request is made at once, also without polling the future. Dropping the future ends the
    /// share. Memory can be shared once with each of several workers.
    ///
    /// The share takes the first of these [paths](MemoryShare::path) that works:
    ///
    /// 1. [`MAPPED`](MemoryPath::MAPPED), the fastest: a local worker maps an [`Mmap::allocate`].
    /// 2. [`PROCESS`](MemoryPath::PROCESS): the kernel copies other memory for a worker on this
    ///    machine, if the worker has this program's user and may trace this process.
    /// 3. [`NETWORK`](MemoryPath::NETWORK): a thread of this program's library transfers the bytes
    ///    over UCX. The program need not progress.
    ///
    /// # Errors
    /// The future resolves to
    /// - `NOT_SUPPORTED` when the library cannot share memory, as NVIDIA's: export the memory with
    ///   UCX (`ucp_memh_pack`), and import it in the plugin;
    /// - `NOT_PERMITTED` when the memory does not let others read;
    /// - `ALREADY_EXIST` when this memory is already shared with the worker;
    /// - `FULL` when this connection already shares 4096 memories with the worker;
    /// - `BAD_STATE` when the worker does not run, `CONNECTION_RESET` when it is lost meanwhile;
    /// - `OPERATING_SYSTEM` when the worker cannot map the memory;
    /// - `INITIALIZATION`, `DRIVER` or `NOT_CONNECTED` when the path is not the first, and UCX
    ///   fails to start or has no transport that detects a lost peer, such as `tcp`.
    fn share(&self, worker: &Worker) -> Pending<MemoryShare> {
        self.share_from(worker, MemoryPath::MAPPED)
    }

    /// As [`share`](Self::share), for a plugin that acts as a device of this host, with the owner's
    /// rights: it checks the access of others itself.
    fn share_with_device(&self, worker: &Worker) -> Pending<MemoryShare>;

    /// As [`share`](Self::share), without the paths before `path`, for tests.
    #[doc(hidden)]
    fn share_from(&self, worker: &Worker, path: MemoryPath) -> Pending<MemoryShare>;
}

impl Share for Mmap {
    fn share_from(&self, worker: &Worker, path: MemoryPath) -> Pending<MemoryShare> {
        told(begin(self, worker.owner(), path, self.access()))
    }

    fn share_with_device(&self, worker: &Worker) -> Pending<MemoryShare> {
        let device = match self.access().contains(Access::LOCAL_READ_WRITE) {
            true => Access::PCI_READ_WRITE,
            false => Access::PCI_READ_ONLY,
        };
        let access = self.access() | device;
        told(begin(self, worker.owner(), MemoryPath::MAPPED, access))
    }
}

fn told(begun: Result<(MemoryShare, oneshot::Receiver<Told>)>) -> Pending<MemoryShare> {
    Pending::new(async move {
        let (mut shared, told) = begun?;
        let what = || format!("sharing {} bytes of memory", shared.range.len);
        match told.await {
            Ok(Ok(path)) => {
                shared.path = path;
                Ok(shared)
            }
            Ok(Err((code, why))) => {
                if code != DocaError::CONNECTION_RESET {
                    shared.used.end(DocaStatus::NOT_FOUND, String::new());
                }
                Err(Error::new(code, what()).why(why))
            }
            Err(oneshot::Canceled) => Err(Error::new(DocaError::UNEXPECTED, what())),
        }
    })
}

/// Memory shared with a worker, on its thread, until dropped or [`unshare`](Self::unshare)d.
///
/// A map's memory stays allocated while the worker may use it, even if the map and this are
/// dropped. For memory of [`Mmap::from_raw`] the caller must ensure this.
#[derive(Debug)]
#[must_use = "the memory is shared as long as this exists"]
pub struct MemoryShare {
    worker: Weak<Owner>,
    used: Arc<Use>,
    range: MemoryRange,
    path: MemoryPath,
}

impl MemoryShare {
    /// The whole memory as a command field.
    #[must_use]
    pub fn range(&self) -> MemoryRange {
        self.range
    }

    /// A part of the memory as a command field. `range` counts bytes from the beginning.
    ///
    /// # Panics
    /// When the range exceeds the memory.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<u64>) -> MemoryRange {
        self.range.slice(range)
    }

    /// The path of the bytes. It does not change. [`name`](MemoryPath::name) is for logs.
    #[must_use]
    pub fn path(&self) -> MemoryPath {
        self.path
    }

    /// Ends the share (`urom_worker_unshare_memory`). Later commands do not find the memory. The
    /// future resolves when earlier commands have released it; if nothing else uses the map,
    /// [`Mmap::try_exclusive_bytes`] then returns the slice again.
    ///
    /// The share ends also without polling the future. A plugin that keeps the memory beyond its
    /// command delays the future, even when the worker was stopped or lost meanwhile.
    ///
    /// # Errors
    /// The library's code if the worker may still use the memory, which is then never freed.
    pub fn unshare(self) -> Pending<()> {
        let made_here = made_here(self.used.maker, || "ending a share");
        let ended = made_here.map(|()| self.used.ended());
        drop(self);
        Pending::new(async move {
            let Some(ended) = ended? else { return Ok(()) };
            let error = |code| Error::new(code, "ending a share");
            match ended.await {
                Ok((DocaStatus::NOT_FOUND, _)) => Ok(()),
                Ok((status, why)) => status.check().map_err(|code| error(code).why(why)),
                Err(oneshot::Canceled) => Err(error(DocaError::UNEXPECTED)),
            }
        })
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        // Otherwise the worker is being dropped and calls `ask` when it is idle.
        if let Some(worker) = self.worker.upgrade() {
            Arc::clone(&self.used).ask(&worker);
        }
    }
}

type Answer = (DocaStatus, String);

/// Memory kept for a worker until the library reports that the worker no longer uses it.
#[derive(Debug)]
pub(crate) struct Use {
    maker: Maker,
    memory: u64,
    state: Mutex<UseState>,
}

#[derive(Debug)]
struct UseState {
    guard: Option<ShareGuard>,
    was_asked: bool,
    waiting: Vec<oneshot::Sender<Answer>>,
}

impl Use {
    fn new(map: &Mmap) -> Use {
        let guard = Some(map.begin_share());
        let state = UseState { guard, was_asked: false, waiting: Vec::new() };
        Use { maker: Maker::here(), memory: map.id(), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, UseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> Option<oneshot::Receiver<Answer>> {
        let mut state = self.state();
        state.guard.as_ref()?;
        let (waiting, ended) = oneshot::channel();
        state.waiting.push(waiting);
        Some(ended)
    }

    fn end(&self, status: DocaStatus, why: String) {
        let mut state = self.state();
        let (guard, waiting) = (state.guard.take(), std::mem::take(&mut state.waiting));
        drop(state);
        match status {
            // First, so that the owner has the memory when it receives the answer.
            DocaStatus::SUCCESS | DocaStatus::NOT_FOUND => drop(guard),
            _ => std::mem::forget(guard),
        }
        for waiting in waiting {
            // Fails if the future was dropped.
            let _ = waiting.send((status, why.clone()));
        }
    }
}

impl MemoryUse for Use {
    fn is_over(&self) -> bool {
        self.state().guard.is_none()
    }

    fn shares(&self, map: u64) -> bool {
        self.memory == map && !self.state().was_asked
    }

    fn ask(self: Arc<Self>, worker: &Context) {
        if !self.maker.is_here() {
            return;
        }
        let mut state = self.state();
        if state.guard.is_none() || std::mem::replace(&mut state.was_asked, true) {
            return;
        }
        drop(state);
        let Some(unshare) = worker.library.extensions().urom_worker_unshare_memory else { return };
        let this = Arc::into_raw(Arc::clone(&self));
        // SAFETY: the worker is live, on its thread; the library returns `this` to `ended`.
        let status =
            unsafe { unshare(worker.object(), self.memory, Some(ended), this.cast_mut().cast()) };
        if status != DocaStatus::SUCCESS {
            // SAFETY: from `into_raw`; the library did not take it.
            drop(unsafe { Arc::from_raw(this) });
            self.end(status, String::new());
        }
    }
}

type Told = Result<MemoryPath, (DocaError, String)>;

/// Called by the library once, on any thread, when memory is shared.
unsafe extern "C" fn shared(
    data: *mut c_void,
    status: DocaStatus,
    path: MemoryPath,
    why: *const c_char,
    why_len: usize,
) {
    // SAFETY: the library passes the sender's pointer, once.
    let answer = unsafe { Box::from_raw(data.cast::<oneshot::Sender<Told>>()) };
    // SAFETY: the library's text.
    let why = unsafe { text(why, why_len) };
    // Fails if the future was dropped.
    guard(|| drop(answer.send(status.check().map(|()| path).map_err(|code| (code, why)))));
}

/// Called by the library once, on any thread, when memory is no longer shared.
unsafe extern "C" fn ended(
    data: *mut c_void,
    status: DocaStatus,
    _: MemoryPath,
    why: *const c_char,
    why_len: usize,
) {
    // SAFETY: the library passes the `Arc`'s pointer, once.
    let used = unsafe { Arc::from_raw(data.cast::<Use>()) };
    // SAFETY: the library's text.
    let why = unsafe { text(why, why_len) };
    guard(|| used.end(status, why));
}

/// Keeps the panic of a waker, which was already reported, from the library.
fn guard(tell: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(tell));
}

/// # Safety
/// `why` has `len` bytes, or is NULL.
unsafe fn text(why: *const c_char, len: usize) -> String {
    let why = if why.is_null() { ptr::NonNull::dangling().as_ptr() } else { why.cast_mut() };
    // SAFETY: the caller's promise; NULL comes with no bytes.
    let why = unsafe { std::slice::from_raw_parts(why.cast::<u8>(), len) };
    String::from_utf8_lossy(why).into_owned()
}

fn begin(
    map: &Mmap,
    worker: &Rc<Owner>,
    path: MemoryPath,
    access: Access,
) -> Result<(MemoryShare, oneshot::Receiver<Told>)> {
    let what = || format!("sharing {} bytes of memory with {}", map.len(), worker.name());
    worker.check()?;
    let share = worker.library.extensions().urom_worker_share_memory.ok_or_else(|| {
        Error::new(DocaError::NOT_SUPPORTED, what())
            .why("the library cannot share memory with a worker, as NVIDIA's")
            .hint(
                "export the memory with UCX (ucp_memh_pack with EXPORT), and import it in the plugin",
            )
    })?;
    let mut uses = worker.uses.borrow_mut();
    uses.retain(|used| !used.is_over());
    if uses.iter().any(|used| used.shares(map.id())) {
        return Err(
            Error::new(DocaError::ALREADY_EXIST, what()).why("it is shared with it already")
        );
    }
    let used = Arc::new(Use::new(map));
    let fd = used.state().guard.as_ref().and_then(|guard| {
        let is_device = access.others_write() && !map.access().others_write();
        let fd = if is_device { guard.device_fd() } else { guard.fd() };
        fd.map(|(fd, offset)| (fd.as_raw_fd(), offset))
    });
    let offered = OfferedMemory {
        size: size_of::<OfferedMemory>(),
        memory: map.id(),
        address: map.view().as_ptr().cast(),
        len: map.len() as usize,
        access: access.bits(),
        fd: fd.map_or(-1, |(fd, _)| fd),
        fd_offset: fd.map_or(0, |(_, offset)| offset),
        path,
        reserved: 0,
    };
    let (answer, told) = oneshot::channel::<Told>();
    let answer = Box::into_raw(Box::new(answer));
    // SAFETY: the worker is live and belongs to this thread. The use guards the memory until the
    // library reports its end.
    let status = unsafe { share(worker.object(), &offered, Some(shared), answer.cast()) };
    if let Err(code) = status.check() {
        // SAFETY: from `into_raw`; the library did not take it.
        drop(unsafe { Box::from_raw(answer) });
        return Err(Error::new(code, what()).why(worker.failure()));
    }
    uses.push(Arc::<Use>::clone(&used));
    let path = MemoryPath::NETWORK;
    Ok((MemoryShare { worker: Rc::downgrade(worker), used, range: map.range(), path }, told))
}
