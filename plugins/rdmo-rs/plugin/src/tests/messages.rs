//! Appends, scatters, flushes, fences and pausing, as the protocol specifies.

use rdmo_protocol::{MrDereg, RqDestroy};

use super::*;

#[test]
fn appends_are_where_the_pointer_was_and_the_pointer_is_seen_after_a_flush() {
    let (rig, host, initiator) = Rig::with_initiator();
    host.point_to(8);
    initiator.append(&host, &[0x33; 8]);
    rig.until("an append", || (host.bytes(8) == [0x33; 8]).then_some(()));
    assert_eq!(host.pointed(), 8);
    initiator.append(&host, b"odd");
    initiator.append(&host, &[]);
    initiator.append(&host, b"behind");
    rig.flush(&initiator);
    assert_eq!(host.bytes(8), *b"\x33\x33\x33\x33\x33\x33\x33\x33oddbehind\0");
    assert_eq!(host.pointed(), 8 + 8 + 3 + 6);
}

#[test]
fn after_a_flush_the_pointer_is_read_again() {
    let (rig, host, initiator) = Rig::with_initiator();
    for offset in [100, 200, 77] {
        host.point_to(offset);
        initiator.append(&host, b"here");
        rig.flush(&initiator);
        assert_eq!((host.bytes(offset), host.pointed()), (*b"here", offset + 4));
    }
}

#[test]
fn a_flush_without_anything_to_flush_is_answered_with_its_own_id() {
    let (rig, _host, initiator) = Rig::with_initiator();
    for flush_id in [0, u64::MAX, 0x0102_0304_0506_0708] {
        initiator.request(false, Operation::Flush { flush_id }, Vec::new());
        rig.answered(&initiator, flush_id);
    }
}

#[test]
fn appends_of_all_sizes_arrive_whether_announced_or_not() {
    let (rig, host, initiator) = Rig::with_initiator();
    let memory = Memory::allocate(host.worker.context(), 4 << 20).unwrap();
    let data_rkey = rig.register(&host, &memory);
    let start = memory.address();
    host.memory.write(0, &start.to_le_bytes());
    let operation = Operation::Append { pointer: host.at(0), pointer_rkey: host.rkey, data_rkey };
    let sizes = [1, 64, 4096, 5000, 60_000, 100_000, 1 << 20, 7, 300_000];
    for (byte, size) in (1..).zip(sizes) {
        initiator.request(false, operation, vec![byte; size]);
    }
    rig.flush(&initiator);
    let mut at = 0;
    for (byte, size) in (1..).zip(sizes) {
        let mut bytes = vec![0; size];
        memory.read(at, &mut bytes);
        assert!(bytes.iter().all(|found| *found == byte), "{size} bytes at {at}");
        at += size;
    }
    assert_eq!(u64::from_le_bytes(host.bytes(0)), start + at as u64);
}

#[test]
fn pointers_may_lie_in_other_memory_than_the_data_and_anywhere_in_it() {
    let (rig, host, initiator) = Rig::with_initiator();
    let pointers = Memory::allocate(host.worker.context(), 64).unwrap();
    let pointer_rkey = rig.register(&host, &pointers);
    for (pointer, offset) in [(0, 1000), (13, 2000), (56, 3000)] {
        pointers.write(pointer, &host.at(offset).to_le_bytes());
        let pointer = pointers.address() + pointer as u64;
        let operation = Operation::Append { pointer, pointer_rkey, data_rkey: host.rkey };
        initiator.request(false, operation, b"data".to_vec());
    }
    rig.flush(&initiator);
    for (pointer, offset) in [(0, 1000), (13, 2000), (56, 3000)] {
        let mut word = [0; 8];
        pointers.read(pointer, &mut word);
        assert_eq!(u64::from_le_bytes(word), host.at(offset + 4));
        assert_eq!(host.bytes(offset), *b"data");
    }
}

#[test]
fn scatters_write_parts_of_any_length_wherever_they_say() {
    let (rig, host, initiator) = Rig::with_initiator();
    let part = |at, data| Part { address: host.at(at), rkey: host.rkey, data };
    initiator.scatter(&[
        part(3, b"odd"),
        part(1000, &[]),
        part(REGION - 1, b"z"),
        part(64, &[7; 999]),
    ]);
    initiator.scatter(&[]);
    rig.flush(&initiator);
    assert_eq!((host.bytes(3), host.bytes(REGION - 1)), (*b"odd", *b"z"));
    assert_eq!((host.bytes(64), host.bytes(64 + 999)), ([7; 999], [0]));
}

#[test]
fn fenced_requests_follow_the_earlier_ones() {
    let (rig, host, initiator) = Rig::with_initiator();
    for byte in 0..100 {
        let data = [byte; 16];
        let mut payload = Vec::new();
        Part { address: host.at(512), rkey: host.rkey, data: &data }.write(&mut payload).unwrap();
        initiator.request(true, Operation::Scatter { count: 1 }, payload);
    }
    rig.flush(&initiator);
    assert_eq!(host.bytes(512), [99; 16]);
}

