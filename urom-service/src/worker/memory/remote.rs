//! The network path: requests to hosts' libraries over UCX, for memory out of reach of this
//! process. A host's library checks each request, moves the bytes and answers. This side copies
//! through its own buffers, so that UCX does not use a plugin's memory after an operation's end.

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
use ucx::{AmData, CloseMode, Message, Request, Status, Worker};
use urom_abi::host_memory::{MemoryAction, MemoryOperation, MemoryPath};
use urom_abi::{DocaError, DocaStatus};
use urom_memory::Error;
use urom_memory::engine::{Path, Region};
use urom_wire::plain::Plain;
use urom_wire::remote::{AM_ANSWER, Answer, Ask, EVERY, MOST_MOVED, context};
use urom_wire::ucx_context::Config;

use self::host::RemoteHost;

/// Limit of UCX progress calls in a turn, against hosts that send endlessly.
const ROUNDS: usize = 16;

#[derive(Debug)]
pub(super) struct RemoteAccess {
    config: Config,
    /// Created for the first host that needs UCX.
    client: OnceCell<MemoryClient>,
    /// By connection, while it lasts: its UCX state is created once.
    hosts: RefCell<HashMap<u64, Rc<RemoteHost>>>,
    /// Whether [`turn`](RemoteAccess::turn) has work.
    is_busy: Cell<bool>,
    /// Whether the worker ends: operations no longer start.
    is_shut: Cell<bool>,
}

#[derive(Debug)]
struct MemoryClient {
    worker: Worker,
    operations: Rc<RefCell<PendingOperations>>,
}

#[derive(Debug, Default)]
struct PendingOperations {
    /// By number. Numbers are unique, so a late answer cannot end another operation.
    waiting: FxHashMap<u64, PendingOperation>,
    last_number: u64,
    /// Requests that UCX is still sending, by their operations' numbers.
    sends: Vec<(u64, Request<Vec<u8>>)>,
    lost: Vec<u64>,
    /// Ended operations whose plugins are not yet notified.
    ended: Vec<(NonNull<MemoryOperation>, DocaStatus)>,
}

#[derive(Debug)]
struct PendingOperation {
    operation: NonNull<MemoryOperation>,
    host: Rc<RemoteHost>,
    region: Rc<Region>,
    offset: u64,
    /// Bytes moved so far, and bytes of the current request.
    moved: u64,
    asked: u64,
}

#[derive(Debug)]
struct NetworkPath {
    /// Weak: waiting operations keep their regions, which keep this.
    remote: Weak<RemoteAccess>,
    host: Rc<RemoteHost>,
}

impl Path for NetworkPath {
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

impl RemoteAccess {
    pub(super) fn new(config: Config) -> RemoteAccess {
        RemoteAccess {
            config,
            client: OnceCell::new(),
            hosts: RefCell::default(),
            is_busy: Cell::new(false),
            is_shut: Cell::new(false),
        }
    }

    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy.get()
    }

    /// Opens the path to a host's memory. Also returns the requesting worker's address.
    pub(super) fn open_path(
        self: &Rc<Self>,
        dest_id: u64,
        token: u128,
        address: &[u8],
    ) -> Result<(Box<dyn Path>, Vec<u8>), Error> {
        let host = self.host(dest_id, token, address)?;
        Ok((Box::new(NetworkPath { remote: Rc::downgrade(self), host }), self.address()?))
    }

    fn address(&self) -> Result<Vec<u8>, Error> {
        let address = self.client()?.worker.address().map_err(failed)?;
        Ok(address.as_bytes().to_vec())
    }

    fn client(&self) -> Result<&MemoryClient, Error> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = MemoryClient::new(self.config).map_err(failed)?;
        Ok(self.client.get_or_init(|| client))
    }

    /// # Safety
    /// The operation was checked. Until it ends, it stays in place, with all its bytes at `local`.
    unsafe fn start(
        &self,
        region: Rc<Region>,
        host: Rc<RemoteHost>,
        offset: u64,
        operation: NonNull<MemoryOperation>,
    ) -> Result<(), DocaError> {
        let client =
            self.client.get().filter(|_| !self.is_shut.get()).ok_or(DocaError::SHUTDOWN)?;
        self.revive(client, &host)?;
        let mut operations = client.operations.borrow_mut();
        let waiting = PendingOperation { operation, host, region, offset, moved: 0, asked: 0 };
        operations.last_number += 1;
        let number = operations.last_number;
        operations.waiting.insert(number, waiting);
        operations.ask(number);
        self.is_busy.set(true);
        Ok(())
    }

    /// Progresses UCX, and notifies plugins of ended operations. Returns whether UCX has more work.
    #[cold]
    pub(super) fn turn(&self) -> bool {
        let Some(client) = self.client.get() else {
            self.is_busy.set(false);
            return false;
        };
        let has_more = (0..ROUNDS).all(|_| client.worker.progress());
        let ended = {
            let mut operations = client.operations.borrow_mut();
            operations.end_unsent();
            for dest_id in std::mem::take(&mut operations.lost) {
                operations.end_of(|host| host.dest_id == dest_id, DocaError::CONNECTION_RESET);
            }
            std::mem::take(&mut operations.ended)
        };
        for (operation, status) in ended {
            // SAFETY: by the contract of `start`, the operation is valid until it has ended.
            unsafe { end(operation, status) };
        }
        let operations = client.operations.borrow();
        let waits = !operations.waiting.is_empty() || !operations.ended.is_empty();
        self.is_busy.set(waits || has_more);
        has_more
    }

    pub(super) fn lose(&self, dest_id: u64) {
        let host = self.hosts.borrow_mut().remove(&dest_id);
        if let Some(endpoint) = host.and_then(|host| host.endpoint.take()) {
            endpoint.close(CloseMode::Force);
        }
        if let Some(client) = self.client.get() {
            let mut operations = client.operations.borrow_mut();
            operations.end_of(|host| host.dest_id == dest_id, DocaError::CONNECTION_RESET);
            self.is_busy.set(true);
        }
    }

    /// Ends all operations and prevents new ones: the worker ends.
    pub(super) fn shut(&self) {
        self.is_shut.set(true);
        if let Some(client) = self.client.get() {
            client.operations.borrow_mut().end_of(|_| true, DocaError::SHUTDOWN);
            self.turn();
        }
    }
}

