//! Memory that plugins can reach.
//!
//! A host allocates memory, shares it with a worker, and names parts of it in commands. A worker on
//! the same machine maps the memory, or the kernel copies for it. For any other worker this
//! program's library reads and writes the memory on a thread of its own, and sends the bytes over
//! UCX.
//!
//! ```no_run
//! use urom_host::memory::{Access, Mmap, Share};
//! # async fn reduce(worker: &urom_host::Worker) -> Result<(), Box<dyn std::error::Error>> {
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

use std::ffi::{c_char, c_void};
use std::ops::RangeBounds;
use std::os::fd::AsRawFd;
use std::ptr;
use std::rc::{Rc, Weak};

use futures_channel::oneshot;
use urom_abi::DocaError;
pub use urom_abi::host_memory::MemoryPath;
use urom_abi::host_memory::OfferedMemory;
use urom_memory::ShareGuard;
pub use urom_memory::{Access, Chunks, Exported, MemoryRange, Mmap, RemoteMmap, View};

use crate::context::Kind;
use crate::error::{Error, Result};
use crate::pending::Pending;
use crate::worker::{Owner, Worker};

/// Sharing memory with a worker.
pub trait Share {
    /// Lets the plugins of a worker reach this memory, for commands of this connection
    /// (`urom_worker_share_memory`; DOCA has no such call). They may read it if it
    /// [lets others read](Access::others_read), and write it if it
    /// [lets others write](Access::others_write).
    ///
    /// The request is made when this returns, whether or not the future is polled. Dropping the
    /// future ends the share. Memory can be shared with several workers, once with each.
    ///
    /// The share takes the first of these [paths](Shared::path) that works:
    ///
    /// 1. [`MAPPED`](MemoryPath::MAPPED): a worker on this machine maps memory of
    ///    [`Mmap::allocate`]. This is the fastest.
    /// 2. [`PROCESS`](MemoryPath::PROCESS): the kernel copies other memory for a worker on this
    ///    machine, if the worker has this program's user and may trace this process.
    /// 3. [`NETWORK`](MemoryPath::NETWORK): this program's library sends and receives the bytes
    ///    over UCX, on a thread of its own. The program need not progress for that.
    ///
    /// # Errors
    /// The future resolves to
    ///
    /// - `NOT_SUPPORTED` with NVIDIA's library: export the memory with UCX there
    ///   (`ucp_memh_pack`), and import it in the plugin;
    /// - `NOT_PERMITTED` when the memory lets nobody else read;
    /// - `ALREADY_EXIST` when this memory is shared with the worker already;
    /// - `FULL` when 4096 memories of this connection are shared with the worker;
    /// - `BAD_STATE` when the worker does not run, `CONNECTION_RESET` when it is lost meanwhile;
    /// - `OPERATING_SYSTEM` when the worker cannot map the memory;
    /// - `INITIALIZATION`, `DRIVER` or `NOT_CONNECTED` when the path is not the first, and UCX does
    ///   not start or has no transport that notices a lost peer, such as `tcp`.
    fn share(&self, worker: &Worker) -> Pending<Shared> {
        self.share_from(worker, MemoryPath::MAPPED)
    }

    /// As [`share`](Self::share), without the paths before `path`. For tests.
    #[doc(hidden)]
    fn share_from(&self, worker: &Worker, path: MemoryPath) -> Pending<Shared>;
}

impl Share for Mmap {
    fn share_from(&self, worker: &Worker, path: MemoryPath) -> Pending<Shared> {
        let begun = begin(self, worker.owner(), path);
        Pending::new(async move {
            let (mut shared, told) = begun?;
            let what = || format!("sharing {} bytes of memory", shared.guard_len());
            match told.await {
                Ok((DocaError::SUCCESS, path, _)) => {
                    shared.path = path;
                    Ok(shared)
                }
                Ok((code, _, why)) => {
                    let error = Error::new(code, what()).why(why);
                    // There is nothing to end.
                    shared.guard = None;
                    Err(error)
                }
                Err(oneshot::Canceled) => Err(Error::new(DocaError::UNEXPECTED, what())),
            }
        })
    }
}

/// Memory that is shared with a worker, until this is dropped or [`unshare`](Self::unshare)d.
///
/// The map's memory stays allocated as long as the worker may use it, even if the map and this are
/// dropped before. For memory of [`Mmap::from_raw`] the caller has to keep that order.
///
/// It stays on the thread of its worker.
#[derive(Debug)]
#[must_use = "the memory is shared as long as this exists"]
pub struct Shared {
    worker: Weak<Owner>,
    guard: Option<ShareGuard>,
    range: MemoryRange,
    path: MemoryPath,
}

impl Shared {
    /// The whole memory as a command's field.
    #[must_use]
    pub fn range(&self) -> MemoryRange {
        self.range
    }

