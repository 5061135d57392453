//! The part of an instance that carries out the operations of the other end.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rdma_protocol::{Access, MemoryRange, Opcode, Received};
use ucx::Data;
use urom_pdk::peers::PeerData;
use urom_pdk::prelude::*;

use crate::failure::{Failure, violation};
use crate::link::{Link, Moving};
use crate::message::{Answer, Bytes, OperationKind, Request};
use crate::pieces::Pieces;
use crate::queue::{Entry, Queue};

pub(crate) struct Responder {
    link: Rc<Link>,
    queue: RefCell<Queue>,
    is_advancing: Cell<bool>,
}

impl Responder {
    pub(crate) fn new(link: &Rc<Link>) -> Rc<Responder> {
        let (link, is_advancing) = (Rc::clone(link), Cell::new(false));
        Rc::new(Responder { link, queue: RefCell::default(), is_advancing })
    }

    /// An operation, or a part of one, has come.
    pub(crate) fn on_request(self: &Rc<Self>, request: Request, data: Data<'_>) -> Result<()> {
        let (number, at, len) = (request.number, request.at, data.len() as u64);
        let entry = self.queue.borrow_mut().entry(request).map(|entry| entry.kind);
        let kind = entry.ok_or_else(|| violation("an operation that there cannot be"))?;
        let most = if kind.sends() { request.total } else { 0 };
        if at.checked_add(len).is_none_or(|end| end > most) {
            return Err(violation("bytes beyond those of an operation"));
        }
        // An operation that starts takes its bytes from the message.
        self.advance();
        if len > 0 {
            self.take_part(number, at, data)?;
        }
        self.settle();
        Ok(())
    }

    /// Puts a part of an operation into the memory, or keeps it until the operation starts.
    fn take_part(self: &Rc<Self>, number: u64, at: u64, data: Data<'_>) -> Result<()> {
        let mut queue = self.queue.borrow_mut();
        match queue.get(number) {
            Some(entry) if entry.outcome.is_ok() => {
                if entry.has_started {
                    let memory = entry.memory.clone();
                    drop(queue);
                    self.place(number, &memory, at, data);
                } else if !queue.keep(number, at, PeerData::copied(data)?) {
                    return Err(violation("more than is kept for operations that have to wait"));
                }
                Ok(())
            }
            // A failed operation takes no bytes.
            _ => Ok(()),
        }
    }

    fn place(self: &Rc<Self>, number: u64, memory: &Pieces, at: u64, data: Data<'_>) {
        let (this, len) = (Rc::clone(self), data.len() as u64);
        let moving = self.link.place(memory, at, data);
        self.link.after(moving, move |placed| this.arrived(number, placed.map(|()| len)));
    }

    /// Starts what can start, and answers what is over.
    pub(crate) fn advance(self: &Rc<Self>) {
        // Bytes that came before end an operation inside the loop, which then goes on by itself.
        if !self.is_advancing.replace(true) {
            while self.start_next().is_some() {}
            self.is_advancing.set(false);
            self.settle();
        }
    }

    /// Starts the next operation, if it may start now.
    fn start_next(self: &Rc<Self>) -> Option<()> {
        let (kind, request) =
            self.queue.borrow().next().map(|entry| (entry.kind, entry.request))?;
        let (number, receives) = (request.number, &self.link.base.receives);
        let places = if kind.takes_receive() { receives.first()? } else { Pieces::default() };
        let memory = match kind.is_send() {
            true if request.total <= places.len() => Ok(places),
            true => {
                let (total, most) = (request.total, places.len());
                let text = format!("a message of {total} bytes does not fit a receive of {most}");
                Err(Error::new(DocaError::IO_FAILED, text))
            }
            false => self.memory_of(kind, &request),
        };
        let mut queue = self.queue.borrow_mut();
        if memory.as_ref().is_ok_and(|memory| !queue.may_start(number, memory)) {
            return None;
        }
        let takes_receive = kind.is_send() || kind.takes_receive() && memory.is_ok();
        let entry = queue.get(number)?;
        entry.has_started = true;
        entry.receive = takes_receive.then(|| receives.take_first());
        match memory {
            Ok(memory) => {
                entry.memory = memory.clone();
                drop(queue);
                self.start(kind, request, memory);
            }
            Err(error) => entry.outcome = Err(Failure::from(&error)),
        }
        Some(())
    }

