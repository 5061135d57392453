//! A query for the workers of a group (`doca_urom_service_get_workers_by_gid_task`), shared by
//! whoever waits for the answer and the service's thread.
//!
//! DOCA has no call that takes a query back. The library's task stays in flight until its answer
//! comes, and the answer finds out here whether somebody still waits for it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_channel::oneshot;
use urom_abi::DocaError;
use urom_abi::host::{Api, CtxState, Data, GidTask, Task};

use crate::error::{Error, Result};
use crate::library::{Library, get};
use crate::service::connection::Connection;

pub(super) type Ids = Result<Vec<u64>>;

/// How many answers of a service nobody got.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) late: AtomicU64,
    pub(super) dropped: AtomicU64,
}

pub(super) struct Query {
    pub(super) group: u32,
    library: Library,
    counts: Arc<Counts>,
    asked: Instant,
    state: Mutex<State>,
}

struct State {
    answer: Option<oneshot::Sender<Ids>>,
    /// When it is given up, and how long after the call that asked it.
    deadline: Option<(Instant, Duration)>,
}

impl Query {
    pub(super) fn new(
        group: u32,
        library: Library,
        counts: Arc<Counts>,
    ) -> (Arc<Query>, oneshot::Receiver<Ids>) {
        let (answer, answered) = oneshot::channel();
        let state = Mutex::new(State { answer: Some(answer), deadline: None });
        (Arc::new(Query { group, library, counts, asked: Instant::now(), state }), answered)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn error(&self, code: DocaError) -> Error {
        Error::new(code, format!("asking for the workers of group {}", self.group))
    }

    fn is_asked(&self) -> bool {
        self.state().answer.as_ref().is_some_and(|answer| !answer.is_canceled())
    }

    /// Gives it up `limit` after it was asked; the service's thread must be told.
    pub(super) fn set_deadline(&self, limit: Duration) {
        // An instant that overflows never comes.
        let at = self.asked.checked_add(limit);
        self.state().deadline = at.map(|at| (at, limit));
    }

    pub(super) fn cancel(&self) -> bool {
        let error = self.error(DocaError::SKIPPED).why("it was cancelled before its answer came");
        self.is_asked() && self.end(Err(error)).is_ok()
    }

    /// Ends it. When nobody gets the answer, returns its counter.
    fn end(&self, with: Ids) -> std::result::Result<(), &AtomicU64> {
        let answer = self.state().answer.take();
        // `send` runs the program's waker, so the lock is released first.
        match answer {
            None => Err(&self.counts.late),
            Some(answer) => answer.send(with).map_err(|_| &self.counts.dropped),
        }
    }

    /// Ends it on the service's thread, which a waker that panics must not end. An answer that
    /// nobody gets is counted, if it `is_answer`.
    fn settle(&self, with: Ids, is_answer: bool) {
        match catch_unwind(AssertUnwindSafe(|| self.end(with))) {
            Ok(Err(count)) if is_answer => drop(count.fetch_add(1, Ordering::Relaxed)),
            Ok(_) => {}
            // The panic was reported when it began.
            Err(_) => tracing::warn!("a waker panicked on the service's thread"),
        }
    }

    /// Gives it up if its deadline has passed; returns a deadline that is still to come.
    fn expire(&self, now: Instant) -> Option<Instant> {
        let deadline = self.state().deadline;
        let (at, limit) = deadline.filter(|_| self.is_asked())?;
        if at > now {
            return Some(at);
        }
        let error = self
            .error(DocaError::TIME_OUT)
            .why(format!("no answer came within the deadline of {limit:?}"))
            .hint(
                "allow more time, or see whether the service still runs; a late answer is \
                thrown away and counted in late_answers",
            );
        self.settle(Err(error), false);
        None
    }

    /// What a task ended with, and whether the service said so: otherwise it ended with the
    /// service.
    ///
    /// # Safety
    /// `task` is a complete task of the query's library, and this its service's thread.
    unsafe fn collect(&self, task: *mut GidTask) -> (Ids, bool) {
        let api = self.library.api();
        // SAFETY: the caller vouches for the task.
        let generic = unsafe { (api.doca_urom_service_get_workers_by_gid_task_as_task)(task) };
        // SAFETY: as above.
        let status = unsafe { (api.doca_task_get_status)(generic) };
        if let Err(code) = status.check() {
            // SAFETY: as above.
            return (Err(self.error(code)), unsafe { service_runs(api, generic) });
        }
        // SAFETY: as above.
        let count =
            unsafe { (api.doca_urom_service_get_workers_by_gid_task_get_workers_count)(task) };
        // SAFETY: as above.
        let ids = unsafe { (api.doca_urom_service_get_workers_by_gid_task_get_worker_ids)(task) };
        if count == 0 || ids.is_null() {
            return (Ok(Vec::new()), true);
        }
        // SAFETY: the library gave out `count` ids, which live until the task is released.
        let mut ids = unsafe { std::slice::from_raw_parts(ids, count) }.to_vec();
        ids.sort_unstable();
        (Ok(ids), true)
    }
}

/// A query that the service's thread has to end. Dropping it ends it, because a future that
/// waits for a thread that panicked must not wait for ever.
pub(super) struct PendingQuery(Arc<Query>);

impl PendingQuery {
    pub(super) fn new(query: &Arc<Query>) -> PendingQuery {
        PendingQuery(Arc::clone(query))
    }

