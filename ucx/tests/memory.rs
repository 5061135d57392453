//! Registered memory, remote keys, put, get and atomic operations.

mod common;

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use common::{Pair, TRANSPORTS, builder, context, pattern};
use ucx::{Buffer, Context, ErrorMode, Features, Memory, RemoteMemory, Status};

fn remote(pair: &Pair, memory: &Memory) -> RemoteMemory {
    let key = memory.remote_key().unwrap();
    // SAFETY: the peer's key, address and length; its memory outlives every use in these tests.
    unsafe { pair.to_b.remote_memory(&key, memory.address(), memory.len() as u64) }.unwrap()
}

fn bytes(memory: &Memory) -> Vec<u8> {
    let mut bytes = vec![0; memory.len()];
    memory.read(0, &mut bytes);
    bytes
}

#[test]
fn atomic_operations_yield_what_was_there() {
    for transports in TRANSPORTS {
        let pair = Pair::without_errors(transports);
        let memory = Memory::allocate(pair.b.context(), 64).unwrap();
        memory.write(8, &u64::to_ne_bytes(u64::MAX - 1));
        let remote = remote(&pair, &memory);
        let finish = |atomic: ucx::Atomic| {
            pair.until("an atomic operation", || atomic.is_done());
            atomic.wait()
        };
        assert_eq!(finish(remote.fetch_add(8, 5)), Ok(u64::MAX - 1));
        assert_eq!(finish(remote.swap(8, 40)), Ok(3));
        assert_eq!(finish(remote.compare_swap(8, 41, 7)), Ok(40));
        assert_eq!(finish(remote.compare_swap(8, 40, 9)), Ok(40));
        assert_eq!(finish(remote.fetch_add(8, 0)), Ok(9));
        let mut expected = vec![0; 64];
        expected[8..16].copy_from_slice(&u64::to_ne_bytes(9));
        assert_eq!(bytes(&memory), expected);
    }
}

#[test]
fn atomic_operations_with_error_handling_end_and_do_not_hang() {
    let in_memory = || {
        let [a, b] = ["shm,self"; 2].map(common::watched);
        Pair { to_b: Rc::new(a.connect(&b.address().unwrap()).unwrap()), a, b }
    };
    for pair in [Pair::new("tcp"), in_memory()] {
        let allocated = Memory::allocate(pair.b.context(), 64).unwrap();
        let mapped = Memory::map(pair.b.context(), vec![0; 64]).unwrap();
        for memory in [allocated, mapped] {
            let add = remote(&pair, &memory).fetch_add(0, 1);
            pair.until("the end", || add.is_done());
            let added = add.wait().is_ok();
            let mut expected = vec![0; 64];
            expected[..8].copy_from_slice(&u64::to_ne_bytes(added.into()));
            assert_eq!(bytes(&memory), expected);
        }
    }
}

#[test]
fn a_fence_and_a_worker_flush_order_what_is_around_them() {
    for transports in TRANSPORTS {
        // The peer runs on its own thread, because a fence may wait for it.
        let (describe, described) = mpsc::channel();
        let done = Arc::new(AtomicBool::new(false));
        let peer_done = Arc::clone(&done);
        let peer = thread::spawn(move || {
            let b = context(transports).worker().unwrap();
            let memory = Memory::allocate(b.context(), 8).unwrap();
            describe
                .send((b.address().unwrap(), memory.remote_key().unwrap(), memory.address()))
                .unwrap();
            b.progress_until(|| peer_done.load(Ordering::Acquire));
            bytes(&memory)
        });
        let (peer_address, key, address) = described.recv().unwrap();
        let a = context(transports).worker().unwrap();
        let builder = a.endpoint().error_mode(ErrorMode::None);
        let to_b = Rc::new(builder.connect(&peer_address).unwrap());
        // SAFETY: the peer's memory, which stays registered until `done`.
        let remote = unsafe { to_b.remote_memory(&key, address, 8) }.unwrap();
        for value in 1..=50_u64 {
            remote.put(0, u64::to_ne_bytes(value).to_vec()).detach();
            a.fence().unwrap();
        }
        assert_eq!(a.flush().wait().0, Ok(()));
        drop((remote, to_b, a));
        done.store(true, Ordering::Release);
        assert_eq!(peer.join().unwrap(), u64::to_ne_bytes(50));
    }
}

