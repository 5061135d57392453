//! Exported counters in another process, and invalid bytes.

// Miri lacks memfds, processes and futexes of shared memory.
#![cfg(not(miri))]
#![allow(missing_docs, reason = "a test")]

use std::os::fd::{AsFd, AsRawFd};
use std::process::{Child, Command};
use std::time::Duration;

use proptest::prelude::*;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use urom_abi::DocaError;
use urom_memory::{Access, Condition, Mmap, SyncEvent};

const LIMIT: Duration = Duration::from_secs(20);
const OWN: Access = Access::LOCAL_READ_WRITE;
/// The event to import, in hexadecimal digits.
const VARIABLE: &str = "UROM_TEST_SYNC_EVENT";

fn code(bytes: &[u8]) -> DocaError {
    SyncEvent::import(bytes).unwrap_err().code()
}

/// Offsets of the fields of an exported event.
const VERSION: usize = 8;
const ACCESS: usize = 12;
const PROCESS: usize = 16;
const FD: usize = 20;
const DEVICE: usize = 24;
const INODE: usize = 32;
const OFFSET: usize = 40;

/// Replaces a field and recomputes the checksum.
fn forged(bytes: &[u8], at: usize, part: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + part.len()].copy_from_slice(part);
    let checksum = crc32fast::hash(&bytes[..60]);
    bytes[60..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn other_process(bytes: &[u8]) -> Child {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut test = Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "the_other_process", "--nocapture"]).env(VARIABLE, hex);
    test.spawn().unwrap()
}

/// Adds 1 to the counter when it is odd, until it is 10. Does nothing without the variable.
#[test]
fn the_other_process() {
    let Ok(hex) = std::env::var(VARIABLE) else { return };
    let digits = hex.as_bytes().chunks(2).map(|two| str::from_utf8(two).unwrap());
    let bytes: Vec<u8> = digits.map(|two| u8::from_str_radix(two, 16).unwrap()).collect();
    let event = SyncEvent::import(&bytes).unwrap();
    let odd = Condition::equal(1).masked(1);
    while event.get() < 10 {
        event.wait_blocking(odd, LIMIT).unwrap();
        event.fetch_add(1).unwrap();
    }
}

#[test]
fn two_processes_wait_for_each_other() {
    let map = Mmap::allocate(1 << 20, OWN | Access::PCI_READ_WRITE).unwrap();
    for event in [
        SyncEvent::new().unwrap(),
        // Far from the beginning, and between other words.
        SyncEvent::in_memory(&map, (1 << 19) + 8).unwrap(),
    ] {
        let mut other = other_process(&event.export().unwrap());
        for turn in (0..10).step_by(2) {
            assert_eq!(event.wait_blocking(Condition::equal(turn), LIMIT), Ok(turn));
            event.fetch_add(1).unwrap();
        }
        assert_eq!(event.wait_blocking(Condition::equal(10), LIMIT), Ok(10));
        assert!(other.wait().unwrap().success());
    }
    let beside = [1 << 19, (1 << 19) + 16].map(|at| map.view().load_u64(at).unwrap());
    assert_eq!(beside, [0, 0]);
}

#[test]
fn an_imported_event_is_the_same_counter_and_outlives_its_owner() {
    let event = SyncEvent::new().unwrap();
    let bytes = event.export().unwrap();
    assert_eq!(bytes.len(), SyncEvent::EXPORTED_LEN);
    assert_eq!(event.export_for(0), Ok(bytes.clone()));
    let (imported, roles) = SyncEvent::import_for(&event.export_for(77).unwrap()).unwrap();
    assert_eq!(roles, 77);
    imported.fetch_add(5).unwrap();
    assert_eq!((event.get(), imported.get()), (5, 5));
    assert_ne!(imported.range().memory, event.range().memory);
    drop(event);
    assert_eq!(imported.fetch_add(1), Ok(5));
    assert_eq!(code(&bytes), DocaError::NOT_FOUND);
}

#[test]
fn an_event_that_others_may_only_read_is_only_read() {
    let map = Mmap::allocate(8, OWN | Access::PCI_READ_ONLY).unwrap();
    let event = SyncEvent::in_memory(&map, 0).unwrap();
    let bytes = event.export().unwrap();
    let imported = SyncEvent::import(&bytes).unwrap();
    event.set(3).unwrap();
    assert_eq!(imported.wait_until_greater_blocking(2, LIMIT), Ok(3));
    assert_eq!(imported.set(4).unwrap_err().code(), DocaError::NOT_PERMITTED);
    assert_eq!(imported.fetch_add(4).unwrap_err().code(), DocaError::NOT_PERMITTED);
    // The kernel refuses a forged permission.
    let access = Access::PCI_READ_WRITE.bits().to_le_bytes();
    assert_eq!(code(&forged(&bytes, ACCESS, &access)), DocaError::OPERATING_SYSTEM);
    assert_eq!(event.get(), 3);
}

#[test]
fn an_event_without_permission_is_not_exported() {
    let map = Mmap::allocate(8, OWN).unwrap();
    let refused = SyncEvent::in_memory(&map, 0).unwrap().export().unwrap_err();
    assert_eq!(refused.code(), DocaError::NOT_PERMITTED);
}

