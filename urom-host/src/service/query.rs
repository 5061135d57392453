//! A group query on the service's thread, which owns it; futures and handles hold weak references.
//! DOCA cannot cancel a query: its task stays in flight until the answer arrives.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures_channel::oneshot;
use urom_abi::DocaError;
use urom_abi::host::{CtxState, Data, GidTask};
use urom_os::fork::Maker;

use crate::error::{Error, Result};
use crate::library::{Library, get};
use crate::service::connection::Connection;

pub(super) type Ids = Result<Vec<u64>>;

#[derive(Default)]
pub(super) struct Counts {
    pub(super) late: AtomicU64,
    pub(super) dropped: AtomicU64,
}

pub(super) struct Deadline {
    pub(super) at: Instant,
    pub(super) limit: Duration,
    pub(super) query: Weak<Query>,
}

/// Ends the queries past their deadline; returns the next deadline.
pub(super) fn expire(deadlines: &mut Vec<Deadline>) -> Option<Instant> {
    let now = Instant::now();
    deadlines.retain(|Deadline { at, limit, query }| {
        let Some(query) = query.upgrade().filter(|query| query.is_asked()) else { return false };
        if *at <= now {
            let error = Error::timed_out(query.what(), *limit, "that the service runs");
            query.settle(Err(error), false);
        }
        *at > now
    });
    deadlines.iter().map(|deadline| deadline.at).min()
}

pub(super) struct Query {
    maker: Maker,
    group: u32,
    library: Library,
    counts: Arc<Counts>,
    sender: Mutex<Option<oneshot::Sender<Ids>>>,
}

impl Query {
    pub(super) fn new(
        group: u32,
        library: Library,
        counts: Arc<Counts>,
    ) -> (Arc<Query>, oneshot::Receiver<Ids>) {
        let (sender, answer) = oneshot::channel();
        let (maker, sender) = (Maker::here(), Mutex::new(Some(sender)));
        (Arc::new(Query { maker, group, library, counts, sender }), answer)
    }

    fn what(&self) -> String {
        format!("the query for the workers of group {}", self.group)
    }

    fn error(&self, code: DocaError) -> Error {
        Error::new(code, self.what())
    }

    fn is_asked(&self) -> bool {
        if !self.maker.is_here() {
            return false;
        }
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        sender.as_ref().is_some_and(|sender| !sender.is_canceled())
    }

    pub(super) fn cancel(&self) -> bool {
        self.is_asked() && self.end(Err(Error::cancelled(self.what()))).is_ok()
    }

    /// Ends the query. If no future receives the answer, returns the counter for it.
    fn end(&self, with: Ids) -> std::result::Result<(), &AtomicU64> {
        // `send` runs the program's waker, so the lock is released before.
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        let sender = sender.ok_or(&self.counts.late)?;
        sender.send(with).map_err(|_| &self.counts.dropped)
    }

    /// Ends the query; a panicking waker does not end the thread. Counts an undelivered answer.
    pub(super) fn settle(&self, with: Ids, is_answer: bool) {
        match catch_unwind(AssertUnwindSafe(|| self.end(with))) {
            Ok(Err(count)) if is_answer => drop(count.fetch_add(1, Ordering::Relaxed)),
            Ok(_) => {}
            Err(_) => tracing::warn!("a waker panicked on the service's thread"),
        }
    }

    /// Only on the service's thread.
    pub(super) fn submit(self: Arc<Query>, connection: &Connection) {
        if !self.is_asked() {
            return;
        }
        let api = self.library.api();
        let mut task = ptr::null_mut();
        // SAFETY: the service is live, this is its thread, and the pointer is to a local variable.
        let status = unsafe {
            (api.doca_urom_service_get_workers_by_gid_task_allocate_init)(
                connection.object(),
                self.group,
                Some(on_answer),
                &mut task,
            )
        };
        let refused = |query: &Query, code| {
            query.settle(Err(query.error(code).why(connection.failure())), false);
        };
        if let Err(code) = status.check() {
            return refused(&self, code);
        }
        // SAFETY: the task was allocated above, and is released below at the earliest.
        let generic = unsafe { (api.doca_urom_service_get_workers_by_gid_task_as_task)(task) };
        let data = Arc::into_raw(self);
        // SAFETY: the task is live and not in flight.
        unsafe { (api.doca_task_set_user_data)(generic, Data { ptr: data.cast_mut().cast() }) };
        // SAFETY: the task is live, not in flight, and has its callback.
        let status = unsafe { (api.doca_task_submit)(generic) };
        if let Err(code) = status.check() {
            // SAFETY: the pointer was given to the task above, and no callback takes it.
            let query = unsafe { Arc::from_raw(data) };
            // SAFETY: the task was not submitted, so it still belongs to this function.
            unsafe { (api.doca_urom_service_get_workers_by_gid_task_release)(task) };
            refused(&query, code);
        }
    }

