//! This end carries out what the other end asks for.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use rdma_protocol::{Access, MemoryRange, Opcode, Remote};
use ucx::{AmFlags, Data};
use urom_pdk::memory::HostMemory;
use urom_pdk::prelude::*;

use crate::LIMITS;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::incoming::{Early, IncomingEntry};
use crate::message::{OperationKind, RESPONSE, Request, Response};
use crate::pieces::{BLOCK, Pieces};
use crate::request::{LONGEST_PART, begun, room, violation};
use crate::transfers::{Of, Transfer};

impl Connection {
    /// An operation, or a part of one, has come.
    pub(crate) fn on_request(&self, request: Request, data: Data<'_>) -> Result<()> {
        let (number, at) = (request.number, request.at);
        let len = match &data {
            Data::Eager(bytes) => bytes.len() as u64,
            Data::Rendezvous(announced) => announced.len() as u64,
        };
        let mut incoming = self.incoming.borrow_mut();
        let entry = incoming.entry(request);
        let entry = entry.ok_or_else(|| violation("an operation that there cannot be"))?;
        if entry.kind == OperationKind::Read {
            let Data::Eager(lengths) = data else { return Err(violation("a list of that length")) };
            entry.lengths = lengths_of(lengths, request.total)?;
            drop(incoming);
            self.advance();
            return Ok(());
        }
        let carries = !entry.kind.is_atomic();
        if carries && at.checked_add(len).is_none_or(|end| end > request.total)
            || !carries && len > 0
        {
            return Err(violation("bytes beyond those of an operation"));
        }
        drop(incoming);
        self.advance();
        if len > 0 {
            self.take_part(number, at, data)?;
        }
        self.settle();
        Ok(())
    }

    /// Puts a part of an operation into the memory, or keeps it until the operation starts.
    fn take_part(&self, number: u64, at: u64, data: Data<'_>) -> Result<()> {
        let mut incoming = self.incoming.borrow_mut();
        // One that has failed takes no bytes.
        let Some(entry) = incoming.get(number) else { return Ok(()) };
        if entry.has_started {
            let (memory, failed) = (entry.memory.clone(), entry.outcome.is_err());
            drop(incoming);
            return if failed {
                Ok(())
            } else {
                self.place(Of::Incoming(number), &memory, at, data)
            };
        }
        let early = match data {
            Data::Eager(bytes) => Early::Bytes(bytes.to_vec()),
            Data::Rendezvous(announced) => Early::Announced(announced),
        };
        match incoming.keep(number, at, early) {
            true => Ok(()),
            false => Err(violation("more than is kept for operations that have to wait")),
        }
    }

    /// Starts what can start, and answers what is over.
    pub(crate) fn advance(&self) {
        // Bytes that came before end an operation inside the loop, which then goes on by itself.
        if self.is_advancing.replace(true) {
            return;
        }
        self.start_all();
        self.is_advancing.set(false);
        self.settle();
    }

    fn start_all(&self) {
        loop {
            let next = self
                .incoming
                .borrow_mut()
                .next()
                .map(|(number, entry)| (number, entry.kind, entry.request));
            let Some((number, kind, request)) = next else { break };
            if kind.takes_receive() && !self.base.receives.borrow().is_ready() {
                break;
            }
            if kind.is_send() {
                if !self.start_send(number, request) {
                    break;
                }
                continue;
            }
            match self.memory_of(kind, &request) {
                Ok(memory) => {
                    if !self.incoming.borrow().may_start(number, &memory) {
                        break;
                    }
                    if kind == OperationKind::WriteImm
                        && let Some((receive, _)) = self.base.receives.borrow_mut().take_next()
                        && let Some(entry) = self.incoming.borrow_mut().get(number)
                    {
                        entry.receive = Some(receive);
                    }
                    self.start(number, memory);
                }
                Err(error) => {
                    if let Some(entry) = self.incoming.borrow_mut().get(number) {
                        entry.fail(Failure::from(&error));
                    }
                }
            }
        }
    }

    /// Starts a send, for which there is a receive. Whether it may start.
    fn start_send(&self, number: u64, request: Request) -> bool {
        let mut receives = self.base.receives.borrow_mut();
        let Some(places) = receives.next_places() else { return false };
        if !self.incoming.borrow().may_start(number, &places) {
            return false;
        }
        let Some((receive, places)) = receives.take_next() else { return false };
        drop(receives);
        if let Some(entry) = self.incoming.borrow_mut().get(number) {
            entry.receive = Some(receive);
            if request.total > places.len() {
                let text = format!(
                    "a message of {} bytes does not fit a receive of {}",
                    request.total,
                    places.len()
                );
                entry.fail(Failure::new(DocaError::IO_FAILED, text));
                return true;
            }
        }
        self.start(number, places);
        true
    }

