//! The path over the network: questions to hosts' libraries over UCX, for memory that this process
//! cannot reach by itself.
//!
//! A host's library checks each question, moves the bytes and answers. What this side copies from
//! and to are buffers of its own, so that nothing of a plugin is in UCX's hands when it ends.

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod host;
#[cfg(test)]
mod tests;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::rc::{Rc, Weak};

use rustc_hash::FxHashMap;
use ucx::{CloseMode, Data, Message, Request, Status, Worker};
use urom_abi::DocaError;
use urom_abi::host_memory::{MemoryAction, MemoryOperation, MemoryPath};
use urom_memory::Error;
use urom_memory::engine::{Path, Region};
use urom_wire::plain::Plain;
use urom_wire::remote::{AM_ANSWER, Answer, Ask, EVERY, MOST_MOVED, context};
use urom_wire::ucx_context::Config;

use self::host::Host;

/// How often a turn has UCX move on at most: a host that sends without end holds nobody up.
const ROUNDS: usize = 16;

/// The questions of a worker.
#[derive(Debug)]
pub(super) struct Remote {
    config: Config,
    /// UCX, from the first host that needs it on.
    asker: OnceCell<Asker>,
    /// By connection, as long as it lasts: what UCX has of one is made once.
    hosts: RefCell<HashMap<u64, Rc<Host>>>,
    /// Whether [`turn`](Remote::turn) has something to do.
    is_busy: Cell<bool>,
    /// Whether the worker ends: no operation starts any more.
    is_shut: Cell<bool>,
}

#[derive(Debug)]
struct Asker {
    worker: Worker,
    questions: Rc<RefCell<Questions>>,
}

#[derive(Debug, Default)]
struct Questions {
    /// By number. No number is used twice, so a late answer ends no other operation.
    waiting: FxHashMap<u64, Unanswered>,
    last_number: u64,
    /// Questions that UCX is still sending, by the numbers of their operations.
    sends: Vec<(u64, Request<Vec<u8>>)>,
    /// Hosts that were lost.
    lost: Vec<u64>,
    /// Operations that have ended, whose plugins are to be told.
    ended: Vec<(NonNull<MemoryOperation>, DocaError)>,
}

/// An operation that waits for an answer.
#[derive(Debug)]
struct Unanswered {
    operation: NonNull<MemoryOperation>,
    host: Rc<Host>,
    region: Rc<Region>,
    /// Where it begins in the region.
    offset: u64,
    /// How many bytes are moved, and how many the question moves that is under way.
    moved: u64,
    asked: u64,
}

/// The path to a host's memory by questions to its library.
#[derive(Debug)]
struct OverNetwork {
    /// Not counted: operations that wait keep their regions, and so this.
    remote: Weak<Remote>,
    host: Rc<Host>,
}

impl Path for OverNetwork {
    fn kind(&self) -> MemoryPath {
        MemoryPath::NETWORK
    }

    unsafe fn run(
        &self,
        region: &Rc<Region>,
        at: u64,
        operation: NonNull<MemoryOperation>,
    ) -> Result<(), DocaError> {
        let remote = self.remote.upgrade().ok_or(DocaError::SHUTDOWN)?;
        // SAFETY: the caller's promise.
        unsafe { remote.start(Rc::clone(region), Rc::clone(&self.host), at, operation) }?;
        Err(DocaError::IN_PROGRESS)
    }
}

impl Remote {
    pub(super) fn new(config: Config) -> Remote {
        Remote {
            config,
            asker: OnceCell::new(),
            hosts: RefCell::default(),
            is_busy: Cell::new(false),
            is_shut: Cell::new(false),
        }
    }

