//! Which workers are in a group.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use futures_channel::oneshot;

use crate::error::Result;
use crate::service::core::ServiceCore;
use crate::service::question::{Ids, Owed, Question};
use crate::wait;

/// A question for the workers of a group (`doca_urom_service_get_workers_by_gid_task`): a future of
/// their ids, in rising order.
///
/// The service's own thread asks and gets the answer, so it can be awaited on any thread, with any
/// executor, and nothing needs to be progressed for it. Dropping it throws the answer away.
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
    question: Arc<Question>,
    /// The service stays connected until this is gone.
    service: Arc<ServiceCore>,
}

impl GroupQuery {
    pub(super) fn submit(service: &Arc<ServiceCore>, group: u32) -> GroupQuery {
        let (question, answer) = Question::new(group, service.library(), service.counts());
        let owed = Owed::new(&question);
        service.run(move |connection, _| owed.submit(connection));
        GroupQuery { answer, question, service: Arc::clone(service) }
    }

    /// When the question is given up, counted from the call that asked it: the future then resolves
    /// to `TIME_OUT` (`DOCA_ERROR_TIME_OUT`). Without this, or with [`Duration::MAX`], it waits
    /// until it is answered or the service is gone.
    ///
    /// It is never given up before that time, and as soon after it as the service's own thread gets
    /// to it: that takes no answer, no daemon and nothing of the thread that waits. An answer that
    /// came in before that look counts. One that comes later is thrown away and
    /// [counted](crate::ServiceHandle::late_answers).
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use urom_host::{DocaError, Service, Result};
    /// # fn example(service: &Service) -> Result<()> {
    /// match service.workers_of_group(1).deadline(Duration::from_millis(500)).wait() {
    ///     Ok(ids) => println!("{ids:?}"),
    ///     Err(error) if error.code() == DocaError::TIME_OUT => println!("{error}"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn deadline(self, limit: Duration) -> Self {
        self.question.set_deadline(limit);
        let timed = Arc::clone(&self.question);
        self.service.run(move |_, all| all.push(timed));
        self
    }

    /// Gives the question up: the future resolves to the error `SKIPPED` (`DOCA_ERROR_SKIPPED`). An
    /// answer that comes later is thrown away and [counted](crate::ServiceHandle::late_answers); a
    /// question that has not left yet never does.
    ///
    /// Whether there was something to cancel: `false` when the answer is there already, or the
    /// question has ended otherwise; then the future resolves to that.
    ///
    /// ```no_run
    /// # use urom_host::{DocaError, Service, Result};
    /// # fn example(service: &Service) -> Result<()> {
    /// let query = service.workers_of_group(1);
    /// if query.cancel() {
    ///     assert_eq!(query.wait().unwrap_err().code(), DocaError::SKIPPED);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn cancel(&self) -> bool {
        self.question.cancel()
    }

    /// A hold on the question with which it can be cancelled while this is being awaited, on any
    /// thread.
    ///
    /// ```no_run
    /// # use urom_host::{Service, Result};
    /// # async fn example(service: &Service) -> Result<()> {
    /// let query = service.workers_of_group(1);
    /// let give_up = query.handle();
    /// std::thread::spawn(move || give_up.cancel());
    /// let either = query.await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn handle(&self) -> GroupQueryHandle {
        GroupQueryHandle { question: Arc::clone(&self.question) }
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
        // The question keeps the sender until it sends, so only a second end is an error.
        Pin::new(&mut self.answer).poll(cx).map(|answer| {
            answer.unwrap_or_else(|_| panic!("a group query was polled after it had resolved"))
        })
    }
}

debug_fields!(GroupQuery, |it| { group: it.question.group });

/// A hold on a [`GroupQuery`] that is awaited elsewhere, with which it can be cancelled.
///
/// [`GroupQuery::handle`] makes one. It keeps no service connected, and dropping it does nothing.
/// It can be sent to and used on any thread.
///
/// ```no_run
/// use urom_host::{DocaError, GroupQueryHandle, block_on};
/// # fn example(service: &urom_host::Service) {
/// let query = service.workers_of_group(1);
/// let handle: GroupQueryHandle = query.handle();
/// std::thread::spawn(move || println!("cancelled: {}", handle.cancel()));
/// match block_on(query) {
///     Err(error) if error.code() == DocaError::SKIPPED => println!("{error}"),
///     answer => println!("{answer:?}"),
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct GroupQueryHandle {
    question: Arc<Question>,
}

impl GroupQueryHandle {
    /// As [`GroupQuery::cancel`].
    ///
    /// ```no_run
    /// # fn example(service: &urom_host::Service) {
    /// let query = service.workers_of_group(1);
    /// let handle = query.handle();
    /// drop(query);
    /// assert!(!handle.cancel(), "nobody waits for it any more");
    /// # }
    /// ```
    pub fn cancel(&self) -> bool {
        self.question.cancel()
    }
}

debug_fields!(GroupQueryHandle, |it| { group: it.question.group });
