//! Valid and forged questions to the memory thread.

use std::sync::atomic::{AtomicU64, Ordering};

use urom_abi::memory::Access;
#[cfg(test)]
use urom_wire::fuzzing::corpus::Seeds;
use urom_wire::fuzzing::memory::within;
use urom_wire::fuzzing::program::Program;

use super::*;
use crate::fuzzing::until;

const TOKENS: [u128; 2] = [1 << 100 | 7, 9];

/// Longer than the limit of one question.
const LEN: usize = (MOST_MOVED + 100) as usize;

/// For answers, as long as the data read, and UCX's buffers.
const MEMORY: usize = 8 << 20;

const SHARES: [Access; 3] =
    [Access::PCI_READ_WRITE, Access::PCI_READ_ONLY, Access::LOCAL_READ_WRITE];

/// Wrong or borderline numbers.
const ODD: [u64; 8] =
    [0, 1, 8, LEN as u64 - 8, LEN as u64, LEN as u64 + 1, MOST_MOVED + 1, u64::MAX];

/// Runs a program of questions. Answers and memory must match a model; invalid tokens are ignored.
pub fn memory_questions(input: &[u8]) {
    thread_local! {
        // UCX's setup takes a thousand times as long as an input.
        static RIG: RefCell<Rig> = RefCell::new(Rig::new());
    }
    RIG.with_borrow_mut(|rig| {
        within(MEMORY, || {
            let mut program = Program::new(input);
            while let Some(step) = program.byte() {
                rig.step(step, &mut program);
            }
            rig.compare();
        });
    });
}

type ReceivedAnswers = Rc<RefCell<Vec<(Answer, Vec<u8>)>>>;

struct Rig {
    answers: MemoryServer,
    worker: Worker,
    received: ReceivedAnswers,
    /// By share. They never move.
    memories: [Box<[u64]>; 3],
    models: [Vec<u8>; 3],
    number: u64,
}

