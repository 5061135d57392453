//! The worker, which makes everything progress; its address and event descriptor.

use std::mem::{self, ManuallyDrop};
use std::os::fd::{BorrowedFd, RawFd};
use std::path::Path;
use std::ptr;
use std::rc::{Rc, Weak};

use ucx_sys::{self as sys, Zeroed};

use crate::address::WorkerAddress;
use crate::context::{Context, ContextBuilder};
use crate::descriptors;
use crate::features::{Features, has_rdma_device};
use crate::inner::WorkerState;
use crate::status::{Result, Status, check};

/// A UCX worker, for one thread: `ucp_worker_h`.
///
/// A handle that can be cloned. Endpoints and requests hold one too, and the worker ends with the
/// last. Its end waits up to a second for UCX to give back the buffers of dropped requests. When a
/// peer keeps one for longer, the worker is leaked instead of freeing memory that UCX may use.
///
/// A closure given to the worker must not hold a strong handle of it, or both live for ever: give
/// it a [`WeakWorker`].
#[derive(Clone)]
pub struct Worker {
    inner: Rc<WorkerState>,
}

impl Worker {
    /// The context it was made from.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// Makes everything progress and calls handlers: `ucp_worker_progress`. Returns whether
    /// anything happened. Inside a handler it does nothing and returns false.
    ///
    /// Error hooks, and the close of endpoints that were dropped in a handler, run here after UCX
    /// has returned.
    ///
    /// # Panics
    /// With the panic of a handler, once no C is on the stack. The worker stays usable.
    #[inline]
    pub fn progress(&self) -> bool {
        self.inner.progress()
    }

    /// Whether this is inside a callback of the worker.
    #[must_use]
    pub fn is_progressing(&self) -> bool {
        self.inner.is_progressing()
    }

    /// Progresses until `done` returns true, and yields the processor after a while without work.
    ///
    /// # Panics
    /// Inside a callback of this worker, and as [`progress`](Worker::progress).
    pub fn progress_until(&self, mut done: impl FnMut() -> bool) {
        assert!(
            !self.is_progressing(),
            "waiting for a worker inside a callback of the same worker"
        );
        let mut idle = 0_u32;
        while !done() {
            idle = if self.progress() { 0 } else { idle.saturating_add(1) };
            if idle > 1000 {
                std::thread::yield_now();
            }
        }
    }

    /// The address by which other workers connect to this one: `ucp_worker_get_address`.
    pub fn address(&self) -> Result<WorkerAddress> {
        WorkerAddress::of(self.raw(), self.context().queues())
    }

    /// A descriptor that becomes readable when an armed worker has something to do:
    /// `ucp_worker_get_efd`. Only poll it: UCX reads and closes it.
    ///
    /// # Errors
    /// `UNSUPPORTED` without [`Features::WAKEUP`]; otherwise UCX's error.
    pub fn event_fd(&self) -> Result<BorrowedFd<'_>> {
        self.inner.context.require(Features::WAKEUP, "asking for a worker's event descriptor")?;
        let mut fd: RawFd = -1;
        // SAFETY: the worker is live, `fd` can be written to.
        let status = unsafe { sys::ucp_worker_get_efd(self.raw(), &mut fd) };
        check(status, "asking for a worker's event descriptor")?;
        // SAFETY: UCX's own descriptor, open as long as the worker, which the borrow keeps alive.
        Ok(unsafe { BorrowedFd::borrow_raw(fd) })
    }

    /// Makes the next event make the event descriptor readable: `ucp_worker_arm`. Returns false
    /// when there is something to do already. To sleep, progress until that returns false, arm, and
    /// poll if that returned true.
    ///
    /// Two events make nothing readable: that a peer left a [`Mesh`](crate::Mesh), and UCX's own
    /// check, on a timer, whether peers are alive. This function looks at the first, so a worker
    /// with such endpoints sleeps for a limited time.
    ///
    /// # Errors
    /// `UNSUPPORTED` without [`Features::WAKEUP`]; otherwise UCX's error.
    ///
    /// # Panics
    /// With the panic of the error hook of an endpoint whose peer left a mesh.
    pub fn arm(&self) -> Result<bool> {
        self.inner.context.require(Features::WAKEUP, "arming a worker")?;
        // This is the time to look at what is watched beside UCX.
        if self.inner.attention.get()
            || self.inner.chores.get()
            || !self.inner.is_progressing() && self.inner.watch.look(&self.inner)
        {
            return Ok(false);
        }
        // SAFETY: the worker is live.
        let status = Status::from_raw(unsafe { sys::ucp_worker_arm(self.raw()) });
        match status {
            Status::BUSY => Ok(false),
            other if other.is_error() => Err(other.during("arming a worker")),
            _ => Ok(true),
        }
    }

    /// The longest header of an active message, in bytes.
    #[must_use]
    pub fn max_am_header(&self) -> usize {
        self.inner.max_am_header
    }

    /// A handle that does not keep the worker alive, for closures that the worker owns.
    #[must_use]
    pub fn downgrade(&self) -> WeakWorker {
        WeakWorker { inner: Rc::downgrade(&self.inner) }
    }

    pub(crate) fn features(&self) -> Features {
        self.inner.features
    }

    pub(crate) fn raw(&self) -> sys::ucp_worker_h {
        self.inner.raw
    }

    pub(crate) fn inner(&self) -> &WorkerState {
        &self.inner
    }

    /// An uncounted handle for the time of a callback.
    ///
    /// # Safety
    /// `inner` is the state of a worker that has a handle for as long as the result lives.
    pub(crate) unsafe fn borrowed(inner: *const WorkerState) -> ManuallyDrop<Worker> {
        // SAFETY: the pointer is from an `Rc` that the caller keeps alive; the count is not
        // touched.
        ManuallyDrop::new(Worker { inner: unsafe { Rc::from_raw(inner) } })
    }

    pub(crate) fn as_ptr(&self) -> *const WorkerState {
        Rc::as_ptr(&self.inner)
    }
}

