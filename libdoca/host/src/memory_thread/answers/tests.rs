//! Single questions to the memory thread. `fuzzing.rs` tests all actions by a model.

mod connections;
mod sends;
mod waits;

use std::cell::RefCell;
use std::ptr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use tokio::sync::oneshot::error::TryRecvError;
use ucx::{Endpoint, WorkerAddress};
use urom_abi::memory::Access;
use urom_wire::remote::EVERY;

use super::waits::MOST_WAITS;
use super::*;

const LIMIT: Duration = Duration::from_secs(10);

const TOKEN: u128 = 77 << 64;
const SHARE: u64 = 5;
const LEN: u64 = 4096;

type ReceivedAnswers = Rc<RefCell<Vec<(Answer, Vec<u8>)>>>;

struct Asked {
    answers: MemoryServer,
    worker: Worker,
    endpoint: Endpoint,
    received: ReceivedAnswers,
    memory: Box<[u64]>,
}

const READ: MemoryAction = MemoryAction::READ;
const WRITE: MemoryAction = MemoryAction::WRITE;

impl Asked {
    fn new(access: Access) -> Asked {
        let mut asked = Asked::unknown(access);
        asked.introduce();
        asked
    }

    /// A worker whose address is unknown to the answers.
    fn unknown(access: Access) -> Asked {
        let (mut answers, address) = MemoryServer::new(Waker::noop().clone()).unwrap();
        let worker = context().build().unwrap().worker().unwrap();
        let received: ReceivedAnswers = Rc::default();
        let sink = Rc::clone(&received);
        worker
            .set_am_handler(AM_ANSWER, move |message: Message<'_>| {
                let AmData::Eager(data) = message.data else { panic!("it is not eager") };
                let answer = Answer::read(message.header).unwrap();
                sink.borrow_mut().push((answer, data.to_vec()));
            })
            .unwrap();
        let endpoint = connect(&worker, &address);
        let memory: Box<[u64]> = (0..LEN / 8).collect();
        answers.serve(ServedMemory {
            token: TOKEN,
            share: SHARE,
            address: memory.as_ptr().expose_provenance() as u64,
            len: LEN,
            access: access.bits(),
        });
        Asked { answers, worker, endpoint, received, memory }
    }

    fn introduce(&mut self) {
        self.answers.connect(TOKEN, self.worker.address().unwrap().as_bytes());
    }

    fn serve(&mut self, share: u64, address: *const u8, len: u64) {
        let (address, access) = (address.expose_provenance() as u64, Access::PCI_READ_ONLY.bits());
        self.answers.serve(ServedMemory { token: TOKEN, share, address, len, access });
    }

    /// Shares unmapped memory. The kernel refuses to send it, and UCX closes the connection.
    fn serve_gone(&mut self, share: u64) {
        let (len, none) = (MOST_MOVED as usize, ProtFlags::empty());
        // SAFETY: a new mapping at an address of the kernel's choice.
        let gone = unsafe { mmap_anonymous(ptr::null_mut(), len, none, MapFlags::PRIVATE) };
        self.serve(share, gone.unwrap().cast(), MOST_MOVED);
    }

    fn is_connected(&self) -> bool {
        self.answers.state.borrow().sessions[&TOKEN].is_connected()
    }

    fn replace_address(&self, address: &[u8]) -> Vec<u8> {
        let mut state = self.answers.state.borrow_mut();
        let session = state.sessions.get_mut(&TOKEN).unwrap();
        std::mem::replace(&mut session.address, address.to_vec())
    }

    fn until_every(&mut self) {
        self.until(|asked| !asked.received.borrow().is_empty());
        let (answer, _) = self.received.borrow_mut().remove(0);
        assert_eq!(answer.number.get(), EVERY);
        assert_eq!(DocaStatus(answer.status.get()), DocaError::CONNECTION_RESET);
    }

    /// Repeats a question until this answer arrives, over a new connection if the old one failed.
    fn ask_until(&mut self, ask: &Ask, number: u64, status: DocaStatus) {
        let address = self.answers.worker.address().unwrap();
        let is_it =
            |answer: &Answer| answer.number.get() == number && answer.status.get() == status.0;
        while !self.received.borrow_mut().drain(..).any(|(answer, _)| is_it(&answer)) {
            if self.endpoint.is_failed() {
                self.endpoint = connect(&self.worker, address.as_bytes());
            }
            self.send(ask, b"");
            self.until(|asked| !asked.received.borrow().is_empty() || asked.endpoint.is_failed());
        }
    }

    fn send(&self, ask: &Ask, data: &[u8]) {
        let flags = AmFlags::EAGER;
        self.endpoint.am_send_with(AM_ASK, ask.as_bytes(), data.to_vec(), flags).detach();
    }

    fn until(&mut self, mut done: impl FnMut(&mut Asked) -> bool) {
        let start = Instant::now();
        while !done(self) {
            self.worker.progress();
            self.answers.turn(|| false);
            assert!(start.elapsed() < LIMIT);
        }
    }

    fn ask(&mut self, ask: Ask, data: &[u8]) -> Result<(u64, Vec<u8>), DocaError> {
        self.send(&ask, data);
        self.until(|asked| !asked.received.borrow().is_empty());
        let (answer, data) = self.received.borrow_mut().pop().unwrap();
        assert!(self.received.borrow().is_empty(), "one answer to each");
        assert_eq!((answer.number, answer.token), (ask.number, ask.token));
        DocaStatus(answer.status.get()).check().map(|()| (answer.result.get(), data))
    }

    fn word(&self, index: usize) -> u64 {
        // SAFETY: one of its numbers, not written at this moment.
        unsafe { self.memory.as_ptr().wrapping_add(index).read_volatile() }
    }
}