    fn start(self: &Rc<Self>, kind: OperationKind, request: Request, memory: Pieces) {
        let (this, number) = (Rc::clone(self), request.number);
        if kind == OperationKind::Read {
            let (route, peer) = (self.link.route, self.link.peer.clone());
            let message = move |at| Bytes { route, number, at };
            let sent = move |sent| this.arrived(number, sent);
            return self.link.send(&memory, message, move |len| peer.flags(len), sent);
        }
        if let Some(word) = memory.single().filter(|_| kind.is_atomic()).cloned() {
            let is_mapped = word.mapped().is_some();
            let Request { operand, compare, .. } = request;
            let access = async move {
                match kind {
                    OperationKind::FetchAdd => word.fetch_add(0, operand).await,
                    _ => word.compare_swap(0, compare, operand).await,
                }
            };
            return self.link.after(Moving::start(access, is_mapped), move |found| {
                if let (Ok(found), Some(entry)) = (&found, this.queue.borrow_mut().get(number)) {
                    entry.outcome = Ok(*found);
                }
                this.arrived(number, found.map(|_| 8));
            });
        }
        let early = self.queue.borrow_mut().take_early(number);
        for (at, data) in early {
            match data {
                PeerData::Here(bytes) => self.place(number, &memory, at, Data::Eager(&bytes)),
                PeerData::Announced(bytes) => {
                    self.place(number, &memory, at, Data::Rendezvous(bytes));
                }
            }
        }
    }

    /// The memory of an operation, if both the instance and the memory permit it.
    fn memory_of(&self, kind: OperationKind, request: &Request) -> Result<Pieces> {
        let (permission, permission_name) = match kind {
            OperationKind::Read => (Access::RDMA_READ, "RDMA_READ"),
            _ if kind.is_atomic() => (Access::RDMA_ATOMIC, "RDMA_ATOMIC"),
            _ => (Access::RDMA_WRITE, "RDMA_WRITE"),
        };
        let name = kind.name();
        let refuse = |code, text: String| Err(Error::new(code, format!("{name}: {text}")));
        if !self.link.base.permissions.contains(permission) {
            let text = format!("the instance lacks the permission {permission_name}");
            return refuse(DocaError::NOT_PERMITTED, text);
        }
        let (memory, len) = (request.remote.memory, request.total);
        if kind.is_atomic() && len != 8 {
            return Err(violation("an atomic operation on other than eight bytes"));
        }
        if memory == 0 {
            return match len {
                0 => Ok(Pieces::default()),
                _ => refuse(DocaError::NOT_FOUND, format!("{len} bytes need a place in memory")),
            };
        }
        let range = MemoryRange { memory, offset: request.remote.offset, len };
        let opened = match self.link.base.memories.open(range) {
            Err(error) if error.code() == DocaError::NOT_FOUND => {
                let text = format!(
                    "{range} is not there: its owner has not exported it by this worker \
                     (export_mmap), or has released it"
                );
                return refuse(DocaError::NOT_FOUND, text);
            }
            opened => opened?,
        };
        let missing = (permission | Access::LOCAL_READ_WRITE).difference(opened.access());
        if !missing.is_empty() {
            let missing: Vec<_> = missing.iter_names().map(|(name, _)| name).collect();
            let text = format!("{range} lacks {}", missing.join(" and "));
            return refuse(DocaError::NOT_PERMITTED, text);
        }
        if kind.is_atomic() && !opened.address().is_multiple_of(8) {
            let text = format!("{range} is not at a multiple of eight");
            return refuse(DocaError::INVALID_VALUE, text);
        }
        Ok(Pieces::of(opened))
    }

    /// Bytes of an operation are in their place, or have failed.
    fn arrived(self: &Rc<Self>, number: u64, moved: Result<u64>) {
        if let Some(entry) = self.queue.borrow_mut().get(number) {
            match moved {
                Ok(len) => entry.left = entry.left.saturating_sub(len),
                Err(error) => entry.outcome = Err(Failure::from(&error)),
            }
        }
        self.settle();
        if self.queue.borrow().next().is_some() {
            self.advance();
        }
    }

    /// Answers what is over, in order, up to the first failure.
    fn settle(&self) {
        loop {
            let over = self.queue.borrow_mut().pop();
            if !over.is_some_and(|entry| self.answer(entry)) {
                return;
            }
        }
    }

    /// Answers an operation. Whether it succeeded.
    fn answer(&self, Entry { request, kind, receive, outcome, .. }: Entry) -> bool {
        let route = self.link.route;
        // The bytes of a read are its answer.
        if outcome.is_err() || kind != OperationKind::Read || request.total == 0 {
            let (result, code, why) = match &outcome {
                Ok(result) => (*result, DocaError::SUCCESS, &[][..]),
                Err(failure) => (0, failure.code, failure.text()),
            };
            let answer = Answer { route, number: request.number, result, code: code.0, why };
            if let Err(error) = self.link.tell(&answer, Vec::new()) {
                self.link.fail(&Failure::from(&error));
            }
        }
        if let Some(receive) = receive {
            let (opcode, len) = match kind {
                OperationKind::Send => (Opcode::Send, request.total),
                OperationKind::SendImm => (Opcode::SendImm, request.total),
                _ => (Opcode::WriteImm, 0),
            };
            let received = Received { opcode, immediate: request.immediate, len };
            self.link.base.receives.end(receive, outcome.clone().map(|_| received));
        }
        if let Err(failure) = &outcome {
            let why = format!("an operation of the other end failed: {}", failure.why);
            self.link.fail(&Failure::new(failure.code, why));
        }
        outcome.is_ok()
    }

    /// Drops all operations.
    pub(crate) fn end(&self) {
        drop(self.queue.take());
    }
}
