//! The table, and what of memory is refused.

use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::ptr;

use urom_abi::host_memory::MemoryPath;
use urom_wire::memory::COPIES_END;

use super::super::MOST_OF_HOST;
use super::*;

const SHRINK: SealFlags = SealFlags::SHRINK;

#[test]
fn mapped_memory_is_used_by_its_host_s_commands_alone() {
    let mut desk = Desk::new();
    let by = desk.share(1, mapped(7, 4096, memfd(4096, SHRINK))).unwrap();
    assert!(by.path == MemoryPath::MAPPED.0 && by.ucx_address.is_empty());
    assert_eq!(desk.memories.open(2, 7, 0, 8).map(drop), Err(DocaError::NOT_FOUND));
    assert_eq!(desk.memories.open(1, 8, 0, 8).map(drop), Err(DocaError::NOT_FOUND));
    for (offset, len) in [(4096, 1), (0, 4097), (u64::MAX, 2), (1, u64::MAX)] {
        let opened = desk.memories.open(1, 7, offset, len).map(drop);
        assert_eq!(opened, Err(DocaError::INVALID_VALUE), "{offset} {len}");
    }
    let opened = desk.memories.open(1, 7, 1024, 2048).unwrap();
    assert!((opened.address, opened.len) == (0x10400, 2048) && !opened.mapping.is_null());
    let mut word = MemoryOperation { operand: 5, ..MemoryOperation::new(MemoryAction::SWAP, 8, 8) };
    desk.run(&opened, &mut word).unwrap();
    let mut word = MemoryOperation { action: MemoryAction::FETCH_ADD, ..word };
    desk.run(&opened, &mut word).unwrap();
    assert_eq!(word.result, 5);
    assert_eq!(desk.read(&opened, 8, 8).unwrap(), 10_u64.to_le_bytes());
    assert!(desk.ended().is_empty());
}

/// Those that find a number and change nothing.
const LOADS: [MemoryAction; 4] =
    [MemoryAction::LOAD, MemoryAction::WAIT_GT, MemoryAction::WAIT_EQ, MemoryAction::WAIT_NEQ];

#[test]
fn a_load_of_mapped_memory_and_a_wait_for_it_end_in_the_call() {
    let desk = Desk::new();
    let mut read_only = mapped(7, 4096, memfd(4096, SHRINK));
    read_only.offer.access = Access::PCI_READ_ONLY.bits();
    desk.share(1, read_only).unwrap();
    let opened = desk.memories.open(1, 7, 0, 4096).unwrap();
    for action in LOADS {
        // None of the conditions is met.
        let compare = if action == MemoryAction::WAIT_NEQ { 0 } else { 9 };
        let mut load = MemoryOperation {
            operand: u64::MAX,
            compare,
            result: 77,
            ..MemoryOperation::new(action, 8, 8)
        };
        desk.run(&opened, &mut load).unwrap();
        assert_eq!(load.result, 0, "{action:?}");
    }
}

#[test]
fn operations_that_cannot_be_are_refused() {
    let desk = Desk::new();
    desk.share(1, mapped(7, 4096, memfd(4096, SHRINK))).unwrap();
    let mut read_only = mapped(8, 4096, memfd(4096, SHRINK));
    read_only.offer.access = Access::PCI_READ_ONLY.bits();
    desk.share(1, read_only).unwrap();
    let opened = desk.memories.open(1, 7, 4, 4000).unwrap();
    let read_only = desk.memories.open(1, 8, 0, 4096).unwrap();
    let mut bytes = [0_u8; 4096];
    let mut run = |opened, action, offset, len, has_place: bool| {
        let local = if has_place { bytes.as_mut_ptr() } else { ptr::null_mut() };
        let mut operation = MemoryOperation { local, ..MemoryOperation::new(action, offset, len) };
        desk.run(opened, &mut operation)
    };
    use MemoryAction as A;
    for (action, offset, len, has_place) in [
        (A::READ, 0, 4001, true),
        (A::READ, 4000, 1, true),
        (A::WRITE, u64::MAX, 1, true),
        (A::WRITE, 1, u64::MAX, true),
        (A::READ, 0, 1, false),
        (A::WRITE, 0, 1, false),
        (A::TAG_SEND, 0, 1, false),
        (A::FETCH_ADD, 0, 8, true),
        (A::SWAP, 4, 4, true),
        (A::SWAP, 4, 16, true),
        (A::COMPARE_SWAP, 3996, 8, true),
    ] {
        let refused = run(&opened, action, offset, len, has_place);
        assert_eq!(refused, Err(DocaError::INVALID_VALUE), "{action:?} {offset} {len}");
    }
    for action in LOADS {
        for (offset, len) in [(0, 8), (4, 4), (4, 16), (3996, 8), (u64::MAX, 8)] {
            let refused = run(&opened, action, offset, len, false);
            assert_eq!(refused, Err(DocaError::INVALID_VALUE), "{action:?} {offset} {len}");
        }
        assert_eq!(run(&read_only, action, 0, 8, false), Ok(()), "it only reads");
    }
    for action in [A(10), A(u32::MAX)] {
        assert_eq!(run(&opened, action, 0, 8, true), Err(DocaError::NOT_SUPPORTED));
    }
    for action in [A::WRITE, A::FETCH_ADD, A::SWAP, A::COMPARE_SWAP] {
        assert_eq!(run(&read_only, action, 0, 8, true), Err(DocaError::NOT_PERMITTED));
    }
    assert_eq!(run(&read_only, A::READ, 0, 8, true), Ok(()));
    assert_eq!(run(&opened, A::READ, 4000, 0, false), Ok(()));
    assert_eq!(run(&opened, A::FETCH_ADD, 4, 8, false), Ok(()));
}