    /// A part of the memory as a command's field. The range is in bytes from the beginning.
    ///
    /// # Panics
    /// When the range does not lie within the memory.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<u64>) -> MemoryRange {
        self.range.slice(range)
    }

    /// Which path the bytes take between this program and the worker. It does not change. Its
    /// [`name`](MemoryPath::name) is for a log.
    #[must_use]
    pub fn path(&self) -> MemoryPath {
        self.path
    }

    /// Ends the share (`urom_worker_unshare_memory`). Commands that come later do not find the
    /// memory. The future resolves when the plugins have let go of it; if nothing else uses the
    /// map, [`Mmap::bytes`] then gives the slice again.
    ///
    /// The share ends whether or not the future is polled. A plugin that keeps the memory beyond
    /// its command delays the future.
    ///
    /// # Errors
    /// The future resolves to the code of the library. No worker uses the memory in this case
    /// either. A worker that is lost or stopped is a success.
    pub fn unshare(mut self) -> Pending<()> {
        let told = self.end();
        Pending::new(async move {
            match told {
                // A worker that is gone does not use it any more.
                Some(told) => match told.await {
                    Ok((DocaError::SUCCESS | DocaError::CONNECTION_RESET, ..)) => Ok(()),
                    Ok((code, _, why)) => Err(Error::new(code, "ending a share").why(why)),
                    Err(oneshot::Canceled) => Ok(()),
                },
                None => Ok(()),
            }
        })
    }

    /// Asks for the end, and gives the answer; `None` when the worker uses nothing any more.
    fn end(&mut self) -> Option<oneshot::Receiver<Told>> {
        let guard = self.guard.take()?;
        let worker = self.worker.upgrade()?;
        let unshare = worker.library.extensions().urom_worker_unshare_memory?;
        let (waiter, told) = Waiter::leak(guard);
        // SAFETY: the worker is live and belongs to this thread; the waiter stays until it is told.
        let code = unsafe { unshare(worker.object(), self.range.memory, Some(tell), waiter) };
        if code != DocaError::SUCCESS {
            // The worker is idle: it has nothing of the memory.
            // SAFETY: from `Waiter::leak`, and the library did not take it.
            drop(unsafe { Box::from_raw(waiter.cast::<Waiter>()) });
            return None;
        }
        Some(told)
    }

    fn guard_len(&self) -> u64 {
        self.range.len
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        drop(self.end());
    }
}

/// A code, the path, and why it failed.
type Told = (DocaError, MemoryPath, String);

/// Who waits for the library, and what keeps the memory until then.
struct Waiter {
    answer: oneshot::Sender<Told>,
    _guard: ShareGuard,
}

impl Waiter {
    fn leak(guard: ShareGuard) -> (*mut c_void, oneshot::Receiver<Told>) {
        let (answer, told) = oneshot::channel();
        (Box::into_raw(Box::new(Waiter { answer, _guard: guard })).cast(), told)
    }
}

/// Called by the library, once, on any thread.
unsafe extern "C" fn tell(
    data: *mut c_void,
    code: DocaError,
    path: MemoryPath,
    why: *const c_char,
    why_len: usize,
) {
    // SAFETY: the library gives back what it was given, once.
    let waiter = unsafe { Box::from_raw(data.cast::<Waiter>()) };
    let why = if why.is_null() { ptr::NonNull::dangling().as_ptr() } else { why.cast_mut() };
    // SAFETY: the library's text, which is there during the call, or no bytes at all.
    let why = unsafe { std::slice::from_raw_parts(why.cast::<u8>(), why_len) };
    let why = String::from_utf8_lossy(why).into_owned();
    let Waiter { answer, _guard } = *waiter;
    // First, so that the memory is its owner's when the owner hears of it.
    drop(_guard);
    // Nobody waits any more if the future was dropped.
    let _ = answer.send((code, path, why));
}

fn begin(
    map: &Mmap,
    worker: &Rc<Owner>,
    path: MemoryPath,
) -> Result<(Shared, oneshot::Receiver<Told>)> {
    let what = || format!("sharing {} bytes of memory with {}", map.len(), worker.name());
    let share = worker.library.extensions().urom_worker_share_memory.ok_or_else(|| {
        Error::new(DocaError::NOT_SUPPORTED, what())
            .why("the library cannot share memory with a worker, as NVIDIA's")
            .hint(
                "export the memory with UCX (ucp_memh_pack with EXPORT), and import it in the plugin",
            )
    })?;
    let guard = map.begin_share();
    let fd = guard.fd().map(|(fd, offset)| (fd.as_raw_fd(), offset));
    let offered = OfferedMemory {
        size: size_of::<OfferedMemory>(),
        memory: map.id(),
        address: map.view().as_ptr().cast(),
        len: map.len() as usize,
        access: map.access().bits(),
        fd: fd.map_or(-1, |(fd, _)| fd),
        fd_offset: fd.map_or(0, |(_, offset)| offset),
        path,
        reserved: 0,
    };
    let (waiter, told) = Waiter::leak(map.begin_share());
    // SAFETY: the worker is live and belongs to this thread. The memory stays: `Shared` has a guard
    // of it, which it hands over when it asks for the end.
    let code = unsafe { share(worker.object(), &offered, Some(tell), waiter) };
    if let Err(code) = code.check() {
        // SAFETY: from `Waiter::leak`, and the library did not take it.
        drop(unsafe { Box::from_raw(waiter.cast::<Waiter>()) });
        return Err(Error::new(code, what()).why(worker.failure()));
    }
    let shared = Shared {
        worker: Rc::downgrade(worker),
        guard: Some(guard),
        range: map.range(),
        path: MemoryPath::NETWORK,
    };
    Ok((shared, told))
}