    /// Whether [`turn`](Remote::turn) has something to do.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy.get()
    }

    /// The path to the memory of a connection's host, whose library answers at `address`, and the
    /// address of the worker that asks.
    pub(super) fn open_path(
        self: &Rc<Self>,
        dest_id: u64,
        ticket: u128,
        address: &[u8],
    ) -> Result<(Box<dyn Path>, Vec<u8>), Error> {
        let host = self.host(dest_id, ticket, address)?;
        Ok((Box::new(OverNetwork { remote: Rc::downgrade(self), host }), self.address()?))
    }

    /// The address of the worker that asks.
    fn address(&self) -> Result<Vec<u8>, Error> {
        let address = self.asker()?.worker.address().map_err(failed)?;
        Ok(address.as_bytes().to_vec())
    }

    fn asker(&self) -> Result<&Asker, Error> {
        if let Some(asker) = self.asker.get() {
            return Ok(asker);
        }
        let asker = Asker::new(self.config).map_err(failed)?;
        Ok(self.asker.get_or_init(|| asker))
    }

    /// Starts an operation, whose bytes are checked.
    ///
    /// # Safety
    /// The operation stays where it is until it has ended, and its `local` has as many bytes as it
    /// moves.
    unsafe fn start(
        &self,
        region: Rc<Region>,
        host: Rc<Host>,
        offset: u64,
        operation: NonNull<MemoryOperation>,
    ) -> Result<(), DocaError> {
        let asker = self.asker.get().filter(|_| !self.is_shut.get()).ok_or(DocaError::SHUTDOWN)?;
        self.revive(asker, &host)?;
        let mut questions = asker.questions.borrow_mut();
        let waiting = Unanswered { operation, host, region, offset, moved: 0, asked: 0 };
        questions.last_number += 1;
        let number = questions.last_number;
        questions.waiting.insert(number, waiting);
        questions.ask(number);
        self.is_busy.set(true);
        Ok(())
    }

    /// Has UCX move on, and tells plugins of operations that have ended. Whether UCX has more to do
    /// at once.
    #[cold]
    pub(super) fn turn(&self) -> bool {
        let Some(asker) = self.asker.get() else {
            self.is_busy.set(false);
            return false;
        };
        let has_more = (0..ROUNDS).all(|_| asker.worker.progress());
        let ended = {
            let mut questions = asker.questions.borrow_mut();
            questions.end_unsent();
            for dest_id in std::mem::take(&mut questions.lost) {
                questions.end_of(|host| host.dest_id == dest_id, DocaError::CONNECTION_RESET);
            }
            std::mem::take(&mut questions.ended)
        };
        for (operation, status) in ended {
            // SAFETY: as `start` was promised, the operation is there until it has ended.
            unsafe { end(operation, status) };
        }
        let questions = asker.questions.borrow();
        let waits = !questions.waiting.is_empty() || !questions.ended.is_empty();
        self.is_busy.set(waits || has_more);
        has_more
    }

    /// Ends the operations on a host's memory: it has left.
    pub(super) fn lose(&self, dest_id: u64) {
        let host = self.hosts.borrow_mut().remove(&dest_id);
        if let Some(endpoint) = host.and_then(|host| host.endpoint.take()) {
            endpoint.close(CloseMode::Force);
        }
        if let Some(asker) = self.asker.get() {
            let mut questions = asker.questions.borrow_mut();
            questions.end_of(|host| host.dest_id == dest_id, DocaError::CONNECTION_RESET);
            self.is_busy.set(true);
        }
    }

    /// Ends all operations, and lets none start: the worker ends.
    pub(super) fn shut(&self) {
        self.is_shut.set(true);
        if let Some(asker) = self.asker.get() {
            asker.questions.borrow_mut().end_of(|_| true, DocaError::SHUTDOWN);
            self.turn();
        }
    }
}

/// Tells a plugin how its operation ended.
///
/// # Safety
/// The operation is there, and its `done` is the plugin's function.
unsafe fn end(mut operation: NonNull<MemoryOperation>, status: DocaError) {
    // SAFETY: the caller's promise.
    let of_plugin = unsafe { operation.as_mut() };
    of_plugin.status = status;
    if let Some(done) = of_plugin.done {
        // SAFETY: the caller's promise.
        unsafe { done(operation.as_ptr()) };
    }
}

fn failed(error: ucx::Error) -> Error {
    let hint = match error.status() {
        // Of this machine's limits, which the error names.
        Status::EXCEEDS_LIMIT | Status::NO_MEMORY | Status::IO_ERROR => "",
        _ => {
            "; it needs a transport that notices a lost peer, such as tcp: see UCX_TLS of host and \
             service"
        }
    };
    let text = format!("UCX cannot reach a host's memory: {error}{hint}");
    Error::new(DocaError::DRIVER, text)
}

impl Asker {
    fn new(config: Config) -> ucx::Result<Asker> {
        let builder = context().name("urom-memory");
        let builder =
            config.iter().fold(builder, |builder, (name, value)| builder.config(*name, *value));
        let worker = builder.build()?.worker()?;
        let questions: Rc<RefCell<Questions>> = Rc::default();
        // Not counted: operations that wait have endpoints of the worker, which has the handler.
        let answered = Rc::downgrade(&questions);
        worker.set_am_handler(AM_ANSWER, move |message: Message<'_>| {
            if let Some(questions) = answered.upgrade() {
                questions.borrow_mut().answered(message.header, message.data);
            }
        })?;
        Ok(Asker { worker, questions })
    }
}

