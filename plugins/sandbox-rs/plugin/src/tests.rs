//! The plugin under the test kit: workers of one domain, connected by UCX within this process.

use sandbox_protocol::{MapParams, MemMap, Protocol, TagReceived, TagRecv, TagSend};
use ucx::Status;
use ucx::test_queues::{Queues, ran_alone};
use urom_pdk::memory::{Access, MemoryPath};
use urom_pdk::test_util::{Domain, Lookup, Recording, Sent, Worker};
use urom_pdk::{CancelReason, Data, DocaError, Received, Registered};

use super::Sandbox;

const TAG: u64 = 7;

fn workers<const N: usize>() -> (Domain, [Worker<Protocol>; N]) {
    let domain = Domain::new();
    let workers = std::array::from_fn(|id| domain.open::<Sandbox, Protocol>(id as u64));
    (domain, workers)
}

fn send(dest: u64, data: &[u8]) -> TagSend<'_> {
    TagSend { context: 1, dest, data: Data::Inline(data), tag: TAG }
}

fn receive(count: u64) -> TagRecv {
    TagRecv { context: 2, buffer: 0, count, tag: TAG, tag_mask: u64::MAX, memh_id: 0 }
}

fn bytes(received: &TagReceived) -> &[u8] {
    assert_eq!(received.status, 0);
    match &received.data {
        Received::Inline(bytes) => bytes,
        Received::Registered { .. } => panic!("nothing was registered"),
    }
}

#[test]
fn a_message_goes_from_one_worker_to_another() {
    let (_domain, [sender, receiver]) = workers();
    for length in [0, 1, 12, 1000, 4000] {
        let data: Vec<u8> = (0..length).map(|i| i as u8).collect();
        // One receive waits for its message, the other finds it.
        let early = receiver.send(receive(4000));
        assert_eq!(sender.call(send(1, &data)).unwrap().status, 0);
        assert_eq!(sender.call(send(1, &data)).unwrap().status, 0);
        for received in [receiver.wait(early).unwrap(), receiver.call(receive(4000)).unwrap()] {
            assert_eq!((bytes(&received), received.sender_tag), (&data[..], TAG));
        }
    }
}

#[test]
fn a_worker_sends_to_itself() {
    let (_domain, [worker]) = workers();
    let received = worker.send(receive(10));
    assert_eq!(worker.call(send(0, b"myself")).unwrap().status, 0);
    assert_eq!(bytes(&worker.wait(received).unwrap()), b"myself");
}

#[test]
fn a_receive_waits_and_costs_nothing_until_its_message_comes() {
    let (domain, [sender, receiver]) = workers();
    let received = receiver.send(receive(10));
    for _ in 0..100 {
        assert_eq!(domain.progress(), 0);
    }
    assert_eq!(receiver.in_flight(), 1);
    sender.call(send(1, b"late")).unwrap();
    assert_eq!(bytes(&receiver.wait(received).unwrap()), b"late");
}

#[test]
fn a_message_that_is_too_long_ends_its_receive_without_bytes() {
    let (_domain, [sender, receiver]) = workers();
    let received = receiver.send(receive(3));
    sender.call(send(1, b"four")).unwrap();
    let received = receiver.wait(received).unwrap();
    assert_eq!(received.status, Status::MESSAGE_TRUNCATED.code());
    assert_eq!(received.data, Received::Inline(urom_pdk::Payload::default()));
}

#[test]
fn destinations_that_are_nobody_or_cannot_be_found_are_errors() {
    let (domain, [sender, receiver]) = workers();
    assert_eq!(sender.call(send(2, b"?")).unwrap_err(), DocaError::NOT_FOUND);
    sender.fail_lookup(Lookup::Address, DocaError::IO_FAILED);
    assert_eq!(sender.call(send(1, b"?")).unwrap_err(), DocaError::IO_FAILED);
    domain.set_address("worker_sandbox", 3, b"made by another kit");
    assert_eq!(sender.call(send(3, b"?")).unwrap_err(), DocaError::INVALID_VALUE);
    let received = receiver.send(receive(10));
    assert_eq!(sender.call(send(1, b"there")).unwrap().status, 0);
    assert_eq!(bytes(&receiver.wait(received).unwrap()), b"there");
}

