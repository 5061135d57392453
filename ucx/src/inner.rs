//! The state of a worker that its callbacks from C reach.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use ucx_sys::{self as sys, Zeroed};

use crate::context::{Context, void};
use crate::features::Features;
use crate::handler_table::Handlers;
use crate::slot::{Completion, RequestSlot};
use crate::status::Status;
use crate::watch::SocketWatch;

/// How long a dropped worker waits for UCX to return parked buffers.
const DRAIN: Duration = Duration::from_secs(1);

const BUSY_ROUNDS: u32 = 1024;

type WorkerJob = Box<dyn FnOnce(&WorkerState)>;

/// The state of a worker. Callbacks hold a plain pointer to it: it outlives UCX's worker.
pub(crate) struct WorkerState {
    pub(crate) raw: sys::ucp_worker_h,
    pub(crate) context: Context,
    /// The context's features, copied because every send checks them.
    pub(crate) features: Features,
    pub(crate) max_am_header: usize,
    /// The parameters of an eager active message without header. Zero until the address is final.
    pub(crate) eager: Cell<sys::ucp_request_param_t>,
    pub(crate) handlers: Handlers,
    pub(crate) watch: SocketWatch<WorkerState>,
    pub(crate) losses: Cell<u64>,
    pub(crate) receives: RefCell<FxHashSet<NonNull<RequestSlot>>>,
    progressing: Cell<bool>,
    pub(crate) closing: Cell<bool>,
    /// A job or a panic waits for the end of progress.
    pub(crate) attention: Cell<bool>,
    parked: Cell<usize>,
    jobs: RefCell<VecDeque<WorkerJob>>,
    pub(crate) chores: Cell<bool>,
    idle_jobs: RefCell<VecDeque<WorkerJob>>,
    busy_rounds: Cell<u32>,
    panic: Cell<Option<Box<dyn Any + Send>>>,
}

impl WorkerState {
    pub(crate) fn new(
        raw: sys::ucp_worker_h,
        context: Context,
        max_am_header: usize,
    ) -> Rc<WorkerState> {
        let inner = Rc::new(WorkerState {
            raw,
            features: context.features(),
            context,
            max_am_header,
            eager: Cell::new(sys::ucp_request_param_t::zeroed()),
            handlers: Handlers::default(),
            watch: SocketWatch::default(),
            losses: Cell::new(0),
            receives: RefCell::default(),
            progressing: Cell::new(false),
            closing: Cell::new(false),
            attention: Cell::new(false),
            parked: Cell::new(0),
            jobs: RefCell::default(),
            chores: Cell::new(false),
            idle_jobs: RefCell::default(),
            busy_rounds: Cell::new(0),
            panic: Cell::new(None),
        });
        let mut eager = inner.params();
        eager.op_attr_mask |= sys::UCP_OP_ATTR_FIELD_FLAGS;
        eager.flags = sys::UCP_AM_SEND_FLAG_EAGER;
        inner.eager.set(eager);
        inner
    }

    #[inline]
    pub(crate) fn params(&self) -> sys::ucp_request_param_t {
        let mut params = sys::ucp_request_param_t::zeroed();
        params.op_attr_mask = sys::UCP_OP_ATTR_FIELD_CALLBACK
            | sys::UCP_OP_ATTR_FIELD_USER_DATA
            | sys::UCP_OP_ATTR_FIELD_MEMORY_TYPE;
        params.cb.send = Some(on_send);
        params.user_data = void(self);
        params.memory_type = sys::UCS_MEMORY_TYPE_HOST;
        params
    }

    pub(crate) fn is_progressing(&self) -> bool {
        self.progressing.get()
    }

    pub(crate) fn park(&self) {
        self.parked.set(self.parked.get() + 1);
    }

    /// Runs a call of UCX that progresses the worker; returns `None` inside a callback.
    #[inline]
    pub(crate) fn progressing<T>(&self, call: impl FnOnce() -> T) -> Option<T> {
        if self.progressing.replace(true) {
            return None;
        }
        let result = call();
        self.progressing.set(false);
        Some(result)
    }

    /// Runs a round of UCX, then the jobs of callbacks; false without work or inside a round.
    #[inline]
    pub(crate) fn progress(&self) -> bool {
        // SAFETY: the worker is live, this is its thread, and calls do not nest.
        let call = || unsafe { sys::ucp_worker_progress(self.raw) };
        let Some(count) = self.progressing(call) else { return false };
        if self.attention.get() {
            self.attend();
            return true;
        }
        let worked = count != 0;
        let busy = self.chores.get() && self.do_chores(worked);
        self.watch.after_round(self, worked) | worked | busy
    }

    /// Runs the jobs after C has returned, and resumes a caught panic.
    #[cold]
    fn attend(&self) {
        if let Some(payload) = self.panic.take() {
            self.attention.set(!self.jobs.borrow().is_empty());
            resume_unwind(payload);
        }
        self.attention.set(false);
        while let Some(job) = self.next_job() {
            self.attention.set(!self.jobs.borrow().is_empty());
            job(self);
        }
    }

