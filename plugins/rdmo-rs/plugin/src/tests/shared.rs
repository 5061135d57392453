//! Regions that the host shares with the worker. The host's UCX worker makes no progress.

use rdmo_protocol::MrDereg;

use super::*;

const PATHS: [MemoryPath; 3] = [MemoryPath::MAPPED, MemoryPath::PROCESS, MemoryPath::NETWORK];

const BOTH: Access = Access::LOCAL_READ_WRITE.union(Access::PCI_READ_WRITE);

#[test]
fn appends_scatters_and_flushes_need_no_progress_of_the_host() {
    for path in PATHS {
        let (rig, host, initiator) = Rig::sharing(path);
        host.point_to(8);
        for byte in 0..200 {
            initiator.append(&host, &[byte; 5]);
        }
        initiator.append(&host, &[0xee; 200_000]);
        initiator.scatter(&[Part { address: host.at(3000), rkey: host.rkey, data: b"scattered" }]);
        rig.flush(&initiator);
        assert_eq!((host.pointed(), host.bytes(3000)), (8 + 1000, *b"scattered"), "{path:?}");
        for byte in 0..200_u8 {
            assert_eq!(host.bytes(8 + 5 * usize::from(byte)), [byte; 5], "{path:?}");
        }
        assert_eq!(host.bytes(8 + 1000), [0; 5]);
    }
}

#[test]
fn a_mapped_pointer_is_the_hosts_own_and_advances_with_its_data() {
    let (rig, host, initiator) = Rig::sharing(MemoryPath::MAPPED);
    for offset in [100, 200, 77] {
        host.point_to(offset);
        initiator.append(&host, b"here");
        rig.until("an append", || (host.pointed() == offset + 4).then_some(()));
        assert_eq!(host.bytes(offset), *b"here");
    }
    initiator.append(&host, &[5; 300_000]);
    rig.flush(&initiator);
    assert_eq!(host.pointed(), 77 + 4);
}

#[test]
fn a_mapped_pointer_waits_for_data_that_goes_another_way() {
    let (rig, host, initiator) = Rig::sharing(MemoryPath::MAPPED);
    let data = rig.plugin.share_from(0, [0; 64], BOTH, MemoryPath::NETWORK);
    let data_rkey = rig.register_export(&host, &data).unwrap();
    let start = data.view().as_ptr().addr() as u64;
    host.write(0, &start.to_le_bytes());
    data.pause();
    let operation = Operation::Append { pointer: host.at(0), pointer_rkey: host.rkey, data_rkey };
    initiator.request(false, operation, b"slow".to_vec());
    rig.until("a write", || (data.in_flight() == 1).then_some(()));
    assert_eq!(host.bytes(0), start.to_le_bytes());
    data.resume();
    rig.flush(&initiator);
    assert_eq!(host.bytes(0), (start + 4).to_le_bytes());
    assert!(data.bytes().starts_with(b"slow\0"));
}

#[test]
fn data_that_does_not_arrive_takes_the_pointers_back() {
    for path in [MemoryPath::PROCESS, MemoryPath::NETWORK] {
        let (rig, host, initiator) = Rig::sharing(path);
        let data = rig.plugin.share_from(0, [0; 64], BOTH, path);
        let data_rkey = rig.register_export(&host, &data).unwrap();
        let start = data.view().as_ptr().addr() as u64;
        host.write(0, &start.to_le_bytes());
        let pointer_rkey = host.rkey;
        let operation = Operation::Append { pointer: host.at(0), pointer_rkey, data_rkey };
        data.fail_operation(DocaError::IO_FAILED);
        initiator.request(false, operation, b"lost".to_vec());
        // Its fence detects the failure.
        initiator.request(true, operation, b"lost too, or first".to_vec());
        rig.flush(&initiator);
        initiator.request(false, operation, b"last".to_vec());
        rig.flush(&initiator);
        let appended = usize::try_from(u64::from_le_bytes(host.bytes(0)) - start).unwrap();
        let bytes = data.bytes();
        assert!(!bytes[..appended].contains(&0), "{path:?}: there is a hole in {bytes:?}");
        assert!(bytes[..appended].ends_with(b"last"), "{path:?}: {bytes:?}");
    }
}