#[test]
fn initiators_of_a_client_share_its_pointers() {
    let rig = Rig::new();
    let host = rig.host(0);
    let initiators = [(); 3].map(|()| rig.initiator(&host));
    assert_eq!(initiators.each_ref().map(|initiator| initiator.rq_id), [0, 1, 2]);
    host.point_to(8);
    for _ in 0..50 {
        for (byte, initiator) in (1..).zip(&initiators) {
            initiator.append(&host, &[byte; 4]);
        }
        rig.turn();
    }
    initiators.iter().for_each(|initiator| rig.flush(initiator));
    assert_eq!(host.pointed(), 8 + 3 * 50 * 4);
    let bytes: [u8; 600] = host.bytes(8);
    for byte in 1..=3 {
        assert_eq!(bytes.iter().filter(|found| **found == byte).count(), 200);
    }
}

#[test]
fn a_host_that_makes_no_progress_pauses_its_own_initiators_only() {
    let rig = Rig::new();
    let (asleep, other) = (rig.host(1), rig.host(2));
    let (paused, goes_on) = (rig.initiator(&asleep), rig.initiator(&other));
    asleep.point_to(8);
    other.point_to(8);
    rig.stop(&asleep.worker);
    paused.append(&asleep, b"waits");
    paused.request(true, Operation::Flush { flush_id: 1 }, Vec::new());
    for _ in 0..10 {
        goes_on.append(&other, b"goes on");
        rig.flush(&goes_on);
    }
    rig.workers.borrow_mut().push(asleep.worker.clone());
    rig.answered(&paused, 1);
    assert_eq!((asleep.bytes(8), asleep.pointed()), (*b"waits", 8 + 5));
}

#[test]
fn an_initiator_of_a_host_without_progress_loses_its_queue_before_memory_grows() {
    if !over_tcp() {
        return; // In shared memory UCX needs no progress of the host.
    }
    // The pointer of an append must be fetched first; a scatter needs no fetch.
    for is_append in [true, false] {
        let rig = Rig::new();
        let host = rig.host(0);
        let (initiator, other) = (rig.worker(), rig.initiator(&host));
        let first = rig.initiator_with(&host, initiator.clone());
        // The initiator's second queue must not get messages that the first one loses.
        let address = initiator.address().unwrap();
        let create = RqCreate { addr: address.raw_bytes() };
        rig.call(0, create).unwrap();
        let memory = Memory::allocate(host.worker.context(), 4 << 20).unwrap();
        let rkey = rig.register(&host, &memory);
        let address = memory.address();
        host.memory.write(0, &address.to_le_bytes());
        let append =
            Operation::Append { pointer: host.at(0), pointer_rkey: host.rkey, data_rkey: rkey };
        rig.stop(&host.worker);
        let (most, data) = (3 * crate::client::MOST_WAITING / 4096, [7; 4096]);
        for number in 0..most {
            match is_append {
                true => first.request(false, append, data.to_vec()),
                false => {
                    let address = address + number as u64 * 4096;
                    first.scatter(&[Part { address, rkey, data: &data }]);
                }
            }
            rig.turn();
        }
        first.request(true, Operation::Flush { flush_id: 1 }, Vec::new());
        let sent = first.endpoint.flush();
        rig.until("all messages", || sent.is_done().then_some(()));
        rig.workers.borrow_mut().push(host.worker.clone());
        // An answer to the first queue's flush would arrive before this one.
        rig.flush(&other);
        rig.flush(&other);
        assert_eq!(*first.answers.borrow(), [0; 0], "a flush after a lost message");
        let mut bytes = vec![0; most * 4096];
        memory.read(0, &mut bytes);
        let written = bytes.iter().position(|byte| *byte == 0).unwrap();
        assert!(written > 0 && written % 4096 == 0, "{written}");
        assert!(bytes[written..].iter().all(|byte| *byte == 0), "a hole at {written}");
        // The host removes the queue, and the second one takes over.
        let gone = rig.call(0, RqDestroy { rq_id: first.rq_id });
        assert!(gone.is_ok());
        rig.flush(&first);
    }
}

#[test]
fn a_host_may_be_its_own_initiator() {
    let rig = Rig::new();
    let host = rig.host(0);
    let initiator = rig.initiator_with(&host, host.worker.clone());
    host.point_to(16);
    initiator.append(&host, b"mine");
    rig.flush(&initiator);
    assert_eq!((host.bytes(16), host.pointed()), (*b"mine", 20));
}

#[test]
fn nothing_is_written_to_memory_that_was_deregistered() {
    let (rig, host, initiator) = Rig::with_initiator();
    let memory = Memory::allocate(host.worker.context(), 1 << 20).unwrap();
    let data_rkey = rig.register(&host, &memory);
    host.memory.write(0, &memory.address().to_le_bytes());
    let operation = Operation::Append { pointer: host.at(0), pointer_rkey: host.rkey, data_rkey };
    for size in [100, 200_000, 300, 400_000, 500] {
        initiator.request(false, operation, vec![7; size]);
    }
    let bytes = || {
        let mut bytes = vec![0; memory.len()];
        memory.read(0, &mut bytes);
        bytes
    };
    // Announced data is still at the initiator, unless a device or the kernel fetches it.
    rig.until("an append", || (bytes()[99] == 7).then_some(()));
    assert!(rig.call(0, MrDereg { rkey: data_rkey }).is_ok());
    let then = bytes();
    rig.flush(&initiator);
    assert!(bytes() == then, "something was written later");
    let written = then.iter().filter(|byte| **byte == 7).count() as u64;
    assert_eq!(u64::from_le_bytes(host.bytes(0)), memory.address() + written);
}