/// What UCX needs of the system and does not find, after this status of a new worker.
fn missing(status: Status) -> &'static str {
    match status {
        Status::SHMEM_SEGMENT => {
            " (/dev/shm must be writable and have room, or UCX_TLS be without `shm`)"
        }
        Status::IO_ERROR if !Path::new("/proc/self").exists() => " (/proc must be mounted)",
        _ => "",
    }
}

impl Context {
    /// Makes a worker: `ucp_worker_create`, thread mode single.
    ///
    /// # Errors
    /// `EXCEEDS_LIMIT` when the process has too few free descriptors (`ulimit -n`). Else UCX's error,
    /// usually that a resource of the system is used up.
    pub fn worker(&self) -> Result<Worker> {
        descriptors::require_for("making a worker")?;
        let mut params = sys::ucp_worker_params_t::zeroed();
        params.field_mask = sys::UCP_WORKER_PARAM_FIELD_THREAD_MODE.into();
        params.thread_mode = sys::UCS_THREAD_MODE_SINGLE;
        let mut raw = ptr::null_mut();
        // SAFETY: the context is live, the mask names what is set, `raw` can be written to.
        let status = unsafe { sys::ucp_worker_create(self.raw(), &params, &mut raw) };
        check(status, format!("making a worker{}", missing(Status::from_raw(status))))?;
        let max_am_header = max_am_header(raw);
        let limit = *max_am_header.as_ref().unwrap_or(&0);
        let worker = Worker { inner: WorkerState::new(raw, self.clone(), limit) };
        // From here on dropping the handle destroys the worker, also when the question failed.
        max_am_header.map(|_| worker)
    }
}

impl ContextBuilder {
    /// Makes a context with [`Features::RMA`] and, where a device can do that, with
    /// [`Features::EXPORTED_MEMH`] too, and a worker. Without a device UCX connects no worker of a
    /// context that has both, so one that cannot connect to itself is made again without the
    /// second.
    pub fn worker_with_exports(self) -> Result<Worker> {
        let plain = self.features(Features::RMA);
        // UCX logs an error where it connects nobody.
        if has_rdma_device() {
            let worker = plain.clone().features(Features::EXPORTED_MEMH).build()?.worker()?;
            if worker.connect(&worker.address()?).is_ok() {
                return Ok(worker);
            }
        }
        plain.build()?.worker()
    }
}

fn max_am_header(worker: sys::ucp_worker_h) -> Result<usize> {
    let mut attributes = sys::ucp_worker_attr_t::zeroed();
    attributes.field_mask = sys::UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER.into();
    // SAFETY: the worker is live, the mask names what UCX may write.
    let status = unsafe { sys::ucp_worker_query(worker, &mut attributes) };
    check(status, "asking for a worker's longest header")?;
    Ok(attributes.max_am_header)
}

impl Drop for Worker {
    fn drop(&mut self) {
        if Rc::strong_count(&self.inner) == 1 && !self.inner.close() {
            // UCX may still write to a parked buffer: everything it can reach stays.
            mem::forget(Rc::clone(&self.inner));
        }
    }
}

debug_fields!(Worker, |it| { context: it.inner.context });

/// A handle of a worker that does not keep it alive.
#[derive(Clone)]
pub struct WeakWorker {
    inner: Weak<WorkerState>,
}

impl WeakWorker {
    /// The worker, if it is still there.
    #[must_use]
    pub fn upgrade(&self) -> Option<Worker> {
        let inner = self.inner.upgrade()?;
        (!inner.closing.get()).then_some(Worker { inner })
    }
}

debug_fields!(WeakWorker, |_| {});