impl Questions {
    /// Sends the next question of an operation.
    fn ask(&mut self, number: u64) {
        let Some(waiting) = self.waiting.get_mut(&number) else { return };
        // SAFETY: it is there until it has ended.
        let operation = unsafe { waiting.operation.as_ref() };
        let moves = matches!(operation.action, MemoryAction::READ | MemoryAction::WRITE);
        let left = operation.len - waiting.moved;
        waiting.asked = if moves { left.min(MOST_MOVED) } else { left };
        let at = operation.local.wrapping_add(waiting.moved as usize);
        let sent = match operation.action {
            MemoryAction::WRITE => waiting.asked as usize,
            MemoryAction::TAG_SEND => operation.result as usize,
            _ => 0,
        };
        let mut bytes = vec![0; sent];
        if sent > 0 {
            // SAFETY: the plugin's bytes, as many as the operation says.
            unsafe { at.copy_to_nonoverlapping(bytes.as_mut_ptr(), sent) };
        }
        let ask = Ask {
            ticket: waiting.host.ticket.into(),
            number: number.into(),
            share: waiting.region.offered().share.into(),
            offset: (waiting.offset + waiting.moved).into(),
            len: waiting.asked.into(),
            operand: operation.operand.into(),
            compare: operation.compare.into(),
            action: operation.action.0.into(),
            reserved: 0.into(),
        };
        match waiting.host.ask(&ask, bytes) {
            Ok(request) => self.sends.extend(request.map(|request| (number, request))),
            Err(code) => self.finish(number, code),
        }
    }

    /// Ends the operations whose questions could not be sent.
    fn end_unsent(&mut self) {
        let is_done = |(_, sent): &mut (_, Request<Vec<u8>>)| sent.is_done();
        let done: Vec<_> = self.sends.extract_if(.., is_done).collect();
        for (number, sent) in done {
            if let Ok((Err(_), _)) = sent.into_done()
                && let Some(waiting) = self.waiting.get(&number)
            {
                let code = waiting.host.unsent();
                self.finish(number, code);
            }
        }
    }

    fn answered(&mut self, header: &[u8], data: Data<'_>) {
        let Some(answer) = Answer::read(header) else { return };
        let (number, ticket) = (answer.number.get(), answer.ticket.get());
        if number == EVERY {
            return self.end_of(|host| host.ticket == ticket, DocaError::CONNECTION_RESET);
        }
        // Another host may have guessed the number.
        let of_host = |waiting: &&mut Unanswered| waiting.host.ticket == ticket;
        let Some(waiting) = self.waiting.get_mut(&number).filter(of_host) else { return };
        let status = DocaError(answer.status.get());
        // SAFETY: it is there until it has ended.
        unsafe { waiting.operation.as_mut() }.result = answer.result.get();
        if status != DocaError::SUCCESS {
            return self.finish(number, status);
        }
        match data {
            Data::Eager(bytes) => self.moved(number, bytes),
            // No host of this release answers so.
            Data::Rendezvous(_) => self.finish(number, DocaError::IO_FAILED),
        }
    }

    /// The question of an operation is answered, for a read with these bytes.
    fn moved(&mut self, number: u64, bytes: &[u8]) {
        let Some(waiting) = self.waiting.get_mut(&number) else { return };
        // SAFETY: it is there until it has ended.
        let operation = unsafe { waiting.operation.as_ref() };
        if operation.action == MemoryAction::READ {
            if bytes.len() as u64 != waiting.asked {
                return self.finish(number, DocaError::IO_FAILED);
            }
            let to = operation.local.wrapping_add(waiting.moved as usize);
            // SAFETY: the plugin's place has room for all that the operation moves.
            unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
        waiting.moved += waiting.asked;
        match waiting.moved < operation.len {
            true => self.ask(number),
            false => self.finish(number, DocaError::SUCCESS),
        }
    }

    fn finish(&mut self, number: u64, status: DocaError) {
        if let Some(waiting) = self.waiting.remove(&number) {
            self.ended.push((waiting.operation, status));
        }
    }

    /// Ends the operations on the memory of some hosts.
    fn end_of(&mut self, is_theirs: impl Fn(&Host) -> bool, status: DocaError) {
        self.waiting.retain(|_, waiting| {
            let ends = is_theirs(&waiting.host);
            if ends {
                self.ended.push((waiting.operation, status));
            }
            !ends
        });
    }
}
