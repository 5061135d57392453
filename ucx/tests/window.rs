//! Windows: memory that another worker, or another process, reads and writes.

mod common;

use std::io::Read;
use std::time::Instant;

use common::{DEADLINE, Process, TRANSPORTS, again, context, finish, pattern, say, until};
use ucx::{Context, ErrorMode, Features, Memory, RemoteMemory, Status, Worker, WorkerAddress};

/// An owner, another worker, and memory of the owner with its window's bytes.
struct Two {
    owner: Worker,
    worker: Worker,
    memory: Memory,
    bytes: Vec<u8>,
}

/// A window of bytes that the tests made.
fn open(worker: &Worker, bytes: &[u8]) -> ucx::Result<RemoteMemory> {
    // SAFETY: what is not from `Memory::window`, in the owner that the test started, is refused for
    // its seal.
    unsafe { RemoteMemory::open(worker, bytes) }
}

/// As `open`, with this error mode only.
fn open_with(worker: &Worker, bytes: &[u8], mode: ErrorMode) -> ucx::Result<RemoteMemory> {
    // SAFETY: as in `open`.
    unsafe { RemoteMemory::open_with(worker, bytes, mode) }
}

impl Two {
    fn new(transports: &str, length: usize) -> Two {
        let [owner, worker] = [(); 2].map(|()| context(transports).worker().unwrap());
        let memory = Memory::allocate(owner.context(), length).unwrap();
        let bytes = memory.window(&owner).unwrap();
        Two { owner, worker, memory, bytes }
    }

    fn finish<B>(&self, request: ucx::Request<B>) -> (Result<(), Status>, B) {
        finish(&[&self.owner, &self.worker], request)
    }
}

#[test]
fn bytes_go_through_a_window_both_ways() {
    for transports in TRANSPORTS.into_iter().chain(["tcp,shm,self"]) {
        let two = Two::new(transports, 1 << 20);
        let window = open(&two.worker, &two.bytes).unwrap();
        assert_eq!((window.len(), window.is_empty()), (1 << 20, false));
        for (offset, length) in
            [(0, 1 << 20), (5, 3), (100, 70_000), ((1 << 20) - 8, 8), (1 << 20, 0)]
        {
            assert_eq!(two.finish(window.put(offset, pattern(length))).0, Ok(()));
            assert_eq!(two.finish(window.endpoint().flush()).0, Ok(()));
            let mut there = vec![0; length];
            two.memory.read(offset as usize, &mut there);
            assert!(there == pattern(length), "{length} at {offset} over {transports}");
            two.memory.write(offset as usize, &vec![9; length]);
            let (got, back) = two.finish(window.get(offset, vec![0; length]));
            assert_eq!(got, Ok(()));
            assert!(back == vec![9; length], "{length} at {offset} over {transports}");
        }
    }
}

#[test]
fn a_caller_may_choose_to_go_without_errors() {
    let two = Two::new("tcp,shm,self", 4096);
    let window = open_with(&two.worker, &two.bytes, ErrorMode::None).unwrap();
    assert_eq!(two.finish(window.put(0, pattern(4096))).0, Ok(()));
    let two = Two::new("shm,self", 4096);
    let error = open_with(&two.worker, &two.bytes, ErrorMode::Peer).unwrap_err();
    assert_eq!(error.status(), Status::UNREACHABLE);
}

#[test]
fn several_windows_on_several_memories_do_not_mix() {
    for transports in TRANSPORTS {
        let two = Two::new(transports, 64);
        let other = Memory::map(two.owner.context(), vec![3; 64]).unwrap();
        let windows = [&two.memory, &two.memory, &other]
            .map(|memory| open(&two.worker, &memory.window(&two.owner).unwrap()).unwrap());
        assert_eq!(two.finish(windows[0].put(0, vec![1; 64])).0, Ok(()));
        assert_eq!(two.finish(windows[0].endpoint().flush()).0, Ok(()));
        for (window, value) in windows.iter().zip([1, 1, 3]) {
            let (result, got) = two.finish(window.get(0, vec![0; 64]));
            assert_eq!((result, got), (Ok(()), vec![value; 64]));
        }
    }
}

#[test]
fn other_bytes_are_no_window_and_a_window_is_no_address() {
    let two = Two::new("shm,self", 64);
    let address = two.owner.address().unwrap();
    let cut = &two.bytes[1..];
    for foreign in [address.as_bytes(), &two.bytes[..two.bytes.len() - 1], cut, &[0; 200]] {
        let error = open(&two.worker, foreign).unwrap_err();
        assert_eq!(error.status(), Status::INVALID_ADDR, "{error}");
        assert!(error.to_string().contains("Memory::window"), "{error}");
    }
    // SAFETY: no endpoint is made of it.
    assert!(unsafe { WorkerAddress::from_bytes(&two.bytes) }.is_err());
}

#[test]
fn a_window_needs_the_feature_and_a_worker_of_its_own_context() {
    let two = Two::new("shm,self", 64);
    let error = two.memory.window(&two.worker).unwrap_err();
    assert_eq!(error.status(), Status::INVALID_PARAM);
    let without = Context::builder(Features::AM).config("TLS", "shm,self").build().unwrap();
    let worker = without.worker().unwrap();
    assert_eq!(open(&worker, &two.bytes).unwrap_err().status(), Status::UNSUPPORTED);
    let memory = Memory::allocate(&without, 64).unwrap();
    assert_eq!(memory.window(&worker).unwrap_err().status(), Status::UNSUPPORTED);
}