/// What the host says of its own addresses is not true of the mapping's.
#[test]
fn an_atomic_operation_is_refused_where_the_mapping_is_not_aligned() {
    let desk = Desk::new();
    let mut shared = mapped(7, 4096, memfd(4096, SHRINK));
    shared.offer.address += 4;
    desk.share(1, shared).unwrap();
    let opened = desk.memories.open(1, 7, 0, 4096).unwrap();
    let changes = [MemoryAction::FETCH_ADD, MemoryAction::SWAP, MemoryAction::COMPARE_SWAP];
    for action in changes.into_iter().chain(LOADS) {
        let refused = desk.run(&opened, &mut MemoryOperation::new(action, 4, 8));
        assert_eq!(refused, Err(DocaError::INVALID_VALUE));
    }
}

#[test]
fn handles_that_were_closed_are_of_no_use() {
    let mut desk = Desk::new();
    desk.share(1, mapped(7, 4096, memfd(4096, SHRINK))).unwrap();
    let first = desk.memories.open(1, 7, 0, 4096).unwrap();
    desk.memories.keep(first.handle);
    desk.memories.close_one(first.handle);
    assert!(desk.read(&first, 0, 8).is_ok(), "it was kept");
    desk.memories.close_one(first.handle);
    let second = desk.memories.open(1, 7, 0, 4096).unwrap();
    assert_ne!(first.handle, second.handle, "handles have generations");
    for stale in [first.handle, ptr::null_mut(), ptr::without_provenance_mut(usize::MAX)] {
        assert_eq!(
            desk.read(&HostMemory { handle: stale, ..first }, 0, 8),
            Err(DocaError::NOT_FOUND)
        );
        desk.memories.keep(stale);
        desk.memories.close_one(stale);
    }
    assert!(desk.read(&second, 0, 8).is_ok());
    assert!(desk.memories.unshare(1, 7, 107) && desk.ended().is_empty(), "a command uses it");
    desk.memories.close_one(second.handle);
    assert_eq!(desk.ended(), [107]);
}

#[test]
fn a_share_ends_once_and_not_by_the_number_of_another() {
    let mut desk = Desk::new();
    desk.share(1, mapped(7, 4096, memfd(4096, SHRINK))).unwrap();
    let twice = desk.share(1, mapped(7, 4096, memfd(4096, SHRINK))).unwrap_err();
    assert!(twice.code() == DocaError::ALREADY_EXIST && twice.text.contains("0x7"), "{twice}");
    // Another host's numbers are its own.
    desk.share(2, mapped(7, 4096, memfd(4096, SHRINK))).unwrap();
    for (dest_id, memory, share) in [(1, 7, 106), (1, 8, 107), (3, 7, 107)] {
        assert!(!desk.memories.unshare(dest_id, memory, share));
    }
    assert!(desk.ended().is_empty());
    assert!(desk.memories.unshare(1, 7, 107) && !desk.memories.unshare(1, 7, 107));
    assert_eq!(desk.ended(), [107]);
    assert!(desk.memories.open(2, 7, 0, 8).is_ok());
}