    /// Returns also whether the service has answered: otherwise it ended.
    /// # Safety
    /// `task` is a complete task of the query's library, on its service's thread.
    unsafe fn collect(&self, task: *mut GidTask) -> (Ids, bool) {
        let api = self.library.api();
        // SAFETY: the caller vouches for the task.
        let generic = unsafe { (api.doca_urom_service_get_workers_by_gid_task_as_task)(task) };
        // SAFETY: the caller vouches for the task, and a task and its generic form end together.
        let status = unsafe { (api.doca_task_get_status)(generic) };
        if let Err(code) = status.check() {
            // SAFETY: the caller vouches for the task, which has the same life as its generic form.
            let ctx = unsafe { (api.doca_task_get_ctx)(generic) };
            let read = |state: &mut CtxState| {
                // SAFETY: a task's context lives as long as the task; `state` is a local variable.
                unsafe { (api.doca_ctx_get_state)(ctx, state) }
            };
            let state = get(CtxState::IDLE, || "", read);
            let runs = state.is_ok_and(|state| state == CtxState::RUNNING);
            return (Err(self.error(code)), runs);
        }
        // SAFETY: the caller vouches that the task is complete and not released.
        let count =
            unsafe { (api.doca_urom_service_get_workers_by_gid_task_get_workers_count)(task) };
        // SAFETY: the caller vouches that the task is complete and not released.
        let ids = unsafe { (api.doca_urom_service_get_workers_by_gid_task_get_worker_ids)(task) };
        if count == 0 || ids.is_null() {
            return (Ok(Vec::new()), true);
        }
        // SAFETY: the library returned `count` ids, which live until the task is released.
        let mut ids = unsafe { std::slice::from_raw_parts(ids, count) }.to_vec();
        ids.sort_unstable();
        (Ok(ids), true)
    }
}

/// Ends futures that would otherwise wait forever for an ended thread.
impl Drop for Query {
    fn drop(&mut self) {
        if self.is_asked() {
            let error = self.error(DocaError::SHUTDOWN).why("the service was closed first");
            self.settle(Err(error), false);
        }
    }
}

unsafe extern "C" fn on_answer(task: *mut GidTask, task_data: Data, _ctx_data: Data) {
    // SAFETY: the task's data is the pointer set by `submit`.
    let data = unsafe { task_data.ptr };
    // SAFETY: `submit` gave this reference to the task, and a task completes once.
    let query = unsafe { Arc::from_raw(data.cast::<Query>()) };
    // SAFETY: the task is complete, and released right after.
    let (answer, is_answer) = unsafe { query.collect(task) };
    // SAFETY: the task is complete; releasing it in its callback is allowed.
    unsafe { (query.library.api().doca_urom_service_get_workers_by_gid_task_release)(task) };
    query.settle(answer, is_answer);
}

#[cfg(test)]
#[cfg(feature = "builtin")]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_is_dropped_ends_with_shutdown_unless_it_was_answered() {
        let query = || Query::new(1, Library::builtin(), Arc::default());
        let (dropped, answer) = query();
        drop(dropped);
        let error = crate::block_on(answer).unwrap().unwrap_err();
        assert_eq!(error.code(), DocaError::SHUTDOWN);
        assert!(error.to_string().ends_with("the service was closed first"), "{error}");

        let (answered, answer) = query();
        answered.settle(Ok(vec![7]), true);
        drop(answered);
        assert_eq!(crate::block_on(answer).unwrap().unwrap(), [7]);
    }
}
