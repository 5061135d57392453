//! A UCX address that a peer made up and sealed as a real one is: connecting to it is refused or
//! harms nobody: whoever is connected stays so.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use ucx::{AmFlags, Context, ErrorMode, Features, Worker, WorkerAddress};

use super::memory::within;
use super::program::Program;

/// The most memory that a connection takes, UCX's own not counted.
const LIMIT: usize = 64 << 10;

/// After so many inputs UCX is made anew: it keeps what it made for endpoints until their worker
/// ends.
const INPUTS: u32 = 4096;

/// How long a message to a real address may take.
const DEADLINE: Duration = Duration::from_secs(20);

/// The message of the one who connects.
const HELLO: u16 = 1;

thread_local! {
    /// For the first layout of UCX's addresses and the second.
    static RIGS: RefCell<[Option<Rig>; 2]> = const { RefCell::new([None, None]) };
}

/// A worker that connects to itself.
struct Rig {
    worker: Worker,
    heard: Rc<Cell<u64>>,
    inputs: u32,
}

/// The input says how a real address is changed.
pub fn ucx_address(input: &[u8]) {
    let mut program = Program::new(input);
    let layout = usize::from(program.small() & 1);
    let mut rigs = RIGS.take();
    let mut rig = rigs[layout].take().unwrap_or_else(|| Rig::new(["v1", "v2"][layout]));
    rig.connect(&mut program);
    rig.inputs += 1;
    rigs[layout] = (rig.inputs < INPUTS).then_some(rig);
    RIGS.set(rigs);
}

impl Rig {
    /// Without shared memory: UCX opens the file, and writes into the memory, of whatever process
    /// an address names.
    fn new(layout: &str) -> Rig {
        let context =
            Context::builder(Features::AM).config("TLS", "self").config("ADDRESS_VERSION", layout);
        let worker = context.build().and_then(|context| context.worker()).expect("UCX");
        let heard = Rc::new(Cell::new(0));
        let hears = Rc::clone(&heard);
        worker.set_am_handler(HELLO, move |_| hears.set(hears.get() + 1)).expect("a handler");
        Rig { worker, heard, inputs: 0 }
    }

    fn connect(&mut self, program: &mut Program<'_>) {
        let whole = self.worker.address().expect("an address");
        let raw = changed(whole.as_raw_bytes(), program);
        let real = raw == whole.as_raw_bytes();
        let result = within(LIMIT, || {
            // SAFETY: not what the call asks for: whether UCX gets along with anything else is what
            // is tried. The worker reaches nothing but itself, so that no address has UCX open
            // anything.
            let sealed = unsafe { WorkerAddress::from_raw_bytes(&raw) }?;
            self.worker.endpoint().error_mode(ErrorMode::None).connect(&sealed)
        });
        match result {
            Ok(endpoint) => {
                endpoint.am_send_with(HELLO, &[], (), AmFlags::EAGER).detach();
                for _ in 0..4 {
                    self.worker.progress();
                }
            }
            Err(error) => {
                assert!(!real && !error.to_string().is_empty(), "a real one is refused: {error}")
            }
        }
        self.reaches(&whole);
    }

    fn reaches(&self, real: &WorkerAddress) {
        let before = self.heard.get();
        let endpoint =
            self.worker.endpoint().error_mode(ErrorMode::None).connect(real).expect("an endpoint");
        endpoint.am_send_with(HELLO, &[], (), AmFlags::EAGER).detach();
        let begun = Instant::now();
        while self.heard.get() == before {
            assert!(begun.elapsed() < DEADLINE, "a real address leads nowhere any more");
            self.worker.progress();
        }
    }
}

/// Bytes with the changes of a program: where, which, and with what.
fn changed(bytes: &[u8], program: &mut Program<'_>) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    while let Some(at) = program.byte() {
        let (kind, with) = (program.small(), program.small());
        let at = usize::from(at) % (bytes.len() + 1);
        match (kind % 6, bytes.get(at)) {
            (0, Some(_)) => bytes[at] ^= with,
            (1, Some(_)) => bytes[at] = with,
            (2, Some(_)) => bytes.truncate(at),
            (3, Some(_)) => drop(bytes.drain(at..(at + usize::from(with)).min(bytes.len()))),
            // As a device or a transport that is there twice.
            (4, Some(_)) => {
                let part = bytes[at..(at + usize::from(with)).min(bytes.len())].to_vec();
                drop(bytes.splice(at..at, part));
            }
            _ => bytes.insert(at, with),
        }
        // A hundred bytes or so are real.
        bytes.truncate(4096);
    }
    bytes
}
