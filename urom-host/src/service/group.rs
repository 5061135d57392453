//! The future of a query for a group's workers.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};

use futures_channel::oneshot;

use crate::error::Result;
use crate::service::core::ServiceCore;
use crate::service::query::{Deadline, Ids, Query};
use crate::wait;

/// A future of a group's worker ids, ascending (`doca_urom_service_get_workers_by_gid_task`).
///
/// The service's own thread handles the query, so the future can be awaited on any thread and
/// executor, without progressing an engine. Dropping it discards the answer.
///
/// # Errors
/// It resolves to the service's error, to the library's code when the service ends, to `TIME_OUT`
/// past its [`deadline`](Self::deadline), and to `SKIPPED` after a [cancel](Self::cancel).
///
/// # Panics
/// When polled after it has resolved.
#[must_use = "dropping it throws the answer away"]
pub struct GroupQuery {
    answer: oneshot::Receiver<Ids>,
    handle: GroupQueryHandle,
    asked: Instant,
    service: Arc<ServiceCore>,
}

impl GroupQuery {
    pub(super) fn submit(service: &Arc<ServiceCore>, group: u32) -> GroupQuery {
        let (query, answer) = Query::new(group, service.library, Arc::clone(&service.counts));
        let handle = GroupQueryHandle { query: Arc::downgrade(&query) };
        match service.check() {
            Ok(()) => service.run(move |connection, _| query.submit(connection)),
            Err(error) => query.settle(Err(error), false),
        }
        GroupQuery { answer, handle, asked: Instant::now(), service: Arc::clone(service) }
    }

    /// Cancels the query `limit` after it was made: the future then resolves to `TIME_OUT`
    /// (`DOCA_ERROR_TIME_OUT`). Without this, or with [`Duration::MAX`], it waits until the answer
    /// arrives or the service ends.
    ///
    /// The service's thread does this soon after that time and never before. Earlier replies count;
    /// a later reply is discarded and [counted](crate::ServiceHandle::late_replies).
    pub fn timeout(self, limit: Duration) -> Self {
        let query = Weak::clone(&self.handle.query);
        // An overflow means no deadline.
        let at = self.asked.checked_add(limit);
        self.service.run(move |_, all| {
            all.retain(|other| !other.query.ptr_eq(&query));
            all.extend(at.map(|at| Deadline { at, limit, query }));
        });
        self
    }

    /// Is [`Self::timeout`].
    #[deprecated(note = "use `timeout`")]
    pub fn deadline(self, limit: Duration) -> Self {
        self.timeout(limit)
    }

    /// Cancels the query: the future resolves to the error `SKIPPED` (`DOCA_ERROR_SKIPPED`).
    /// Returns `false` when the query has already ended.
    ///
    /// A later reply is discarded and [counted](crate::ServiceHandle::late_replies). A query that
    /// the service's thread has not yet submitted is never submitted.
    pub fn cancel(&self) -> bool {
        self.handle.cancel()
    }

    /// A handle to cancel the query from any thread.
    pub fn handle(&self) -> GroupQueryHandle {
        self.handle.clone()
    }

    /// Waits for the answer, progressing all engines of this thread.
    ///
    /// # Errors
    /// As the future; `BAD_STATE` inside a completion callback.
    ///
    /// # Panics
    /// With the panic of a callback that ran meanwhile.
    pub fn wait(self) -> Result<Vec<u64>> {
        wait::run(self)
    }
}

impl Future for GroupQuery {
    type Output = Result<Vec<u64>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        self.service.check()?;
        // A dropped query sends its end, so this channel is closed only after an answer.
        Pin::new(&mut self.answer).poll(cx).map(|answer| {
            answer.unwrap_or_else(|_| panic!("a group query was polled after it had resolved"))
        })
    }
}

debug_fields!(GroupQuery, |_| {});

/// A handle to cancel a [`GroupQuery`] from any thread. It does not keep the service connected.
#[derive(Clone)]
pub struct GroupQueryHandle {
    query: Weak<Query>,
}

impl GroupQueryHandle {
    /// As [`GroupQuery::cancel`].
    pub fn cancel(&self) -> bool {
        self.query.upgrade().is_some_and(|query| query.cancel())
    }
}

debug_fields!(GroupQueryHandle, |_| {});
