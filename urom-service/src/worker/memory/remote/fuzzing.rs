//! Fuzz target for answers to a worker's requests, from its hosts and from other peers.

use urom_abi::memory::Access;
use urom_memory::engine::Offered;
#[cfg(test)]
use urom_wire::fuzzing::corpus::Seeds;
use urom_wire::fuzzing::memory::within;
use urom_wire::fuzzing::program::Program;
use urom_wire::plain::Plain;
use urom_wire::remote::AM_ASK;

use super::*;

/// By connection, starting at 0.
const TOKENS: [u128; 2] = [1 << 100 | 7, 9];

const LEN: u64 = 1 << 20;

const MEMORY: usize = 8 << 20;

const MOST: usize = 8;

/// Runs a program of operations and answers, including unsolicited ones. Each operation ends once,
/// by the first answer of its own host, and writes only its own bytes.
pub fn memory_answers(input: &[u8]) {
    thread_local! {
        // UCX setup takes a thousand times longer than an input.
        static RIG: RefCell<FuzzedRegions> = RefCell::new(FuzzedRegions::new());
    }
    RIG.with_borrow_mut(|rig| {
        within(MEMORY, || {
            let mut program = Program::new(input);
            while let Some(step) = program.byte() {
                rig.step(step, &mut program);
            }
            rig.end();
        });
    });
}

/// A host's library that receives requests but never answers, beside the requesting worker.
pub(super) struct Library {
    pub(super) remote: Rc<RemoteAccess>,
    pub(super) worker: Worker,
    #[cfg_attr(not(test), expect(dead_code, reason = "tests count the requests"))]
    pub(super) asked: Rc<Cell<usize>>,
}

impl Library {
    pub(super) fn new() -> Library {
        let (worker, asked) = answering();
        Library { remote: Rc::new(RemoteAccess::new(&[])), worker, asked }
    }

    pub(super) fn address(&self) -> Vec<u8> {
        self.worker.address().expect("an address").as_bytes().to_vec()
    }

    pub(super) fn region(&self, dest_id: u64, token: u128) -> Rc<Region> {
        let access = Access::PCI_READ_WRITE;
        let offered = Offered { share: 3, memory: 4, address: 0x10000, len: LEN, access };
        let path = self.remote.open_path(dest_id, token, &self.address());
        Region::alone(offered, path.expect("an endpoint").0)
    }

    /// Receives requests at another address from now on.
    #[cfg(test)]
    pub(super) fn restart(&mut self) {
        (self.worker, self.asked) = answering();
    }
}

fn answering() -> (Worker, Rc<Cell<usize>>) {
    let worker = context().build().and_then(|context| context.worker()).expect("UCX");
    let asked: Rc<Cell<usize>> = Rc::default();
    let asks = Rc::clone(&asked);
    let handler = move |_: Message<'_>| asks.set(asks.get() + 1);
    worker.set_am_handler(AM_ASK, handler).expect("a handler");
    (worker, asked)
}

struct FuzzedRegions {
    regions: [Rc<Region>; 2],
    library: Library,
    started: Vec<Started>,
}

/// A plugin's operation, and its expected result.
struct Started {
    parcel: Box<Parcel>,
    number: u64,
    of_host: usize,
    /// Bytes moved so far, and the expected bytes.
    moved: usize,
    model: Vec<u8>,
    ended: Option<DocaStatus>,
}

struct Parcel {
    operation: MemoryOperation,
    bytes: Vec<u8>,
}

/// The plugin's callback; sets `operand`.
unsafe extern "C" fn done(operation: *mut MemoryOperation) {
    // SAFETY: the operation has ended, and belongs to the rig alone.
    let operand = unsafe { &mut (*operation).operand };
    assert_eq!(std::mem::replace(operand, 1), 0, "it ended twice");
}

impl FuzzedRegions {
    fn new() -> FuzzedRegions {
        let library = Library::new();
        let regions = [0, 1].map(|at| library.region(at as u64, TOKENS[at]));
        FuzzedRegions { library, regions, started: Vec::new() }
    }

    fn operations(&self) -> Rc<RefCell<PendingOperations>> {
        Rc::clone(&self.library.remote.client.get().expect("there are hosts").operations)
    }

    fn step(&mut self, step: u8, program: &mut Program<'_>) {
        match step % 4 {
            0 => self.start(step, program),
            1 | 2 => self.answer(step, program),
            _ => {
                let (header, data) = (program.bytes(), program.bytes());
                if header.len() != size_of::<Answer>() {
                    self.operations().borrow_mut().answered(header, AmData::Eager(data));
                }
            }
        }
        self.turn();
    }

    fn start(&mut self, step: u8, program: &mut Program<'_>) {
        if self.started.len() >= MOST {
            return;
        }
        let action =
            [MemoryAction::READ, MemoryAction::WRITE, MemoryAction::SWAP, MemoryAction::WAIT_GT]
                [usize::from(step / 4 % 4)];
        let len = match (action, program.small()) {
            (MemoryAction::SWAP | MemoryAction::WAIT_GT, _) => 8,
            // More than one request moves.
            (_, 255) => MOST_MOVED + 5,
            (_, len) => u64::from(len) + 1,
        };
        let of_host = usize::from(step >> 7);
        let region = &self.regions[of_host];
        let bytes = vec![0xAA; len as usize];
        let operation =
            MemoryOperation { done: Some(done), ..MemoryOperation::new(action, 0, len) };
        let mut parcel = Box::new(Parcel { operation, bytes });
        parcel.operation.local = parcel.bytes.as_mut_ptr();
        let asked = NonNull::from(&mut parcel.operation);
        // SAFETY: the operation stays in place until it has ended, and has as many bytes.
        let begun = unsafe { region.path().run(region, 0, asked) };
        assert_eq!(begun, Err(DocaError::IN_PROGRESS));
        let operations = self.operations();
        let number = operations.borrow().last_number;
        let model = parcel.bytes.clone();
        self.started.push(Started { parcel, number, of_host, moved: 0, model, ended: None });
    }

