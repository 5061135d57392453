//! The engine for hosts' memory: sharing, opening, running and closing, on each path.

#![cfg(not(miri))] // It maps shared memory and calls the kernel.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::rc::Rc;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use urom_abi::DocaError;
use urom_abi::host_memory::{HostMemory, MemoryAction, MemoryOperation, MemoryPath};
use urom_memory::engine::{MOST_OF_HOST, Mapped, Offered, Path, Process, Region, Shares};
use urom_memory::{Access, Error, MemoryRange};

const BOTH: Access = Access::PCI_READ_WRITE;
const SHRINK: SealFlags = SealFlags::SHRINK;
const ADDRESS: u64 = 0x10000;

/// Actions that do not change the number.
const LOADS: [MemoryAction; 4] =
    [MemoryAction::LOAD, MemoryAction::WAIT_GT, MemoryAction::WAIT_EQ, MemoryAction::WAIT_NEQ];
const CHANGES: [MemoryAction; 3] =
    [MemoryAction::FETCH_ADD, MemoryAction::SWAP, MemoryAction::COMPARE_SWAP];

struct Engine {
    shares: Shares,
    ended: Rc<RefCell<Vec<u64>>>,
    wrong: Rc<RefCell<Vec<&'static str>>>,
}

struct Farewell(u64, Rc<RefCell<Vec<u64>>>);

impl Drop for Farewell {
    fn drop(&mut self) {
        self.1.borrow_mut().push(self.0);
    }
}

impl Engine {
    fn new() -> Engine {
        let wrong: Rc<RefCell<Vec<&'static str>>> = Rc::default();
        let seen = Rc::clone(&wrong);
        let shares = Shares::new(move |what| seen.borrow_mut().push(what));
        Engine { shares, ended: Rc::default(), wrong }
    }

    fn share(
        &self,
        connection: u64,
        offered: Offered,
        path: impl Path + 'static,
    ) -> Result<(), Error> {
        let farewell: Box<dyn Any> = Box::new(Farewell(offered.memory, Rc::clone(&self.ended)));
        self.shares.share(connection, offered, || Ok((Box::new(path), farewell))).map(drop)
    }

    fn map(&self, connection: u64, memory: u64, access: Access) {
        let path =
            Mapped::new(memfd(4096, SHRINK).as_fd(), 0, 4096, access.others_write()).unwrap();
        self.share(connection, offered(memory, 4096, access), path).unwrap();
    }

    fn copy(&self, connection: u64, memory: u64, bytes: &[u8]) -> Result<(), Error> {
        let address = bytes.as_ptr().expose_provenance() as u64;
        let path = Process::new(own(), address).unwrap();
        self.share(
            connection,
            Offered { address, ..offered(memory, bytes.len() as u64, BOTH) },
            path,
        )
    }

    fn open(
        &self,
        connection: u64,
        memory: u64,
        offset: u64,
        len: u64,
    ) -> Result<HostMemory, DocaError> {
        self.shares.open(connection, MemoryRange { memory, offset, len })
    }

    fn run(&self, handle: *mut c_void, operation: &mut MemoryOperation) -> Result<(), DocaError> {
        // SAFETY: the callers' operations have `len` bytes, and end in the call.
        unsafe { self.shares.run(handle, operation.into()) }
    }

    fn read(&self, handle: *mut c_void, offset: u64, len: u64) -> Result<Vec<u8>, DocaError> {
        let mut bytes = vec![0; len as usize];
        let mut operation = MemoryOperation {
            local: bytes.as_mut_ptr(),
            ..MemoryOperation::new(MemoryAction::READ, offset, len)
        };
        self.run(handle, &mut operation).map(|()| bytes)
    }
}

fn own() -> i32 {
    std::process::id().cast_signed()
}

fn offered(memory: u64, len: u64, access: Access) -> Offered {
    Offered { share: memory + 100, memory, address: ADDRESS, len, access }
}

