//! Questions to a host, and answers that are right, wrong, late, or another host's. The model in
//! `remote/fuzzing.rs`, over its seeds, has other lengths, and hosts that lost all answers.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ucx::{AmFlags, Data, Endpoint, Message, Worker, WorkerAddress};
use urom_wire::plain::Plain;
use urom_wire::remote::{AM_ANSWER, AM_ASK, Answer, Ask, EVERY, MOST_MOVED, context};

use super::*;

const LIMIT: Duration = Duration::from_secs(10);

const LEN: u64 = 1 << 20;

/// Messages that came, with their data.
type Heard = Rc<RefCell<Vec<(Ask, Vec<u8>)>>>;

/// A host that answers when the test says so.
struct FakeHost {
    worker: Worker,
    endpoint: Endpoint,
    asked: Heard,
}

impl FakeHost {
    /// Shares memory over the network.
    fn share(desk: &Desk, dest_id: u64, ticket: u128) -> FakeHost {
        let worker = context().build().unwrap().worker().unwrap();
        let asked: Heard = Rc::default();
        let asks = Rc::clone(&asked);
        worker
            .set_am_handler(AM_ASK, move |message: Message<'_>| {
                let Data::Eager(data) = message.data else { panic!("it is not eager") };
                let ask = Ask::read(message.header).unwrap();
                asks.borrow_mut().push((ask, data.to_vec()));
            })
            .unwrap();
        let mut shared = mapped(7, LEN, memfd(1, SealFlags::SHRINK));
        shared.offer.place = MemoryPlace::Network;
        shared.offer.ucx_address = worker.address().unwrap().as_bytes().to_vec();
        let by = desk.share(dest_id, HandedOffer { ticket, ..shared }).unwrap();
        // SAFETY: the address of a worker of this process.
        let address = unsafe { WorkerAddress::from_bytes(&by.ucx_address) }.unwrap();
        let endpoint = worker.endpoint().connect(&address).unwrap();
        FakeHost { worker, endpoint, asked }
    }

    /// The next question.
    fn question(&self, desk: &Desk) -> (Ask, Vec<u8>) {
        let start = Instant::now();
        while self.asked.borrow().is_empty() {
            self.worker.progress();
            desk.memories.turn();
            assert!(start.elapsed() < LIMIT, "nothing was asked");
        }
        assert!(desk.memories.is_busy());
        self.asked.borrow_mut().remove(0)
    }

    fn say(&self, header: &[u8], data: &[u8]) {
        let flags = AmFlags::EAGER;
        self.endpoint.am_send_with(AM_ANSWER, header, data.to_vec(), flags).detach();
    }

    fn answer(&self, ask: &Ask, status: DocaError, data: &[u8]) {
        self.say(answer(ask, status).as_bytes(), data);
    }

    /// Has both move on until the operation has ended.
    fn until_ended(&self, desk: &Desk, operation: &Pending) -> DocaError {
        let start = Instant::now();
        loop {
            if let Some(status) = operation.ended() {
                return status;
            }
            self.worker.progress();
            desk.memories.turn();
            assert!(start.elapsed() < LIMIT, "it does not end");
        }
    }
}

fn answer(ask: &Ask, status: DocaError) -> Answer {
    Answer {
        ticket: ask.ticket,
        number: ask.number,
        result: 55.into(),
        status: status.0.into(),
        reserved: 0.into(),
    }
}

/// An operation that waits, where it stays.
struct Pending(Box<(MemoryOperation, Vec<u8>)>);

unsafe extern "C" fn done(operation: *mut MemoryOperation) {
    // SAFETY: the operation, which has ended and is the test's alone.
    let operand = unsafe { &mut (*operation).operand };
    assert_ne!(std::mem::replace(operand, u64::MAX), u64::MAX, "told twice");
}

impl Pending {
    fn start(desk: &Desk, opened: &HostMemory, action: MemoryAction, len: u64) -> Pending {
        let mut pending = Pending(Box::new((
            MemoryOperation { done: Some(done), ..MemoryOperation::new(action, 8, len) },
            vec![1; len as usize],
        )));
        pending.0.0.local = pending.0.1.as_mut_ptr();
        let started = desk.run(opened, &mut pending.0.0);
        assert_eq!(started, Err(DocaError::IN_PROGRESS));
        pending
    }

    fn operation(&self) -> MemoryOperation {
        // SAFETY: this test's own, which the calls of this thread alone write.
        unsafe { (&raw const self.0.0).read_volatile() }
    }