    fn start(&self, number: u64, memory: Pieces) {
        let early = {
            let mut incoming = self.incoming.borrow_mut();
            let Some(entry) = incoming.get(number) else { return };
            entry.has_started = true;
            entry.memory = memory.clone();
            match entry.kind {
                OperationKind::Read => {
                    let lengths = std::mem::take(&mut entry.lengths);
                    drop(incoming);
                    return self.send_all(number, &memory, &lengths);
                }
                kind if kind.is_atomic() => {
                    let request = entry.request;
                    drop(incoming);
                    return self.run_atomic(number, kind, request, &memory);
                }
                _ => incoming.take_early(number),
            }
        };
        for (at, early) in early {
            let placed = match early {
                Early::Bytes(bytes) => {
                    self.place(Of::Incoming(number), &memory, at, Data::Eager(&bytes))
                }
                Early::Announced(announced) => {
                    self.place(Of::Incoming(number), &memory, at, Data::Rendezvous(announced))
                }
            };
            if let Err(error) = placed {
                return self.refuse(number, Failure::from(&error));
            }
        }
    }

    /// The memory that an operation of the other end means, if both the instance and the memory
    /// permit it.
    fn memory_of(&self, kind: OperationKind, request: &Request) -> Result<Pieces> {
        let permission = match kind {
            OperationKind::Send | OperationKind::SendImm => return Ok(Pieces::default()),
            OperationKind::Write | OperationKind::WriteImm => Access::RDMA_WRITE,
            OperationKind::Read => Access::RDMA_READ,
            OperationKind::CompareSwap | OperationKind::FetchAdd => Access::RDMA_ATOMIC,
        };
        let refuse = |code, text: String| Err(Error::new(code, text));
        let name = kind.name();
        if !self.base.permissions.contains(permission) {
            let text = format!("{name}: the instance lacks the permission {}", named(permission));
            return refuse(DocaError::NOT_PERMITTED, text);
        }
        let Remote { memory, offset } = request.remote;
        if kind.is_atomic() && request.total != 8 {
            return Err(violation("an atomic operation on other than eight bytes"));
        }
        if request.total == 0 && memory == 0 {
            return Ok(Pieces::default());
        }
        let range = MemoryRange { memory, offset, len: request.total };
        if memory == 0 {
            let text = format!("{name}: {} bytes need a place in memory", request.total);
            return refuse(DocaError::NOT_FOUND, text);
        }
        let opened = match self.base.memories.open(range) {
            Err(error) if error.code() == DocaError::NOT_FOUND => {
                let text = format!(
                    "{name}: {range} is not there: its owner has not exported it by this worker \
                     (export_mmap), or has released it"
                );
                return refuse(DocaError::NOT_FOUND, text);
            }
            opened => opened?,
        };
        let needed = permission | Access::LOCAL_READ_WRITE;
        if !opened.access().contains(needed) {
            let missing = needed.difference(opened.access());
            let missing: Vec<_> = missing.iter_names().map(|(name, _)| name).collect();
            let text = format!("{name}: {range} lacks {}", missing.join(" and "));
            return refuse(DocaError::NOT_PERMITTED, text);
        }
        if kind.is_atomic() && !opened.address().is_multiple_of(8) {
            let text = format!("{name}: {range} is not at a multiple of eight");
            return refuse(DocaError::INVALID_VALUE, text);
        }
        Ok(Pieces::of(opened))
    }

    fn run_atomic(&self, number: u64, kind: OperationKind, request: Request, memory: &Pieces) {
        let Some(memory) = memory.single(0..8) else { return };
        let (operand, compare) = (request.operand, request.compare);
        let of = Of::Incoming(number);
        if let Some(view) = memory.mapped() {
            let word = view.atomic_u64(0).map(|word| match kind {
                OperationKind::FetchAdd => word.fetch_add(operand, Ordering::AcqRel),
                _ => word
                    .compare_exchange(compare, operand, Ordering::AcqRel, Ordering::Acquire)
                    .unwrap_or_else(|found| found),
            });
            match word {
                Ok(before) => self.found(number, before),
                Err(error) => self.fail_one(of, &error.into()),
            }
            return;
        }
        let change = async move {
            match kind {
                OperationKind::FetchAdd => memory.fetch_add(0, operand).await,
                _ => memory.compare_swap(0, compare, operand).await,
            }
        };
        self.run(change, move |this, before| match before {
            Ok(before) => this.found(number, before),
            Err(error) => this.fail_one(of, &error),
        });
    }

    /// An atomic operation has found this.
    fn found(&self, number: u64, before: u64) {
        if let Some(entry) = self.incoming.borrow_mut().get(number) {
            entry.outcome = Ok(before);
        }
        self.arrived(number, 8);
    }

