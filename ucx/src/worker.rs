//! The worker, which drives all progress; its address and event descriptor.

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
/// The handle can be cloned. Endpoints and requests hold a handle too; dropping the last one
/// destroys the worker, after waiting up to a second for the buffers of dropped requests. If UCX
/// still uses a buffer then, the worker is leaked.
///
/// Closures of the worker must not hold a strong handle of it, but a [`WeakWorker`], or both leak.
#[derive(Clone)]
pub struct Worker {
    inner: Rc<WorkerState>,
}

impl Worker {
    /// Returns the worker's context.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// Drives progress and calls handlers: `ucp_worker_progress`. False if idle or in a handler.
    ///
    /// Error hooks, and deferred closes of endpoints, run here after UCX has returned.
    ///
    /// # Panics
    /// Resumes the panic of a handler after UCX has returned. The worker stays usable.
    #[inline]
    pub fn progress(&self) -> bool {
        self.inner.progress()
    }

    /// Returns whether the caller is inside a callback of the worker.
    #[must_use]
    pub fn is_progressing(&self) -> bool {
        self.inner.is_progressing()
    }

    /// Progresses until `done` returns true; yields the processor after a while without work.
    ///
    /// # Panics
    /// Inside a callback of this worker, and like [`progress`](Worker::progress).
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

    /// Returns the address for other workers to connect to: `ucp_worker_get_address`.
    pub fn address(&self) -> Result<WorkerAddress> {
        WorkerAddress::of(self.raw(), self.context().queues())
    }

    /// Returns a descriptor to poll, readable when an armed worker has work: `ucp_worker_get_efd`.
    ///
    /// # Errors
    /// `UNSUPPORTED` without [`Features::WAKEUP`]; otherwise UCX's error.
    pub fn event_fd(&self) -> Result<BorrowedFd<'_>> {
        self.inner.context.require(Features::WAKEUP, "asking for a worker's event descriptor")?;
        let mut fd: RawFd = -1;
        // SAFETY: the worker is live, and `fd` is writable.
        let status = unsafe { sys::ucp_worker_get_efd(self.raw(), &mut fd) };
        check(status, "asking for a worker's event descriptor")?;
        // SAFETY: UCX's descriptor stays open as long as the worker, which the borrow keeps alive.
        Ok(unsafe { BorrowedFd::borrow_raw(fd) })
    }

    /// Arms the event descriptor: `ucp_worker_arm`. Returns false when there is work already. To
    /// sleep, progress until that returns false, arm, and poll if arming returned true.
    ///
    /// A peer that leaves a [`Mesh`](crate::Mesh), which this checks, and UCX's keepalive timer do
    /// not make the descriptor readable: a worker with such endpoints should limit its sleep.
    ///
    /// # Errors
    /// `UNSUPPORTED` without [`Features::WAKEUP`]; otherwise UCX's error.
    ///
    /// # Panics
    /// With the panic of the error hook of an endpoint whose peer left a mesh.
    pub fn arm(&self) -> Result<bool> {
        self.inner.context.require(Features::WAKEUP, "arming a worker")?;
        // Check the watched sockets, which do not make the descriptor readable.
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

    /// Returns the longest header of an active message, in bytes.
    #[must_use]
    pub fn max_am_header(&self) -> usize {
        self.inner.max_am_header
    }

    /// Returns a handle that does not keep the worker alive, for closures that the worker owns.
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

    /// Returns an uncounted handle for the duration of a callback.
    ///
    /// # Safety
    /// `inner` is the state of a worker that has a handle as long as the result lives.
    pub(crate) unsafe fn borrowed(inner: *const WorkerState) -> ManuallyDrop<Worker> {
        // SAFETY: the caller keeps the `Rc` alive, and `ManuallyDrop` leaves the count unchanged.
        ManuallyDrop::new(Worker { inner: unsafe { Rc::from_raw(inner) } })
    }

    pub(crate) fn as_ptr(&self) -> *const WorkerState {
        Rc::as_ptr(&self.inner)
    }
}

fn missing(status: Status) -> &'static str {
    match status {
        Status::SHMEM_SEGMENT => {
            " (/dev/shm must be writable and have free space, or UCX_TLS be without `shm`)"
        }
        Status::IO_ERROR if !Path::new("/proc/self").exists() => " (/proc must be mounted)",
        _ => "",
    }
}

impl Context {
    /// Makes a worker: `ucp_worker_create`, single thread mode.
    ///
    /// # Errors
    /// `EXCEEDS_LIMIT` with too few free descriptors (`ulimit -n`); otherwise UCX's error.
    pub fn worker(&self) -> Result<Worker> {
        descriptors::require_for("making a worker")?;
        let mut params = sys::ucp_worker_params_t::zeroed();
        params.field_mask = sys::UCP_WORKER_PARAM_FIELD_THREAD_MODE.into();
        params.thread_mode = sys::UCS_THREAD_MODE_SINGLE;
        let mut raw = ptr::null_mut();
        // SAFETY: the context is live, the mask names the set fields, and `raw` is writable.
        let status = unsafe { sys::ucp_worker_create(self.raw(), &params, &mut raw) };
        check(status, format!("making a worker{}", missing(Status::from_raw(status))))?;
        let max_am_header = max_am_header(raw);
        let limit = *max_am_header.as_ref().unwrap_or(&0);
        let worker = Worker { inner: WorkerState::new(raw, self.clone(), limit) };
        // From here on, dropping the handle destroys the worker, also on an error.
        max_am_header.map(|_| worker)
    }
}

impl ContextBuilder {
    /// Makes a worker with [`Features::RMA`] and, where a device supports it,
    /// [`Features::EXPORTED_MEMH`]. Without such a device, UCX cannot connect workers with both
    /// features: if the worker cannot connect to itself, the second feature is left out.
    pub fn worker_with_exports(self) -> Result<Worker> {
        let plain = self.features(Features::RMA);
        // UCX logs an error when it fails to connect, so check for a device first.
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
    // SAFETY: the worker is live, and the mask limits what UCX writes.
    let status = unsafe { sys::ucp_worker_query(worker, &mut attributes) };
    check(status, "asking for a worker's longest header")?;
    Ok(attributes.max_am_header)
}

impl Drop for Worker {
    fn drop(&mut self) {
        if Rc::strong_count(&self.inner) == 1 && !self.inner.close() {
            // UCX may still write to a parked buffer: leak everything it can reach.
            mem::forget(Rc::clone(&self.inner));
        }
    }
}

debug_fields!(Worker, |it| { context: it.inner.context });

/// A handle that does not keep the worker alive.
#[derive(Clone)]
pub struct WeakWorker {
    inner: Weak<WorkerState>,
}

impl WeakWorker {
    /// Returns the worker, if it still exists.
    #[must_use]
    pub fn upgrade(&self) -> Option<Worker> {
        let inner = self.inner.upgrade()?;
        (!inner.closing.get()).then_some(Worker { inner })
    }
}

debug_fields!(WeakWorker, |_| {});