#[test]
fn descriptors_that_could_fail_this_process_are_refused() {
    let desk = Desk::new();
    let file: OwnedFd = tempfile::tempfile().unwrap().into();
    ftruncate(&file, 8192).unwrap();
    let offset = |offset, fd| {
        let shared = mapped(7, 4096, fd);
        let place = MemoryPlace::Handed { offset };
        Shared { offer: MemoryOffer { place, ..shared.offer }, ..shared }
    };
    let mut cases = vec![
        (mapped(7, 8192, file), "not that of a memfd"),
        (mapped(7, 1, std::fs::File::open("/dev/zero").unwrap().into()), "not that of a memfd"),
        (mapped(7, 4096, memfd(4096, SealFlags::GROW)), "not sealed against shrinking"),
        (mapped(7, 4096, memfd(4096, SealFlags::empty())), "F_SEAL_SHRINK"),
        (mapped(7, 4097, memfd(4096, SHRINK)), "not as many bytes"),
        (mapped(7, 1, memfd(0, SHRINK)), "not as many bytes"),
        (offset(4096, memfd(8191, SHRINK)), "not as many bytes"),
        (offset(u64::MAX - 4095, memfd(8192, SHRINK)), "not as many bytes"),
        (offset(8, memfd(8192, SHRINK)), "at a page"),
        (mapped(7, 4096, memfd(4096, SHRINK | SealFlags::WRITE)), "not permitted"),
    ];
    let huge = MemfdFlags::HUGETLB | MemfdFlags::ALLOW_SEALING;
    // Kernels may have none.
    if let Ok(fd) = memfd_create("huge", huge) {
        fcntl_add_seals(&fd, SHRINK).unwrap();
        cases.push((mapped(7, 4096, fd), "huge pages"));
    }
    for (shared, why) in cases {
        let refused = desk.share(1, shared).unwrap_err();
        assert!(refused.text.contains(why) && refused.text.contains("0x7"), "{refused}");
        assert_eq!(refused.code(), DocaError::OPERATING_SYSTEM);
    }
    assert!(desk.share(1, offset(4096, memfd(8192, SHRINK))).is_ok());
}

#[test]
fn offers_that_make_no_sense_are_refused() {
    let mut desk = Desk::new();
    let whole = || mapped(7, 4096, memfd(4096, SHRINK));
    let with = |change: fn(&mut MemoryOffer)| {
        let mut shared = whole();
        change(&mut shared.offer);
        shared
    };
    let nothing = Shared { handed: None, ..whole() };
    let no_fd = Shared { handed: handed(None), ..whole() };
    for (shared, code) in [
        (with(|offer| offer.len = 0), DocaError::INVALID_VALUE),
        (with(|offer| offer.len = u64::MAX), DocaError::INVALID_VALUE),
        (with(|offer| offer.len = 1 << 63), DocaError::INVALID_VALUE),
        (with(|offer| offer.address = u64::MAX), DocaError::INVALID_VALUE),
        (with(|offer| offer.access = 0), DocaError::NOT_PERMITTED),
        (with(|offer| offer.access = Access::LOCAL_READ_WRITE.bits()), DocaError::NOT_PERMITTED),
        (nothing, DocaError::NOT_FOUND),
        (no_fd, DocaError::NOT_FOUND),
        (with(|offer| offer.place = MemoryPlace::Network), DocaError::NOT_CONNECTED),
        // Nothing is at its address here.
        (with(|offer| offer.place = MemoryPlace::Process), DocaError::IO_FAILED),
        (
            Shared { handed: None, ..with(|offer| offer.place = MemoryPlace::Process) },
            DocaError::NOT_CONNECTED,
        ),
    ] {
        let (text, handed) = (format!("{:?}", shared.offer), shared.handed.is_some());
        let refused = desk.share(1, shared).unwrap_err();
        assert_eq!(refused.code(), code, "{text} {handed}: {refused}");
        assert!(refused.text.contains("memory 0x7 cannot be shared: "), "{refused}");
    }
    let garbage = with(|offer| {
        offer.place = MemoryPlace::Network;
        offer.ucx_address = vec![7; 100];
    });
    assert_eq!(desk.share(1, garbage).unwrap_err().code(), DocaError::DRIVER);
    assert!(desk.ended().is_empty() && desk.share(1, whole()).is_ok(), "nothing was kept of them");
}

