//! The plugin under the test kit: several workers of one domain, which really talk over UCX, within
//! this process.

use sandbox_protocol::{MapParams, MemMap, Protocol, TagReceived, TagRecv, TagSend};
use ucx::{Features, Status};
use urom_pdk::test_util::{Domain, Lookup, Sent, Worker};
use urom_pdk::{CancelReason, Data, DocaError, Received, Registered};

use super::Sandbox;

const TAG: u64 = 7;

/// Members 0, 1, and so on.
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
    // The plugin works on.
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
    let given_up = receiver.send(receive(10));
    receiver.cancel(&given_up, CancelReason::TimedOut);
    let left = receiver.send_from(7, receive(10));
    receiver.leave(7);
    let waits = receiver.send(receive(10));
    sender.call(send(1, b"for the last")).unwrap();
    assert_eq!(receiver.wait(given_up).unwrap_err(), DocaError::SKIPPED);
    assert_eq!(receiver.wait(left).unwrap_err(), DocaError::SKIPPED);
    assert_eq!(receiver.wait(waits).unwrap().status, Status::MESSAGE_TRUNCATED.code());
}

#[test]
fn memory_of_a_host_that_left_makes_room_for_that_of_others() {
    let (_domain, [worker]) = workers();
    let map_params = MapParams::allocate(0, 1 << 30);
    let map = || MemMap { context: 0, map_params, exported_memh: &[] };
    assert!(worker.wait(worker.send_from(7, map())).is_ok());
    assert_eq!(worker.call(map()).unwrap_err(), DocaError::NO_MEMORY);
    worker.leave(7);
    assert!(worker.call(map()).is_ok());
}

#[test]
fn a_message_that_no_answer_can_carry_is_told_with_the_limit() {
    let (_domain, [sender, receiver]) = workers();
    receiver.set_message_limit(100);
    let received = receiver.send(receive(4000));
    sender.call(send(1, &[7; 21])).unwrap();
    receiver.progress();
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
fn whether_it_opens_windows_is_answered_and_nothing_is_mapped() {
    let (_domain, [worker]) = workers();
    let map_params = MapParams::asking_for_windows();
    // More often than there may be registrations.
    for context in 0..2000 {
        let answer = worker.call(MemMap { context, map_params, exported_memh: &[] }).unwrap();
        assert_eq!(answer.memh_id, MapParams::TAKES_WINDOWS);
    }
    // What it answered is no handle.
    let into =
        TagRecv { memh_id: MapParams::TAKES_WINDOWS, buffer: map_params.address, ..receive(0) };
    assert_eq!(worker.call(into).unwrap_err(), DocaError::INVALID_VALUE);
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

    // Another host's handle, and bytes beyond the end.
    assert_eq!(receiver.wait(receiver.send_from(2, into)).unwrap_err(), DocaError::INVALID_VALUE);
    let beyond = TagRecv { buffer: 0x1fc1, ..into };
    assert_eq!(receiver.call(beyond).unwrap_err(), DocaError::INVALID_VALUE);
}

/// A host that takes part: its UCX worker makes progress while it waits.
struct HostMemory {
    worker: ucx::Worker,
    memory: ucx::Memory,
}

impl HostMemory {
    fn new() -> HostMemory {
        let context = ucx::Context::new(Features::RMA).unwrap();
        let memory = ucx::Memory::allocate(&context, 4096).unwrap();
        HostMemory { worker: context.worker().unwrap(), memory }
    }

    fn wait<T>(&self, domain: &Domain, mut answer: impl FnMut() -> Option<T>) -> T {
        loop {
            if let Some(answer) = answer() {
                return answer;
            }
            domain.progress();
            self.worker.progress();
        }
    }

    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        self.memory.read(at, &mut bytes);
        bytes
    }
}