#[test]
fn receives_that_wait_when_the_worker_ends_leave_nothing_behind() {
    let (_domain, [worker]) = workers();
    let waiting: Vec<Sent<_>> = (0..10).map(|i| worker.send(receive(i * 100))).collect();
    worker.progress();
    assert_eq!(worker.close(), waiting.len());
    let report = worker.finish();
    assert!(report.is_clean(), "{report}");
}

#[test]
fn a_receive_that_nobody_waits_for_takes_no_message() {
    let (_domain, [sender, receiver]) = workers();
    let cancelled = receiver.send(receive(10));
    receiver.cancel(&cancelled, CancelReason::TimedOut);
    let left = receiver.send_from(7, receive(10));
    receiver.leave(7);
    let waits = receiver.send(receive(10));
    sender.call(send(1, b"for the last")).unwrap();
    assert_eq!(receiver.wait(cancelled).unwrap_err(), DocaError::SKIPPED);
    assert_eq!(receiver.wait(left).unwrap_err(), DocaError::SKIPPED);
    assert_eq!(receiver.wait(waits).unwrap().status, Status::MESSAGE_TRUNCATED.code());
}

#[test]
fn a_peer_that_dies_while_it_sends_fails_what_waits_and_what_comes() {
    if ran_alone("tests::a_peer_that_dies_while_it_sends_fails_what_waits_and_what_comes") {
        return;
    }
    let (domain, [sender, receiver]) = workers();
    sender.call(send(1, b"hello")).unwrap();
    receiver.call(receive(10)).unwrap();
    let queues = Queues::now();
    for _ in 0..2 {
        sender.call(send(1, b"hello")).unwrap();
        receiver.call(receive(10)).unwrap();
    }
    queues.block(2);
    let waits = receiver.send(receive(10));
    receiver.progress();
    sender.close();
    while receiver.failure(&waits).is_none() {
        domain.progress();
    }
    let why = receiver.failure(&waits).unwrap();
    assert!(why.contains("start the worker again") && why.contains("was killed"), "{why}");
    let reset = DocaError::CONNECTION_RESET;
    assert_eq!(receiver.wait(waits).unwrap_err(), reset);
    assert_eq!(receiver.call(receive(10)).unwrap_err(), reset);
    assert_eq!(receiver.call(send(0, b"myself")).unwrap_err(), reset);
}

#[test]
fn memory_of_a_host_that_left_becomes_available_to_others() {
    let (_domain, [worker]) = workers();
    let map_params = MapParams::allocate(0, 1 << 30);
    let map = || MemMap { context: 0, map_params, exported_memh: &[] };
    assert!(worker.wait(worker.send_from(7, map())).is_ok());
    assert_eq!(worker.call(map()).unwrap_err(), DocaError::NO_MEMORY);
    worker.leave(7);
    assert!(worker.call(map()).is_ok());
}

#[test]
fn a_message_too_long_for_an_answer_is_refused_with_the_limit() {
    let (_domain, [sender, receiver]) = workers();
    receiver.set_message_limit(100);
    let received = receiver.send(receive(4000));
    sender.call(send(1, &[7; 21])).unwrap();
    while receiver.failure(&received).is_none() {
        receiver.progress();
    }
    assert_eq!(
        receiver.failure(&received).as_deref(),
        Some("a message exceeds the 20 bytes that an answer may have")
    );
    assert_eq!(receiver.wait(received).unwrap_err(), DocaError::TOO_BIG);
    let received = receiver.send(receive(4000));
    sender.call(send(1, &[7; 20])).unwrap();
    assert_eq!(bytes(&receiver.wait(received).unwrap()), [7; 20]);
}

