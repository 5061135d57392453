//! Counters: their rules, waits, and counters in existing memory.

// Miri lacks memfds and futexes of shared memory.
#![cfg(not(miri))]
#![allow(missing_docs, reason = "a test")]

use std::future::Future;
use std::pin::pin;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use urom_abi::DocaError;
use urom_memory::{Access, Condition, Mmap, SyncEvent};

const LIMIT: Duration = Duration::from_secs(10);
const OWN: Access = Access::LOCAL_READ_WRITE;

fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut future, start) = (pin!(future), Instant::now());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park_timeout(LIMIT);
        assert!(start.elapsed() < LIMIT, "it is never woken");
    }
}

#[test]
fn a_counter_is_set_added_to_and_read() {
    let event = SyncEvent::new().unwrap();
    assert_eq!((event.get(), event.fetch_add(5), event.get()), (0, Ok(0), 5));
    event.set(u64::MAX).unwrap();
    assert_eq!((event.fetch_add(3), event.get()), (Ok(u64::MAX), 2));
    assert_eq!(event.clone().get(), 2);
    let range = event.range();
    assert_eq!((range.memory, range.offset, range.len), (event.memory().id(), 0, 8));
    assert!(format!("{event:?}").starts_with("SyncEvent(2 in 8 bytes at 0 of memory 0x"));
}

#[test]
fn no_addition_is_lost_between_threads() {
    let event = SyncEvent::new().unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    event.fetch_add(1).unwrap();
                }
            });
        }
        assert_eq!(event.wait_blocking(Condition::equal(4000), LIMIT), Ok(4000));
    });
}

#[test]
fn a_wait_that_is_met_ends_at_once_and_gives_the_counter_without_the_mask() {
    let event = SyncEvent::new().unwrap();
    event.set(0x1ff).unwrap();
    for condition in [
        Condition::greater(0x1fe),
        Condition::equal(0x1ff),
        Condition::not_equal(0),
        Condition::greater(0xfe).masked(0xff),
        Condition::equal(0xff).masked(0xff),
        Condition::not_equal(0x1ff).masked(0xff),
    ] {
        assert_eq!(event.wait_blocking(condition, Duration::ZERO), Ok(0x1ff), "{condition}");
        assert_eq!(block_on(event.wait(condition)), Ok(0x1ff), "{condition}");
    }
}

#[test]
fn a_wait_that_is_not_met_ends_with_its_time() {
    let event = SyncEvent::new().unwrap();
    event.set(5).unwrap();
    for condition in [
        Condition::greater(5),
        Condition::greater(u64::MAX),
        Condition::equal(4),
        Condition::not_equal(5),
        Condition::greater(0).masked(2),
    ] {
        for timeout in [Duration::ZERO, Duration::from_millis(3)] {
            let start = Instant::now();
            let error = event.wait_blocking(condition, timeout).unwrap_err();
            assert!(start.elapsed() >= timeout);
            assert_eq!(error.code(), DocaError::TIME_OUT);
            assert_eq!(
                error.text(),
                format!("{condition} was not met within {timeout:?}: it is 5")
            );
        }
    }
}

fn waits() -> Vec<fn(&SyncEvent, Condition) -> u64> {
    vec![
        |event, condition| event.wait_blocking(condition, None).unwrap(),
        |event, condition| event.wait_blocking(condition, LIMIT).unwrap(),
        |event, condition| block_on(event.wait(condition)).unwrap(),
        |event, condition| {
            loop {
                if condition.is_met(event.get()) {
                    break event.get();
                }
                thread::yield_now();
            }
        },
    ]
}

#[test]
fn a_wait_ends_on_a_set_an_add_and_a_plain_store() {
    let changes: [fn(&SyncEvent); 3] = [
        |event| event.set(1).unwrap(),
        |event| assert_eq!(event.fetch_add(1), Ok(0)),
        |event| event.memory().view().set(0, 1_u64).unwrap(),
    ];
    for change in changes {
        for wait in waits() {
            let (event, start) = (SyncEvent::new().unwrap(), Barrier::new(2));
            thread::scope(|scope| {
                let waiting = scope.spawn(|| {
                    start.wait();
                    wait(&event, Condition::greater(0))
                });
                start.wait();
                assert!(!waiting.is_finished(), "it waits");
                change(&event);
                assert_eq!(waiting.join().unwrap(), 1);
            });
        }
    }
}

#[test]
fn two_threads_hand_a_counter_to_and_fro() {
    let event = SyncEvent::new().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            for turn in (0..1000).step_by(2) {
                block_on(event.wait(Condition::equal(turn))).unwrap();
                event.fetch_add(1).unwrap();
            }
        });
        for turn in (1..1000).step_by(2) {
            assert_eq!(event.wait_blocking(Condition::equal(turn), LIMIT), Ok(turn));
            event.fetch_add(1).unwrap();
        }
    });
    assert_eq!(event.get(), 1000);
}