    fn answer(&mut self, step: u8, program: &mut Program<'_>) {
        let (which, damage) = (usize::from(program.small()), program.small());
        let status = DocaStatus(u32::from(step / 16));
        let mut data = program.bytes();
        let whole;
        let chosen = which % self.started.len().max(1);
        let Some(started) = self.started.get(chosen) else { return };
        let asked = (started.model.len() - started.moved).min(MOST_MOVED as usize);
        if step & 8 > 0 {
            whole = vec![damage; asked];
            data = &whole;
        }
        let of_host = if step & 4 > 0 { started.of_host } else { 1 - started.of_host };
        let mut number = started.number;
        match damage {
            77 => number ^= 1 << (which % 64),
            78 => number = EVERY,
            _ => {}
        }
        let answer = Answer {
            token: TOKENS[of_host].into(),
            number: number.into(),
            result: u64::from(damage).into(),
            status: status.0.into(),
            reserved: 0.into(),
        };
        self.operations().borrow_mut().answered(answer.as_bytes(), AmData::Eager(data));
        if number == EVERY {
            let theirs = self.started.iter_mut().filter(|started| started.of_host == of_host);
            theirs.for_each(|started| started.ended = Some(DocaStatus::CONNECTION_RESET));
            return;
        }
        let is_meant = |started: &&mut Started| {
            started.number == number && started.of_host == of_host && started.ended.is_none()
        };
        let Some(started) = self.started.iter_mut().find(is_meant) else { return };
        let asked = (started.model.len() - started.moved).min(MOST_MOVED as usize);
        let is_read = started.parcel.operation.action == MemoryAction::READ;
        if status != DocaStatus::SUCCESS {
            started.ended = Some(status);
        } else if is_read && data.len() != asked {
            started.ended = Some(DocaStatus::IO_FAILED);
        } else {
            if is_read {
                started.model[started.moved..][..asked].copy_from_slice(data);
            }
            started.moved += asked;
            started.ended = (started.moved == started.model.len()).then_some(DocaStatus::SUCCESS);
        }
    }

    /// Checks that exactly the expected operations have ended.
    fn turn(&mut self) {
        self.library.worker.progress();
        while self.library.remote.turn() {}
        self.started.retain(|started| {
            // SAFETY: the rig's own operation, which is not used elsewhere at this moment.
            let operation = unsafe { (&raw const started.parcel.operation).read_volatile() };
            assert_eq!(operation.operand == 1, started.ended.is_some());
            let Some(status) = started.ended else { return true };
            assert_eq!(operation.status, status);
            // Only now: checking long operations in every turn takes most of the time.
            assert!(started.parcel.bytes == started.model, "other bytes");
            false
        });
        let waiting = self.operations().borrow().waiting.len();
        assert_eq!((waiting, self.library.remote.is_busy()), (self.started.len(), waiting > 0));
    }

    fn end(&mut self) {
        self.operations().borrow_mut().end_of(|_| true, DocaError::CONNECTION_RESET);
        for started in &mut self.started {
            started.ended = Some(DocaStatus::CONNECTION_RESET);
        }
        self.turn();
        // A long write is sent in parts, at the receiver's speed.
        let client = &self.library.remote.client.get().expect("there are hosts").worker;
        let mut rests = 0;
        while rests < 10 {
            rests = if self.library.worker.progress() | client.progress() { 0 } else { rests + 1 };
        }
    }
}

#[cfg(test)]
pub(crate) fn seeds() -> Seeds {
    // Operation and damage, with as many bytes as requested or without data.
    let right = |which: u8| [1 + 4 + 8, which, 9, 0];
    let wrong = |which: u8| [1 + 8, which, 9, 0];
    let starts = [&[0, 3][..], &[4, 3], &[8, 3], &[12, 3]].concat();
    let each = [&starts[..], &right(0), &right(0), &right(0), &right(0)].concat();
    let long = [&[0, 255][..], &right(0), &right(0), &[4, 255], &right(0), &right(0)].concat();
    let two = [&[0, 9][..], &[128, 9], &wrong(0), &wrong(1), &right(1), &right(0)].concat();
    let fails =
        [&[0, 9][..], &[1 + 4 + 16 * 3, 0, 0, 0], &[0, 9], &[1 + 4, 0, 0, 2, 5, 5]].concat();
    let numbers = [&[0, 9][..], &[1 + 4 + 8, 0, 77, 0], &[1 + 4 + 8, 33, 77, 0]].concat();
    let every = [&[0, 9][..], &[128, 9], &[4, 9], &[1 + 4, 0, 78, 0], &right(0)].concat();
    let others = [&[0, 9][..], &[3, 3, 1, 2, 3, 1, 7], &[3, 0, 0]].concat();
    [
        ("each", each),
        ("long", long),
        ("two", two),
        ("fails", fails),
        ("numbers", numbers),
        ("every", every),
        ("others", others),
    ]
    .map(|(name, bytes)| (name.to_owned(), bytes))
    .into()
}