    fn ended(&self) -> Option<DocaError> {
        let operation = self.operation();
        (operation.operand == u64::MAX).then_some(operation.status)
    }
}

fn opened(desk: &Desk, dest_id: u64) -> HostMemory {
    desk.open(dest_id, 7, 100, LEN - 100)
}

#[test]
fn a_long_read_asks_piece_by_piece() {
    let desk = Desk::new();
    let host = FakeHost::share(&desk, 1, TICKET);
    let opened = opened(&desk, 1);
    let len = 2 * MOST_MOVED + 5;
    let read = Pending::start(&desk, &opened, MemoryAction::READ, len);
    let (mut at, mut pieces) = (0, 0_u8);
    while at < len {
        let (ask, data) = host.question(&desk);
        assert!(data.is_empty() && ask.ticket.get() == TICKET && ask.share.get() == 107);
        assert_eq!((ask.offset.get(), ask.len.get()), (108 + at, (len - at).min(MOST_MOVED)));
        pieces += 1;
        host.answer(&ask, DocaError::SUCCESS, &vec![pieces; ask.len.get() as usize]);
        at += ask.len.get();
    }
    assert_eq!(host.until_ended(&desk, &read), DocaError::SUCCESS);
    assert!(!desk.memories.is_busy());
    let bytes = &read.0.1;
    assert_eq!((bytes[0], bytes[len as usize - 6], bytes[len as usize - 1]), (1, 2, 3));
}

#[test]
fn a_write_carries_its_bytes_and_an_atomic_operation_brings_its_result() {
    let desk = Desk::new();
    let host = FakeHost::share(&desk, 1, TICKET);
    let opened = opened(&desk, 1);
    let write = Pending::start(&desk, &opened, MemoryAction::WRITE, 100);
    let (ask, data) = host.question(&desk);
    assert_eq!(data, [1; 100]);
    host.answer(&ask, DocaError::NOT_PERMITTED, b"");
    assert_eq!(host.until_ended(&desk, &write), DocaError::NOT_PERMITTED, "the host's own code");
    let aligned = desk.open(1, 7, 0, LEN);
    let swap = Pending::start(&desk, &aligned, MemoryAction::SWAP, 8);
    let (ask, _) = host.question(&desk);
    host.answer(&ask, DocaError::SUCCESS, b"more than is expected");
    assert_eq!(host.until_ended(&desk, &swap), DocaError::SUCCESS);
    assert_eq!(swap.operation().result, 55);
    for action in [MemoryAction::LOAD, MemoryAction::WAIT_GT] {
        let load = Pending::start(&desk, &aligned, action, 8);
        let (ask, data) = host.question(&desk);
        assert_eq!((ask.action(), ask.len.get(), data.len()), (action, 8, 0));
        host.answer(&ask, DocaError::SUCCESS, b"");
        assert_eq!(host.until_ended(&desk, &load), DocaError::SUCCESS);
        assert_eq!(load.operation().result, 55);
    }
}

#[test]
fn answers_that_are_wrong_or_another_host_s_are_passed_over() {
    let desk = Desk::new();
    let host = FakeHost::share(&desk, 1, TICKET);
    let other = FakeHost::share(&desk, 2, TICKET + 1);
    let opened = opened(&desk, 1);
    let read = Pending::start(&desk, &opened, MemoryAction::READ, 4);
    let (ask, _) = host.question(&desk);
    let right = answer(&ask, DocaError::SUCCESS);
    for ticket in [0, TICKET + 1, u128::MAX] {
        other.say(Answer { ticket: ticket.into(), ..right }.as_bytes(), b"evil");
        host.say(Answer { ticket: ticket.into(), ..right }.as_bytes(), b"evil");
    }
    for number in [0, ask.number.get() + 1, ask.number.get() + (1 << 32), EVERY - 1] {
        host.say(Answer { number: number.into(), ..right }.as_bytes(), b"evil");
    }
    host.say(b"", b"evil");
    host.say(&right.as_bytes()[..size_of::<Answer>() - 1], b"evil");
    host.say(&[right.as_bytes(), b"!"].concat(), b"evil");
    // All of the other's have arrived when its own question is answered.
    let opened = super::remote::opened(&desk, 2);
    let others = Pending::start(&desk, &opened, MemoryAction::READ, 4);
    let (of_other, _) = other.question(&desk);
    other.answer(&of_other, DocaError::SUCCESS, b"othe");
    assert_eq!(other.until_ended(&desk, &others), DocaError::SUCCESS);
    assert_eq!(read.ended(), None);
    host.answer(&ask, DocaError::SUCCESS, b"good");
    // The second comes for an operation that has ended.
    host.answer(&ask, DocaError::SUCCESS, b"evil");
    assert_eq!(host.until_ended(&desk, &read), DocaError::SUCCESS);
    let next = Pending::start(&desk, &super::remote::opened(&desk, 1), MemoryAction::READ, 4);
    let (ask, _) = host.question(&desk);
    host.answer(&ask, DocaError::SUCCESS, b"next");
    assert_eq!(host.until_ended(&desk, &next), DocaError::SUCCESS);
    assert_eq!((&read.0.1[..], &next.0.1[..]), (&b"good"[..], &b"next"[..]));
}

