//! The commands, and the cleanup after a host.

use rdmo_protocol::{MrDereg, RqDestroy};

use super::*;

#[test]
fn a_client_gets_the_address_that_the_worker_itself_has() {
    let rig = Rig::new();
    assert_eq!(rig.host(0).plugin, rig.plugin.address());
}

#[test]
fn without_a_client_nothing_is_found() {
    let rig = Rig::new();
    let address = rig.worker().address().unwrap();
    let create = RqCreate { addr: address.raw_bytes() };
    assert_eq!(rig.plugin.call(create).unwrap_err(), DocaError::NOT_FOUND);
    let register = MrReg { va: 0, len: 8, packed_rkey: b"some key", packed_memh: &[] };
    assert_eq!(rig.plugin.call(register).unwrap_err(), DocaError::NOT_FOUND);
}

#[test]
fn addresses_and_keys_that_are_none_are_refused_and_cost_nothing() {
    let rig = Rig::new();
    for addr in [&b""[..], b"short"] {
        let init = ClientInit { id: 0, addr };
        assert_eq!(rig.plugin.call(init).unwrap_err(), DocaError::DRIVER);
    }
    let host = rig.host(0);
    let create = RqCreate { addr: b"" };
    let created = rig.call(0, create);
    assert_eq!(created.unwrap_err(), DocaError::DRIVER);
    for packed_rkey in [&b""[..], &[0; 8], &[0; 5000]] {
        let register = MrReg { va: 0, len: 8, packed_rkey, packed_memh: &[] };
        let registered = rig.call(0, register);
        assert_eq!(registered.unwrap_err(), DocaError::DRIVER);
    }
    let initiator = rig.initiator(&host);
    assert_eq!(initiator.rq_id, 0);
    rig.flush(&initiator);
}

#[test]
fn a_handle_without_a_device_for_it_is_not_used() {
    let rig = Rig::new();
    let host = rig.host(0);
    let packed_rkey = &host.memory.remote_key().unwrap();
    let (va, len) = (host.at(0), REGION as u64);
    let register = MrReg { va, len, packed_rkey, packed_memh: b"some exported handle" };
    let rkey = rig.call(0, register).unwrap().rkey;
    let initiator = rig.initiator(&host);
    initiator.scatter(&[Part { address: va, rkey, data: b"by the key" }]);
    rig.flush(&initiator);
    assert_eq!(host.bytes(0), *b"by the key");
}

#[test]
fn keys_have_generations_and_belong_to_one_client() {
    let rig = Rig::new();
    let (host, other) = (rig.host(1), rig.host(2));
    let initiator = rig.initiator(&host);
    assert!(rig.call(1, MrDereg { rkey: host.rkey }).is_ok());
    let again = rig.register(&host, &host.memory);
    assert_ne!(again, host.rkey);
    for (connection, rkey) in [(1, host.rkey), (1, 0), (1, u64::MAX), (1, again ^ 1 << 33)] {
        let gone = rig.call(connection, MrDereg { rkey });
        assert_eq!(gone.unwrap_err(), DocaError::NOT_FOUND, "{rkey:#x}");
    }
    let third = rig.register(&other, &other.memory);
    assert!(rig.call(1, MrDereg { rkey: third }).is_err());
    initiator.scatter(&[Part { address: host.at(0), rkey: host.rkey, data: b"stale" }]);
    rig.flush(&initiator);
    assert_eq!(host.bytes(0), [0; 5]);
}

#[test]
fn messages_before_the_end_of_their_queue_are_executed() {
    let (rig, host, initiator) = Rig::with_initiator();
    host.point_to(8);
    initiator.append(&host, b"first");
    rig.flush(&initiator);
    for _ in 0..100 {
        initiator.append(&host, b"last");
    }
    // Its arrival shows that the plugin has started.
    rig.until("an append", || (host.bytes(13) == *b"last").then_some(()));
    initiator.request(false, Operation::Flush { flush_id: 7 }, Vec::new());
    rig.answered(&initiator, 7);
    assert!(rig.call(0, RqDestroy { rq_id: 0 }).is_ok());
    assert_eq!(host.pointed(), 8 + 5 + 400);
    let next = rig.initiator(&host);
    assert_eq!(next.rq_id, 1);
    next.append(&host, b"next");
    rig.flush(&next);
    assert_eq!(host.pointed(), 8 + 5 + 400 + 4);
}

#[test]
fn two_queues_for_one_initiator_are_one_until_both_are_gone() {
    let (rig, _host, initiator) = Rig::with_initiator();
    let worker = initiator.endpoint.worker().address().unwrap();
    let create = RqCreate { addr: worker.raw_bytes() };
    assert_eq!(rig.call(0, create).unwrap().rq_id, 1);
    rig.flush(&initiator);
    assert!(rig.call(0, RqDestroy { rq_id: 0 }).is_ok());
    rig.flush(&initiator);
    assert!(rig.call(0, RqDestroy { rq_id: 1 }).is_ok());
}

#[test]
fn a_host_that_leaves_in_the_middle_costs_nobody_anything() {
    let rig = Rig::new();
    let (leaves, stays) = (rig.host(1), rig.host(2));
    let (lost, initiator) = (rig.initiator(&leaves), rig.initiator(&stays));
    leaves.point_to(8);
    stays.point_to(8);
    rig.stop(&leaves.worker);
    for _ in 0..10 {
        lost.append(&leaves, &[1; 1000]);
        initiator.append(&stays, b"stays");
        rig.turn();
    }
    let pending = rig.plugin.send_from(1, MrDereg { rkey: leaves.rkey });
    rig.plugin.leave(1);
    assert_eq!(rig.wait(pending).unwrap_err(), DocaError::SKIPPED);
    rig.flush(&initiator);
    assert_eq!(stays.pointed(), 8 + 50);
    lost.append(&leaves, b"to nobody");
    let next = rig.host_on(3, 1);
    let initiator = rig.initiator(&next);
    next.point_to(8);
    initiator.append(&next, b"next");
    rig.flush(&initiator);
    assert_eq!(next.pointed(), 12);
    rig.workers.borrow_mut().push(leaves.worker.clone());
}