#[test]
fn memory_of_the_host_is_written_through_its_window() {
    let (domain, [sender, receiver]) = workers();
    let host = HostMemory::new();
    let window = host.memory.window(&host.worker).unwrap();
    let map =
        MemMap { context: 0, map_params: MapParams::exported(0x7000), exported_memh: &window };
    let memh_id = receiver.call(map).unwrap().memh_id;
    let received = receiver.send(TagRecv { buffer: 0x7100, memh_id, ..receive(100) });
    sender.call(send(1, b"to the host")).unwrap();
    let received = host.wait(&domain, || receiver.answer(&received));
    assert_eq!(received.unwrap().data, Received::Registered { len: 11 });
    assert_eq!(host.bytes(0x100), *b"to the host");
}

#[test]
fn bytes_of_the_host_s_memory_are_one_receive_s_until_its_answer() {
    let (domain, [sender, receiver]) = workers();
    let (host, other) = (HostMemory::new(), HostMemory::new());
    let window = host.memory.window(&host.worker).unwrap();
    let map =
        MemMap { context: 0, map_params: MapParams::exported(0x7000), exported_memh: &window };
    let again = MemMap { map_params: MapParams::exported(0x9000), ..map };
    // Host 0 calls the memory by two names. So may another host, whose word nobody checks, and it
    // has other memory too.
    let [memh_id, second] = [map, again].map(|map| receiver.call(map).unwrap().memh_id);
    let theirs = receiver.wait(receiver.send_from(2, map)).unwrap().memh_id;
    let apart = other.memory.window(&other.worker).unwrap();
    let apart = receiver.call(MemMap { exported_memh: &apart, ..map }).unwrap().memh_id;

    let into = TagRecv { buffer: 0x7100, memh_id, ..receive(100) };
    let pending = receiver.send(into);
    let at = Registered { memory: memh_id.try_into().unwrap(), address: 0x7163, len: 1 };
    let part = TagSend { context: 0, dest: 0, data: at.into(), tag: TAG };
    for clash in [
        TagRecv { buffer: 0x7163, tag: 8, ..into },
        TagRecv { buffer: 0x70ff, count: 2, tag: 8, ..into },
        TagRecv { buffer: 0x9100, memh_id: second, tag: 8, ..into },
    ] {
        let refused = receiver.call(clash).unwrap();
        assert_eq!(
            (refused.status, refused.data),
            (Status::BUSY.code(), Received::Registered { len: 0 })
        );
    }
    assert_eq!(receiver.call(part).unwrap().status, Status::BUSY.code());

    // Elsewhere there is room: beside it, in other memory, and for another host.
    let free = |received: Sent<TagReceived>| {
        sender.call(TagSend { tag: 8, ..send(1, b"free") }).unwrap();
        let received = host.wait(&domain, || {
            other.worker.progress();
            receiver.answer(&received)
        });
        assert_eq!(received.unwrap().data, Received::Registered { len: 4 });
    };
    free(receiver.send(TagRecv { buffer: 0x7164, tag: 8, ..into }));
    free(receiver.send(TagRecv { memh_id: apart, tag: 8, ..into }));
    free(receiver.send_from(2, TagRecv { memh_id: theirs, tag: 8, ..into }));
    assert!(receiver.answer(&pending).is_none());

    sender.call(send(1, b"came late")).unwrap();
    let received = host.wait(&domain, || receiver.answer(&pending));
    assert_eq!(received.unwrap().data, Received::Registered { len: 9 });
    assert_eq!(host.bytes(0x100), *b"came late");
    free(receiver.send(TagRecv { tag: 8, ..into }));

    // Two sends of the same bytes, which stay the sends' until both are answered.
    let sends = [receiver.send(part), receiver.send(part)];
    receiver.progress();
    assert_eq!(receiver.call(TagRecv { tag: 8, ..into }).unwrap().status, Status::BUSY.code());
    for sent in sends {
        let sent = host.wait(&domain, || receiver.answer(&sent));
        assert_eq!(sent.unwrap().status, 0);
        assert_eq!(sender.call(receive(1)).unwrap().status, 0);
    }
    free(receiver.send(TagRecv { tag: 8, ..into }));
}
