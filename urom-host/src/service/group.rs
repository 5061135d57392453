//! The future of a query for the workers of a group.

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

/// A query for the workers of a group (`doca_urom_service_get_workers_by_gid_task`): a future of
/// their ids, in rising order.
///
/// The service's own thread asks and gets the answer. So the future can be awaited on any thread,
/// with any executor, and no engine needs to be progressed. Dropping it throws the answer away.
///
/// # Errors
/// It resolves to what the service refused with, to the library's code when the service is gone, to
/// `TIME_OUT` past its [`deadline`](Self::deadline), and to `SKIPPED` when it was
/// [cancelled](Self::cancel).
///
/// # Panics
/// When it is polled after it has resolved.
#[must_use = "dropping it throws the answer away"]
pub struct GroupQuery {
    answer: oneshot::Receiver<Ids>,
    handle: GroupQueryHandle,
    asked: Instant,
    /// The service stays connected until this is gone.
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

    /// Gives the query up `limit` after the call that asked it: the future then resolves to
    /// `TIME_OUT` (`DOCA_ERROR_TIME_OUT`). Without this, or with [`Duration::MAX`], it waits until
    /// the answer comes or the service is gone.
    ///
    /// The service's own thread does so, as soon after that time as it gets to it and never before.
    /// A reply that came before counts; one that comes later is thrown away and
    /// [counted](crate::ServiceHandle::late_replies).
    pub fn deadline(self, limit: Duration) -> Self {
        let query = Weak::clone(&self.handle.query);
        // An instant that overflows never comes.
        let at = self.asked.checked_add(limit);
        self.service.run(move |_, all| {
            all.retain(|other| !other.query.ptr_eq(&query));
            all.extend(at.map(|at| Deadline { at, limit, query }));
        });
        self
    }

    /// Gives the query up: the future resolves to the error `SKIPPED` (`DOCA_ERROR_SKIPPED`);
    /// `false` when the answer is there already, or the query has ended otherwise.
    ///
    /// A reply that comes later is thrown away and [counted](crate::ServiceHandle::late_replies).
    /// A query that the service's thread has not asked yet is never asked.
    pub fn cancel(&self) -> bool {
        self.handle.cancel()
    }

    /// A handle to cancel the query while this is being awaited, on any thread.
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
        // A query that is dropped sends its end, so nothing comes only after that.
        Pin::new(&mut self.answer).poll(cx).map(|answer| {
            answer.unwrap_or_else(|_| panic!("a group query was polled after it had resolved"))
        })
    }
}

debug_fields!(GroupQuery, |_| {});

/// A handle to cancel a [`GroupQuery`] that is awaited elsewhere, on any thread.
///
/// [`GroupQuery::handle`] makes one. It does not keep the service connected, and dropping it does
/// nothing.
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
