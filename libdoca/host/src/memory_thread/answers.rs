//! The memory thread's answers. Each question is checked again here.

mod every;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod sends;
mod session;
#[cfg(test)]
mod tests;
mod waits;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

use tokio::sync::oneshot;
use ucx::{AmData, AmFlags, Message, Outside, Request, Worker};
use urom_abi::host_memory::{HostMemory, MemoryAction, MemoryOperation};
use urom_abi::sync_event::Condition;
use urom_abi::{DocaError, DocaStatus};
use urom_memory::View;
use urom_memory::engine::run_in_place;
use urom_wire::plain::Plain;
use urom_wire::remote::{AM_ANSWER, AM_ASK, Answer, Ask, MOST_MOVED, context};

use self::every::Every;
use self::sends::{PendingSend, sender};
use self::session::WorkerSession;
use self::waits::WaitList;
use super::{DoneCallback, ServedMemory};

/// Maximum UCX progress calls per turn, so that one busy worker does not block the thread.
const ROUNDS: usize = 16;

pub(super) struct MemoryServer {
    worker: Worker,
    /// Sends to plugins' UCX workers; created at the first send.
    sender: Rc<OnceCell<Worker>>,
    state: Rc<RefCell<ServerState>>,
}

/// Dropped in this order: UCX stops using memory before waiting threads are notified.
struct ServerState {
    /// By stream token.
    sessions: HashMap<u128, WorkerSession>,
    sends: Vec<PendingSend>,
    waits: WaitList,
    /// Answers in flight, by stream token.
    in_flight: Vec<(u128, Request<()>)>,
    /// Streams with possibly lost answers, which get one answer to all questions.
    owed: HashMap<u128, Every>,
    lost: Vec<u128>,
    sender: Rc<OnceCell<Worker>>,
    /// Forgotten memory that is still in use.
    leaving: Vec<(Rc<ServedMemory>, Option<DoneCallback>)>,
    /// Ended streams with memory still in use.
    left: Vec<(Vec<Rc<ServedMemory>>, oneshot::Sender<()>)>,
}

impl MemoryServer {
    /// `waker` is called on any thread when a turn has work other than UCX.
    pub(super) fn new(waker: Waker) -> ucx::Result<(MemoryServer, Vec<u8>)> {
        let worker = context().name("urom-memory").build()?.worker()?;
        let address = worker.address()?.as_bytes().to_vec();
        let sender = Rc::new(OnceCell::new());
        let state = Rc::new(RefCell::new(ServerState {
            sessions: HashMap::new(),
            sends: Vec::new(),
            waits: WaitList::new(waker),
            in_flight: Vec::new(),
            owed: HashMap::new(),
            lost: Vec::new(),
            sender: Rc::clone(&sender),
            leaving: Vec::new(),
            left: Vec::new(),
        }));
        // A weak reference: the state owns endpoints of the worker, which owns the handler.
        let asked = Rc::downgrade(&state);
        worker.set_am_handler(AM_ASK, move |message: Message<'_>| {
            if let Some(state) = asked.upgrade() {
                state.borrow_mut().asked(message.header, message.data);
            }
        })?;
        Ok((MemoryServer { worker, sender, state }, address))
    }

    pub(super) fn serve(&mut self, served: ServedMemory) {
        let mut state = self.state.borrow_mut();
        let session = state.sessions.entry(served.token).or_default();
        session.memories.insert(served.share, Rc::new(served));
    }

    pub(super) fn connect(&mut self, token: u128, address: &[u8]) {
        let mut state = self.state.borrow_mut();
        let Some(session) = state.sessions.get_mut(&token) else { return };
        if !session.is_connected() {
            let why = |error| log!(warn, "a worker cannot be answered about memory: {error}");
            session.endpoint = self.open(token, address).map_err(why).ok();
            session.address = address.to_vec();
        }
    }

    pub(super) fn forget(&mut self, token: u128, share: u64, then: Option<DoneCallback>) {
        let mut state = self.state.borrow_mut();
        state.waits.forget(token, Some(share));
        let session = state.sessions.get_mut(&token);
        match session.and_then(|session| session.memories.remove(&share)) {
            Some(served) => state.leaving.push((served, then)),
            None => {
                drop(state);
                then.into_iter().for_each(|then| then());
            }
        }
    }

    pub(super) fn leave(&mut self, token: u128, done: oneshot::Sender<()>) {
        let mut state = self.state.borrow_mut();
        state.waits.forget(token, None);
        let mut session = state.sessions.remove(&token).unwrap_or_default();
        session.close();
        state.owed.remove(&token);
        state.left.push((session.memories.into_values().collect(), done));
    }

    /// Answers questions up to the limit or until `is_wanted`. Returns whether there may be more.
    pub(super) fn turn(&mut self, is_wanted: impl Fn() -> bool) -> bool {
        let has_more = (0..ROUNDS).all(|_| self.round() && !is_wanted());
        self.end_uses();
        has_more
    }

    fn round(&self) -> bool {
        let moved = self.worker.progress() | self.sender.get().is_some_and(Worker::progress);
        self.tell_all();
        let mut state = self.state.borrow_mut();
        state.end_waits() | state.finish() || moved
    }

    fn end_uses(&self) {
        let is_free = |served: &Rc<ServedMemory>| Rc::strong_count(served) == 1;
        let mut state = self.state.borrow_mut();
        let free = state.leaving.extract_if(.., |(served, _)| is_free(served));
        let ended: Vec<DoneCallback> = free.filter_map(|(_, then)| then).collect();
        for (_, done) in state.left.extract_if(.., |(all, _)| all.iter().all(is_free)) {
            // Ignores receivers that no longer wait.
            let _ = done.send(());
        }
        drop(state);
        ended.into_iter().for_each(|then| then());
    }

    pub(super) fn flush(&self) {
        if let Some(sender) = self.sender.get() {
            drop(sender.flush().wait_for(Duration::from_millis(500)));
        }
    }

    /// Arms UCX for a sleep on these descriptors; `None` if there are pending events.
    pub(super) fn arm(&self) -> ucx::Result<Option<Vec<BorrowedFd<'_>>>> {
        let mut descriptors = Vec::with_capacity(2);
        for worker in [Some(&self.worker), self.sender.get()].into_iter().flatten() {
            if !worker.arm()? {
                return Ok(None);
            }
            descriptors.push(worker.event_fd()?);
        }
        Ok(Some(descriptors))
    }
}