impl Rig {
    fn new() -> Rig {
        let (answers, _) = MemoryServer::new(Waker::noop().clone()).expect("UCX");
        let worker = context().build().and_then(|context| context.worker()).expect("UCX");
        let received: ReceivedAnswers = Rc::default();
        let sink = Rc::clone(&received);
        let receive = move |message: Message<'_>| {
            let AmData::Eager(data) = message.data else { panic!("an answer is eager") };
            let answer = Answer::read(message.header).expect("an answer");
            sink.borrow_mut().push((answer, data.to_vec()));
        };
        worker.set_am_handler(AM_ANSWER, receive).expect("a handler");
        let memories = std::array::from_fn(|at| vec![at as u64; LEN.div_ceil(8)].into());
        let models = std::array::from_fn(|at| (at as u64).to_ne_bytes().repeat(LEN.div_ceil(8)));
        let mut rig = Rig { answers, worker, received, memories, models, number: 0 };
        for token in TOKENS {
            for share in 0..3 {
                rig.serve(token, share);
            }
            let address = rig.worker.address().expect("an address");
            rig.answers.connect(token, address.as_bytes());
        }
        rig
    }

    fn serve(&mut self, token: u128, share: usize) {
        let address = self.memories[share].as_mut_ptr().expose_provenance() as u64;
        let (len, access) = (LEN as u64, SHARES[share].bits());
        self.answers.serve(ServedMemory { token, share: share as u64, address, len, access });
    }

    fn step(&mut self, step: u8, program: &mut Program<'_>) {
        if step >= 0xF0 {
            return self.other(step, program);
        }
        let mut number = |odd: bool| {
            let small = program.small();
            match odd {
                true => ODD[usize::from(small % 8)],
                false => u64::from(small),
            }
        };
        let more = |number: u64| MemoryAction::LOAD.0 + (number % 5) as u32;
        let action = MemoryAction(match u32::from(step % 8) {
            few if few < MemoryAction::LOAD.0 => few,
            _ => more(number(false)),
        });
        let (offset, share) = (number(step & 8 > 0), number(false));
        let token = *TOKENS.get(usize::from(step >> 6)).unwrap_or(&3);
        let (len, operand) = (number(step & 16 > 0), number(false));
        let compare = number(step & 32 > 0);
        let data = program.bytes();
        self.number += 1;
        let ask = Ask {
            token: token.into(),
            number: self.number.into(),
            share: (share % 4).into(),
            offset: offset.into(),
            len: len.into(),
            operand: operand.into(),
            compare: compare.into(),
            action: action.0.into(),
            reserved: 0.into(),
        };
        self.answers.state.borrow_mut().asked(ask.as_bytes(), AmData::Eager(data));
        if !TOKENS.contains(&token) {
            return;
        }
        let expected = match self.predict(&ask, data) {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => match self.meet(&ask) {
                Some(counter) => Ok((counter, Vec::new())),
                None => return self.answers.state.borrow_mut().waits.forget(token, None),
            },
            Err(code) => Err(code),
        };
        let Rig { answers, worker, received, .. } = self;
        until("an answer", || {
            answers.turn(|| false);
            worker.progress();
            !received.borrow().is_empty()
        });
        let received = std::mem::take(&mut *received.borrow_mut());
        let [(answer, read)] = &received[..] else { panic!("{} answers", received.len()) };
        assert_eq!((answer.token, answer.number), (ask.token, ask.number));
        let status = DocaStatus(answer.status.get());
        match expected {
            Ok((result, bytes)) => {
                assert_eq!((status, answer.result.get()), (DocaStatus::SUCCESS, result), "{ask:?}");
                assert!(*read == bytes, "other bytes: {ask:?}");
            }
            Err(code) => assert_eq!(status, code, "{ask:?}"),
        }
    }

    fn other(&mut self, step: u8, program: &mut Program<'_>) {
        match step % 4 {
            0 => {
                let (header, data) = (program.bytes(), program.bytes());
                if header.len() != size_of::<Ask>() {
                    self.answers.state.borrow_mut().asked(header, AmData::Eager(data));
                }
            }
            // It already has a worker, and these bytes are not a valid address.
            1 => self.answers.connect(TOKENS[0], program.bytes()),
            2 => {
                let share = usize::from(program.small() % 3);
                let is_forgotten = Rc::new(std::cell::Cell::new(false));
                self.answers.state.borrow_mut().sessions.entry(TOKENS[0]).and_modify(|session| {
                    is_forgotten.set(session.memories.remove(&(share as u64)).is_some());
                });
                assert!(is_forgotten.get());
                self.serve(TOKENS[0], share);
            }
            _ => self.answers.forget(5, u64::from(program.small()), None),
        }
    }

    /// Stores a value that meets a wait's condition, like the host. `None` for other questions.
    fn meet(&mut self, ask: &Ask) -> Option<u64> {
        let (mask, value) = (ask.operand.get(), ask.compare.get());
        let condition = Condition::of(ask.action(), mask, value)?;
        let met = [u64::MAX, value, !value].into_iter().find(|it| condition.is_met(*it))?;
        let (share, at) = (ask.share.get() as usize, ask.offset.get() as usize);
        self.models[share][at..][..8].copy_from_slice(&met.to_ne_bytes());
        let word = self.memories[share].as_mut_ptr().wrapping_add(at / 8);
        // SAFETY: the word is in the memory, and only atomics use it at this moment.
        unsafe { AtomicU64::from_ptr(word) }.store(met, Ordering::Release);
        Some(met)
    }

    /// Predicts the result (`None` if the question waits) and updates the model.
    fn predict(&mut self, ask: &Ask, data: &[u8]) -> Result<Option<(u64, Vec<u8>)>, DocaError> {
        let (offset, len) = (ask.offset.get(), ask.len.get());
        let share = ask.share.get() as usize;
        let access = SHARES.get(share).ok_or(DocaError::NOT_FOUND)?;
        if offset.checked_add(len).is_none_or(|end| end > LEN as u64) {
            return Err(DocaError::INVALID_VALUE);
        }
        if ask.action().0 > MemoryAction::WAIT_NEQ.0 {
            return Err(DocaError::NOT_SUPPORTED);
        }
        let moves = [MemoryAction::READ, MemoryAction::WRITE, MemoryAction::TAG_SEND];
        if !moves.contains(&ask.action()) && (len != 8 || !offset.is_multiple_of(8)) {
            return Err(DocaError::INVALID_VALUE);
        }
        let condition = Condition::of(ask.action(), ask.operand.get(), ask.compare.get());
        let reads = [MemoryAction::READ, MemoryAction::TAG_SEND, MemoryAction::LOAD];
        let writes = condition.is_none() && !reads.contains(&ask.action());
        if share == 2 || writes && !access.others_write() {
            return Err(DocaError::NOT_PERMITTED);
        }
        let range = &mut self.models[share][offset as usize..][..len as usize];
        match ask.action() {
            MemoryAction::READ if len <= MOST_MOVED => return Ok(Some((0, range.to_vec()))),
            MemoryAction::WRITE if len <= MOST_MOVED => {
                if data.len() as u64 != len {
                    return Err(DocaError::INVALID_VALUE);
                }
                range.copy_from_slice(data);
                return Ok(Some((0, Vec::new())));
            }
            // A fuzzer does not find a UCX worker's address.
            MemoryAction::TAG_SEND => return Err(DocaError::DRIVER),
            MemoryAction::READ | MemoryAction::WRITE => return Err(DocaError::INVALID_VALUE),
            _ => {}
        }
        let Some(word) = range.first_chunk_mut() else { return Err(DocaError::INVALID_VALUE) };
        let found = u64::from_ne_bytes(*word);
        if let Some(condition) = condition {
            return Ok(condition.is_met(found).then_some((found, Vec::new())));
        }
        let operand = ask.operand.get();
        let new = match ask.action() {
            MemoryAction::FETCH_ADD => found.wrapping_add(operand),
            MemoryAction::SWAP => operand,
            MemoryAction::COMPARE_SWAP if found == ask.compare.get() => operand,
            MemoryAction::COMPARE_SWAP | MemoryAction::LOAD => found,
            _ => return Err(DocaError::NOT_SUPPORTED),
        };
        *word = new.to_ne_bytes();
        Ok(Some((found, Vec::new())))
    }

    fn compare(&mut self) {
        assert!(self.received.borrow().is_empty(), "an answer without a request");
        for (memory, model) in self.memories.iter_mut().zip(&self.models) {
            // SAFETY: numbers are valid bytes, and other threads do not use them now.
            let bytes = unsafe {
                std::slice::from_raw_parts(memory.as_ptr().cast::<u8>(), size_of_val(&**memory))
            };
            assert!(bytes == model, "the memory is another");
        }
    }
}