#[test]
fn a_host_shares_so_many_memories_at_a_time_and_no_more() {
    let mut desk = Desk::new();
    let bytes = [7; 16];
    let most = MOST_OF_HOST as u64;
    for memory in 0..most {
        let by = desk.share(1, of_process(memory, &bytes)).unwrap();
        assert_eq!(by.path, MemoryPath::PROCESS.0);
    }
    let refused = desk.share(1, of_process(most, &bytes)).unwrap_err();
    assert!(refused.code() == DocaError::FULL && refused.text.contains("4096"), "{refused}");
    assert!(desk.share(2, of_process(most, &bytes)).is_ok(), "another host's are its own");
    assert!(desk.memories.unshare(1, 9, 109));
    assert!(desk.share(1, of_process(most, &bytes)).is_ok());
    assert!(desk.share(1, of_process(9, &bytes)).is_err());
    desk.memories.close(1);
    assert_eq!(desk.ended().len(), MOST_OF_HOST + 1);
    assert!(desk.share(1, of_process(9, &bytes)).is_ok());
}

#[test]
fn of_a_host_that_left_only_what_is_mapped_can_be_used() {
    let mut desk = Desk::new();
    let bytes = *b"in this process.";
    desk.share(1, of_process(5, &bytes)).unwrap();
    desk.share(1, mapped(7, 4096, memfd(4096, SHRINK))).unwrap();
    desk.share(2, of_process(5, &bytes)).unwrap();
    let opened = |dest_id, memory| desk.memories.open(dest_id, memory, 0, 16).unwrap();
    let (copied, mapped, others) = (opened(1, 5), opened(1, 7), opened(2, 5));
    assert_eq!(desk.read(&copied, 3, 4).unwrap(), b"this");
    // One whose share has ended is used by this command still.
    assert!(desk.memories.unshare(1, 5, 105));
    assert_eq!(desk.read(&copied, 3, 4).unwrap(), b"this");
    desk.memories.close(1);
    assert_eq!(desk.read(&copied, 3, 4), Err(DocaError::CONNECTION_RESET));
    assert_eq!(desk.read(&mapped, 3, 4).unwrap(), [0; 4]);
    assert_eq!(desk.read(&others, 3, 4).unwrap(), b"this");
    assert_eq!(desk.memories.open(1, 7, 0, 8).map(drop), Err(DocaError::NOT_FOUND));
    assert!(desk.ended().is_empty());
    desk.memories.close_one(copied.handle);
    desk.memories.close_one(mapped.handle);
    assert_eq!(desk.ended(), [105, 107]);
    desk.memories.close(9);
}

#[test]
fn a_host_learns_when_nothing_is_copied_and_when_nothing_is_mapped_any_more() {
    let desk = Desk::new();
    let bytes = *b"in this process.";
    let (mut host, lease) = UnixStream::pair().unwrap();
    host.set_nonblocking(true).unwrap();
    let mut says = |most: usize| {
        let mut said = vec![0; most];
        host.read(&mut said).map(|len| said[..len].to_vec()).map_err(|error| error.kind())
    };
    desk.memories.lease(1, lease.into());
    desk.share(1, of_process(5, &bytes)).unwrap();
    desk.share(1, mapped(7, 4096, memfd(4096, SHRINK))).unwrap();
    let opened = |memory| desk.memories.open(1, memory, 0, 16).unwrap();
    let (copied, mapped) = (opened(5), opened(7));
    assert_eq!(says(1), Err(ErrorKind::WouldBlock));
    desk.memories.close(1);
    assert_eq!(says(2), Ok(vec![COPIES_END]));
    assert_eq!(says(1), Err(ErrorKind::WouldBlock));
    desk.memories.close_one(mapped.handle);
    assert_eq!(says(1), Ok(Vec::new()), "it is closed");
    desk.memories.close_one(copied.handle);
}

#[test]
fn a_mapping_is_there_as_long_as_its_region() {
    let name = "memfd:of-one-test-alone";
    let maps = || std::fs::read_to_string("/proc/self/maps").unwrap().matches(name).count();
    let mut desk = Desk::new();
    let fd = memfd_create("of-one-test-alone", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&fd, 4096).unwrap();
    fcntl_add_seals(&fd, SHRINK).unwrap();
    for memory in 0..100 {
        desk.share(1, mapped(memory, 100, fd.try_clone().unwrap())).unwrap();
    }
    let opened = desk.memories.open(1, 50, 0, 8).unwrap();
    assert_eq!(maps(), 100);
    for memory in 0..60 {
        assert!(desk.memories.unshare(1, memory, memory + 100));
    }
    assert_eq!(maps(), 41);
    desk.memories.close(1);
    assert_eq!(maps(), 1);
    desk.memories.close_one(opened.handle);
    assert_eq!((maps(), desk.ended().len()), (0, 100));
}