fn memfd(len: u64, seals: SealFlags) -> OwnedFd {
    let fd = memfd_create("of-a-test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&fd, len).unwrap();
    fcntl_add_seals(&fd, seals).unwrap();
    fd
}

/// A path that records its operations, and never ends them.
#[derive(Debug, Default)]
struct Later(Rc<RefCell<Vec<(MemoryAction, u64)>>>);

impl Path for Later {
    fn kind(&self) -> MemoryPath {
        MemoryPath::NETWORK
    }

    unsafe fn run(
        &self,
        _: &Rc<Region>,
        at: u64,
        operation: NonNull<MemoryOperation>,
    ) -> Result<(), DocaError> {
        // SAFETY: the caller's operation, which is copied.
        self.0.borrow_mut().push((unsafe { operation.read() }.action, at));
        Err(DocaError::IN_PROGRESS)
    }
}

#[test]
fn memory_is_used_by_its_host_s_commands_alone_and_within_its_range() {
    let engine = Engine::new();
    engine.map(1, 7, BOTH);
    assert_eq!(engine.open(2, 7, 0, 8).map(drop), Err(DocaError::NOT_FOUND));
    assert_eq!(engine.open(1, 8, 0, 8).map(drop), Err(DocaError::NOT_FOUND));
    for (offset, len) in [(4096, 1), (0, 4097), (u64::MAX, 2), (1, u64::MAX)] {
        let opened = engine.open(1, 7, offset, len).map(drop);
        assert_eq!(opened, Err(DocaError::INVALID_VALUE), "{offset} {len}");
    }
    let opened = engine.open(1, 7, 1024, 2048).unwrap();
    assert_eq!((opened.address, opened.len, opened.path), (0x10400, 2048, MemoryPath::MAPPED));
    assert!(!opened.mapping.is_null());
    for (action, found) in [(MemoryAction::SWAP, 0), (MemoryAction::FETCH_ADD, 5)] {
        let mut word = MemoryOperation { operand: 5, ..MemoryOperation::new(action, 8, 8) };
        engine.run(opened.handle, &mut word).unwrap();
        assert_eq!(word.result, found);
    }
    let mut bytes = *b"written.";
    let local = bytes.as_mut_ptr();
    let mut write = MemoryOperation { local, ..MemoryOperation::new(MemoryAction::WRITE, 2040, 8) };
    engine.run(opened.handle, &mut write).unwrap();
    let whole = engine.open(1, 7, 0, 4096).unwrap();
    assert_eq!(engine.read(whole.handle, 1032, 8).unwrap(), 10_u64.to_le_bytes());
    assert_eq!(engine.read(whole.handle, 3064, 8).unwrap(), b"written.");
}

#[test]
fn a_load_of_mapped_memory_and_a_wait_for_it_end_in_the_call() {
    let engine = Engine::new();
    engine.map(1, 7, Access::PCI_READ_ONLY);
    let opened = engine.open(1, 7, 0, 4096).unwrap();
    for action in LOADS {
        let compare = if action == MemoryAction::WAIT_NEQ { 0 } else { 9 };
        let mut load = MemoryOperation {
            operand: u64::MAX,
            compare,
            result: 77,
            ..MemoryOperation::new(action, 8, 8)
        };
        engine.run(opened.handle, &mut load).unwrap();
        assert_eq!(load.result, 0, "{action:?}");
    }
}

/// On every path: paths get only checked operations.
#[test]
fn operations_that_cannot_be_are_refused() {
    let (engine, words) = (Engine::new(), [0_u64; 512]);
    let asked = Later::default();
    let seen = Rc::clone(&asked.0);
    engine.map(1, 1, BOTH);
    engine.copy(1, 2, bytemuck::cast_slice(&words)).unwrap();
    engine.share(1, offered(3, 4096, BOTH), asked).unwrap();
    engine.map(1, 4, Access::PCI_READ_ONLY);
    let mut bytes = [0_u8; 4096];
    let mut run = |opened: &HostMemory, action, offset, len, has_local: bool| {
        let local = if has_local { bytes.as_mut_ptr() } else { ptr::null_mut() };
        let mut operation = MemoryOperation { local, ..MemoryOperation::new(action, offset, len) };
        engine.run(opened.handle, &mut operation)
    };
    use MemoryAction as A;
    for memory in 1..4 {
        let opened = engine.open(1, memory, 4, 4000).unwrap();
        for (action, offset, len, has_local) in [
            (A::READ, 0, 4001, true),
            (A::READ, 4000, 1, true),
            (A::WRITE, u64::MAX, 1, true),
            (A::WRITE, 1, u64::MAX, true),
            (A::READ, 0, 1, false),
            (A::WRITE, 0, 1, false),
            (A::TAG_SEND, 0, 1, false),
        ] {
            let refused = run(&opened, action, offset, len, has_local);
            assert_eq!(refused, Err(DocaError::INVALID_VALUE), "{action:?} {offset} {len}");
        }
        for action in CHANGES.into_iter().chain(LOADS) {
            for (offset, len) in [(0, 8), (4, 4), (4, 16), (3996, 8), (u64::MAX, 8)] {
                let refused = run(&opened, action, offset, len, false);
                assert_eq!(refused, Err(DocaError::INVALID_VALUE), "{action:?} {offset} {len}");
            }
        }
        for action in [A(10), A(u32::MAX)] {
            assert_eq!(run(&opened, action, 0, 8, true), Err(DocaError::NOT_SUPPORTED));
        }
        assert_eq!(run(&opened, A::READ, 4000, 0, false), Ok(()));
    }
    let read_only = engine.open(1, 4, 0, 4096).unwrap();
    for action in CHANGES.into_iter().chain([A::WRITE]) {
        assert_eq!(run(&read_only, action, 0, 8, true), Err(DocaError::NOT_PERMITTED));
    }
    assert_eq!(run(&read_only, A::READ, 0, 8, true), Ok(()));
    assert_eq!(run(&read_only, A::TAG_SEND, 0, 8, true), Err(DocaError::NOT_SUPPORTED), "no UCX");
    assert!(seen.borrow().is_empty());
    let opened = engine.open(1, 3, 4, 4000).unwrap();
    assert_eq!(run(&opened, A::SWAP, 4, 8, false), Err(DocaError::IN_PROGRESS));
    assert_eq!(*seen.borrow(), [(A::SWAP, 8)], "from the begin of the region");
}

/// The alignment of the host's address may differ from the mapping's.
#[test]
fn an_atomic_operation_is_refused_where_the_mapping_is_not_aligned() {
    let engine = Engine::new();
    let path = Mapped::new(memfd(4096, SHRINK).as_fd(), 0, 4096, true).unwrap();
    engine.share(1, Offered { address: ADDRESS + 4, ..offered(7, 4096, BOTH) }, path).unwrap();
    let opened = engine.open(1, 7, 0, 4096).unwrap();
    for action in CHANGES.into_iter().chain(LOADS) {
        let refused = engine.run(opened.handle, &mut MemoryOperation::new(action, 4, 8));
        assert_eq!(refused, Err(DocaError::INVALID_VALUE));
    }
}

#[test]
fn handles_that_were_closed_are_of_no_use() {
    let engine = Engine::new();
    engine.map(1, 7, BOTH);
    let first = engine.open(1, 7, 0, 4096).unwrap().handle;
    engine.shares.keep(first).unwrap();
    engine.shares.close(first).unwrap();
    assert!(engine.read(first, 0, 8).is_ok(), "it was kept");
    engine.shares.close(first).unwrap();
    let second = engine.open(1, 7, 0, 4096).unwrap().handle;
    assert_ne!(first, second, "no handle is used again");
    assert!(engine.wrong.borrow().is_empty());
    for stale in [first, ptr::null_mut(), ptr::without_provenance_mut(usize::MAX)] {
        assert_eq!(engine.read(stale, 0, 8), Err(DocaError::NOT_FOUND));
        assert_eq!(engine.shares.keep(stale), Err(DocaError::NOT_FOUND));
        assert_eq!(engine.shares.close(stale), Err(DocaError::NOT_FOUND));
        let wrong = ["ran an operation on", "kept", "closed"];
        let wrong = wrong.map(|did| format!("{did} memory that it has not open"));
        assert_eq!(std::mem::take(&mut *engine.wrong.borrow_mut()), wrong);
    }
    assert!(engine.read(second, 0, 8).is_ok());
    assert!(engine.shares.unshare(1, 7, 107) && engine.ended.borrow().is_empty(), "it is in use");
    assert_eq!(engine.shares.look(|open| open.map(|it| it.count).sum::<usize>()), 1);
    engine.shares.close(second).unwrap();
    assert_eq!(*engine.ended.borrow(), [7]);
}

#[test]
fn a_share_ends_once_and_not_by_the_number_of_another() {
    let engine = Engine::new();
    engine.map(1, 7, BOTH);
    let twice = engine.share(1, offered(7, 4096, BOTH), Later::default()).unwrap_err();
    assert!(twice.code() == DocaError::ALREADY_EXIST && twice.text().contains("0x7"), "{twice}");
    assert_eq!(engine.ended.take(), [7], "the second, which was refused");
    // Each host has its own numbers.
    engine.map(2, 7, BOTH);
    for (connection, memory, share) in [(1, 7, 106), (1, 8, 107), (3, 7, 107)] {
        assert!(!engine.shares.unshare(connection, memory, share));
    }
    assert!(engine.ended.borrow().is_empty());
    assert!(engine.shares.unshare(1, 7, 107) && !engine.shares.unshare(1, 7, 107));
    assert_eq!(*engine.ended.borrow(), [7]);
    assert!(engine.open(2, 7, 0, 8).is_ok());
}

#[test]
fn ranges_and_permissions_that_make_no_sense_are_refused() {
    let engine = Engine::new();
    let whole = offered(7, 4096, BOTH);
    for (offered, code) in [
        (Offered { len: 0, ..whole }, DocaError::INVALID_VALUE),
        (Offered { len: u64::MAX, ..whole }, DocaError::INVALID_VALUE),
        (Offered { len: 1 << 63, ..whole }, DocaError::INVALID_VALUE),
        (Offered { address: u64::MAX, ..whole }, DocaError::INVALID_VALUE),
        (Offered { access: Access::empty(), ..whole }, DocaError::NOT_PERMITTED),
        (Offered { access: Access::LOCAL_READ_WRITE, ..whole }, DocaError::NOT_PERMITTED),
    ] {
        let refused = engine.share(1, offered, Later::default()).unwrap_err();
        assert_eq!(refused.code(), code, "{offered:?}");
        assert!(refused.text().contains("memory 0x7 cannot be shared: "), "{refused}");
    }
    assert!(engine.share(1, whole, Later::default()).is_ok(), "nothing was kept of them");
}

#[test]
fn a_host_shares_so_many_memories_at_a_time_and_no_more() {
    let engine = Engine::new();
    let share =
        |connection, memory| engine.share(connection, offered(memory, 16, BOTH), Later::default());
    let most = MOST_OF_HOST as u64;
    (0..most).for_each(|memory| share(1, memory).unwrap());
    let refused = share(1, most).unwrap_err();
    assert!(refused.code() == DocaError::FULL && refused.text().contains("4096"), "{refused}");
    assert!(share(2, most).is_ok(), "another host's are its own");
    assert!(engine.shares.unshare(1, 9, 109));
    assert!(share(1, most).is_ok());
    assert!(share(1, 9).is_err());
    engine.ended.take();
    engine.shares.leave(1);
    assert_eq!(engine.ended.take().len(), MOST_OF_HOST);
    assert!(share(1, 9).is_ok());
}

#[test]
fn of_a_host_that_left_only_what_is_mapped_can_be_used() {
    let engine = Engine::new();
    let bytes = *b"in this process.";
    engine.copy(1, 5, &bytes).unwrap();
    engine.map(1, 7, BOTH);
    engine.copy(2, 5, &bytes).unwrap();
    let open = |connection, memory| engine.open(connection, memory, 0, 16).unwrap().handle;
    let (copied, mapped, others) = (open(1, 5), open(1, 7), open(2, 5));
    assert_eq!(engine.read(copied, 3, 4).unwrap(), b"this");
    // A command can still use its memory after the share has ended.
    assert!(engine.shares.unshare(1, 5, 105));
    assert_eq!(engine.read(copied, 3, 4).unwrap(), b"this");
    engine.shares.leave(1);
    assert_eq!(engine.read(copied, 3, 4), Err(DocaError::CONNECTION_RESET));
    assert_eq!(engine.read(mapped, 3, 4).unwrap(), [0; 4]);
    assert_eq!(engine.read(others, 3, 4).unwrap(), b"this");
    assert_eq!(engine.open(1, 7, 0, 8).map(drop), Err(DocaError::NOT_FOUND));
    assert!(engine.ended.borrow().is_empty());
    engine.shares.close(copied).unwrap();
    engine.shares.close(mapped).unwrap();
    assert_eq!(*engine.ended.borrow(), [5, 7]);
    engine.shares.leave(9);
}

#[test]
fn a_mapping_is_there_as_long_as_its_region() {
    let name = "memfd:of-one-test-alone";
    let maps = || std::fs::read_to_string("/proc/self/maps").unwrap().matches(name).count();
    let engine = Engine::new();
    let fd = memfd_create("of-one-test-alone", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&fd, 4096).unwrap();
    fcntl_add_seals(&fd, SHRINK).unwrap();
    for memory in 0..100 {
        let path = Mapped::new(fd.as_fd(), 0, 100, true).unwrap();
        engine.share(1, offered(memory, 100, BOTH), path).unwrap();
    }
    let opened = engine.open(1, 50, 0, 8).unwrap().handle;
    assert_eq!(maps(), 100);
    for memory in 0..60 {
        assert!(engine.shares.unshare(1, memory, memory + 100));
    }
    assert_eq!(maps(), 41);
    engine.shares.leave(1);
    assert_eq!(maps(), 1);
    engine.shares.close(opened).unwrap();
    assert_eq!((maps(), engine.ended.borrow().len()), (0, 100));
}

#[test]
fn descriptors_that_could_fail_this_process_are_refused() {
    let refused = |fd: BorrowedFd<'_>, offset, len, why: &str| {
        let error = Mapped::new(fd, offset, len, true).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    };
    let file: OwnedFd = tempfile::tempfile().unwrap().into();
    ftruncate(&file, 8192).unwrap();
    let device = std::fs::File::open("/dev/zero").unwrap();
    refused(file.as_fd(), 0, 8192, "not a memfd");
    refused(device.as_fd(), 0, 1, "not a memfd");
    refused(memfd(4096, SealFlags::GROW).as_fd(), 0, 4096, "not sealed against shrinking");
    refused(memfd(4096, SealFlags::empty()).as_fd(), 0, 4096, "F_SEAL_SHRINK");
    refused(memfd(4096, SHRINK).as_fd(), 0, 4097, "not as many bytes");
    refused(memfd(0, SHRINK).as_fd(), 0, 1, "not as many bytes");
    refused(memfd(8191, SHRINK).as_fd(), 4096, 4096, "not as many bytes");
    refused(memfd(8192, SHRINK).as_fd(), u64::MAX - 4095, 4096, "not as many bytes");
    refused(memfd(8192, SHRINK).as_fd(), 8, 4096, "at a page");
    refused(memfd(4096, SHRINK | SealFlags::WRITE).as_fd(), 0, 4096, "not permitted");
    // A kernel may lack huge pages.
    if let Ok(fd) = memfd_create("huge", MemfdFlags::HUGETLB | MemfdFlags::ALLOW_SEALING) {
        fcntl_add_seals(&fd, SHRINK).unwrap();
        refused(fd.as_fd(), 0, 4096, "huge pages");
    }
    Mapped::new(memfd(8192, SHRINK).as_fd(), 4096, 4096, true).unwrap();
}