#[cfg(test)]
pub(crate) fn seeds() -> Seeds {
    let ask = |step: u8, numbers: [u8; 5], data: &[u8]| {
        [&[step], &numbers[..], &[data.len() as u8], data].concat()
    };
    let each = (0..8).flat_map(|action| ask(action, [8, 0, 8, 5, 0], b"eight by")).collect();
    // A load, waits (met and unmet) and an unknown action.
    let wait = |which: u8, operand: u8, compare: u8| {
        [&[6, which][..], &[8, 1, 8, operand, compare], &[0]].concat()
    };
    let waits = [wait(0, 0, 0), wait(1, 255, 0), wait(1, 255, 7), wait(2, 3, 1), wait(2, 1, 6)];
    let waits = waits.concat().into_iter().chain([wait(3, 1, 0), wait(3, 0, 0)].concat());
    let waits = waits.chain(wait(4, 0, 0)).collect();
    let to_read_only = (0..8).flat_map(|action| ask(action, [8, 1, 8, 5, 0], b"eight by"));
    let odd = (0..8).flat_map(|at| ask(0b0001_1000, [at, 0, 7 - at, 5, 0], b"")).collect();
    let long = [ask(0b0001_0000, [0, 0, 6, 0, 0], b""), ask(1, [0, 0, 200, 0, 0], &[3; 200])];
    let unknown = [ask(0x80, [0, 0, 8, 0, 0], b""), ask(0xC1, [0, 0, 1, 0, 0], b"x")];
    let others = [&[0xF0, 3, 1, 2, 3, 1, 9][..], &[0xF1, 2, 5, 5], &[0xF2, 1], &[0xF3, 4]];
    // Private, unknown share, misaligned, and not a word long.
    let ranges = [[8, 2, 8], [8, 3, 8], [4, 0, 8], [8, 0, 4]];
    let refused = ranges.into_iter().flat_map(|[offset, share, len]| {
        let moves =
            (0..6).flat_map(move |action| ask(action, [offset, share, len, 5, 0], b"eight by"));
        let waits = (0..4).flat_map(move |which| [6, which, offset, share, len, 0, 0, 0]);
        moves.chain(waits)
    });
    vec![
        ("refused".to_owned(), refused.collect()),
        ("each".to_owned(), each),
        ("read-only".to_owned(), to_read_only.collect()),
        ("waits".to_owned(), waits),
        ("odd".to_owned(), odd),
        ("long".to_owned(), long.concat()),
        ("strangers".to_owned(), unknown.concat()),
        ("others".to_owned(), others.concat()),
    ]
}