#[test]
fn receives_without_memory_for_them_are_refused() {
    let (_domain, [worker]) = workers();
    assert_eq!(worker.call(receive(u64::MAX)).unwrap_err(), DocaError::TOO_BIG);
    assert_eq!(worker.call(receive(1 << 24)).unwrap_err(), DocaError::TOO_BIG);
    worker.fill_c_heap(1);
    assert_eq!(worker.call(receive(1 << 20)).unwrap_err(), DocaError::NO_MEMORY);
}

#[test]
fn memory_of_the_worker_is_received_into_and_sent_from_by_its_owner_alone() {
    let (_domain, [sender, receiver]) = workers();
    let map =
        MemMap { context: 0, map_params: MapParams::allocate(0x1000, 4096), exported_memh: &[] };
    let memh_id = receiver.call(map).unwrap().memh_id;
    let into = TagRecv { buffer: 0x1800, memh_id, ..receive(64) };
    let received = receiver.send(into);
    sender.call(send(1, b"for later")).unwrap();
    assert_eq!(receiver.wait(received).unwrap().data, Received::Registered { len: 9 });

    let at = Registered { memory: memh_id.try_into().unwrap(), address: 0x1800, len: 9 };
    let back = TagSend { context: 0, dest: 0, data: at.into(), tag: TAG };
    let received = sender.send(receive(100));
    assert_eq!(receiver.call(back).unwrap().status, 0);
    assert_eq!(bytes(&sender.wait(received).unwrap()), b"for later");

    assert_eq!(receiver.wait(receiver.send_from(2, into)).unwrap_err(), DocaError::INVALID_VALUE);
    let beyond = TagRecv { buffer: 0x1fc1, ..into };
    assert_eq!(receiver.call(beyond).unwrap_err(), DocaError::INVALID_VALUE);
}

/// The kernel copies inside the call, and a worker runs one command at a time.
#[test]
fn long_memory_of_a_host_is_copied_with_pauses() {
    let (_domain, [worker]) = workers();
    let memory = worker.share(vec![1; 3 << 20], Access::PCI_READ_WRITE, MemoryPath::PROCESS);
    let (map_params, exported) = (MapParams::exported(0x1000), memory.export());
    let map = MemMap { context: 0, map_params, exported_memh: &exported };
    let memh_id = worker.call(map).unwrap().memh_id;
    let data = Registered { memory: memh_id.try_into().unwrap(), address: 0x1000, len: 3 << 20 };
    let long = worker.send(TagSend { data: Data::Registered(data), ..send(0, b"") });
    worker.flush();
    // The command has started, and is not done copying.
    memory.fail_operation(DocaError::IO_FAILED);
    assert_eq!(worker.wait(long).unwrap().status, Status::IO_ERROR.code());
}

#[test]
fn bytes_that_describe_no_memory_are_not_given_to_ucx() {
    let (_domain, [worker]) = workers();
    let map_params = MapParams::exported(0x7000);
    let map = |memh: &[u8]| worker.call(MemMap { context: 0, map_params, exported_memh: memh });
    for bytes in [&[7][..], &[0; 64], &[0xff; 300]] {
        assert_eq!(map(bytes).unwrap_err(), DocaError::DRIVER, "{} bytes", bytes.len());
    }
    // Truncated or damaged exports of this kit.
    for rest in [0, 56] {
        let bytes = [&b"UROMmmap"[..], &vec![1; rest]].concat();
        let refused = map(&bytes).unwrap_err();
        assert!(matches!(refused, DocaError::INVALID_VALUE | DocaError::UNSUPPORTED_VERSION));
    }
    assert_eq!(map(&[]).unwrap_err(), DocaError::INVALID_VALUE);
}

/// Made by `cargo urom run --record` and `cargo urom call`: memory of the plugin, and a send in a
/// worker without a domain.
#[test]
fn a_recorded_failure_of_a_host_is_repeated() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/recordings/no-domain.urec");
    let replay = Recording::open(file).unwrap().replay::<Sandbox>();
    assert_eq!((replay.commands, replay.compared), (2, 2));
}