#[test]
fn the_kernel_copies_both_ways_and_what_is_not_there_is_an_error() {
    let engine = Engine::new();
    let mut theirs = *b"theirs";
    let address = (&raw mut theirs).expose_provenance() as u64;
    let share = |memory, address, path| {
        let host = Offered { address, ..offered(memory, 6, BOTH) };
        engine.share(1, host, path).unwrap();
        engine.open(1, memory, 0, 6).unwrap().handle
    };
    let there = share(1, address, Process::new(own(), address).unwrap());
    assert_eq!(engine.read(there, 0, 6).unwrap(), b"theirs");
    let mut other = *b"other!";
    let local = other.as_mut_ptr();
    let mut write = MemoryOperation { local, ..MemoryOperation::new(MemoryAction::WRITE, 0, 6) };
    engine.run(there, &mut write).unwrap();
    assert_eq!(&theirs, b"other!");
    let gone = share(2, 8, Process::new(own(), address).unwrap());
    assert_eq!(engine.read(gone, 0, 6), Err(DocaError::IO_FAILED));
    assert_eq!(Process::new(own(), 8).map(drop), Err(DocaError::IO_FAILED));
    // This process number does not exist.
    assert_eq!(Process::new(i32::MAX, address).map(drop), Err(DocaError::CONNECTION_RESET));
}

#[test]
fn the_kernel_s_path_leaves_atomic_operations_to_another_one() {
    let (engine, words) = (Engine::new(), [0_u64; 2]);
    let (asked, bytes) = (Later::default(), bytemuck::cast_slice(&words));
    let seen = Rc::clone(&asked.0);
    engine.copy(1, 1, bytes).unwrap();
    let address = bytes.as_ptr().expose_provenance() as u64;
    let both = Process::new(own(), address).unwrap().with(Some(Box::new(asked)));
    engine.share(1, Offered { address, ..offered(2, 16, BOTH) }, both).unwrap();
    for (memory, code) in [(1, DocaError::NOT_SUPPORTED), (2, DocaError::IN_PROGRESS)] {
        let opened = engine.open(1, memory, 0, 16).unwrap();
        assert_eq!(opened.path, MemoryPath::PROCESS);
        let mut add = MemoryOperation::new(MemoryAction::FETCH_ADD, 8, 8);
        assert_eq!(engine.run(opened.handle, &mut add), Err(code));
        assert!(engine.read(opened.handle, 0, 8).is_ok());
    }
    assert_eq!(*seen.borrow(), [(MemoryAction::FETCH_ADD, 8)]);
}
