//! One end of a connection: the way to the other end, and the bytes that move.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

use futures_util::future::{FutureExt, LocalBoxFuture};
use rdma_protocol::Access;
use tokio::sync::{Notify, Semaphore};
use ucx::{AmFlags, CloseMode, Data, Outcome};
use urom_abi::protocol::PeerMessage;
use urom_pdk::memory::Memories;
use urom_pdk::peers::{KeepAwake, Peer, PeerData};
use urom_pdk::{Region, Tasks, prelude::*};

use crate::failure::{Failure, violation};
use crate::message::Route;
use crate::pieces::{BLOCK, Pieces};
use crate::receives::Receives;

/// The longest part of an operation: the other end may need as much memory for it.
const LONGEST_PART: u64 = 8 << 20;

/// The part of an instance that its connection uses.
pub(crate) struct Base {
    /// What the other end may do.
    pub(crate) permissions: Access,
    pub(crate) memories: Memories,
    pub(crate) receives: Receives,
    pub(crate) shared: Shared,
}

/// The part that all connections of a worker share.
#[derive(Clone)]
pub(crate) struct Shared {
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
    on_failure: Box<dyn Fn(&Failure)>,
    /// The number of tasks that move bytes.
    moving: Cell<usize>,
    moved: Notify,
}

/// Bytes that are moved, or on their way.
pub(crate) enum Moving<T = ()> {
    Done(Result<T>),
    Later(LocalBoxFuture<'static, Result<T>>),
}

impl<T: 'static> Moving<T> {
    /// An access to memory, which happens at once where it is mapped.
    pub(crate) fn start(
        access: impl Future<Output = Result<T>> + 'static,
        is_mapped: bool,
    ) -> Moving<T> {
        match is_mapped {
            true => {
                Moving::Done(access.now_or_never().unwrap_or_else(|| Err(violation("no bytes"))))
            }
            false => Moving::Later(Box::pin(access)),
        }
    }
}

impl Moving {
    fn of<B: 'static, T: Outcome + 'static>(request: ucx::Request<B, T>) -> Moving {
        const WHAT: &str = "moving bytes between two workers";
        match request.into_done() {
            Ok((moved, _)) => Moving::Done(moved.map(drop).or_code(DocaError::IO_FAILED, WHAT)),
            Err(request) => Moving::Later(Box::pin(async move {
                request.await.0.map(drop).or_code(DocaError::IO_FAILED, WHAT)
            })),
        }
    }
}

impl Link {
    pub(crate) fn new(
        base: Rc<Base>,
        peer: Peer,
        route: Route,
        on_failure: impl Fn(&Failure) + 'static,
    ) -> Rc<Link> {
        let (moving, moved) = (Cell::new(0), Notify::new());
        Rc::new(Link { base, peer, route, on_failure: Box::new(on_failure), moving, moved })
    }

    /// Brings the instance to the state ERROR.
    pub(crate) fn fail(&self, failure: &Failure) {
        (self.on_failure)(failure);
    }

    /// Sends a message without memory of a host. When the endpoint fails later, so does the
    /// connection.
    pub(crate) fn tell(&self, message: &impl PeerMessage, data: Vec<u8>) -> Result<()> {
        match self.peer.begin_send(message, data, AmFlags::EAGER)?.into_done() {
            Ok((sent, _)) => sent.or_code(DocaError::IO_FAILED, "sending to the other end"),
            Err(_goes_on) => Ok(()),
        }
    }

    /// Sends pieces in parts, each with the message that `message` makes of its offset, and with
    /// the flags for its length. `then` gets the length of each part that was sent.
    pub(crate) fn send<M: PeerMessage>(
        self: &Rc<Self>,
        pieces: &Pieces,
        message: impl Fn(u64) -> M + 'static,
        flags: impl Fn(u64) -> AmFlags + 'static,
        then: impl Fn(Result<u64>) + Clone + 'static,
    ) {
        if pieces.are_mapped() {
            for (at, part) in pieces.parts(LONGEST_PART) {
                let (len, then) = (part.len(), then.clone());
                let Some(bytes) = part.buffer() else { continue };
                let sent = self.peer.begin_send(&message(at), bytes, flags(len));
                let moving = sent.map_or_else(|error| Moving::Done(Err(error)), Moving::of);
                self.after(moving, move |sent| then(sent.map(|()| len)));
            }
            return;
        }
        let (this, pieces, each) = (Rc::clone(self), pieces.clone(), then.clone());
        let sends = async move {
            for (at, part) in pieces.parts(BLOCK) {
                let len = part.len();
                let bytes = Region::from(part).to_bytes().await?;
                let (sent, _) = this.peer.begin_send(&message(at), bytes, flags(len))?.await;
                sent.or_code(DocaError::IO_FAILED, "sending to the other end")?;
                each(Ok(len));
            }
            Ok(())
        };
        self.after(Moving::Later(Box::pin(sends)), move |sent| {
            if let Err(error) = sent {
                then(Err(error));
            }
        });
    }

    /// Puts bytes that came into pieces, from `at` on.
    pub(crate) fn place(&self, pieces: &Pieces, at: u64, data: Data<'_>) -> Moving {
        let pieces = pieces.part(at..at + data.len() as u64);
        let mut announced = match data {
            Data::Eager(bytes) if pieces.are_mapped() => {
                return Moving::Done(pieces.copy_from(bytes));
            }
            Data::Eager(bytes) => {
                let bytes = bytes.to_vec();
                return Moving::Later(Box::pin(async move { pieces.write(&bytes).await }));
            }
            Data::Rendezvous(announced) => announced,
        };
        if let Some(piece) = pieces.single() {
            match piece.am_recv(announced) {
                Ok(request) => return Moving::of(request),
                Err(back) => announced = back,
            }
        }
        let rooms = Rc::clone(&self.base.shared.rooms);
        Moving::Later(Box::pin(async move {
            // The semaphore is never closed.
            let _room = rooms.acquire().await;
            let bytes = PeerData::Announced(announced).into_bytes(LONGEST_PART as usize).await?;
            pieces.write(&bytes).await
        }))
    }

    /// Calls `then` when bytes have moved. A stop waits for that.
    pub(crate) fn after<T: 'static>(
        self: &Rc<Self>,
        moving: Moving<T>,
        then: impl FnOnce(Result<T>) + 'static,
    ) {
        let moving = match moving {
            Moving::Done(moved) => return then(moved),
            Moving::Later(moving) => moving,
        };
        self.moving.set(self.moving.get() + 1);
        let (this, awake) = (Rc::clone(self), self.base.shared.awake.transfer());
        self.base.shared.tasks.spawn(async move {
            let moved = moving.await;
            drop(awake);
            this.moving.set(this.moving.get() - 1);
            this.moved.notify_waiters();
            then(moved.map_err(|error| match this.peer.endpoint().is_failed() {
                true => Error::new(DocaError::CONNECTION_RESET, error.to_string()),
                false => error,
            }));
        });
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
        let this = Rc::clone(self);
        self.base.shared.tasks.spawn(async move {
            this.drained().await;
            let _ = this.peer.endpoint().flush().await;
            this.peer.endpoint().begin_close(CloseMode::Flush);
        });
    }
}
