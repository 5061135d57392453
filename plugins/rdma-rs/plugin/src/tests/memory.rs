//! Missing memory, and lists and messages that are too long.

use super::*;

#[test]
fn local_memory_that_is_not_shared_or_not_long_enough_is_refused() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    let (local, target) = (one.share([0; 64], LOCAL), two.share([0; 64], ALL));
    let others = workers[0].share_from(9, [0; 64], ALL, MemoryPath::MAPPED);
    let whole = local.range();
    let cases = [
        (MemoryRange { memory: 0xdead, ..whole }, DocaError::NOT_FOUND),
        (others.range(), DocaError::NOT_FOUND),
        (MemoryRange { offset: 1, ..whole }, DocaError::INVALID_VALUE),
        (MemoryRange { len: u64::MAX, ..whole }, DocaError::INVALID_VALUE),
    ];
    for (range, code) in cases {
        let (rdma, list) = (one.rdma, [whole, range]);
        let write = Write { rdma, target: at(&target, 0), pieces: (&list).into() };
        assert_eq!(one.call(write).map(drop), Err(code), "{range}");
        let receive = Receive { rdma, places: (&list).into() };
        assert_eq!(one.call(receive).map(drop), Err(code), "{range}");
    }
    assert_eq!(one.state(), State::Connected);
}

#[test]
fn the_other_ends_memory_is_checked_by_the_other_end() {
    type TargetOf = fn(&SharedMemory) -> Remote;
    let cases: [(TargetOf, DocaError); 4] = [
        (|_| Remote { memory: 0xdead, offset: 0 }, DocaError::NOT_FOUND),
        (|memory| at(memory, 1), DocaError::INVALID_VALUE),
        (|memory| at(memory, u64::MAX), DocaError::INVALID_VALUE),
        (|_| Remote::default(), DocaError::NOT_FOUND),
    ];
    for (target, code) in cases {
        let (domain, workers) = workers();
        let [one, two] = pair(&workers);
        let (local, memory) = (one.share([1; 64], LOCAL), two.share([0; 64], ALL));
        let list = [local.range()];
        let write = Write { rdma: one.rdma, target: target(&memory), pieces: (&list).into() };
        assert_eq!(one.call(write).map(drop), Err(code));
        until(&domain, "the other end's state", || two.state() == State::Error);
        assert_eq!(memory.bytes(), [0; 64]);
    }
}

#[test]
fn an_atomic_operation_takes_eight_aligned_bytes() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    let (local, memory) = (one.share([1; 64], LOCAL), two.share([0; 64], ALL));
    let rdma = one.rdma;
    for range in [local.slice(..7), local.slice(..16), local.slice(..0)] {
        let add = FetchAdd { rdma, target: at(&memory, 0), add: 1, result: range };
        assert_eq!(one.call(add).map(drop), Err(DocaError::INVALID_VALUE));
    }
    assert_eq!(one.state(), State::Connected);
    let add = FetchAdd { rdma, target: at(&memory, 4), add: 1, result: local.slice(..8) };
    assert_eq!(one.call(add).map(drop), Err(DocaError::INVALID_VALUE));
    assert_eq!(one.state(), State::Error);
    assert_eq!(memory.bytes(), [0; 64]);
}

#[test]
fn a_message_that_is_too_long_for_its_receive_fails_both_ends() {
    for receive_len in [0, 7, 4000] {
        let (domain, workers) = workers();
        let [one, two] = pair(&workers);
        let source = one.share(vec![1; receive_len + 1], LOCAL);
        let buffer = two.share(vec![0; receive_len.max(1)], LOCAL);
        let receive = two.post(&[buffer.slice(..receive_len as u64)]);
        let list = [source.range()];
        let send = one.tell(&list);
        let (code, why) = one.failure(send);
        assert_eq!(code, DocaError::IO_FAILED);
        assert!(why.contains("does not fit"), "{why}");
        let (code, why) = two.failure(receive);
        assert_eq!(code, DocaError::IO_FAILED);
        assert!(why.contains("does not fit"), "{why}");
        until(&domain, "both states", || {
            (one.state(), two.state()) == (State::Error, State::Error)
        });
        assert!(buffer.bytes().iter().all(|byte| *byte == 0));
    }
}

#[test]
fn lists_and_messages_beyond_the_limits_are_refused() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    let limits = workers[0].call(Create { permissions: 0 }).unwrap().limits;
    let (local, memory) = (one.share([0; 8], LOCAL), two.share([0; 8], ALL));
    let list = vec![local.slice(..0); limits.list as usize + 1];
    let (rdma, target) = (one.rdma, at(&memory, 0));
    let write = Write { rdma, target, pieces: list[..].into() };
    assert_eq!(one.call(write).map(drop), Err(DocaError::TOO_BIG));
    let write = Write { rdma, target, pieces: list[1..].into() };
    assert_eq!(one.call(write).map(drop), Ok(()));
    let receive = Receive { rdma, places: list[..].into() };
    assert_eq!(one.call(receive).map(drop), Err(DocaError::TOO_BIG));
    assert_eq!(one.state(), State::Connected);
}

#[test]
fn receives_beyond_the_limit_are_refused_until_one_is_complete() {
    let (_domain, workers) = workers();
    let [one, two] = pair(&workers);
    let limits = workers[0].call(Create { permissions: 0 }).unwrap().limits;
    let receives: Vec<_> = (0..limits.receives).map(|_| one.post(&[])).collect();
    assert_eq!(one.wait(one.post(&[])).map(drop), Err(DocaError::FULL));
    two.wait(two.tell(&[])).unwrap();
    let mut receives = receives.into_iter();
    one.wait(receives.next().unwrap()).unwrap();
    let last = one.post(&[]);
    one.call(Stop { rdma: one.rdma }).unwrap();
    for receive in receives.chain([last]) {
        assert_eq!(one.wait(receive).map(drop), Err(DocaError::SHUTDOWN));
    }
}

#[test]
fn receives_that_a_stop_ended_free_their_slots_at_once() {
    let (_domain, workers) = workers();
    let end = End::started(&workers[0], ALL);
    let limits = workers[0].call(Create { permissions: 0 }).unwrap().limits;
    let receives: Vec<_> = (0..limits.receives).map(|_| end.post(&[])).collect();
    let (stopped, started) =
        (end.send(Stop { rdma: end.rdma }), end.send(Start { rdma: end.rdma }));
    let late = end.post(&[]);
    end.wait(stopped).unwrap();
    end.wait(started).unwrap();
    end.call(Stop { rdma: end.rdma }).unwrap();
    for receive in receives.into_iter().chain([late]) {
        assert_eq!(end.wait(receive).map(drop), Err(DocaError::SHUTDOWN));
    }
}
