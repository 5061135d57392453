//! How the service's thread asks the library for the workers of a group (`doca_urom_service_get_workers_by_gid_task`).

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use urom_abi::DocaError;
use urom_abi::host::{Api, CtxState, Data, GidTask, Task};

use crate::error::Result;
use crate::service::inquiry::Inquiry;
use crate::service::session::Session;

/// An [`Inquiry`] that owes an answer.
pub(super) struct Question(Option<Arc<Inquiry>>);

impl Question {
    pub(super) fn new(inquiry: Arc<Inquiry>) -> Question {
        Question(Some(inquiry))
    }

    fn settle(mut self, with: Result<Vec<u64>>, is_answer: bool) {
        if let Some(inquiry) = self.0.take() {
            inquiry.settle(with, is_answer);
        }
    }

    /// Asks the library, unless nobody wants to know any more; only on the service's thread.
    pub(super) fn submit(self, session: &Session) {
        let Some(inquiry) = self.0.as_ref().filter(|inquiry| inquiry.is_asked()) else { return };
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
            let error = inquiry.error(code).why(session.failure());
            return self.settle(Err(error), false);
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
            let error =
                question.0.as_ref().map(|inquiry| inquiry.error(code).why(session.failure()));
            if let Some(error) = error {
                question.settle(Err(error), false);
            }
        }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if let Some(inquiry) = self.0.take() {
            let error = inquiry.error(DocaError::SHUTDOWN).why("the service was closed first");
            inquiry.settle(Err(error), false);
        }
    }
}

unsafe extern "C" fn on_answer(task: *mut GidTask, task_data: Data, _ctx_data: Data) {
    // SAFETY: the task's data is the pointer that `submit` put there.
    let data = unsafe { task_data.ptr };
    // SAFETY: `submit` gave the box away, and a task completes once.
    let question = unsafe { Box::from_raw(data.cast::<Question>()) };
    let Some(inquiry) = &question.0 else { return };
    let api = inquiry.library.api();
    // SAFETY: the task is complete, and released right after.
    let (answer, is_answer) = unsafe { collect(inquiry, task) };
    // SAFETY: the task is complete; releasing it in its callback is allowed.
    unsafe { (api.doca_urom_service_get_workers_by_gid_task_release)(task) };
    question.settle(answer, is_answer);
}

/// What a task ended with, and whether the service said so: otherwise it ended with the service.
///
/// # Safety
/// `task` is a complete task of the inquiry's library.
unsafe fn collect(inquiry: &Inquiry, task: *mut GidTask) -> (Result<Vec<u64>>, bool) {
    let api: &Api = inquiry.library.api();
    // SAFETY: the caller vouches for the task.
    let generic = unsafe { (api.doca_urom_service_get_workers_by_gid_task_as_task)(task) };
    // SAFETY: as above.
    let status = unsafe { (api.doca_task_get_status)(generic) };
    if let Err(code) = status.check() {
        // SAFETY: as above.
        return (Err(inquiry.error(code)), unsafe { runs(api, generic) });
    }
    // SAFETY: as above.
    let count = unsafe { (api.doca_urom_service_get_workers_by_gid_task_get_workers_count)(task) };
    // SAFETY: as above.
    let ids = unsafe { (api.doca_urom_service_get_workers_by_gid_task_get_worker_ids)(task) };
    if count == 0 || ids.is_null() {
        return (Ok(Vec::new()), true);
    }
    // SAFETY: the library gave out `count` ids, the task's own memory until it is released.
    let mut ids = unsafe { std::slice::from_raw_parts(ids, count) }.to_vec();
    ids.sort_unstable();
    (Ok(ids), true)
}

/// Whether a task's service runs.
///
/// # Safety
/// `task` is a live task of the library, and this its service's thread.
unsafe fn runs(api: &Api, task: *const Task) -> bool {
    // SAFETY: the caller vouches for the task.
    let ctx = unsafe { (api.doca_task_get_ctx)(task) };
    let mut state = CtxState::IDLE;
    // SAFETY: a task's context is live while the task is, and the pointer is to a local variable.
    let code = unsafe { (api.doca_ctx_get_state)(ctx, &mut state) };
    code == DocaError::SUCCESS && state == CtxState::RUNNING
}