fn connect(worker: &Worker, address: &[u8]) -> Endpoint {
    // SAFETY: the address of a worker of this process.
    let address = unsafe { WorkerAddress::from_bytes(address) }.unwrap();
    worker.endpoint().connect(&address).unwrap()
}

fn question(action: MemoryAction, offset: u64, len: u64) -> Ask {
    Ask {
        token: TOKEN.into(),
        number: (offset << 32 | len).into(),
        share: SHARE.into(),
        offset: offset.into(),
        len: len.into(),
        operand: 100.into(),
        compare: 0.into(),
        action: action.0.into(),
        reserved: 0.into(),
    }
}

fn writable() -> Asked {
    Asked::new(Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE)
}

#[test]
fn a_request_without_a_token_gets_no_answer() {
    let mut asked = writable();
    for token in [0, TOKEN + 1, TOKEN >> 64, u128::MAX] {
        asked.send(&Ask { token: token.into(), ..question(READ, 0, 8) }, b"");
        asked.send(&Ask { token: token.into(), ..question(WRITE, 0, 8) }, &[0xFF; 8]);
    }
    let flags = AmFlags::EAGER;
    for header in [&[][..], &[7; 3], &[0xFF; size_of::<Ask>() - 1], &[0xFF; size_of::<Ask>() + 1]] {
        asked.endpoint.am_send_with(AM_ASK, header, vec![1; 40], flags).detach();
    }
    // It arrives last and is the only question with an answer.
    assert!(asked.ask(question(READ, 0, 8), b"").unwrap().1 == [0; 8]);
}

#[test]
fn forgotten_memory_is_not_found_and_an_ended_stream_gets_no_answer() {
    let mut asked = writable();
    let forgotten = Rc::new(RefCell::new(Vec::new()));
    let (done, mut over) = oneshot::channel();
    let (notify, notified) = std::sync::mpsc::channel();
    for share in [SHARE, SHARE, 9] {
        let notify = notify.clone();
        asked.answers.forget(TOKEN, share, Some(Box::new(move || notify.send(share).unwrap())));
    }
    asked.until(|_| {
        forgotten.borrow_mut().extend(notified.try_iter());
        forgotten.borrow().len() == 3
    });
    assert_eq!(asked.ask(question(READ, 0, 8), b""), Err(DocaError::NOT_FOUND));
    asked.answers.leave(TOKEN, done);
    asked.until(|_| over.try_recv() != Err(TryRecvError::Empty));
    let state = asked.answers.state.borrow();
    assert!(state.sessions.is_empty() && state.left.is_empty() && state.leaving.is_empty());
}

#[test]
fn a_worker_with_endless_requests_delays_no_turn() {
    let mut asked = writable();
    for _ in 0..500 {
        asked.send(&question(WRITE, 0, 8), &[7; 200 << 10]);
    }
    let start = Instant::now();
    while !asked.answers.turn(|| false) {
        asked.worker.progress();
        assert!(start.elapsed() < LIMIT, "a turn ends only when UCX has nothing left");
    }
    assert!(!asked.answers.turn(|| true), "a turn that is wanted elsewhere ends");
    asked.until(|asked| asked.received.borrow().len() == 500);
}