#[test]
fn a_mapped_pointer_has_an_address_for_atomic_operations() {
    let (rig, host, initiator) = Rig::sharing(MemoryPath::MAPPED);
    host.write(13, &host.at(1000).to_le_bytes());
    let (pointer_rkey, data_rkey) = (host.rkey, host.rkey);
    let operation = Operation::Append { pointer: host.at(13), pointer_rkey, data_rkey };
    initiator.request(false, operation, b"data".to_vec());
    rig.flush(&initiator);
    assert_eq!((host.bytes(13), host.bytes(1000)), (host.at(1000).to_le_bytes(), [0; 4]));
}

#[test]
fn bytes_outside_of_the_region_are_refused() {
    for path in PATHS {
        let (rig, host, initiator) = Rig::sharing(path);
        host.point_to(REGION - 3);
        initiator.append(&host, b"long");
        let part = |address| Part { address, rkey: host.rkey, data: b"data" };
        initiator.scatter(&[part(host.at(100)), part(host.at(REGION - 3))]);
        initiator.scatter(&[part(host.at(0) - 1)]);
        rig.flush(&initiator);
        assert_eq!((host.pointed(), host.bytes(REGION - 3)), (REGION - 3, [0; 3]));
        assert_eq!(host.bytes(100), [0; 4]);
    }
}

#[test]
fn memory_that_may_not_be_written_stays_as_it_is() {
    let (rig, host, initiator) = Rig::sharing(MemoryPath::PROCESS);
    for path in PATHS {
        let access = Access::LOCAL_READ_WRITE | Access::PCI_READ_ONLY;
        let data = rig.plugin.share_from(0, [7; 64], access, path);
        let rkey = rig.register_export(&host, &data).unwrap();
        let address = data.view().as_ptr().addr() as u64;
        let refused = Part { address, rkey, data: b"data" };
        initiator.scatter(&[refused]);
        // An invalid part drops the whole scatter.
        let allowed = Part { address: host.at(200), rkey: host.rkey, data: b"data" };
        initiator.scatter(&[allowed, refused]);
        rig.flush(&initiator);
        assert!(data.bytes() == [7; 64] && host.bytes(200) == [0; 4]);
    }
}

#[test]
fn exports_that_are_none_and_regions_beyond_them_are_refused() {
    let rig = Rig::new();
    let host = rig.sharing_host(MemoryPath::MAPPED);
    let shared = host.shared.as_ref().unwrap();
    let (start, len) = (host.at(0), REGION as u64);
    let register = |connection, va, len, packed_memh: &[u8]| {
        let register = MrReg { va, len, packed_rkey: &[], packed_memh };
        rig.call(connection, register).unwrap_err()
    };
    let export = shared.export();
    for (va, len) in [(start - 1, 8), (start + 1, len), (start + len, 1), (0, 8), (u64::MAX, 0)] {
        assert_eq!(register(0, va, len, &export), DocaError::INVALID_VALUE, "{va:#x} {len}");
    }
    let mut damaged = export;
    damaged[40] ^= 1;
    for bytes in [&damaged[..], &export[..63], &[0; 64]] {
        assert_eq!(register(0, start, len, bytes), DocaError::INVALID_VALUE);
    }
    let other = rig.host(1);
    assert_eq!(register(1, start, len, &export), DocaError::NOT_FOUND);
    rig.flush(&rig.initiator(&other));
}

#[test]
fn memory_is_closed_with_its_region_and_with_its_host() {
    for path in PATHS {
        let (rig, host, initiator) = Rig::sharing(path);
        let shared = host.shared.as_ref().unwrap();
        assert_eq!(shared.opened(), 1);
        host.point_to(8);
        initiator.append(&host, b"not flushed");
        rig.until("an append", || (host.bytes(8) == *b"not flushed").then_some(()));
        assert!(rig.call(0, MrDereg { rkey: host.rkey }).is_ok());
        assert_eq!((host.pointed(), shared.opened()), (8 + 11, 0), "{path:?}");

        let again = rig.register_export(&host, shared).unwrap();
        assert_eq!(shared.opened(), 1);
        shared.pause();
        let (pointer_rkey, data_rkey) = (again, again);
        let operation = Operation::Append { pointer: host.at(0), pointer_rkey, data_rkey };
        initiator.request(false, operation, b"under way".to_vec());
        for _ in 0..100 {
            rig.turn();
        }
        rig.plugin.leave(0);
        rig.turn();
        assert_eq!(shared.opened(), 0, "{path:?}");
    }
}