#[test]
fn ranges_outside_of_remote_memory_are_refused() {
    let pair = Pair::new("shm,self");
    let memory = Memory::allocate(pair.b.context(), 64).unwrap();
    let remote = remote(&pair, &memory);
    for (offset, length) in [(0, 65), (64, 1), (60, 5), (u64::MAX, 1), (u64::MAX - 3, 8)] {
        let (result, _) = remote.put(offset, vec![1; length]).into_done().unwrap();
        assert_eq!(result, Err(Status::OUT_OF_RANGE), "{length} at {offset}");
        let (result, _) = remote.get(offset, vec![1; length]).into_done().unwrap();
        assert_eq!(result, Err(Status::OUT_OF_RANGE), "{length} at {offset}");
    }
    assert_eq!(remote.fetch_add(57, 1).wait(), Err(Status::OUT_OF_RANGE));
    assert_eq!(remote.fetch_add(4, 1).wait(), Err(Status::INVALID_PARAM));
    assert_eq!(bytes(&memory), [0; 64]);
}

#[test]
fn bytes_that_cannot_be_a_key_are_refused() {
    let pair = Pair::new("shm,self");
    for key in [&[][..], &[0; 8], &[1; 5000]] {
        // SAFETY: such a key never reaches UCX.
        let error = unsafe { pair.to_b.remote_memory(key, 0, 0) }.unwrap_err();
        assert_eq!(error.status(), Status::INVALID_PARAM);
    }
    let memory = Memory::allocate(pair.b.context(), 64).unwrap();
    let key = memory.remote_key().unwrap();
    // SAFETY: a range that wraps around never reaches UCX.
    let error = unsafe { pair.to_b.remote_memory(&key, u64::MAX, 2) }.unwrap_err();
    assert_eq!(error.status(), Status::INVALID_PARAM);
}

#[test]
fn no_bytes_cannot_be_registered() {
    let context = context("self");
    assert_eq!(Memory::allocate(&context, 0).unwrap_err().status(), Status::INVALID_PARAM);
    assert_eq!(Memory::map(&context, vec![]).unwrap_err().status(), Status::INVALID_PARAM);
}

#[test]
fn a_lease_is_a_buffer_and_keeps_others_off() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        let memory = Memory::allocate(pair.a.context(), 1 << 20).unwrap();
        memory.write(0, &pattern(1 << 20));
        let borrow = memory.try_borrow_mut(0..1 << 19).unwrap();
        assert!(memory.try_borrow_mut((1 << 19) - 1..1 << 20).is_none());
        assert!(memory.try_borrow_mut(0..0).is_some());
        let mut back = memory.try_borrow_mut(1 << 19..1 << 20).unwrap();
        back.write(0, b"first");
        let there = pair.to_b.tag_send(1, borrow);
        let (info, received) = pair.finish(pair.b.tag_recv(1, u64::MAX, vec![0; 1 << 19]));
        assert!(info.is_ok());
        assert!(received == pattern(1 << 19));
        let (result, borrow) = pair.finish(there);
        assert_eq!(result, Ok(()));
        assert_eq!(borrow.range(), 0..1 << 19);
        drop(borrow);
        assert!(memory.try_borrow_mut(0..10).is_some());
        let mut first = [0; 5];
        memory.read(1 << 19, &mut first);
        assert_eq!(&first, b"first");
    }
}

#[test]
fn bytes_are_shared_by_those_who_read_them_only() {
    let pair = Pair::new("tcp");
    let memory = Memory::allocate(pair.a.context(), 4096).unwrap();
    memory.write(0, &pattern(4096));
    let first = memory.try_borrow(0..4096).unwrap();
    let second = memory.try_borrow(2048..4096).unwrap();
    assert!(memory.try_borrow_mut(0..1).is_none());
    assert!(memory.try_borrow(4000..4097).is_none());
    for borrow in [first, second] {
        let receive = pair.b.tag_recv(1, u64::MAX, vec![0; Buffer::len(&borrow)]);
        assert!(memory.try_borrow_mut(4095..4096).is_none());
        pair.finish(pair.to_b.tag_send(1, borrow)).0.unwrap();
        let (result, bytes) = pair.finish(receive);
        assert_eq!(result.unwrap().length, bytes.len());
        assert_eq!(bytes, pattern(4096)[4096 - bytes.len()..]);
    }
    let borrow = memory.try_borrow_mut(0..10).unwrap();
    assert!(memory.try_borrow(9..20).is_none());
    assert!(memory.try_borrow(10..20).is_some());
    drop(borrow);
}

#[test]
fn a_lease_receives() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        for length in [100, 1 << 20] {
            let memory = Memory::allocate(pair.b.context(), length + 7).unwrap();
            let receive =
                pair.b.tag_recv(1, u64::MAX, memory.try_borrow_mut(7..length + 7).unwrap());
            assert_eq!(pair.finish(pair.to_b.tag_send(1, pattern(length))).0, Ok(()));
            assert_eq!(pair.finish(receive).0.unwrap().length, length);
            assert!(bytes(&memory)[7..] == pattern(length));
        }
    }
}