#[test]
fn memory_stays_while_its_owner_can_be_reached() {
    for transports in TRANSPORTS {
        let Two { owner, worker, memory, bytes } = Two::new(transports, 4096);
        let window = open(&worker, &bytes).unwrap();
        // The owner forgets it; what a peer does with it must harm nobody.
        drop(memory);
        let both = [&owner, &worker];
        assert_eq!(finish(&both, window.put(0, pattern(4096))).0, Ok(()));
        assert_eq!(finish(&both, window.endpoint().flush()).0, Ok(()));
        let (got, back) = finish(&both, window.get(0, vec![0; 4096]));
        assert_eq!((got, back), (Ok(()), pattern(4096)));
        drop(window);
    }
}

/// What UCX does with a key that is freed after its worker only a memory checker sees: that it
/// cannot be is a test of the request's own.
#[test]
fn what_a_request_keeps_goes_before_its_worker_in_whatever_order_the_rest_is_dropped() {
    for transports in TRANSPORTS {
        // One that is over at once, and one that may take a while: neither needs the window any
        // more.
        for length in [8, 1 << 20] {
            let Two { owner, worker, memory, bytes } = Two::new(transports, 1 << 20);
            let window = open(&worker, &bytes).unwrap();
            let put = window.put(0, pattern(length));
            until(&[&owner, &worker], "the put", || put.is_done());
            drop((window, worker));
            let (result, back) = put.into_done().unwrap();
            assert_eq!((result, back.len()), (Ok(()), length));
            drop((memory, owner));
        }
    }
}

/// The owner: makes a window, says so, and progresses until it may end.
#[test]
#[ignore = "the other process of the tests in this file"]
fn owner() {
    let Ok(transports) = std::env::var("UROM_TEST_TRANSPORTS") else { return };
    let worker = context(&transports).worker().unwrap();
    let memory = Memory::allocate(worker.context(), 1 << 20).unwrap();
    memory.write(0, &pattern(1 << 20));
    say(&memory.window(&worker).unwrap());
    let ending = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let begin = Instant::now();
    while !ending.is_finished() && begin.elapsed() < 2 * DEADLINE {
        worker.progress();
    }
    let mut there = vec![0; 1 << 20];
    memory.read(0, &mut there);
    say(&[(there == vec![5; 1 << 20]).into()]);
}

/// An owner process and its window.
fn owner_process(transports: &str) -> (Process, Vec<u8>) {
    let mut command = again("owner");
    command.env("UROM_TEST_TRANSPORTS", transports);
    let mut process = Process::start(command);
    let window = process.heard().expect("the owner says where its memory is");
    (process, window)
}

#[test]
fn another_process_is_read_and_written() {
    for transports in TRANSPORTS.into_iter().chain(["tcp,shm,self"]) {
        let (mut owner, bytes) = owner_process(transports);
        let worker = context(transports).worker().unwrap();
        let window = open(&worker, &bytes).unwrap();
        let (got, back) = finish(&[&worker], window.get(0, vec![0; 1 << 20]));
        assert_eq!(got, Ok(()));
        assert!(back == pattern(1 << 20), "over {transports}");
        for half in [0, 1 << 19] {
            assert_eq!(finish(&[&worker], window.put(half, vec![5; 1 << 19])).0, Ok(()));
        }
        assert_eq!(finish(&[&worker], window.endpoint().flush()).0, Ok(()));
        drop(window);
        drop(owner.child.stdin.take());
        assert_eq!(owner.heard(), Some(vec![1]), "over {transports}");
    }
}

#[test]
fn requests_to_an_owner_that_was_killed_end_with_an_error() {
    for transports in ["tcp", "tcp,shm,self"] {
        let (mut owner, bytes) = owner_process(transports);
        let worker = context(transports).worker().unwrap();
        let window = open(&worker, &bytes).unwrap();
        assert_eq!(finish(&[&worker], window.get(0, vec![0; 8])).0, Ok(()));
        owner.kill();
        let (result, buffer) = finish(&[&worker], window.get(0, vec![7; 1 << 20]));
        assert!(result.is_err());
        assert_eq!(buffer.len(), 1 << 20);
        assert!(window.endpoint().is_failed());
        assert!(finish(&[&worker], window.put(0, vec![7; 8])).0.is_err());
        // Opened only now: nobody is there.
        match open(&worker, &bytes) {
            Ok(late) => assert!(finish(&[&worker], late.get(0, vec![7; 8])).0.is_err()),
            Err(error) => assert_eq!(error.status(), Status::UNREACHABLE),
        }
    }
}

#[test]
fn a_window_without_errors_is_dropped_while_its_owner_is_gone() {
    let (mut owner, bytes) = owner_process("shm,self");
    let worker = context("shm,self").worker().unwrap();
    let window = open(&worker, &bytes).unwrap();
    assert_eq!(finish(&[&worker], window.get(0, vec![0; 8])).0, Ok(()));
    owner.kill();
    let get = window.get(0, vec![7; 1 << 20]);
    for _ in 0..1000 {
        worker.progress();
    }
    drop((get, window, worker));
}
