//! The plugin's UCX worker, and the next one once a peer has blocked it.

use std::cell::RefCell;
use std::future::poll_fn;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use rustix::event::epoll;
use ucx::{Features, Mesh, WeakWorker, Worker};
use urom_pdk::{Armed, armed_by, prelude::*};

use crate::failure::Failure;
use crate::table::Table;

const BLOCKED: &str = "a process on the machine of the plugin was killed while it sent, which \
    blocks its UCX worker for all others: stop the instance, start it, export it and connect again";

pub(crate) struct Link {
    table: Rc<Table>,
    /// What ends the worker's sleep: the descriptor of the current UCX worker is in it.
    wakes: OwnedFd,
    current: RefCell<Current>,
    /// Those that were blocked, as long as connections use them. They still send.
    old: RefCell<Vec<WeakWorker>>,
}

struct Current {
    worker: Worker,
    /// Nothing if the worker is blocked and there was no other.
    members: Option<Mesh>,
}

impl Current {
    fn open(table: &Rc<Table>, wakes: &OwnedFd) -> Result<Current> {
        let context =
            ucx::Context::builder(Features::AM | Features::WAKEUP).watched_shared_memory().build();
        let worker = context
            .and_then(|context| context.worker())
            .or_code(DocaError::DRIVER, "opening UCX")?;
        let members = Mesh::new(&worker).or_code(DocaError::DRIVER, "listening for others")?;
        table.listen(&worker).or_code(DocaError::DRIVER, "listening for messages")?;
        let fd = worker.event_fd().or_code(DocaError::DRIVER, "asking UCX for its events")?;
        let events = epoll::EventFlags::IN;
        epoll::add(wakes, fd, epoll::EventData::new_u64(0), events)
            .or_code(DocaError::OPERATING_SYSTEM, "watching UCX's events")?;
        Ok(Current { worker, members: Some(members) })
    }
}

impl Link {
    /// Gives the messages to these instances.
    pub(crate) fn open(table: Rc<Table>) -> Result<Link> {
        let wakes = epoll::create(epoll::CreateFlags::CLOEXEC)
            .or_code(DocaError::OPERATING_SYSTEM, "watching UCX's events")?;
        let current = RefCell::new(Current::open(&table, &wakes)?);
        Ok(Link { table, wakes, current, old: RefCell::default() })
    }

    /// The worker for new connections.
    pub(crate) fn worker(&self) -> Worker {
        self.current.borrow().worker.clone()
    }

    /// By which others connect to it. It tries again to replace a worker that is blocked.
    pub(crate) fn address(&self) -> Result<Vec<u8>> {
        if self.current.borrow().members.is_none() {
            self.reopen()?;
        }
        let current = self.current.borrow();
        let Some(members) = &current.members else { unreachable!("it was opened again") };
        let address = members.address().or_code(DocaError::DRIVER, "asking UCX for an address")?;
        Ok(address.as_bytes().to_vec())
    }

    pub(crate) fn arm(&self) -> Armed<'_> {
        let current = self.current.borrow();
        if current.members.is_none() {
            return Armed::Polled;
        }
        match armed_by(&current.worker) {
            Armed::By(_) => Armed::By(self.wakes.as_fd()),
            Armed::Ready => Armed::Ready,
            Armed::Polled => Armed::Polled,
        }
    }

    /// Ends when it is known that the peers that have left did not block the worker.
    pub(crate) async fn tested(&self) {
        let losses = || self.current.borrow().members.as_ref().map(Mesh::losses);
        let (all, _) = losses().unwrap_or_default();
        poll_fn(|cx| {
            // A worker that was replaced has lost fewer.
            if losses().is_none_or(|(now, tested)| now < all || tested >= all) {
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
    pub(crate) fn progress(&self) -> bool {
        let current = self.current.borrow();
        let mut moved = current.worker.progress();
        if !self.old.borrow().is_empty() {
            moved |= self.progress_old();
        }
        if current.members.as_ref().is_some_and(Mesh::is_blocked) {
            drop(current);
            self.replace();
            moved = true;
        }
        moved
    }

    #[cold]
    fn progress_old(&self) -> bool {
        let old: Vec<Worker> = self.old.borrow().iter().filter_map(WeakWorker::upgrade).collect();
        let moved = old.iter().fold(false, |moved, worker| worker.progress() | moved);
        *self.old.borrow_mut() = old.iter().map(Worker::downgrade).collect();
        moved
    }

    #[cold]
    fn replace(&self) {
        // From now on, who connects to it learns that it is gone.
        drop(self.current.borrow_mut().members.take());
        if let Err(error) = self.reopen() {
            log::error!("the plugin cannot be reached until it has another UCX worker: {error}");
        }
        self.table.cut(&Failure::new(DocaError::CONNECTION_RESET, BLOCKED));
    }

    fn reopen(&self) -> Result<()> {
        let next = Current::open(&self.table, &self.wakes)?;
        let old = self.current.replace(next).worker;
        if let Ok(fd) = old.event_fd() {
            // It may stay readable for ever. Deleting it fails only when it is not there.
            let _ = epoll::delete(&self.wakes, fd);
        }
        self.old.borrow_mut().push(old.downgrade());
        Ok(())
    }

    /// Waits until what was said last has left.
    pub(crate) fn flush(&self, limit: Duration) {
        drop(self.worker().flush().wait_for(limit));
    }
}
