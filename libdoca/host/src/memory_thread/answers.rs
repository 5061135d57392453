//! The memory thread's answers. Each question is checked again here.
//!
//! | file | what |
//! | --- | --- |
//! | `asker` | state of one stream |
//! | `sends` | memory that UCX is sending |
//! | `every` | failed connections: reconnects and notifies the worker |
//! | `waits` | questions that wait for a counter |

mod asker;
mod every;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod sends;
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
use ucx::{AmFlags, Data, Message, Outside, Request, Worker};
use urom_abi::DocaError;
use urom_abi::host_memory::{HostMemory, MemoryAction, MemoryOperation};
use urom_abi::sync_event::Condition;
use urom_memory::View;
use urom_memory::engine::run_in_place;
use urom_wire::plain::Plain;
use urom_wire::remote::{AM_ANSWER, AM_ASK, Answer, Ask, MOST_MOVED, context};

use self::asker::Asker;
use self::every::Every;
use self::sends::{Send, sender};
use self::waits::Waits;
use super::{Served, Then};

/// Maximum UCX progress calls per turn, so that one busy worker does not block the thread.
const ROUNDS: usize = 16;

pub(super) struct Answers {
    worker: Worker,
    /// Sends to plugins' UCX workers; created at the first send.
    sender: Rc<OnceCell<Worker>>,
    questions: Rc<RefCell<Questions>>,
}

/// Dropped in this order: UCX stops using memory before waiting threads are notified.
struct Questions {
    /// By stream token.
    askers: HashMap<u128, Asker>,
    sends: Vec<Send>,
    waits: Waits,
    /// Answers in flight, by stream token.
    unheard: Vec<(u128, Request<()>)>,
    /// Streams with possibly lost answers, which get one answer to all questions.
    owed: HashMap<u128, Every>,
    lost: Vec<u128>,
    sender: Rc<OnceCell<Worker>>,
    /// Forgotten memory that is still in use.
    leaving: Vec<(Rc<Served>, Option<Then>)>,
    /// Ended streams with memory still in use.
    left: Vec<(Vec<Rc<Served>>, oneshot::Sender<()>)>,
}

