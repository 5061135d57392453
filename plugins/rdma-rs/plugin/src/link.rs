//! One end of a connection: the way to the other end, and the bytes that move.

use std::cell::Cell;
use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use rdma_protocol::Access;
use tokio::sync::{Notify, Semaphore};
use ucx::{AmFlags, CloseMode, Data};
use urom_abi::protocol::PeerMessage;
use urom_pdk::memory::Memories;
use urom_pdk::peers::{KeepAwake, Peer, PeerData};
use urom_pdk::{Region, Tasks, prelude::*};

use crate::message::Route;
use crate::pieces::{BLOCK, Pieces};
use crate::receives::Receives;

/// The longest part of an operation: the other end may need as much memory for it.
const LONGEST_PART: u64 = 8 << 20;

/// The part of an instance that its connection uses.
pub(crate) struct Base {
    /// The operations that the other end may run.
    pub(crate) permissions: Access,
    pub(crate) memories: Memories,
    pub(crate) receives: Receives,
    pub(crate) tasks: Tasks,
    pub(crate) awake: KeepAwake,
    /// The number of parts that may be in memory of the worker at a time.
    pub(crate) rooms: Rc<Semaphore>,
}

pub(crate) struct Link {
    pub(crate) base: Rc<Base>,
    pub(crate) peer: Peer,
    /// Of the messages to the other end.
    pub(crate) route: Route,
    /// Brings the instance to the state ERROR.
    on_failure: Box<dyn Fn(&Error)>,
    /// Whether the connection has ended, so that no further bytes move.
    is_over: Cell<bool>,
    /// The number of tasks that move bytes.
    moving: Cell<usize>,
    moved: Notify,
}

/// Bytes that are moved, or on their way. The result is their number.
pub(crate) enum Moving {
    Done(Result<u64>),
    Later(LocalBoxFuture<'static, Result<u64>>),
}

impl Moving {
    fn of<B: 'static>(request: ucx::Request<B>, len: u64) -> Moving {
        let sent = move |sent: Result<(), _>| {
            sent.or_code(DocaError::IO_FAILED, "sending to the other end").map(|()| len)
        };
        match request.into_done() {
            Ok((done, _)) => Moving::Done(sent(done)),
            Err(request) => Moving::Later(Box::pin(async move { sent(request.await.0) })),
        }
    }
}

/// One of the two directions of a connection.
pub(crate) trait Side: Clone + 'static {
    /// Whether sent bytes count. Otherwise the other end answers.
    const COUNTS_SENT: bool;

    /// Bytes of an operation are in their place, or have failed.
    fn arrived(&self, number: u64, moved: Result<u64>);
}

impl Link {
    pub(crate) fn new(
        base: Rc<Base>,
        peer: Peer,
        route: Route,
        on_failure: impl Fn(&Error) + 'static,
    ) -> Rc<Link> {
        let (is_over, moving, moved) = (Cell::new(false), Cell::new(0), Notify::new());
        let on_failure = Box::new(on_failure);
        Rc::new(Link { base, peer, route, on_failure, is_over, moving, moved })
    }

    /// Brings the instance to the state ERROR.
    pub(crate) fn fail(&self, error: &Error) {
        (self.on_failure)(error);
    }

    /// Sends a message without memory of a host. When the endpoint fails later, so does the
    /// connection.
    pub(crate) fn tell(&self, message: &impl PeerMessage, data: Vec<u8>) -> Result<()> {
        match self.peer.begin_send(message, data, AmFlags::EAGER)?.into_done() {
            Ok((sent, _)) => sent.or_code(DocaError::IO_FAILED, "sending to the other end"),
            Err(_goes_on) => Ok(()),
        }
    }

