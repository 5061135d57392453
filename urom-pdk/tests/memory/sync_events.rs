//! Counters in a host's memory, on each path, with the test kit.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Waker};

use urom_pdk::memory::{Condition, MemoryPath, SyncEvent};
use urom_pdk::test_util::CONNECTION;
use urom_pdk::{CancelReason, DocaError};

use crate::plugin::*;

thread_local! {
    static LEAKED: RefCell<Vec<SyncEvent>> = const { RefCell::new(Vec::new()) };
}

#[test]
fn a_counter_is_read_set_and_added_to() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        memory.view().set(1, 5_u64).unwrap();
        let last = done(&worker, memory.slice(8..16), async move |cx, range| {
            let event = cx.sync_event(range)?;
            assert_eq!(event.get().await?, 5);
            event.set(u64::MAX).await?;
            assert_eq!(event.fetch_add(3).await?, u64::MAX);
            assert_eq!((event.memory().len(), event.memory().path()), (8, path));
            assert!(format!("{event:?}").ends_with(&format!(", {})", path.name())));
            event.get().await
        });
        assert_eq!((last, memory.view().get::<u64>(1)), (Ok(2), Ok(2)), "{path:?}");
        assert_eq!(memory.bytes()[16..], counting()[16..]);
        assert_eq!(memory.opened(), 0);
    }
}

#[test]
fn a_condition_that_is_met_ends_a_wait_at_once() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        memory.view().set(0, 0x105_u64).unwrap();
        let met = done(&worker, memory.slice(..8), async |cx, range| {
            let event = cx.sync_event(range)?;
            for condition in [
                Condition::greater(0x104),
                Condition::equal(5).masked(0xff),
                Condition::not_equal(0x105).masked(0xff),
            ] {
                assert_eq!(event.wait(condition).await?, 0x105);
            }
            event.wait_until_greater(0).await
        });
        assert_eq!(met, Ok(0x105), "{path:?}");
    }
}

#[test]
fn a_store_of_the_host_ends_a_wait() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        memory.view().set(0, 0_u64).unwrap();
        act(async |cx, range| {
            let event = cx.sync_event(range)?;
            let first = event.wait_until_greater(0).await?;
            let second = event.wait(Condition::equal(70)).await?;
            Ok(first * 1000 + second)
        });
        let sent = worker.send(Act { memory: memory.slice(..8) });
        worker.progress();
        assert_eq!((worker.answer(&sent), memory.opened() > 0), (None, true));
        let word = memory.view().atomic_u64(0).unwrap();
        word.store(7, Ordering::Release);
        // The first wait has ended when the second has begun, which counts as one more.
        for _ in 0..3 {
            worker.progress();
        }
        assert_eq!(worker.answer(&sent), None);
        // Perhaps before the first wait has seen the 7.
        word.fetch_add(63, Ordering::Release);
        let value = worker.wait(sent).unwrap().value;
        assert!([7_070, 70_070].contains(&value), "{path:?}: {value}");
        assert_eq!((memory.opened(), memory.in_flight()), (0, 0));
    }
}

#[test]
fn a_command_ends_the_wait_of_another() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        memory.view().set(0, 0_u64).unwrap();
        act(async |cx, range| cx.sync_event(range)?.wait_until_greater(1).await);
        let waiting: Vec<_> =
            (0..5).map(|_| worker.send(Act { memory: memory.slice(..8) })).collect();
        for _ in 0..2 {
            let add =
                async |cx: &urom_pdk::Context, range| cx.sync_event(range)?.fetch_add(1).await;
            act(add);
            worker.call(Act { memory: memory.slice(..8) }).unwrap();
        }
        for sent in waiting {
            assert_eq!(worker.wait(sent), Ok(Value { value: 2 }), "{path:?}");
        }
    }
}

#[test]
fn a_range_that_is_no_aligned_word_is_refused() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        let open = async |cx: &urom_pdk::Context, range| {
            cx.sync_event(range)?;
            Ok(0)
        };
        for range in [0..0, 0..4, 0..7, 0..9, 0..16, 0..64] {
            let result = done(&worker, memory.slice(range), open);
            failed(result, DocaError::INVALID_VALUE, "is not a sync event: it has 8 bytes");
        }
        for start in [1, 4, 7, 55] {
            let result = done(&worker, memory.slice(start..start + 8), open);
            failed(result, DocaError::INVALID_VALUE, "must be a multiple of 8");
        }
        let beyond = urom_pdk::memory::MemoryRange { offset: 64, ..memory.slice(..8) };
        failed(done(&worker, beyond, open), DocaError::INVALID_VALUE, "not all in it");
        assert_eq!(memory.opened(), 0);
    }
}

