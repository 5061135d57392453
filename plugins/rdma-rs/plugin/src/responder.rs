//! The part of an instance that runs the other end's operations.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_util::FutureExt;
use rdma_protocol::{Access, MemoryRange, Opcode, ReceiveDone};
use ucx::AmData;
use urom_pdk::peers::PeerData;
use urom_pdk::prelude::*;

use crate::error::{text, violation};
use crate::link::{Moving, PeerLink, TransferSide};
use crate::message::{Answer, Bytes, Kind, PeerRequest};
use crate::pieces::Pieces;
use crate::queue::{OperationQueue, QueueEntry};

pub(crate) struct Responder {
    link: Rc<PeerLink>,
    queue: RefCell<OperationQueue>,
    is_advancing: Cell<bool>,
}

impl Responder {
    pub(crate) fn new(link: &Rc<PeerLink>) -> Rc<Responder> {
        let (link, is_advancing) = (Rc::clone(link), Cell::new(false));
        Rc::new(Responder { link, queue: RefCell::default(), is_advancing })
    }

    pub(crate) fn on_request(
        self: &Rc<Self>,
        request: PeerRequest,
        data: AmData<'_>,
    ) -> Result<()> {
        let (at, len) = (request.at, data.len() as u64);
        let kind = self.queue.borrow_mut().entry(request).map(|entry| entry.kind);
        let kind = kind.ok_or_else(|| violation("an operation that there cannot be"))?;
        let most = if kind.sends() { request.total } else { 0 };
        if at.checked_add(len).is_none_or(|end| end > most) {
            return Err(violation("bytes beyond the end of an operation"));
        }
        // An operation that starts now takes its bytes from the message.
        self.advance();
        if len > 0 {
            self.take_part(request.number, at, data)?;
        }
        self.settle();
        Ok(())
    }

    /// Copies a part of an operation into the memory, or keeps it until the operation starts.
    fn take_part(self: &Rc<Self>, number: u64, at: u64, data: AmData<'_>) -> Result<()> {
        let mut queue = self.queue.borrow_mut();
        // The bytes of a failed operation are dropped.
        let Some(entry) = queue.get(number).filter(|entry| entry.outcome.is_ok()) else {
            return Ok(());
        };
        if entry.has_started {
            let memory = entry.memory.clone();
            drop(queue);
            self.link.after(self, number, self.link.write(&memory, at, data));
        } else if !queue.keep(number, at, PeerData::copied(data)?) {
            return Err(violation("more than is kept for operations that have to wait"));
        }
        Ok(())
    }

    /// Starts operations that can start, and answers ended ones.
    pub(crate) fn advance(self: &Rc<Self>) {
        // Early bytes may end an operation inside the loop, which then continues by itself.
        if !self.is_advancing.replace(true) {
            while self.start_next().is_some() {}
            self.is_advancing.set(false);
            self.settle();
        }
    }

    fn start_next(self: &Rc<Self>) -> Option<()> {
        let (kind, request) =
            self.queue.borrow().next().map(|entry| (entry.kind, entry.request))?;
        let (receives, total) = (&self.link.base.receives, request.total);
        let takes_receive = kind.is_send() || kind == Kind::WriteImm;
        let destination = if takes_receive { receives.first()? } else { Pieces::default() };
        let memory = match kind.is_send() {
            true if total > destination.len() => {
                let most = destination.len();
                let text = format!("a message of {total} bytes does not fit a receive of {most}");
                Err(Error::new(DocaError::IO_FAILED, text))
            }
            true => Ok(destination),
            false => self.memory_of(kind, &request),
        };
        let mut queue = self.queue.borrow_mut();
        if memory.as_ref().is_ok_and(|memory| !queue.may_start(request.number, memory)) {
            return None;
        }
        let entry = queue.get(request.number)?;
        entry.has_started = true;
        if takes_receive && (kind.is_send() || memory.is_ok()) {
            entry.receive = Some(receives.take_first());
        }
        match memory {
            Ok(memory) => {
                entry.memory = memory.clone();
                drop(queue);
                self.start(kind, request, &memory);
            }
            Err(error) => entry.outcome = Err(error),
        }
        Some(())
    }

