//! The plugin's UCX worker, and the next one once a peer has blocked it.

use std::cell::{OnceCell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use ucx::{Features, Mesh, Worker};
use urom_pdk::{Armed, armed_by, prelude::*};

use crate::failure::Failure;
use crate::table::Table;

const BLOCKED: &str = "a process on the machine of the plugin was killed while it sent, which blocks its UCX worker \
    for all others: stop the instance, start it, export it and connect again";

pub(crate) struct Link {
    worker: Worker,
    /// Nothing once the worker is blocked.
    members: RefCell<Option<Mesh>>,
    /// What replaced a worker that is blocked. That still sends.
    next: OnceCell<Box<Link>>,
}

impl Link {
    /// Gives the messages to these instances.
    pub(crate) fn open(table: &Rc<Table>) -> Result<Link> {
        let context =
            ucx::Context::builder(Features::AM | Features::WAKEUP).watched_shared_memory().build();
        let worker = context
            .and_then(|context| context.worker())
            .or_code(DocaError::DRIVER, "opening UCX")?;
        let members = Mesh::new(&worker).or_code(DocaError::DRIVER, "listening for others")?;
        table.listen(&worker).or_code(DocaError::DRIVER, "listening for messages")?;
        Ok(Link { worker, members: RefCell::new(Some(members)), next: OnceCell::new() })
    }

    fn last(&self) -> &Link {
        std::iter::successors(Some(self), |link| link.next.get().map(|next| &**next))
            .last()
            .unwrap_or(self)
    }

    /// The worker for new connections.
    pub(crate) fn worker(&self) -> &Worker {
        &self.last().worker
    }

    /// By which others connect to it.
    pub(crate) fn address(&self) -> Result<Vec<u8>> {
        let members = self.last().members.borrow();
        let Some(members) = &*members else {
            let text = "the UCX worker of the plugin is blocked: start its worker again";
            return Err(Error::new(DocaError::CONNECTION_RESET, text));
        };
        let address = members.address().or_code(DocaError::DRIVER, "asking UCX for an address")?;
        Ok(address.as_bytes().to_vec())
    }

    pub(crate) fn arm(&self) -> Armed<'_> {
        armed_by(self.worker())
    }

    /// Ends when the worker is known not to be blocked, after a peer was lost.
    pub(crate) async fn tested(&self) {
        poll_fn(|cx| {
            let members = self.last().members.borrow();
            if !members.as_ref().is_some_and(Mesh::is_testing) {
                return Poll::Ready(());
            }
            // The worker does not sleep during a test.
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Whether anything happened.
    #[inline]
    pub(crate) fn progress(&self, table: &Rc<Table>) -> bool {
        let moved = self.worker.progress();
        match self.next.get() {
            Some(next) => next.progress(table) | moved,
            None => self.replace_if_blocked(table) | moved,
        }
    }

    #[inline]
    fn replace_if_blocked(&self, table: &Rc<Table>) -> bool {
        let is_blocked = self.members.borrow().as_ref().is_some_and(Mesh::is_blocked);
        if is_blocked {
            self.replace(table);
        }
        is_blocked
    }

    #[cold]
    fn replace(&self, table: &Rc<Table>) {
        match Link::open(table) {
            Ok(next) => drop(self.next.set(Box::new(next))),
            Err(error) => log::error!("the plugin cannot be reached any more: {error}"),
        }
        table.cut(&Failure::new(DocaError::CONNECTION_RESET, BLOCKED));
        // From now on, who connects to it learns that it is gone.
        drop(self.members.take());
    }
}
