//! The defects of DOCA's C plugin, one by one.

use rdmo_protocol::{MrDereg, RqDestroy};

use super::*;

#[test]
fn a_client_number_in_use_and_a_second_client_are_answered() {
    let rig = Rig::new();
    let host = rig.host(1);
    let address = rig.worker().address().unwrap();
    let init = |id| ClientInit { id, addr: address.raw_bytes() };
    assert_eq!(rig.call(2, init(1)).unwrap_err(), DocaError::IN_USE);
    assert_eq!(rig.call(1, init(2)).unwrap_err(), DocaError::ALREADY_EXIST);
    // The first client is unchanged, and the others may retry.
    rig.flush(&rig.initiator(&host));
    assert!(rig.call(2, init(2)).is_ok());
}

#[test]
fn ending_what_is_not_there_is_answered() {
    let rig = Rig::new();
    assert_eq!(rig.plugin.call(MrDereg { rkey: 1 }).unwrap_err(), DocaError::NOT_FOUND);
    assert_eq!(rig.plugin.call(RqDestroy { rq_id: 0 }).unwrap_err(), DocaError::NOT_FOUND);
    let host = rig.host(0);
    rig.initiator(&host);
    for (rq_id, found) in [(1, false), (0, true), (0, false), (u64::MAX, false)] {
        let gone = rig.call(0, RqDestroy { rq_id });
        assert_eq!(gone.is_ok(), found, "{rq_id}: {gone:?}");
    }
}

#[test]
fn an_unknown_command_is_answered_and_those_behind_it_too() {
    let rig = Rig::new();
    let unknown = rig.plugin.send_bytes(&[&5_u64.to_le_bytes()[..], &[0; 48]].concat());
    let behind = rig.plugin.queue(MrDereg { rkey: 1 });
    rig.plugin.flush();
    rig.turn();
    let status = rig.plugin.notification(&unknown).unwrap().status;
    assert_eq!(status, DocaError::INVALID_VALUE);
    assert_eq!(rig.wait(behind).unwrap_err(), DocaError::NOT_FOUND);
}

#[test]
fn deregistering_writes_the_pointers_first() {
    let (rig, host, initiator) = Rig::with_initiator();
    host.point_to(8);
    initiator.append(&host, b"not flushed");
    rig.until("an append", || (host.bytes(8) == *b"not flushed").then_some(()));
    assert!(rig.call(0, MrDereg { rkey: host.rkey }).is_ok());
    assert_eq!(host.pointed(), 8 + 11);
}

#[test]
fn deregistering_does_not_wait_for_ever() {
    if !over_tcp() {
        return; // In shared memory UCX needs no progress of the host.
    }
    let (rig, host, initiator) = Rig::with_initiator();
    host.point_to(8);
    let other = Memory::allocate(host.worker.context(), 64).unwrap();
    let other = rig.register(&host, &other);
    initiator.append(&host, b"not flushed");
    rig.until("an append", || (host.bytes(8) == *b"not flushed").then_some(()));
    rig.stop(&host.worker);
    // Writing the pointer fails; all data of the other region has arrived.
    for (rkey, lost) in [(host.rkey, true), (other, false)] {
        let gone = rig.plugin.send_from(0, MrDereg { rkey });
        rig.turn();
        assert_eq!(rig.plugin.in_flight(), 1);
        rig.plugin.advance(2 * crate::TIMEOUT);
        let gone = rig.wait(gone);
        assert_eq!(gone.err(), lost.then_some(DocaError::TIME_OUT));
    }
    rig.workers.borrow_mut().push(host.worker.clone());
}

#[test]
fn a_region_that_wraps_around_is_refused() {
    let rig = Rig::new();
    let host = rig.host(0);
    let packed_rkey = &host.memory.remote_key().unwrap();
    for (va, len) in [(u64::MAX, 1), (1, u64::MAX), (1 << 63, 1 << 63)] {
        let register = MrReg { va, len, packed_rkey, packed_memh: &[] };
        let registered = rig.call(0, register);
        assert_eq!(registered.unwrap_err(), DocaError::INVALID_VALUE, "{va:#x} {len:#x}");
    }
}

/// Sends wrong messages between two appends, and checks the number of dropped messages.
fn dropped(wrong: impl FnOnce(&Rig, &Host, &Initiator)) {
    let (rig, host, initiator) = Rig::with_initiator();
    host.point_to(8);
    initiator.append(&host, b"before");
    wrong(&rig, &host, &initiator);
    initiator.append(&host, b"after");
    // A flush with a fence waits for everything; its answer shows that no message hangs.
    rig.flush(&initiator);
    assert_eq!((host.bytes(8), host.pointed()), (*b"beforeafter\0", 8 + 11));
}