#[test]
fn many_futures_wait_for_many_counters() {
    let events: Vec<SyncEvent> = (0..200).map(|_| SyncEvent::new().unwrap()).collect();
    thread::scope(|scope| {
        let waiting: Vec<_> = events
            .chunks(50)
            .map(|some| {
                scope.spawn(move || {
                    some.iter().rev().for_each(|event| {
                        block_on(event.wait_until_greater(0)).unwrap();
                    });
                })
            })
            .collect();
        events.iter().for_each(|event| event.set(1).unwrap());
        waiting.into_iter().for_each(|it| it.join().unwrap());
    });
}

#[test]
fn a_future_keeps_the_memory_and_may_be_dropped_at_any_time() {
    let mut map = Mmap::allocate(4096, OWN).unwrap();
    let wait = SyncEvent::in_memory(&map, 8).unwrap().wait_until_greater(0);
    assert_eq!(map.try_exclusive_bytes().unwrap_err().code(), DocaError::IN_USE);
    let mut wait = Box::pin(wait);
    let mut task = Context::from_waker(Waker::noop());
    assert!(wait.as_mut().poll(&mut task).is_pending());
    assert_eq!(map.try_exclusive_bytes().unwrap_err().code(), DocaError::IN_USE);
    drop(wait);
    assert_eq!(map.try_exclusive_bytes().unwrap().len(), 4096);
    // A forgotten future keeps the memory for ever. The pointer is for leak checkers.
    static FORGOTTEN: AtomicPtr<()> = AtomicPtr::new(null_mut());
    let mut wait = Box::pin(SyncEvent::in_memory(&map, 8).unwrap().wait_until_greater(0));
    assert!(wait.as_mut().poll(&mut task).is_pending());
    FORGOTTEN.store(Box::into_raw(Box::new(wait)).cast(), Ordering::Relaxed);
    drop(map);
    let other = SyncEvent::new().unwrap();
    other.set(1).unwrap();
    assert_eq!(block_on(other.wait_until_greater(0)), Ok(1));
}

#[test]
fn a_counter_lies_in_memory_of_the_users_own() {
    let mut own = Box::new([7_u64, 8, 9]);
    // SAFETY: the array is used only through the map.
    let map = unsafe { Mmap::from_raw(own.as_mut_ptr().cast(), 24, OWN) }.unwrap();
    let event = SyncEvent::in_memory(&map, 8).unwrap();
    assert_eq!((event.get(), event.fetch_add(2)), (8, Ok(8)));
    assert_eq!(event.range(), map.range().slice(8..16));
    event.set(3).unwrap();
    drop((event, map));
    assert_eq!(*own, [7, 3, 9]);
}

#[test]
fn a_word_that_is_unaligned_or_outside_the_map_is_refused() {
    let map = Mmap::allocate(24, OWN).unwrap();
    for offset in [1, 4, 7, 12, 17, 20, 24, 25, u64::MAX, u64::MAX - 7] {
        let refused = SyncEvent::in_memory(&map, offset).unwrap_err();
        assert_eq!(refused.code(), DocaError::INVALID_VALUE, "{offset}");
    }
    let mut own = [0_u64; 2];
    let start = own.as_mut_ptr().cast::<u8>().wrapping_add(4);
    // SAFETY: inside the array, which is used only through the map.
    let odd = unsafe { Mmap::from_raw(start, 12, OWN) }.unwrap();
    // The address must be aligned, not the offset.
    assert!(SyncEvent::in_memory(&odd, 0).unwrap_err().text().contains("multiple of 8"));
    SyncEvent::in_memory(&odd, 4).unwrap();
    let short = Mmap::allocate(7, OWN).unwrap();
    assert_eq!(SyncEvent::in_memory(&short, 0).unwrap_err().code(), DocaError::INVALID_VALUE);
}

#[test]
fn memory_that_may_only_be_read_is_read_and_waited_for_and_not_changed() {
    let map = Mmap::allocate(8, Access::LOCAL_READ_ONLY).unwrap();
    let event = SyncEvent::in_memory(&map, 0).unwrap();
    assert_eq!(event.get(), 0);
    assert_eq!(event.wait_blocking(Condition::equal(0), None), Ok(0));
    assert_eq!(block_on(event.wait(Condition::equal(0))), Ok(0));
    assert_eq!(event.set(1).unwrap_err().code(), DocaError::NOT_PERMITTED);
    assert_eq!(event.fetch_add(1).unwrap_err().code(), DocaError::NOT_PERMITTED);
    assert_eq!(event.get(), 0);
}

#[test]
fn a_view_is_loaded_from_whatever_its_permissions_are() {
    let map = Mmap::from_vec(vec![1; 24], Access::LOCAL_READ_ONLY).unwrap();
    let at = (8 - map.address() % 8) % 8;
    assert_eq!(map.view().load_u64(at), Ok(u64::from_le_bytes([1; 8])));
    assert_eq!(map.view().atomic_u64(at).unwrap_err().code(), DocaError::NOT_PERMITTED);
    for wrong in [at + 4, 17 + at, 24, u64::MAX] {
        let refused = map.view().load_u64(wrong).unwrap_err();
        assert_eq!(refused.code(), DocaError::INVALID_VALUE, "{wrong}");
    }
}