    fn next_job(&self) -> Option<WorkerJob> {
        self.jobs.borrow_mut().pop_front()
    }

    pub(crate) fn later(&self, job: impl FnOnce(&WorkerState) + 'static) {
        self.jobs.borrow_mut().push_back(Box::new(job));
        self.attention.set(true);
    }

    /// Queues a job for an idle round, when UCX has read the peers' data, or after busy rounds.
    pub(crate) fn once_idle(&self, job: impl FnOnce(&WorkerState) + 'static) {
        self.idle_jobs.borrow_mut().push_back(Box::new(job));
        self.busy_rounds.set(0);
        self.chores.set(true);
    }

    pub(crate) fn lose_peer(&self) {
        self.losses.set(self.losses.get() + 1);
    }

    pub(crate) fn cancel_receives(&self) {
        for slot in self.receives.take() {
            // SAFETY: a live request of this worker; the callback that ends it removes it.
            unsafe { sys::ucp_request_cancel(self.raw, slot.as_ptr().cast()) };
        }
    }

    #[cold]
    fn do_chores(&self, worked: bool) -> bool {
        let busy_rounds = self.busy_rounds.get() + 1;
        self.busy_rounds.set(busy_rounds);
        if worked && busy_rounds < BUSY_ROUNDS {
            return false;
        }
        let mut done = false;
        while let Some(job) = self.next_idle_job() {
            job(self);
            done = true;
        }
        self.chores.set(!self.idle_jobs.borrow().is_empty());
        done
    }

    fn next_idle_job(&self) -> Option<WorkerJob> {
        self.idle_jobs.borrow_mut().pop_front()
    }

    /// Runs the Rust part of a callback. A panic does not reach C; [`WorkerState::progress`]
    /// resumes it. UCX also calls back inside a send or any other call that ends a request at once.
    #[inline(always)]
    pub(crate) fn guard(&self, run: impl FnOnce()) {
        let before = self.progressing.replace(true);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
            self.caught(payload);
        }
        self.progressing.set(before);
    }

    #[cold]
    fn caught(&self, payload: Box<dyn Any + Send>) {
        let first = self.panic.take().unwrap_or(payload);
        self.panic.set(Some(first));
        self.attention.set(true);
    }

    /// Ends the worker. False means that UCX still uses buffers: leak this state and its context.
    pub(crate) fn close(&self) -> bool {
        self.closing.set(true);
        self.handlers.clear();
        let deadline = Instant::now() + DRAIN;
        self.progressing.set(true);
        if !self.idle_jobs.borrow().is_empty() {
            // SAFETY: the worker is live, and nothing else runs on it.
            let read = || unsafe { sys::ucp_worker_progress(self.raw) } != 0;
            let _ = (0..BUSY_ROUNDS).find(|_| !read());
        }
        loop {
            self.progressing.set(true);
            while let Some(job) = self.next_job().or_else(|| self.next_idle_job()) {
                job(self);
            }
            if self.parked.get() == 0 {
                break;
            }
            // A peer that floods this worker causes work in every round.
            if Instant::now() > deadline {
                return false;
            }
            // SAFETY: the worker is live, and nothing else runs on it.
            if unsafe { sys::ucp_worker_progress(self.raw) } == 0 {
                std::thread::yield_now();
            }
        }
        // SAFETY: all endpoints, requests and memory of the worker are gone; it is destroyed once.
        unsafe { sys::ucp_worker_destroy(self.raw) };
        true
    }
}

unsafe extern "C" fn on_send(
    request: *mut c_void,
    status: sys::ucs_status_t,
    user_data: *mut c_void,
) {
    // SAFETY: this is the completion callback of a request made with `params`.
    unsafe { complete(request, user_data, Completion::new(Status::from_raw(status))) };
}

/// Records the end of a request; every completion callback calls this.
///
/// # Safety
/// `request` and `user_data` are UCX's, for a request made with [`WorkerState::params`].
pub(crate) unsafe fn complete(
    request: *mut c_void,
    user_data: *mut c_void,
    completion: Completion,
) {
    let Some(slot) = NonNull::new(request.cast::<RequestSlot>()) else { return };
    // SAFETY: `params` set a worker's `WorkerState`, which outlives the worker's requests.
    let inner = unsafe { &*user_data.cast::<WorkerState>() };
    // SAFETY: a live request starts with its slot.
    let this = unsafe { slot.as_ref() };
    this.completion.set(Some(completion));
    if let Some(parked) = this.parked.take() {
        inner.guard(|| drop(parked));
        // SAFETY: the request is complete, and its handle was forgotten when it was parked.
        unsafe { RequestSlot::free(slot) };
        inner.parked.set(inner.parked.get() - 1);
    } else if let Some(waker) = this.waker.take() {
        inner.guard(|| waker.wake());
    }
}
