//! This end asks: the way of an operation to the other end, and of its answer back.

use std::future::poll_fn;
use std::rc::Rc;

use rdma_protocol::Remote;
use ucx::{AmFlags, Data};
use urom_pdk::prelude::*;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::message::{self, OperationKind, REQUEST, Request, Response};
use crate::pieces::{BLOCK, Pieces};
use crate::transfers::{Of, Transfer};

/// The longest message that UCX may send without announcing it.
const LONGEST_SHORT: u64 = 256 << 10;

/// What the other end takes to keep a part, besides its bytes.
const PART: u64 = 128;

/// The longest part of an operation: the other end may need as much memory for it.
pub(crate) const LONGEST_PART: u64 = 8 << 20;

/// What a host asks for.
pub(crate) struct Ask {
    pub(crate) kind: OperationKind,
    pub(crate) immediate: [u8; 4],
    pub(crate) remote: Remote,
    pub(crate) operand: u64,
    pub(crate) compare: u64,
}

impl Ask {
    pub(crate) fn new(kind: OperationKind) -> Ask {
        Ask { kind, immediate: [0; 4], remote: Remote::default(), operand: 0, compare: 0 }
    }
}

impl Connection {
    /// Has the other end carry out an operation, and gives what it answers. The operation has its
    /// place among the others when this is polled for the first time. It goes on when nobody waits
    /// for the command any more, which then ends.
    pub(crate) async fn ask(&self, cx: &Context, ask: Ask, local: Pieces) -> Result<u64> {
        let Ask { kind, immediate, remote, operand, compare } = ask;
        let places = if kind.sends() { Pieces::default() } else { local.clone() };
        let number = self.outgoing.borrow_mut().begin(kind, places).ok_or_else(|| {
            Error::new(DocaError::FULL, "as many operations of this instance wait as may")
        })?;
        let (route, total) = (self.route, local.len());
        let kind = kind as u32;
        let header =
            Request { route, number, kind, immediate, total, at: 0, remote, operand, compare };
        if let Err(reason) = cx.unless_cancelled(self.ready(number)).await {
            if let Some(this) = self.me.upgrade() {
                self.base.tasks.spawn(async move {
                    this.ready(number).await;
                    this.send(header, &local).await;
                });
            }
            self.outgoing.borrow_mut().detach(number);
            return Err(reason.into());
        }
        self.send(header, &local).await;
        let outcome = poll_fn(|cx| self.outgoing.borrow_mut().poll(number, cx));
        match cx.unless_cancelled(outcome).await {
            Ok(outcome) => outcome.map_err(|failure| failure.error()),
            Err(reason) => {
                self.outgoing.borrow_mut().detach(number);
                Err(reason.into())
            }
        }
    }

    /// Sends an operation to the other end.
    async fn send(&self, header: Request, local: &Pieces) {
        let kind = OperationKind::of(header.kind);
        if kind.is_some_and(OperationKind::sends) && header.total > 0 {
            if let Err(error) = self.send_bytes(header, local).await {
                self.fail_own(header.number, Failure::from(&error));
            }
            return;
        }
        let (bytes, to) = (bytemuck::bytes_of(&header), &self.endpoint);
        let sent = if kind == Some(OperationKind::Read) && local.count() > 1 {
            let lengths: Vec<u8> =
                local.parts().flat_map(|(_, piece)| piece.len().to_le_bytes()).collect();
            begun(to.am_send_with(REQUEST, bytes, lengths, AmFlags::NONE))
        } else {
            begun(to.am_send_with(REQUEST, bytes, (), AmFlags::EAGER))
        };
        if let Err(error) = sent {
            self.fail_own(header.number, Failure::from(&error));
        }
    }

    async fn send_bytes(&self, header: Request, local: &Pieces) -> Result<()> {
        for (at, piece) in local.parts_of(LONGEST_PART) {
            let part = Request { at, ..header };
            // The other end's answer says that they have arrived.
            let flags = self.flags(header.number, piece.len());
            match piece.am_send(&self.endpoint, REQUEST, bytemuck::bytes_of(&part), flags) {
                Some(sent) => match sent.into_done() {
                    Ok((sent, _)) => {
                        sent.or_code(DocaError::IO_FAILED, "sending to the other end")?;
                    }
                    Err(sent) => {
                        self.transfers.borrow_mut().add(Of::Sent, 0, Transfer::Send(sent));
                    }
                },
                None => self.send_blocks(part, &piece).await?,
            }
        }
        Ok(())
    }

    /// How so many bytes of an operation are sent.
    fn flags(&self, number: u64, len: u64) -> AmFlags {
        if len <= LONGEST_SHORT && !self.outgoing.borrow_mut().may_send(number, len + PART) {
            return AmFlags::RENDEZVOUS;
        }
        self.how(len)
    }

    /// How so many bytes are sent. By itself UCX announces none over shared memory: it puts the
    /// pieces of a message together in memory of its own, and the plugin copies them to their
    /// place.
    pub(crate) fn how(&self, len: u64) -> AmFlags {
        let may_announce = self.endpoint.worker().context().has_rendezvous();
        if len > LONGEST_SHORT && may_announce { AmFlags::RENDEZVOUS } else { AmFlags::NONE }
    }

