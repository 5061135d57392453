//! One end of a connection: what it shares between the operations of both ends.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::{Poll, Waker};

use rdma_protocol::Access;
use tokio::sync::Semaphore;
use ucx::{AmFlags, CloseMode, Endpoint};
use urom_pdk::memory::Memories;
use urom_pdk::{Task, Tasks, prelude::*};

use crate::failure::Failure;
use crate::incoming::Incoming;
use crate::message::{self, CONTROL, Control, Route};
use crate::outgoing::Outgoing;
use crate::receives::Receives;
use crate::transfers::{Activity, Of, Transfers};

/// What an instance has beside its connection, and the connection uses.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    /// What the other end may do.
    pub(crate) permissions: Access,
    pub(crate) memories: Memories,
    pub(crate) receives: Rc<RefCell<Receives>>,
    pub(crate) tasks: Tasks,
    pub(crate) activity: Rc<Activity>,
    /// How many parts may be in memory of the worker at a time.
    pub(crate) rooms: Rc<Semaphore>,
}

pub(crate) struct Connection {
    pub(crate) me: Weak<Connection>,
    /// Brings the instance to the state ERROR.
    on_failure: Box<dyn Fn(&Failure)>,
    pub(crate) base: Base,
    pub(crate) endpoint: Rc<Endpoint>,
    /// Of the messages to the other end.
    pub(crate) route: Route,
    /// Whether the other end has connected, too.
    is_ready: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
    pub(crate) outgoing: RefCell<Outgoing>,
    pub(crate) incoming: RefCell<Incoming>,
    pub(crate) is_advancing: Cell<bool>,
    pub(crate) transfers: RefCell<Transfers>,
    /// Polls the transfers.
    server: RefCell<Option<Task>>,
    /// How many tasks move bytes.
    moving: Cell<usize>,
    is_over: Cell<bool>,
}

impl Connection {
    pub(crate) fn new(
        on_failure: impl Fn(&Failure) + 'static,
        base: Base,
        endpoint: Rc<Endpoint>,
        route: Route,
    ) -> Rc<Connection> {
        let transfers = Transfers::new(&base.activity);
        let connection = Rc::new_cyclic(|me| Connection {
            me: Weak::clone(me),
            on_failure: Box::new(on_failure),
            base,
            endpoint,
            route,
            is_ready: Cell::new(false),
            waiting: RefCell::default(),
            outgoing: RefCell::default(),
            incoming: RefCell::default(),
            is_advancing: Cell::new(false),
            transfers: RefCell::new(transfers),
            server: RefCell::default(),
            moving: Cell::new(0),
            is_over: Cell::new(false),
        });
        let served = Weak::clone(&connection.me);
        let serve = poll_fn(move |cx| {
            let Some(connection) = served.upgrade() else { return Poll::Ready(()) };
            loop {
                let ended = connection.transfers.borrow_mut().poll(cx);
                let Some((of, len, status)) = ended else { return Poll::Pending };
                let code = match connection.endpoint.is_failed() {
                    true => DocaError::CONNECTION_RESET,
                    false => DocaError::IO_FAILED,
                };
                match status.or_code(code, "moving bytes between two workers") {
                    Ok(()) => connection.moved(of, len),
                    Err(error) => connection.fail_one(of, &error),
                }
            }
        });
        *connection.server.borrow_mut() = Some(connection.base.tasks.spawn(serve));
        connection
    }

    /// Whether a message is from the other end of this connection.
    pub(crate) fn is_meant_by(&self, route: Route) -> bool {
        (route.to, route.from) == (self.route.from, self.route.to)
    }

    /// Says that this end has connected, and by which address it is reached.
    pub(crate) fn say_hello(&self, own: u64, address: Vec<u8>) {
        self.say(Control::HELLO, own, address);
    }

    /// Answers that.
    pub(crate) fn say_welcome(&self) {
        self.say(Control::WELCOME, 0, Vec::new());
    }

    fn say(&self, word: u64, sender: u64, data: Vec<u8>) {
        let header = Control { route: self.route, sender, word };
        let header = bytemuck::bytes_of(&header);
        self.endpoint.am_send_with(CONTROL, header, data, AmFlags::EAGER).detach();
    }