    /// Asks the library, unless nobody waits any more; only on the service's thread.
    pub(super) fn submit(self, connection: &Connection) {
        let query = &self.0;
        if !query.is_asked() {
            return;
        }
        let api = query.library.api();
        let mut task = ptr::null_mut();
        // SAFETY: the service is live, this is its thread, and the pointer is to a local variable.
        let code = unsafe {
            (api.doca_urom_service_get_workers_by_gid_task_allocate_init)(
                connection.pointer().as_ptr(),
                query.group,
                Some(on_answer),
                &mut task,
            )
        };
        let failed = |query: &Query, code| {
            query.settle(Err(query.error(code).why(connection.failure())), false)
        };
        if let Err(code) = code.check() {
            return failed(query, code);
        }
        // SAFETY: the task is live.
        let generic = unsafe { (api.doca_urom_service_get_workers_by_gid_task_as_task)(task) };
        let data = Box::into_raw(Box::new(self));
        // SAFETY: the task is live and not in flight.
        unsafe { (api.doca_task_set_user_data)(generic, Data { ptr: data.cast() }) };
        // SAFETY: the task is live, not in flight, and has its callback.
        let code = unsafe { (api.doca_task_submit)(generic) };
        if let Err(code) = code.check() {
            // SAFETY: it was made above, and no callback takes it.
            let pending = unsafe { Box::from_raw(data) };
            // SAFETY: the task was not submitted, so it still belongs to this function.
            unsafe { (api.doca_urom_service_get_workers_by_gid_task_release)(task) };
            failed(&pending.0, code);
        }
    }
}

impl Drop for PendingQuery {
    fn drop(&mut self) {
        let PendingQuery(query) = self;
        if query.is_asked() {
            let error = query.error(DocaError::SHUTDOWN).why("the service was closed first");
            query.settle(Err(error), false);
        }
    }
}

unsafe extern "C" fn on_answer(task: *mut GidTask, task_data: Data, _ctx_data: Data) {
    // SAFETY: the task's data is the pointer that `submit` put there.
    let data = unsafe { task_data.ptr };
    // SAFETY: `submit` gave the box to the task, and a task completes once.
    let pending = unsafe { Box::from_raw(data.cast::<PendingQuery>()) };
    let query = &pending.0;
    // SAFETY: the task is complete, and released right after.
    let (answer, is_answer) = unsafe { query.collect(task) };
    // SAFETY: the task is complete; releasing it in its callback is allowed.
    unsafe { (query.library.api().doca_urom_service_get_workers_by_gid_task_release)(task) };
    query.settle(answer, is_answer);
}

/// Whether a task's service runs.
///
/// # Safety
/// `task` is a live task of the library, and this its service's thread.
unsafe fn service_runs(api: &Api, task: *const Task) -> bool {
    // SAFETY: the caller vouches for the task.
    let ctx = unsafe { (api.doca_task_get_ctx)(task) };
    // SAFETY: a task's context is live while the task is, and the pointer is to a local variable.
    let state = get(CtxState::IDLE, || "", |state| unsafe { (api.doca_ctx_get_state)(ctx, state) });
    state.is_ok_and(|state| state == CtxState::RUNNING)
}

/// Gives up the queries whose deadline has passed, and drops those that are over. Returns the
/// time until the next deadline.
pub(super) fn expire(timed: &mut Vec<Arc<Query>>) -> Option<Duration> {
    if timed.is_empty() {
        return None;
    }
    let now = Instant::now();
    let mut next: Option<Instant> = None;
    timed.retain(|query| {
        let at = query.expire(now);
        next = next.into_iter().chain(at).min();
        at.is_some()
    });
    next.map(|next| next.saturating_duration_since(now))
}

#[cfg(all(test, feature = "builtin"))]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_the_service_s_thread_drops_ends_with_shutdown() {
        let (query, answer) = Query::new(1, Library::builtin(), Arc::default());
        drop(PendingQuery::new(&query));
        let error = crate::block_on(answer).unwrap().unwrap_err();
        assert_eq!(error.code(), DocaError::SHUTDOWN);
        assert!(error.to_string().ends_with("the service was closed first"), "{error}");
    }

    #[test]
    fn a_question_that_was_answered_is_not_answered_again() {
        let (query, answer) = Query::new(1, Library::builtin(), Arc::default());
        let pending = PendingQuery::new(&query);
        query.settle(Ok(vec![7]), true);
        drop(pending);
        assert_eq!(crate::block_on(answer).unwrap().unwrap(), [7]);
        assert_eq!(query.counts.late.load(Ordering::Relaxed), 0);
    }
}