#[test]
fn an_event_in_memory_that_others_cannot_open_is_not_imported() {
    let map = Mmap::from_boxed(Box::new([0; 16]), OWN | Access::PCI_READ_WRITE).unwrap();
    let at = (8 - map.address() % 8) % 8;
    let event = SyncEvent::in_memory(&map, at).unwrap();
    let refused = SyncEvent::import(&event.export().unwrap()).unwrap_err();
    assert_eq!(refused.code(), DocaError::NOT_SUPPORTED);
    assert!(refused.text().contains("Mmap::allocate"), "{refused}");
    assert_eq!(event.get(), 0);
}

#[test]
fn bytes_that_are_none_are_refused() {
    let event = SyncEvent::new().unwrap();
    let bytes = event.export().unwrap();
    for len in (0..64).chain([65, 128]) {
        let mut wrong = bytes.clone();
        wrong.resize(len, 0);
        assert_eq!(code(&wrong), DocaError::INVALID_VALUE, "{len} bytes");
    }
    for at in 0..64 {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let expected = match at {
            VERSION..ACCESS => DocaError::UNSUPPORTED_VERSION,
            _ => DocaError::INVALID_VALUE,
        };
        assert_eq!(code(&damaged), expected, "byte {at}");
    }
    assert_eq!(
        code(&Mmap::allocate(8, OWN | Access::PCI_READ_ONLY).unwrap().export().unwrap()),
        DocaError::INVALID_VALUE
    );
}

#[test]
fn forged_bytes_are_refused() {
    let event = SyncEvent::new().unwrap();
    let bytes = event.export().unwrap();
    for access in [0, 1, 128, u32::MAX] {
        let wrong = forged(&bytes, ACCESS, &access.to_le_bytes());
        assert_eq!(code(&wrong), DocaError::NOT_PERMITTED, "{access}");
    }
    for offset in [1, 4, 8, 16, 4096, 1 << 40, u64::MAX, u64::MAX - 7] {
        let wrong = forged(&bytes, OFFSET, &u64::to_le_bytes(offset));
        assert_eq!(code(&wrong), DocaError::INVALID_VALUE, "{offset}");
    }
    for process in [0, -1, i32::MIN, i32::MAX] {
        let wrong = forged(&bytes, PROCESS, &process.to_le_bytes());
        assert_eq!(code(&wrong), DocaError::NOT_FOUND, "{process}");
    }
    // Another file, standard error, and numbers that are not open.
    for fd in [2, 1_000_000, i32::MAX] {
        let wrong = forged(&bytes, FD, &fd.to_le_bytes());
        assert_eq!(code(&wrong), DocaError::NOT_FOUND, "{fd}");
    }
    let other = SyncEvent::new().unwrap().export().unwrap();
    let wrong = forged(&bytes, INODE, &other[INODE..INODE + 8]);
    assert_eq!(code(&wrong), DocaError::NOT_FOUND);
    assert_eq!(event.get(), 0);
}

/// Makes the bytes name a descriptor of this process.
fn naming(bytes: &[u8], fd: &impl AsFd) -> Vec<u8> {
    let status = fstat(fd).unwrap();
    let bytes = forged(bytes, FD, &fd.as_fd().as_raw_fd().to_le_bytes());
    forged(
        &forged(&bytes, DEVICE, &status.st_dev.to_le_bytes()),
        INODE,
        &status.st_ino.to_le_bytes(),
    )
}

#[test]
fn files_that_are_no_sealed_memory_are_not_mapped() {
    let bytes = SyncEvent::new().unwrap().export().unwrap();
    let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC;
    let memory = memfd_create("test", flags).unwrap();
    ftruncate(&memory, 4096).unwrap();
    // Its owner could shorten it.
    assert_eq!(code(&naming(&bytes, &memory)), DocaError::INVALID_VALUE);
    fcntl_add_seals(&memory, SealFlags::SHRINK).unwrap();
    SyncEvent::import(&naming(&bytes, &memory)).unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(4096).unwrap();
    let refused = code(&naming(&bytes, &file));
    assert!([DocaError::INVALID_VALUE, DocaError::OPERATING_SYSTEM].contains(&refused));
    // A pipe, which would wait for a writer on open, and a device.
    let (pipe, _writer) = std::io::pipe().unwrap();
    assert_eq!(code(&naming(&bytes, &pipe)), DocaError::NOT_FOUND);
    let device = std::fs::File::open("/dev/null").unwrap();
    assert_eq!(code(&naming(&bytes, &device)), DocaError::NOT_FOUND);
}

proptest! {
    #[test]
    fn bytes_of_any_kind_never_crash(bytes in prop::collection::vec(any::<u8>(), 0..130)) {
        prop_assert!(SyncEvent::import(&bytes).is_err());
    }

    /// The right format with any content: an import never finds another counter.
    #[test]
    fn numbers_of_any_kind_never_crash(
        process in prop_oneof![Just(std::process::id() as i32), any::<i32>()],
        fd in prop_oneof![0..64_i32, any::<i32>()],
        offset in prop_oneof![0..64_u64, any::<u64>()],
        access in 0..256_u32,
    ) {
        let event = SyncEvent::new().unwrap();
        let bytes = forged(&event.export().unwrap(), PROCESS, &process.to_le_bytes());
        let bytes = forged(&bytes, FD, &fd.to_le_bytes());
        let bytes = forged(&bytes, OFFSET, &offset.to_le_bytes());
        let bytes = forged(&bytes, ACCESS, &access.to_le_bytes());
        if let Ok(imported) = SyncEvent::import(&bytes) {
            event.set(0x5eed).unwrap();
            prop_assert_eq!(imported.get(), 0x5eed);
        }
    }
}