impl Answers {
    /// `waker` is called on any thread when a turn has work other than UCX.
    pub(super) fn new(waker: Waker) -> ucx::Result<(Answers, Vec<u8>)> {
        let worker = context().name("urom-memory").build()?.worker()?;
        let address = worker.address()?.as_bytes().to_vec();
        let sender = Rc::new(OnceCell::new());
        let questions = Rc::new(RefCell::new(Questions {
            askers: HashMap::new(),
            sends: Vec::new(),
            waits: Waits::new(waker),
            unheard: Vec::new(),
            owed: HashMap::new(),
            lost: Vec::new(),
            sender: Rc::clone(&sender),
            leaving: Vec::new(),
            left: Vec::new(),
        }));
        // A weak reference: the questions own endpoints of the worker, which owns the handler.
        let asked = Rc::downgrade(&questions);
        worker.set_am_handler(AM_ASK, move |message: Message<'_>| {
            if let Some(questions) = asked.upgrade() {
                questions.borrow_mut().asked(message.header, message.data);
            }
        })?;
        Ok((Answers { worker, sender, questions }, address))
    }

    pub(super) fn serve(&mut self, served: Served) {
        let mut questions = self.questions.borrow_mut();
        let asker = questions.askers.entry(served.token).or_default();
        asker.memories.insert(served.share, Rc::new(served));
    }

    pub(super) fn connect(&mut self, token: u128, address: &[u8]) {
        let mut questions = self.questions.borrow_mut();
        let Some(asker) = questions.askers.get_mut(&token) else { return };
        if !asker.is_connected() {
            let why = |error| log!(warn, "a worker cannot be answered about memory: {error}");
            asker.endpoint = self.open(token, address).map_err(why).ok();
            asker.address = address.to_vec();
        }
    }

    pub(super) fn forget(&mut self, token: u128, share: u64, then: Option<Then>) {
        let mut questions = self.questions.borrow_mut();
        questions.waits.forget(token, Some(share));
        let asker = questions.askers.get_mut(&token);
        match asker.and_then(|asker| asker.memories.remove(&share)) {
            Some(served) => questions.leaving.push((served, then)),
            None => {
                drop(questions);
                if let Some(then) = then {
                    then();
                }
            }
        }
    }

    pub(super) fn leave(&mut self, token: u128, done: oneshot::Sender<()>) {
        let mut questions = self.questions.borrow_mut();
        questions.waits.forget(token, None);
        let mut asker = questions.askers.remove(&token).unwrap_or_default();
        asker.close();
        questions.owed.remove(&token);
        questions.left.push((asker.memories.into_values().collect(), done));
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
        let mut questions = self.questions.borrow_mut();
        questions.end_waits() | questions.finish() || moved
    }

    fn end_uses(&self) {
        let mut ended = Vec::new();
        {
            let mut questions = self.questions.borrow_mut();
            let is_free = |served: &Rc<Served>| Rc::strong_count(served) == 1;
            let (free, leaving) =
                std::mem::take(&mut questions.leaving).into_iter().partition(|(it, _)| is_free(it));
            questions.leaving = leaving;
            let free: Vec<(Rc<Served>, Option<Then>)> = free;
            ended.extend(free.into_iter().filter_map(|(_, then)| then));
            let left = std::mem::take(&mut questions.left);
            let (free, left) = left.into_iter().partition(|(all, _)| all.iter().all(is_free));
            questions.left = left;
            let free: Vec<(Vec<Rc<Served>>, oneshot::Sender<()>)> = free;
            // Ignores receivers that no longer wait.
            for (_, done) in free {
                let _ = done.send(());
            }
        }
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

impl Questions {
    fn asked(&mut self, header: &[u8], data: Data<'_>) {
        let Some(ask) = Ask::read(header) else { return };
        let (token, number) = (ask.token.get(), ask.number.get());
        // Unknown senders do not get an answer.
        let Some(asker) = self.askers.get_mut(&token) else { return };
        asker.has_asked = true;
        // Ignores a question if its answer would be lost or would follow the answer to all.
        if !asker.is_connected() {
            return self.owe(token);
        }
        if self.owed.contains_key(&token) {
            return self.answer(token, number, DocaError::CONNECTION_RESET, 0);
        }
        match self.carry_out(&ask, data) {
            Ok(Some(result)) => self.answer(token, number, DocaError::SUCCESS, result),
            Ok(None) => {}
            Err(code) => self.answer(token, number, code, 0),
        }
    }

    /// Runs an operation; `None` if it is answered later or already was.
    fn carry_out(&mut self, ask: &Ask, data: Data<'_>) -> Result<Option<u64>, DocaError> {
        let (token, number) = (ask.token.get(), ask.number.get());
        let asker = self.askers.get_mut(&token).ok_or(DocaError::NOT_FOUND)?;
        let served = asker.memories.get(&ask.share.get()).cloned().ok_or(DocaError::NOT_FOUND)?;
        let (action, offset, len) = (ask.action(), ask.offset.get(), ask.len.get());
        let &Served { address, len: all, access, .. } = &*served;
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
                let endpoint = asker.endpoint.as_ref().ok_or(DocaError::NOT_CONNECTED)?;
                let header = answer(token, number, DocaError::SUCCESS, 0);
                let flags = AmFlags::EAGER;
                match endpoint.am_send_now(AM_ANSWER, header.as_bytes(), bytes(), flags) {
                    Ok((sent, _)) => sent.map_err(|_| DocaError::IO_FAILED)?,
                    Err(sent) => self.sends.push(Send { token, number, sent, claim: None }),
                }
                Ok(None)
            }
            MemoryAction::TAG_SEND => {
                let Data::Eager(address) = data else { return Err(DocaError::INVALID_VALUE) };
                let receiver = asker.receiver(sender(&self.sender)?, address)?;
                let sent = receiver.endpoint.tag_send(ask.operand.get(), bytes());
                let claim = Some(Rc::clone(&receiver.claim));
                self.sends.push(Send { token, number, sent, claim });
                Ok(None)
            }
            _ => {
                // SAFETY: as for `bytes`; `check` found that others may write if the action does.
                let view = unsafe { View::from_raw(start, len, action.writes()) };
                let (operand, compare) = (ask.operand.get(), ask.compare.get());
                if let Some(condition) = Condition::of(action, operand, compare) {
                    return self.wait(ask, &served, view.word(0)?, condition);
                }
                let from = if let Data::Eager(from) = data { from } else { &[] };
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

    fn answer(&mut self, token: u128, number: u64, code: DocaError, result: u64) {
        let Some(asker) = self.askers.get(&token) else { return };
        let Some(endpoint) = &asker.endpoint else { return self.owe(token) };
        let header = answer(token, number, code, result);
        match endpoint.am_send_now(AM_ANSWER, header.as_bytes(), (), AmFlags::NONE) {
            Ok((Ok(()), ())) => {}
            Ok((Err(_), ())) => self.owe(token),
            Err(request) => self.unheard.push((token, request)),
        }
    }
}

fn answer(token: u128, number: u64, code: DocaError, result: u64) -> Answer {
    Answer {
        token: token.into(),
        number: number.into(),
        result: result.into(),
        status: code.0.into(),
        reserved: 0.into(),
    }
}