    /// Sends the pieces of an operation in parts, each with the message that `message` makes of its
    /// offset, and with the flags for its length.
    pub(crate) fn send<S: Side, M: PeerMessage>(
        self: &Rc<Self>,
        side: &S,
        number: u64,
        pieces: &Pieces,
        message: impl Fn(u64) -> M + 'static,
        flags: impl Fn(u64) -> AmFlags + 'static,
    ) {
        if pieces.are_mapped() {
            for (at, part) in pieces.parts(LONGEST_PART) {
                let (len, Some(bytes)) = (part.len(), part.buffer()) else { continue };
                let sent = self.peer.begin_send(&message(at), bytes, flags(len));
                let moving =
                    sent.map(|sent| Moving::of(sent, if S::COUNTS_SENT { len } else { 0 }));
                self.after(side, number, moving.unwrap_or_else(|error| Moving::Done(Err(error))));
            }
            return;
        }
        let (this, pieces) = (Rc::clone(self), pieces.clone());
        let sends = async move {
            for (at, part) in pieces.parts(BLOCK) {
                this.check()?;
                let flags = flags(part.len());
                let bytes = Region::from(part).to_bytes().await?;
                let (sent, _) = this.peer.begin_send(&message(at), bytes, flags)?.await;
                sent.or_code(DocaError::IO_FAILED, "sending to the other end")?;
            }
            Ok(if S::COUNTS_SENT { pieces.len() } else { 0 })
        };
        self.after(side, number, Moving::Later(Box::pin(sends)));
    }

    /// Puts bytes that came into pieces, from `at` on.
    pub(crate) fn place(self: &Rc<Self>, pieces: &Pieces, at: u64, data: Data<'_>) -> Moving {
        let pieces = pieces.part(at..at + data.len() as u64);
        if let Data::Eager(bytes) = &data
            && pieces.are_mapped()
        {
            return Moving::Done(pieces.copy_from(bytes));
        }
        let (this, data) = (Rc::clone(self), PeerData::copied(data));
        Moving::Later(Box::pin(async move {
            if let Some(piece) = pieces.single().filter(|piece| piece.mapped().is_some()) {
                Region::from(piece.clone()).receive(0, data?).await?;
                return Ok(pieces.len());
            }
            let _room = match data {
                // The semaphore is never closed.
                Ok(PeerData::Announced(_)) => Some(this.base.rooms.acquire().await),
                _ => None,
            };
            this.check()?;
            pieces.write(&data?.into_bytes(LONGEST_PART as usize).await?).await
        }))
    }

    /// Reports bytes of an operation when they have moved. A stop waits for that.
    pub(crate) fn after(self: &Rc<Self>, side: &impl Side, number: u64, moving: Moving) {
        let moving = match moving {
            Moving::Done(moved) => return side.arrived(number, moved),
            Moving::Later(moving) => moving,
        };
        self.moving.set(self.moving.get() + 1);
        let (this, side, awake) = (Rc::clone(self), side.clone(), self.base.awake.transfer());
        self.base.tasks.spawn(async move {
            let moved = moving.await;
            drop(awake);
            this.moving.set(this.moving.get() - 1);
            this.moved.notify_waiters();
            let moved = moved.map_err(|error| match this.peer.endpoint().is_failed() {
                true => Error::new(DocaError::CONNECTION_RESET, error.to_string()),
                false => error,
            });
            side.arrived(number, moved);
        });
    }

    fn check(&self) -> Result<()> {
        if self.is_over.get() { Err(DocaError::SHUTDOWN.into()) } else { Ok(()) }
    }

    /// Ends when no byte moves for this connection any more, which has ended.
    pub(crate) async fn drained(&self) {
        while self.moving.get() > 0 {
            self.moved.notified().await;
        }
    }

    /// Closes the endpoint when everything has moved and arrived. Until then UCX reports a dead
    /// peer, and the mesh finds a blocked worker.
    pub(crate) fn close(self: &Rc<Self>) {
        self.is_over.set(true);
        let this = Rc::clone(self);
        self.base.tasks.spawn(async move {
            this.drained().await;
            let _ = this.peer.endpoint().flush().await;
            this.peer.endpoint().begin_close(CloseMode::Flush);
        });
    }
}