/// Reports an operation's result to its plugin.
///
/// # Safety
/// The operation is valid, and its `done` is the plugin's function.
unsafe fn end(mut operation: NonNull<MemoryOperation>, status: DocaStatus) {
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
        // Limits of this machine, which the error names.
        Status::EXCEEDS_LIMIT | Status::NO_MEMORY | Status::IO_ERROR => "",
        _ => {
            "; it needs a transport that notices a lost peer, such as tcp: see UCX_TLS of host and \
             service"
        }
    };
    let text = format!("UCX cannot reach a host's memory: {error}{hint}");
    Error::new(DocaError::DRIVER, text)
}

impl MemoryClient {
    fn new(config: Config) -> ucx::Result<MemoryClient> {
        let builder = context().name("urom-memory");
        let builder =
            config.iter().fold(builder, |builder, (name, value)| builder.config(*name, *value));
        let worker = builder.build()?.worker()?;
        let operations: Rc<RefCell<PendingOperations>> = Rc::default();
        // Weak: waiting operations hold endpoints of the worker, which holds the handler.
        let answered = Rc::downgrade(&operations);
        worker.set_am_handler(AM_ANSWER, move |message: Message<'_>| {
            if let Some(operations) = answered.upgrade() {
                operations.borrow_mut().answered(message.header, message.data);
            }
        })?;
        Ok(MemoryClient { worker, operations })
    }
}

impl PendingOperations {
    fn ask(&mut self, number: u64) {
        let Some(waiting) = self.waiting.get_mut(&number) else { return };
        // SAFETY: it is valid until it has ended.
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
            // SAFETY: the plugin's bytes, as many as the operation has.
            unsafe { at.copy_to_nonoverlapping(bytes.as_mut_ptr(), sent) };
        }
        let ask = Ask {
            token: waiting.host.token.into(),
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
            Err(code) => self.finish(number, code.into()),
        }
    }

    fn end_unsent(&mut self) {
        let is_done = |(_, sent): &mut (_, Request<Vec<u8>>)| sent.is_done();
        let done: Vec<_> = self.sends.extract_if(.., is_done).collect();
        for (number, sent) in done {
            if let Ok((Err(_), _)) = sent.into_done()
                && let Some(waiting) = self.waiting.get(&number)
            {
                let code = waiting.host.unsent();
                self.finish(number, code.into());
            }
        }
    }

    fn answered(&mut self, header: &[u8], data: AmData<'_>) {
        let Some(answer) = Answer::read(header) else { return };
        let (number, token) = (answer.number.get(), answer.token.get());
        if number == EVERY {
            return self.end_of(|host| host.token == token, DocaError::CONNECTION_RESET);
        }
        // Another host may have guessed the number.
        let of_host = |waiting: &&mut PendingOperation| waiting.host.token == token;
        let Some(waiting) = self.waiting.get_mut(&number).filter(of_host) else { return };
        let status = DocaStatus(answer.status.get());
        // SAFETY: it is valid until it has ended.
        unsafe { waiting.operation.as_mut() }.result = answer.result.get();
        if status != DocaStatus::SUCCESS {
            return self.finish(number, status);
        }
        match data {
            AmData::Eager(bytes) => self.moved(number, bytes),
            // Hosts of this release never answer like this.
            AmData::Rendezvous(_) => self.finish(number, DocaStatus::IO_FAILED),
        }
    }

    /// Handles the answer to a request; for a read, with these bytes.
    fn moved(&mut self, number: u64, bytes: &[u8]) {
        let Some(waiting) = self.waiting.get_mut(&number) else { return };
        // SAFETY: it is valid until it has ended.
        let operation = unsafe { waiting.operation.as_ref() };
        if operation.action == MemoryAction::READ {
            if bytes.len() as u64 != waiting.asked {
                return self.finish(number, DocaStatus::IO_FAILED);
            }
            let to = operation.local.wrapping_add(waiting.moved as usize);
            // SAFETY: the plugin's buffer has capacity for the whole operation.
            unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
        waiting.moved += waiting.asked;
        match waiting.moved < operation.len {
            true => self.ask(number),
            false => self.finish(number, DocaStatus::SUCCESS),
        }
    }

    fn finish(&mut self, number: u64, status: DocaStatus) {
        if let Some(waiting) = self.waiting.remove(&number) {
            self.ended.push((waiting.operation, status));
        }
    }

    /// Ends the operations on some hosts' memory.
    fn end_of(&mut self, is_theirs: impl Fn(&RemoteHost) -> bool, code: DocaError) {
        self.waiting.retain(|_, waiting| {
            let ends = is_theirs(&waiting.host);
            if ends {
                self.ended.push((waiting.operation, code.into()));
            }
            !ends
        });
    }
}
