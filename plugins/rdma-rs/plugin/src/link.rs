//! One end of a connection: the endpoint, and the bytes that move.

use std::cell::Cell;
use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use rdma_protocol::Access;
use tokio::sync::{Notify, Semaphore};
use ucx::{AmData, AmFlags, CloseMode};
use urom_abi::protocol::PeerMessage;
use urom_pdk::memory::Memories;
use urom_pdk::peers::{KeepAwake, Peer, PeerData};
use urom_pdk::{Region, Tasks, prelude::*};

use crate::message::Route;
use crate::pieces::{BLOCK, Pieces};
use crate::receives::PostedReceives;

/// The longest part of an operation: the other end may need as much memory for it.
const LONGEST_PART: u64 = 8 << 20;

pub(crate) struct Base {
    pub(crate) permissions: Access,
    pub(crate) memories: Memories,
    pub(crate) receives: PostedReceives,
    pub(crate) tasks: Tasks,
    pub(crate) awake: KeepAwake,
    /// Limits the parts in the worker's memory.
    pub(crate) buffer_slots: Rc<Semaphore>,
}

pub(crate) struct PeerLink {
    pub(crate) base: Rc<Base>,
    pub(crate) peer: Peer,
    pub(crate) route: Route,
    on_failure: Box<dyn Fn(&Error)>,
    is_over: Cell<bool>,
    moving: Cell<usize>,
    moved: Notify,
}

/// A transfer, running or done. The result is the number of bytes.
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

pub(crate) trait TransferSide: Clone + 'static {
    /// Whether sent bytes count as progress. Otherwise the other end answers.
    const COUNTS_SENT: bool;

    /// Handles the end of a transfer for an operation, successful or not.
    fn arrived(&self, number: u64, moved: Result<u64>);
}

impl PeerLink {
    pub(crate) fn new(
        base: Rc<Base>,
        peer: Peer,
        route: Route,
        on_failure: impl Fn(&Error) + 'static,
    ) -> Rc<PeerLink> {
        let (is_over, moving, moved) = (Cell::new(false), Cell::new(0), Notify::new());
        let on_failure = Box::new(on_failure);
        Rc::new(PeerLink { base, peer, route, on_failure, is_over, moving, moved })
    }

    pub(crate) fn fail(&self, error: &Error) {
        (self.on_failure)(error);
    }

    /// Sends a message without host memory. If the endpoint fails later, the connection fails too.
    pub(crate) fn tell(&self, message: &impl PeerMessage, data: Vec<u8>) -> Result<()> {
        match self.peer.begin_send(message, data, AmFlags::EAGER)?.into_done() {
            Ok((sent, _)) => sent.or_code(DocaError::IO_FAILED, "sending to the other end"),
            Err(_goes_on) => Ok(()),
        }
    }

    /// Sends pieces in parts. `message` makes each part's message from its offset.
    pub(crate) fn send<S: TransferSide, M: PeerMessage>(
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

    pub(crate) fn write(self: &Rc<Self>, pieces: &Pieces, at: u64, data: AmData<'_>) -> Moving {
        let pieces = pieces.part(at..at + data.len() as u64);
        if let AmData::Eager(bytes) = &data
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
            let _slot = match data {
                // The semaphore is never closed.
                Ok(PeerData::Announced(_)) => Some(this.base.buffer_slots.acquire().await),
                _ => None,
            };
            this.check()?;
            pieces.write(&data?.into_bytes(LONGEST_PART as usize).await?).await
        }))
    }

    /// Reports a transfer when it has ended. A stop waits for that.
    pub(crate) fn after(self: &Rc<Self>, side: &impl TransferSide, number: u64, moving: Moving) {
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

    /// Ends when no byte moves any more for this ended connection.
    pub(crate) async fn drained(&self) {
        while self.moving.get() > 0 {
            self.moved.notified().await;
        }
    }

    /// Closes the endpoint after all transfers and a flush, so that a lost peer is still detected.
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