#[test]
fn a_lease_of_another_context_is_sent_and_received_all_the_same() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        let other = context(transports);
        for length in [8, 10_000, 2 << 20] {
            let [source, target] = [(); 2].map(|()| Memory::allocate(&other, length).unwrap());
            source.write(0, &pattern(length));
            let receive = pair.b.tag_recv(1, u64::MAX, target.try_borrow_mut(0..length).unwrap());
            let send = pair.to_b.tag_send(1, source.try_borrow_mut(0..length).unwrap());
            assert_eq!(pair.finish(receive).0.unwrap().length, length);
            assert_eq!(pair.finish(send).0, Ok(()));
            assert!(bytes(&target) == pattern(length), "{length} over {transports}");
        }
    }
}

#[test]
fn borrowed_and_shared_bytes_are_not_written() {
    let memory = Memory::allocate(&context("self"), 64).unwrap();
    let _kept = (memory.try_borrow_mut(10..20).unwrap(), memory.try_borrow(30..40).unwrap());
    for (offset, length) in [(0, 11), (39, 2)] {
        let write = std::panic::AssertUnwindSafe(|| memory.write(offset, &vec![0; length]));
        let payload = std::panic::catch_unwind(write).unwrap_err();
        assert!(payload.downcast_ref::<&str>().unwrap().contains("borrowed"));
    }
}

#[test]
#[should_panic(expected = "not inside")]
fn bytes_past_the_end_are_not_read() {
    Memory::allocate(&context("self"), 64).unwrap().read(60, &mut [0; 5]);
}

#[test]
fn a_request_keeps_the_key_alive() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        let memory = Memory::allocate(pair.b.context(), 1 << 20).unwrap();
        let remote = remote(&pair, &memory);
        let get = remote.get(0, vec![1; 1 << 20]);
        remote.get(0, vec![1; 1 << 20]).detach();
        drop(remote);
        let (result, bytes) = pair.finish(get);
        assert_eq!(result, Ok(()));
        assert!(bytes.iter().all(|&byte| byte == 0));
        assert_eq!(pair.finish(pair.to_b.flush()).0, Ok(()));
    }
}

#[test]
fn atomic_operations_alone_are_enough_for_a_key() {
    let context = |features| Context::builder(features).config("TLS", "shm,self").build().unwrap();
    let (a, b) =
        (context(Features::AMO64).worker().unwrap(), context(Features::AMO64).worker().unwrap());
    let pair = Pair { to_b: common::connect(&a, &b, "shm,self").into(), a, b };
    let memory = Memory::allocate(pair.b.context(), 64).unwrap();
    let remote = remote(&pair, &memory);
    let (result, _) = remote.put(0, vec![1]).into_done().unwrap();
    assert_eq!(result, Err(Status::UNSUPPORTED));
    let add = remote.fetch_add(0, 3);
    pair.until("the addition", || add.is_done());
    assert_eq!(add.wait(), Ok(0));
}

#[test]
fn exporting_without_a_device_or_the_feature_is_an_error() {
    let without = context("shm,self");
    let memory = Memory::allocate(&without, 4096).unwrap();
    assert_eq!(memory.export().unwrap_err().status(), Status::UNSUPPORTED);
    let features = Features::AM | Features::EXPORTED_MEMH;
    let with = Context::builder(features).config("TLS", "tcp,shm,self").build().unwrap();
    let memory = Memory::allocate(&with, 4096).unwrap();
    assert_eq!(memory.export().unwrap_err().status(), Status::UNSUPPORTED);
}

#[test]
fn memory_is_imported_only_where_a_device_can() {
    let context = context("self");
    let import = |exported: &[u8], address, length| {
        // SAFETY: the call fails before an import, which this test checks.
        unsafe { ucx::Imported::open(&context, exported, address, length) }.unwrap_err().status()
    };
    assert_eq!(import(b"exported", 0x1000, 64), Status::UNSUPPORTED);
    // Machines that run these tests lack an RDMA device, so this worker cannot export.
    let worker = builder("tcp,self").worker_with_exports().unwrap();
    assert!(worker.connect(&worker.address().unwrap()).is_ok());
    let exports = worker.context().features().contains(Features::EXPORTED_MEMH);
    let memory = Memory::allocate(worker.context(), 4096).unwrap();
    assert_eq!(memory.export().is_ok(), exports);
}