#[test]
fn operations_end_with_their_host_and_late_answers_are_passed_over() {
    let mut desk = Desk::new();
    let host = FakeHost::share(&desk, 1, TICKET);
    let opened = opened(&desk, 1);
    let read = Pending::start(&desk, &opened, MemoryAction::READ, 4);
    let (ask, _) = host.question(&desk);
    host.answer(&ask, DocaError::SUCCESS, b"late");
    desk.memories.close(1);
    assert_eq!(host.until_ended(&desk, &read), DocaError::CONNECTION_RESET);
    let mut again = MemoryOperation {
        local: vec![0; 4].leak().as_mut_ptr(),
        ..MemoryOperation::new(MemoryAction::READ, 0, 4)
    };
    assert_eq!(desk.run(&opened, &mut again), Err(DocaError::CONNECTION_RESET));
    assert!(desk.ended().is_empty());
    desk.memories.shares.close(opened.handle).unwrap();
    assert_eq!(desk.ended(), [107]);
}

#[test]
fn operations_end_when_the_library_that_answers_is_gone() {
    let desk = Desk::new();
    let host = FakeHost::share(&desk, 1, TICKET);
    let opened = opened(&desk, 1);
    let read = Pending::start(&desk, &opened, MemoryAction::READ, 4);
    host.question(&desk);
    let other = FakeHost::share(&desk, 2, TICKET + 1);
    host.endpoint.close(ucx::CloseMode::Force);
    drop(host.worker);
    assert_eq!(other.until_ended(&desk, &read), DocaError::CONNECTION_RESET);
}

#[test]
fn a_host_that_sends_without_end_holds_up_no_turn() {
    let desk = Desk::new();
    let host = FakeHost::share(&desk, 1, TICKET);
    let read = Pending::start(&desk, &opened(&desk, 1), MemoryAction::READ, 4);
    let (ask, _) = host.question(&desk);
    let flood =
        Answer { number: (ask.number.get() ^ 1).into(), ..answer(&ask, DocaError::SUCCESS) };
    for _ in 0..500 {
        host.say(flood.as_bytes(), &[7; 200 << 10]);
    }
    let start = Instant::now();
    while !desk.memories.turn() {
        host.worker.progress();
        assert!(start.elapsed() < LIMIT, "a turn ends only when UCX has nothing left");
    }
    assert!(desk.memories.is_busy());
    host.answer(&ask, DocaError::SUCCESS, b"good");
    assert_eq!(host.until_ended(&desk, &read), DocaError::SUCCESS);
    assert!(!desk.memories.turn() && !desk.memories.is_busy());
}

#[test]
fn operations_end_with_the_worker() {
    let desk = Desk::new();
    let host = FakeHost::share(&desk, 1, TICKET);
    let opened = opened(&desk, 1);
    let (first, second) = (
        Pending::start(&desk, &opened, MemoryAction::READ, 4),
        Pending::start(&desk, &opened, MemoryAction::WRITE, MOST_MOVED * 2),
    );
    host.question(&desk);
    desk.memories.shut();
    assert_eq!(first.ended(), Some(DocaError::SHUTDOWN));
    assert_eq!(second.ended(), Some(DocaError::SHUTDOWN));
    assert!(!desk.memories.is_busy());
    let mut late = MemoryOperation::new(MemoryAction::SWAP, 4, 8);
    assert_eq!(desk.run(&opened, &mut late), Err(DocaError::SHUTDOWN));
    assert!(!desk.memories.is_busy());
}