    async fn send_blocks(
        &self,
        header: Request,
        piece: &urom_pdk::memory::HostMemory,
    ) -> Result<()> {
        let mut from = 0;
        while from < piece.len() {
            let mut block = room(BLOCK.min(piece.len() - from))?;
            piece.read(from, &mut block).await?;
            let part = Request { at: header.at + from, ..header };
            from += block.len() as u64;
            let flags = self.flags(header.number, block.len() as u64);
            let part = bytemuck::bytes_of(&part);
            let (sent, _) = self.endpoint.am_send_with(REQUEST, part, block, flags).await;
            sent.or_code(DocaError::IO_FAILED, "sending to the other end")?;
        }
        Ok(())
    }

    /// The other end answers, or sends bytes of a read.
    pub(crate) fn on_response(&self, response: Response, data: Data<'_>) -> Result<()> {
        let (number, at) = (response.number, response.at);
        if response.has_bytes == 0 {
            return self.on_answer(response, data);
        }
        let len = match &data {
            Data::Eager(bytes) => bytes.len() as u64,
            Data::Rendezvous(announced) => announced.len() as u64,
        };
        let places = self.outgoing.borrow_mut().places(number, at, len);
        let places = places.ok_or_else(|| violation("bytes of a read that nobody asked for"))?;
        if let Err(error) = self.place(Of::Outgoing(number), &places, at, data) {
            self.fail_own(number, Failure::from(&error));
        }
        Ok(())
    }

    fn on_answer(&self, response: Response, data: Data<'_>) -> Result<()> {
        let number = response.number;
        if response.code != DocaError::SUCCESS {
            let Data::Eager(text) = data else { return Err(violation("a reason of that length")) };
            let why = format!("the other end: {}", message::reason(text));
            self.fail_own(number, Failure::new(response.code, why));
            return Ok(());
        }
        let result = response.result;
        let place = self.outgoing.borrow_mut().found_place(number);
        let Some(place) = place else {
            self.outgoing.borrow_mut().answered(number, Ok(result));
            return Ok(());
        };
        let bytes = result.to_le_bytes();
        match place.copy_from(0, &bytes) {
            Ok(true) => {
                self.outgoing.borrow_mut().answered(number, Ok(result));
                return Ok(());
            }
            Ok(false) => {}
            Err(error) => {
                self.fail_own(number, Failure::from(&error));
                return Ok(());
            }
        }
        let write = async move { place.write(0, &bytes).await };
        self.run(write, move |this, written| match written {
            Ok(()) => _ = this.outgoing.borrow_mut().answered(number, Ok(result)),
            Err(error) => this.fail_own(number, Failure::from(&error)),
        });
        Ok(())
    }

    /// Puts bytes that came to their places.
    pub(crate) fn place(&self, of: Of, places: &Pieces, at: u64, data: Data<'_>) -> Result<()> {
        match data {
            Data::Eager(bytes) => {
                if places.copy_from(at, bytes)? {
                    self.moved(of, bytes.len() as u64);
                } else {
                    let (places, bytes) = (places.clone(), bytes.to_vec());
                    let len = bytes.len() as u64;
                    self.move_later(of, len, async move { places.write(at, &bytes).await });
                }
            }
            Data::Rendezvous(announced) => {
                let len = announced.len() as u64;
                let announced = match places.single(at..at + len) {
                    Some(place) => match place.am_recv(announced) {
                        Ok(request) => {
                            self.transfers.borrow_mut().add(of, len, Transfer::Receive(request));
                            return Ok(());
                        }
                        Err(announced) => announced,
                    },
                    None => announced,
                };
                let (places, rooms) = (places.clone(), Rc::clone(&self.base.rooms));
                self.move_later(of, len, async move {
                    // Nobody closes it.
                    let _room = rooms.acquire().await;
                    let (came, bytes) = announced.recv(room(len)?).await;
                    came.or_code(DocaError::IO_FAILED, "receiving from the other end")?;
                    places.write(at, &bytes).await
                });
            }
        }
        Ok(())
    }
}

/// Lets a send go on by itself. When the endpoint fails later, so does the connection.
pub(crate) fn begun<B>(sent: ucx::Request<B>) -> Result<()> {
    match sent.into_done() {
        Ok((sent, _)) => sent.or_code(DocaError::IO_FAILED, "sending to the other end"),
        Err(sent) => {
            sent.detach();
            Ok(())
        }
    }
}

/// Memory of this process for bytes on their way.
pub(crate) fn room(len: u64) -> Result<Vec<u8>> {
    let mut room = Vec::new();
    let none =
        || Error::new(DocaError::NO_MEMORY, format!("the worker has no room for {len} bytes"));
    let len = usize::try_from(len).map_err(|_| none())?;
    room.try_reserve_exact(len).map_err(|_| none())?;
    room.resize(len, 0);
    Ok(room)
}

/// What the other end must not do: it is no instance of this kit, or broken.
pub(crate) fn violation(what: &str) -> Error {
    Error::new(DocaError::UNEXPECTED, format!("the other end sent {what}"))
}