    /// Sends the bytes of a read, in parts of these lengths.
    fn send_all(&self, number: u64, memory: &Pieces, lengths: &[u64]) {
        let Some((_, memory)) = memory.parts().next() else { return };
        let (mut begin, of) = (0, Of::Incoming(number));
        let whole = [memory.len()];
        for &len in if lengths.is_empty() { &whole } else { lengths } {
            let piece = Pieces::of(memory.slice(begin..begin + len));
            for (from, part) in piece.parts_of(LONGEST_PART) {
                let (at, len) = (begin + from, part.len());
                let header = self.part(number, at);
                let bytes = bytemuck::bytes_of(&header);
                let sent = part.am_send(&self.endpoint, RESPONSE, bytes, self.how(len));
                match sent.map(ucx::Request::into_done) {
                    Some(Ok((Ok(()), _))) => self.arrived(number, len),
                    Some(Ok((Err(status), _))) => {
                        let sent = Err::<(), _>(status);
                        if let Err(error) = sent.or_code(DocaError::IO_FAILED, "sending") {
                            return self.refuse(number, Failure::from(&error));
                        }
                    }
                    Some(Err(sent)) => {
                        self.transfers.borrow_mut().add(of, len, Transfer::Send(sent));
                    }
                    None => {
                        let Some(this) = self.me.upgrade() else { return };
                        self.move_later(of, len, send_blocks(this, number, at, part));
                    }
                }
            }
            begin += len;
        }
    }

    fn part(&self, number: u64, at: u64) -> Response {
        let route = self.route;
        Response { route, number, result: 0, at, code: DocaError::SUCCESS, has_bytes: 1 }
    }

    /// So many bytes of an operation of the other end are where they belong.
    pub(crate) fn arrived(&self, number: u64, len: u64) {
        if let Some(entry) = self.incoming.borrow_mut().get(number) {
            entry.left = entry.left.saturating_sub(len);
        }
        self.settle();
        self.advance_if_waiting();
    }

    fn advance_if_waiting(&self) {
        if self.incoming.borrow_mut().next().is_some() {
            self.advance();
        }
    }

    /// Ends an operation of the other end that has failed here.
    pub(crate) fn refuse(&self, number: u64, failure: Failure) {
        if let Some(entry) = self.incoming.borrow_mut().get(number) {
            entry.fail(failure);
        }
        self.settle();
    }

    /// Answers what is over, in order.
    fn settle(&self) {
        loop {
            let over = self.incoming.borrow_mut().pop();
            let Some((number, entry)) = over else { return };
            if !self.answer(number, entry) {
                return;
            }
        }
    }

    /// Answers an operation. Whether it succeeded.
    fn answer(&self, number: u64, entry: IncomingEntry) -> bool {
        let IncomingEntry { request, kind, receive, outcome, .. } = entry;
        let (code, result) = match &outcome {
            Ok(result) => (DocaError::SUCCESS, *result),
            Err(failure) => (failure.code, 0),
        };
        let answer = Response { result, code, has_bytes: 0, ..self.part(number, 0) };
        let header = bytemuck::bytes_of(&answer);
        match outcome {
            Ok(_) => {
                // The bytes of a read are its answer.
                if kind != OperationKind::Read || request.total == 0 {
                    let sent = self.endpoint.am_send_with(RESPONSE, header, (), AmFlags::EAGER);
                    if let Err(error) = begun(sent) {
                        self.fail(Failure::from(&error));
                    }
                }
                if let Some(receive) = receive {
                    let (opcode, len) = match kind {
                        OperationKind::Send => (Opcode::Send, request.total),
                        OperationKind::SendImm => (Opcode::SendImm, request.total),
                        _ => (Opcode::WriteImm, 0),
                    };
                    let mut receives = self.base.receives.borrow_mut();
                    receives.complete(receive, opcode, request.immediate, len);
                }
                true
            }
            Err(failure) => {
                let why = failure.why.as_bytes().to_vec();
                self.endpoint.am_send_with(RESPONSE, header, why, AmFlags::EAGER).detach();
                if let Some(receive) = receive {
                    self.base.receives.borrow_mut().end(receive, Err(failure.clone()));
                }
                let why = format!("an operation of the other end failed: {}", failure.why);
                self.fail(Failure::new(failure.code, why));
                false
            }
        }
    }
}

async fn send_blocks(
    connection: Rc<Connection>,
    number: u64,
    at: u64,
    part: HostMemory,
) -> Result<()> {
    let mut from = 0;
    while from < part.len() {
        let mut block = room(BLOCK.min(part.len() - from))?;
        part.read(from, &mut block).await?;
        let header = connection.part(number, at + from);
        from += block.len() as u64;
        let (header, how) = (bytemuck::bytes_of(&header), connection.how(block.len() as u64));
        let (sent, _) = connection.endpoint.am_send_with(RESPONSE, header, block, how).await;
        sent.or_code(DocaError::IO_FAILED, "sending to the other end")?;
    }
    Ok(())
}

/// The lengths of the places of a read, which together are its length.
fn lengths_of(bytes: &[u8], total: u64) -> Result<Vec<u64>> {
    let (words, rest) = bytes.as_chunks::<8>();
    let lengths: Vec<_> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let sum = lengths.iter().try_fold(0_u64, |sum, len| sum.checked_add(*len));
    let fits = lengths.is_empty() || sum == Some(total);
    match rest.is_empty() && fits && lengths.len() <= LIMITS.list as usize {
        true => Ok(lengths),
        false => Err(violation("a list that is not as long as its read")),
    }
}

fn named(permission: Access) -> &'static str {
    match permission {
        Access::RDMA_WRITE => "RDMA_WRITE",
        Access::RDMA_READ => "RDMA_READ",
        _ => "RDMA_ATOMIC",
    }
}
