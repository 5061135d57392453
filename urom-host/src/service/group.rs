//! Which workers are in a group.

use std::ffi::c_void;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use urom_abi::DocaError;
use urom_abi::host::{Api, Data, GidTask};

use crate::error::{Error, Result};
use crate::library::Library;
use crate::service::ServiceCore;
use crate::service::session::Session;
use crate::wait;

/// A question for the workers of a group (`doca_urom_service_get_workers_by_gid_task`): a future of their ids, in rising
/// order.
///
/// The service's own thread asks and gets the answer, so it can be awaited on any thread, with any executor, and nothing
/// needs to be progressed for it.
///
/// ```no_run
/// # fn example(service: &urom_host::Service) -> urom_host::Result<()> {
/// let query = service.workers_of_group(1);
/// // Other work, meanwhile.
/// let ids = query.wait()?;
/// println!("group 1 has the workers {ids:?}");
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping it throws the answer away"]
pub struct GroupQuery {
    inquiry: Arc<Inquiry>,
    group: u32,
    /// The service stays connected until the answer is there.
    _service: Arc<ServiceCore>,
}

impl GroupQuery {
    pub(super) fn submit(service: &Arc<ServiceCore>, group: u32) -> GroupQuery {
        let inquiry = Arc::new(Inquiry { group, library: service.library(), state: Mutex::default() });
        service.ask(Question(Some(Arc::clone(&inquiry))));
        GroupQuery { inquiry, group, _service: Arc::clone(service) }
    }

    /// Waits for the answer, progressing all engines of this thread.
    ///
    /// # Errors
    /// As the future; `BAD_STATE` inside a completion callback.
    ///
    /// # Panics
    /// With the panic of a callback that ran meanwhile.
    pub fn wait(self) -> Result<Vec<u64>> {
        wait::allowed()?;
        wait::block_on(self)
    }
}

impl Future for GroupQuery {
    type Output = Result<Vec<u64>>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let mut state = self.inquiry.state();
        match state.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl fmt::Debug for GroupQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupQuery").field("group", &self.group).finish_non_exhaustive()
    }
}

struct Inquiry {
    group: u32,
    library: Library,
    state: Mutex<Answer>,
}

#[derive(Default)]
struct Answer {
    answer: Option<Result<Vec<u64>>>,
    waker: Option<Waker>,
}

impl Inquiry {
    fn state(&self) -> MutexGuard<'_, Answer> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, code: DocaError) -> Error {
        Error::new(code, format!("asking for the workers of group {}", self.group))
    }
}

/// An [`Inquiry`] that owes an answer.
pub(super) struct Question(Option<Arc<Inquiry>>);

impl Question {
    fn answer(mut self, answer: Result<Vec<u64>>) {
        if let Some(inquiry) = self.0.take() {
            settle(&inquiry, answer);
        }
    }

    /// Asks the library; only on the service's thread.
    pub(super) fn submit(self, session: &Session) {
        let Some(inquiry) = &self.0 else { return };
        let api = inquiry.library.api();
        let mut task = ptr::null_mut();
        // SAFETY: the service is live, this is its thread, and the pointer is to a local variable.
        let code = unsafe {
            (api.doca_urom_service_get_workers_by_gid_task_allocate_init)(
                session.pointer().as_ptr(),
                inquiry.group,
                Some(on_answer),
                &mut task,
            )
        };
        if let Err(code) = code.check() {
            let error = inquiry.failed(code).why(session.failure());
            return self.answer(Err(error));
        }
        // SAFETY: the task is live.
        let generic = unsafe { (api.doca_urom_service_get_workers_by_gid_task_as_task)(task) };
        let data = Box::into_raw(Box::new(self)).cast::<c_void>();
        // SAFETY: the task is live and not in flight.
        unsafe { (api.doca_task_set_user_data)(generic, Data { ptr: data }) };
        // SAFETY: the task is live, not in flight, and has its callback.
        let code = unsafe { (api.doca_task_submit)(generic) };
        if let Err(code) = code.check() {
            // SAFETY: it was made above, and the callback will not take it.
            let question = unsafe { Box::from_raw(data.cast::<Question>()) };
            // SAFETY: the task was not submitted, so it is still this function's.
            unsafe { (api.doca_urom_service_get_workers_by_gid_task_release)(task) };
            let error = question.0.as_ref().map(|inquiry| inquiry.failed(code).why(session.failure()));
            if let Some(error) = error {
                question.answer(Err(error));
            }
        }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if let Some(inquiry) = self.0.take() {
            let error = inquiry.failed(DocaError::SHUTDOWN).why("the service was closed first");
            settle(&inquiry, Err(error));
        }
    }
}

fn settle(inquiry: &Inquiry, answer: Result<Vec<u64>>) {
    let mut state = inquiry.state();
    state.answer = Some(answer);
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

unsafe extern "C" fn on_answer(task: *mut GidTask, task_data: Data, _ctx_data: Data) {
    let answered = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the task's data is the pointer that `submit` put there.
        let data = unsafe { task_data.ptr };
        // SAFETY: `submit` gave the box away, and a task completes once.
        let question = unsafe { Box::from_raw(data.cast::<Question>()) };
        let Some(inquiry) = &question.0 else { return };
        // SAFETY: the task is complete, and released right after.
        let answer = unsafe { collect(inquiry, task) };
        // SAFETY: the task is complete; releasing it in its callback is allowed.
        unsafe { (inquiry.library.api().doca_urom_service_get_workers_by_gid_task_release)(task) };
        question.answer(answer);
    }));
    if answered.is_err() {
        // The answer was given; it is the waker that panicked, and the panic was reported when it began.
        tracing::warn!("a waker panicked on the service's thread");
    }
}

/// # Safety
/// `task` is a complete task of the inquiry's library.
unsafe fn collect(inquiry: &Inquiry, task: *mut GidTask) -> Result<Vec<u64>> {
    let api: &Api = inquiry.library.api();
    // SAFETY: the caller vouches for the task.
    let generic = unsafe { (api.doca_urom_service_get_workers_by_gid_task_as_task)(task) };
    // SAFETY: as above.
    let status = unsafe { (api.doca_task_get_status)(generic) };
    status.check().map_err(|code| inquiry.failed(code))?;
    // SAFETY: as above.
    let count = unsafe { (api.doca_urom_service_get_workers_by_gid_task_get_workers_count)(task) };
    // SAFETY: as above.
    let ids = unsafe { (api.doca_urom_service_get_workers_by_gid_task_get_worker_ids)(task) };
    if count == 0 || ids.is_null() {
        return Ok(Vec::new());
    }
    // SAFETY: the library gave out `count` ids, the task's own memory until it is released.
    let mut ids = unsafe { std::slice::from_raw_parts(ids, count) }.to_vec();
    ids.sort_unstable();
    Ok(ids)
}