impl ServerState {
    fn asked(&mut self, header: &[u8], data: AmData<'_>) {
        let Some(ask) = Ask::read(header) else { return };
        let (token, number) = (ask.token.get(), ask.number.get());
        // Unknown senders do not get an answer.
        let Some(session) = self.sessions.get_mut(&token) else { return };
        session.has_asked = true;
        // Ignores a question if its answer would be lost or would follow the answer to all.
        if !session.is_connected() {
            return self.owe(token);
        }
        if self.owed.contains_key(&token) {
            return self.answer(token, number, Err(DocaError::CONNECTION_RESET));
        }
        if let Some(result) = self.carry_out(&ask, data).transpose() {
            self.answer(token, number, result);
        }
    }

    /// Runs an operation; `None` if it is answered later or already was.
    fn carry_out(&mut self, ask: &Ask, data: AmData<'_>) -> Result<Option<u64>, DocaError> {
        let (token, number) = (ask.token.get(), ask.number.get());
        let session = self.sessions.get_mut(&token).ok_or(DocaError::NOT_FOUND)?;
        let served = session.memories.get(&ask.share.get()).cloned().ok_or(DocaError::NOT_FOUND)?;
        let (action, offset, len) = (ask.action(), ask.offset.get(), ask.len.get());
        let &ServedMemory { address, len: all, access, .. } = &*served;
        HostMemory { address, len: all, access, ..HostMemory::NONE }.check(action, offset, len)?;
        let start = std::ptr::with_exposed_provenance_mut::<u8>((served.address + offset) as usize);
        // SAFETY: the host keeps the memory until the end of the share, which waits for `served`;
        // `check` found the range in it. The host's program does not use references to it.
        let bytes = || unsafe { Outside::new(start, len as usize, Rc::clone(&served)) };
        match action {
            // Longer than the limit of one question.
            MemoryAction::READ | MemoryAction::WRITE if len > MOST_MOVED => {
                Err(DocaError::INVALID_VALUE)
            }
            MemoryAction::READ => {
                let endpoint = session.endpoint.as_ref().ok_or(DocaError::NOT_CONNECTED)?;
                let header = answer(token, number, Ok(0));
                let flags = AmFlags::EAGER;
                match endpoint.am_send_now(AM_ANSWER, header.as_bytes(), bytes(), flags) {
                    Ok((sent, _)) => sent.map_err(|_| DocaError::IO_FAILED)?,
                    Err(sent) => self.sends.push(PendingSend { token, number, sent, claim: None }),
                }
                Ok(None)
            }
            MemoryAction::TAG_SEND => {
                let AmData::Eager(address) = data else { return Err(DocaError::INVALID_VALUE) };
                let receiver = session.receiver(sender(&self.sender)?, address)?;
                let sent = receiver.endpoint.tag_send(ask.operand.get(), bytes());
                let claim = Some(Rc::clone(&receiver.claim));
                self.sends.push(PendingSend { token, number, sent, claim });
                Ok(None)
            }
            _ => {
                // SAFETY: as for `bytes`; `check` found that others may write if the action does.
                let view = unsafe { View::from_raw(start, len, action.writes()) };
                let (operand, compare) = (ask.operand.get(), ask.compare.get());
                if let Some(condition) = Condition::of(action, operand, compare) {
                    return self.wait(ask, &served, view.word(0)?, condition);
                }
                let from = if let AmData::Eager(from) = data { from } else { &[] };
                if action == MemoryAction::WRITE && from.len() as u64 != len {
                    return Err(DocaError::INVALID_VALUE);
                }
                let local = from.as_ptr().cast_mut();
                let operation = MemoryOperation::new(action, 0, len);
                let mut operation = MemoryOperation { operand, compare, local, ..operation };
                // SAFETY: a write only reads `from`, which has as many bytes; others use none.
                unsafe { run_in_place(view, 0, &mut operation) }?;
                Ok(Some(operation.result))
            }
        }
    }

    fn answer(&mut self, token: u128, number: u64, result: Result<u64, DocaError>) {
        let Some(session) = self.sessions.get(&token) else { return };
        let Some(endpoint) = &session.endpoint else { return self.owe(token) };
        let header = answer(token, number, result);
        match endpoint.am_send_now(AM_ANSWER, header.as_bytes(), (), AmFlags::NONE) {
            Ok((Ok(()), ())) => {}
            Ok((Err(_), ())) => self.owe(token),
            Err(request) => self.in_flight.push((token, request)),
        }
    }
}

fn answer(token: u128, number: u64, result: Result<u64, DocaError>) -> Answer {
    Answer {
        token: token.into(),
        number: number.into(),
        result: result.unwrap_or(0).into(),
        status: DocaStatus::from(result.map(drop)).0.into(),
        reserved: 0.into(),
    }
}