    fn start(self: &Rc<Self>, kind: Kind, request: PeerRequest, memory: &Pieces) {
        let PeerRequest { number, operand, compare, .. } = request;
        if kind == Kind::Read {
            let (route, peer) = (self.link.route, self.link.peer.clone());
            let message = move |at| Bytes { route, number, at };
            return self.link.send(self, number, memory, message, move |len| peer.flags(len));
        }
        if let Some(word) = memory.single().filter(|_| kind.is_atomic()).cloned() {
            let (this, is_mapped) = (Rc::clone(self), word.mapped().is_some());
            let access = async move {
                let found = match kind {
                    Kind::FetchAdd => word.fetch_add(0, operand).await?,
                    _ => word.compare_swap(0, compare, operand).await?,
                };
                if let Some(entry) = this.queue.borrow_mut().get(number) {
                    entry.outcome = Ok(found);
                }
                Ok(word.len())
            };
            let moving = match is_mapped {
                true => Moving::Done(access.now_or_never().unwrap_or(Ok(0))),
                false => Moving::Later(Box::pin(access)),
            };
            return self.link.after(self, number, moving);
        }
        let early = self.queue.borrow_mut().take_early(number);
        for (at, data) in early {
            let moving = match data {
                PeerData::Here(bytes) => self.link.write(memory, at, AmData::Eager(&bytes)),
                PeerData::Announced(bytes) => {
                    self.link.write(memory, at, AmData::Rendezvous(bytes))
                }
            };
            self.link.after(self, number, moving);
        }
    }

    /// Returns the memory of an operation, if both the instance and the memory permit it.
    fn memory_of(&self, kind: Kind, request: &PeerRequest) -> Result<Pieces> {
        let permission = match kind {
            Kind::Read => Access::RDMA_READ,
            _ if kind.is_atomic() => Access::RDMA_ATOMIC,
            _ => Access::RDMA_WRITE,
        };
        ensure!(
            self.link.base.permissions.contains(permission),
            DocaError::NOT_PERMITTED,
            "the permissions of the instance lack that for {kind:?}"
        );
        let (memory, len) = (request.remote.memory, request.total);
        if kind.is_atomic() && len != 8 {
            return Err(violation("an atomic operation on other than eight bytes"));
        }
        if memory == 0 && len == 0 {
            return Ok(Pieces::default());
        }
        let range = MemoryRange { memory, offset: request.remote.offset, len };
        let opened = self.link.base.memories.open(range).map_err(|error| match error.code() {
            DocaError::NOT_FOUND => {
                let text = format!("{range}: its owner has not exported it by this worker");
                Error::new(DocaError::NOT_FOUND, text + " (export_mmap), or has released it")
            }
            _ => error,
        })?;
        opened.require(permission | Access::LOCAL_READ_WRITE)?;
        let is_aligned = !kind.is_atomic() || opened.address().is_multiple_of(8);
        ensure!(is_aligned, DocaError::INVALID_VALUE, "{range} is not at a multiple of eight");
        Ok(Pieces::from(opened))
    }

    fn settle(&self) {
        loop {
            let over = self.queue.borrow_mut().pop();
            if !over.is_some_and(|entry| self.answer(entry)) {
                return;
            }
        }
    }

    fn answer(&self, QueueEntry { request, kind, receive, outcome, .. }: QueueEntry) -> bool {
        // The bytes of a read are its answer.
        if outcome.is_err() || kind != Kind::Read || request.total == 0 {
            let (result, code, why) = match &outcome {
                Ok(result) => (*result, 0, Vec::new()),
                Err(error) => (0, error.code().code(), text(error)),
            };
            let (route, number) = (self.link.route, request.number);
            let answer = Answer { route, number, result, code, why: &why };
            if let Err(error) = self.link.tell(&answer, Vec::new()) {
                self.link.fail(&error);
            }
        }
        if let Some(receive) = receive {
            let (opcode, len) = match kind {
                Kind::Send => (Opcode::Send, request.total),
                Kind::SendImm => (Opcode::SendImm, request.total),
                _ => (Opcode::WriteImm, 0),
            };
            let received = ReceiveDone { opcode, immediate: request.immediate, len };
            self.link.base.receives.end(receive, outcome.clone().map(|_| received));
        }
        if let Err(error) = &outcome {
            let why = format!("an operation of the other end failed: {error}");
            self.link.fail(&Error::new(error.code(), why));
        }
        outcome.is_ok()
    }

    pub(crate) fn end(&self) {
        drop(self.queue.take());
    }
}

impl TransferSide for Rc<Responder> {
    const COUNTS_SENT: bool = true;

    fn arrived(&self, number: u64, moved: Result<u64>) {
        if let Some(entry) = self.queue.borrow_mut().get(number) {
            match moved {
                Ok(len) => entry.left = entry.left.saturating_sub(len),
                Err(error) => entry.outcome = Err(error),
            }
        }
        self.settle();
        if self.queue.borrow().next().is_some() {
            self.advance();
        }
    }
}