#[test]
fn memory_that_may_only_be_read_is_loaded_and_waited_for_and_not_changed() {
    for path in PATHS {
        let (worker, memory) = open(urom_pdk::memory::Access::PCI_READ_ONLY, path);
        let first = u64::from_ne_bytes([0, 1, 2, 3, 4, 5, 6, 7]);
        let loaded = done(&worker, memory.range(), async move |cx, range| {
            assert_eq!(cx.memory(range)?.load(0).await?, first);
            let event = cx.sync_event(range.slice(..8))?;
            assert_eq!(event.wait(Condition::equal(first)).await?, first);
            event.get().await
        });
        assert_eq!(loaded, Ok(first), "{path:?}");
        let set = done(&worker, memory.slice(..8), async |cx, range| {
            cx.sync_event(range)?.set(1).await.map(|()| 0)
        });
        failed(set, DocaError::NOT_PERMITTED, " to write");
        let add = done(&worker, memory.slice(..8), async |cx, range| {
            cx.sync_event(range)?.fetch_add(1).await
        });
        failed(add, DocaError::NOT_PERMITTED, " to write");
        for offset in [1, 4, 57, 60, 64, u64::MAX] {
            let load = done(&worker, memory.range(), async move |cx, range| {
                cx.memory(range)?.load(offset).await
            });
            failed(load, DocaError::INVALID_VALUE, "");
        }
        assert_eq!(memory.bytes(), counting());
    }
}

#[test]
fn a_wait_ends_with_its_command() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        memory.view().set(0, 0_u64).unwrap();
        act(async |cx, range| {
            let event = cx.sync_event(range)?;
            cx.unless_cancelled(event.wait_until_greater(0)).await?
        });
        let sent = worker.send(Act { memory: memory.slice(..8) });
        worker.progress();
        worker.cancel(&sent, CancelReason::Cancelled);
        assert_eq!(worker.wait(sent), Err(DocaError::SKIPPED));
        assert_eq!(memory.opened(), 0, "{path:?}");
        // The host's operation ends later, without a waiting future.
        memory.view().set(0, 1_u64).unwrap();
        worker.progress();
        assert_eq!(memory.in_flight(), 0);
    }
}

#[test]
fn a_wait_fails_with_its_host_unless_it_is_mapped() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        memory.view().set(0, 0_u64).unwrap();
        act(async |cx, range| cx.sync_event(range)?.wait_until_greater(0).await);
        let sent = worker.send(Act { memory: memory.slice(..8) });
        worker.leave(CONNECTION);
        if path == MemoryPath::MAPPED {
            worker.progress();
            assert_eq!(worker.answer(&sent), None);
            memory.view().set(0, 3_u64).unwrap();
            assert_eq!(worker.wait(sent), Ok(Value { value: 3 }));
        } else {
            assert_eq!(worker.wait(sent), Err(DocaError::CONNECTION_RESET));
        }
    }
}

#[test]
fn failures_of_a_wait_name_the_operation() {
    for path in [MemoryPath::PROCESS, MemoryPath::NETWORK] {
        let (worker, memory) = open(BOTH, path);
        memory.fail_operation(DocaError::NOT_SUPPORTED);
        let wait = done(&worker, memory.slice(..8), async |cx, range| {
            cx.sync_event(range)?.wait_until_greater(u64::MAX).await
        });
        let why = format!("waiting for 8 bytes at 0 of a host's memory ({}): ", path.name());
        failed(wait, DocaError::NOT_SUPPORTED, &why);
        memory.fail_operation(DocaError::CONNECTION_RESET);
        let load =
            done(&worker, memory.slice(..8), async |cx, range| cx.sync_event(range)?.get().await);
        failed(load, DocaError::CONNECTION_RESET, "loading 8 bytes at 0 of a host's memory");
    }
}

#[test]
fn a_plugin_is_closed_while_commands_wait() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        memory.view().set(0, 0_u64).unwrap();
        act(async |cx, range| cx.sync_event(range)?.wait_until_greater(0).await);
        for _ in 0..3 {
            let _ = worker.send(Act { memory: memory.slice(..8) });
        }
        // A watch that the plugin leaks, and an event that outlives the plugin.
        act(async |cx, range| {
            let event = cx.sync_event(range)?;
            let mut wait: Pin<Box<dyn Future<Output = _>>> = Box::pin(async move {
                let event = event;
                event.wait_until_greater(0).await
            });
            assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            std::mem::forget(wait);
            LEAKED.with_borrow_mut(|leaked| leaked.push(cx.sync_event(range).unwrap()));
            Ok(0)
        });
        worker.call(Act { memory: memory.slice(..8) }).unwrap();
        drop(memory);
        assert_eq!(worker.close(), 3);
        assert!(!worker.finish().is_clean(), "it keeps memory: {path:?}");
    }
    // The memory is unmapped, and must not be accessed.
    for event in LEAKED.take() {
        let mut get = Box::pin(event.get());
        let got = get.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(got, std::task::Poll::Ready(Err(_))));
    }
}