    /// The other end has connected.
    pub(crate) fn is_there(&self) {
        self.is_ready.set(true);
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Ends when the other end has connected, or an operation has ended before.
    pub(crate) async fn ready(&self, number: u64) {
        poll_fn(|cx| {
            if self.is_ready.get() || self.outgoing.borrow().is_over(number) {
                return Poll::Ready(());
            }
            let mut waiting = self.waiting.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    /// Bytes are where they belong.
    pub(crate) fn moved(&self, of: Of, len: u64) {
        if self.is_over.get() {
            return self.waiting.take().into_iter().for_each(Waker::wake);
        }
        match of {
            Of::Outgoing(number) => self.outgoing.borrow_mut().arrived(number, len),
            Of::Incoming(number) => self.arrived(number, len),
            Of::Sent => {}
        }
    }

    /// Runs something that moves bytes, which a stop waits for.
    pub(crate) fn run<T: 'static>(
        &self,
        moving: impl Future<Output = T> + 'static,
        then: impl FnOnce(&Connection, T) + 'static,
    ) {
        let this = Weak::clone(&self.me);
        self.moving.set(self.moving.get() + 1);
        self.base.tasks.spawn(async move {
            let moved = moving.await;
            let Some(this) = this.upgrade() else { return };
            this.moving.set(this.moving.get() - 1);
            match this.is_over.get() {
                true => this.waiting.take().into_iter().for_each(Waker::wake),
                false => then(&this, moved),
            }
        });
    }

    /// Runs something that moves bytes of an operation, for memory that is not mapped.
    pub(crate) fn move_later(
        &self,
        of: Of,
        len: u64,
        moving: impl Future<Output = Result<()>> + 'static,
    ) {
        self.run(moving, move |this, moved| match moved {
            Ok(()) => this.moved(of, len),
            Err(error) => this.fail_one(of, &error),
        });
    }

    /// Ends when no byte moves for this connection any more, which has ended.
    pub(crate) async fn drained(&self) {
        poll_fn(|cx| {
            if self.moving.get() == 0 && self.transfers.borrow().is_empty() {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// One operation has failed here.
    pub(crate) fn fail_one(&self, of: Of, error: &Error) {
        if self.is_over.get() {
            return self.waiting.take().into_iter().for_each(Waker::wake);
        }
        match of {
            Of::Outgoing(number) => self.fail_own(number, Failure::from(error)),
            Of::Incoming(number) => self.refuse(number, Failure::from(error)),
            // The other end answers for them, or is gone.
            Of::Sent => {}
        }
    }

    /// An operation of this end has failed, and so has the instance.
    pub(crate) fn fail_own(&self, number: u64, failure: Failure) {
        if self.outgoing.borrow_mut().answered(number, Err(failure.clone())) {
            self.fail(failure);
        }
    }

    /// Brings the instance to the state ERROR.
    pub(crate) fn fail(&self, failure: Failure) {
        (self.on_failure)(&failure);
    }

    /// Ends everything, and tells the other end. The endpoint closes when everything has arrived.
    pub(crate) fn end(&self, failure: &Failure) {
        self.is_over.set(true);
        self.outgoing.borrow_mut().fail(failure);
        drop(self.incoming.take());
        self.waiting.take().into_iter().for_each(Waker::wake);
        if !self.endpoint.is_failed() {
            let reason = failure.why.as_bytes();
            let reason = reason[..reason.len().min(message::LONGEST_REASON)].to_vec();
            self.say(Control::BYE, 0, reason);
        }
        if let Some(this) = self.me.upgrade() {
            self.base.tasks.spawn(async move { this.close().await });
        }
    }

    /// Closes the endpoint when everything has moved and arrived. Until then it is noticed that the
    /// other end dies, and the worker may be found to be blocked.
    async fn close(&self) {
        self.drained().await;
        let _ = self.endpoint.flush().await;
        self.endpoint.begin_close(CloseMode::Flush);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.cancel();
        }
    }
}