#[test]
fn headers_that_are_too_short_or_too_long_are_dropped() {
    dropped(|_, host, initiator| {
        let request = Request { client: 0, fence: false, operation: host.append() };
        let mut buffer = Request::BUFFER;
        let header = request.header(&mut buffer);
        for len in 0..header.len() {
            initiator.send(&header[..len], b"data".to_vec());
        }
        initiator.send(&[header, &[0; 25]].concat(), b"data".to_vec());
    });
}

#[test]
fn unknown_operations_and_clients_are_dropped() {
    dropped(|_, _, initiator| {
        for operation in [3_u8, 4, 255] {
            let mut header = [0; 40];
            header[8] = operation;
            initiator.send(&header, b"data".to_vec());
        }
        initiator.send(&[1; 24], Vec::new());
    });
}

#[test]
fn initiators_without_a_queue_or_a_way_back_are_dropped() {
    dropped(|rig, host, initiator| {
        let unknown_peer = rig.unknown_peer(host, rig.worker());
        unknown_peer.append(host, b"no queue");
        unknown_peer.endpoint.flush().detach();
        let request = Request { client: 0, fence: false, operation: host.append() };
        let header = request.header(&mut Request::BUFFER.clone()).to_vec();
        initiator.endpoint.am_send(AM_ID, &header, b"no way back".to_vec()).detach();
        let other = rig.host(1);
        let theirs = Initiator { client: 0, ..rig.initiator(&other) };
        theirs.append(host, b"theirs");
        for _ in 0..1000 {
            rig.turn();
        }
    });
}

#[test]
fn an_append_that_fails_leaves_no_hole() {
    dropped(|_, host, initiator| {
        let (rkey, key) = (host.rkey, host.at(0));
        let wrong = [
            (key, rkey, 77),
            (key, 77, rkey),
            (host.at(REGION - 7), rkey, rkey),
            (key - 1, rkey, rkey),
            (u64::MAX, rkey, rkey),
        ];
        for (pointer, pointer_rkey, data_rkey) in wrong {
            let operation = Operation::Append { pointer, pointer_rkey, data_rkey };
            initiator.request(false, operation, b"data".to_vec());
        }
        // Longer than the remaining memory, announced or not.
        initiator.append(host, &[1; REGION]);
        initiator.append(host, &[1; 200_000]);
    });
}

#[test]
fn pointers_out_of_their_region_or_near_the_end_of_memory_are_refused() {
    for pointer in [0, u64::MAX, u64::MAX - 3, 1 << 63] {
        let (rig, host, initiator) = Rig::with_initiator();
        host.memory.write(0, &pointer.to_le_bytes());
        initiator.append(&host, b"data");
        rig.flush(&initiator);
        assert_eq!((u64::from_le_bytes(host.bytes(0)), host.bytes(8)), (pointer, [0; 64]));
    }
}

#[test]
fn a_scatter_with_anything_wrong_writes_nothing() {
    dropped(|_, host, initiator| {
        let part = |address, rkey| Part { address, rkey, data: b"data" };
        let good = part(host.at(1000), host.rkey);
        for bad in [
            part(host.at(REGION - 3), host.rkey),
            part(host.at(0) - 1, host.rkey),
            part(u64::MAX - 1, host.rkey),
            part(host.at(0), 77),
        ] {
            initiator.scatter(&[good, bad]);
        }
        let mut data = Vec::new();
        good.write(&mut data).unwrap();
        for count in [2, u64::MAX, u64::MAX / 24 + 1] {
            initiator.request(false, Operation::Scatter { count }, data.clone());
        }
        data[16] = 5;
        initiator.request(false, Operation::Scatter { count: 1 }, data);
        initiator.request(false, Operation::Scatter { count: 1 }, vec![0; 200_000]);
        assert_eq!(host.bytes(1000), [0; 4]);
    });
}

#[test]
fn the_worker_ends_with_everything_under_way() {
    let (rig, host, initiator) = Rig::with_initiator();
    host.point_to(8);
    rig.stop(&host.worker);
    for len in [10, 100_000, 1_000_000] {
        initiator.append(&host, &vec![1; len]);
        rig.turn();
    }
    let _pending = rig.plugin.send_from(0, MrDereg { rkey: host.rkey });
    assert_eq!(rig.plugin.close(), 1);
    // The kit then checks for objects that the plugin leaked.
    rig.connections.take();
}
