//! Memory whose host fails or leaves, and operations whose future was dropped.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use urom_pdk::memory::{HostMemory, MemoryPath};
use urom_pdk::test_util::CONNECTION;
use urom_pdk::{CancelReason, DocaError};

use crate::plugin::*;

async fn first(cx: &urom_pdk::Context, range: urom_pdk::memory::MemoryRange) -> Result {
    let memory = cx.memory(range)?;
    let mut bytes = vec![0xee; memory.len() as usize];
    memory.read(0, &mut bytes).await?;
    Ok(bytes[0].into())
}

type Result<T = u64> = urom_pdk::Result<T>;

thread_local! {
    static LEAKED: RefCell<Vec<HostMemory>> = const { RefCell::new(Vec::new()) };
}

fn now<T>(future: impl Future<Output = T>) -> Poll<T> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn an_operation_over_the_network_ends_by_progress_and_holds_up_nobody() {
    let (worker, memory) = open(BOTH, MemoryPath::NETWORK);
    act(first);
    memory.pause();
    let slow = worker.send(Act { memory: memory.slice(7..) });
    let other = worker.share([99], BOTH, MemoryPath::NETWORK);
    assert_eq!((memory.in_flight(), memory.opened()), (1, 1));
    assert_eq!(worker.call(Act { memory: other.range() }), Ok(Value { value: 99 }));
    assert_eq!(worker.answer(&slow), None);
    // It reads the bytes when it runs.
    memory.view().set(7, 70_u8).unwrap();
    memory.resume();
    assert_eq!(worker.progress(), 1);
    assert_eq!(worker.answer(&slow), Some(Ok(Value { value: 70 })));
    assert_eq!((memory.in_flight(), memory.opened()), (0, 0));
}

#[test]
fn copies_by_the_kernel_end_in_the_call() {
    let (worker, memory) = open(BOTH, MemoryPath::PROCESS);
    memory.pause();
    act(first);
    assert_eq!(worker.call(Act { memory: memory.range() }), Ok(Value { value: 0 }));
    // The host runs atomic operations, not the kernel.
    act(async |cx, range| cx.memory(range)?.fetch_add(0, 1).await);
    let add = worker.send(Act { memory: memory.range() });
    assert_eq!((worker.progress(), memory.in_flight()), (0, 1));
    memory.resume();
    assert!(worker.wait(add).is_ok());
}

#[test]
fn operations_fail_as_configured_and_later_ones_continue() {
    let texts = [
        (DocaError::IO_FAILED, "the host has unmapped it"),
        (DocaError::CONNECTION_RESET, "the host has left, or its answer was lost"),
        (DocaError::NOT_SUPPORTED, "it cannot be done on this path: UCX does not reach the host"),
        (DocaError::DRIVER, "the worker could not do it"),
    ];
    for path in [MemoryPath::PROCESS, MemoryPath::NETWORK] {
        let (worker, memory) = open(BOTH, path);
        for (code, text) in texts {
            memory.fail_operation(code);
            let why = format!("reading 64 bytes at 0 of a host's memory ({}): {text}", path.name());
            failed(done(&worker, memory.range(), first), code, &why);
            memory.fail_operation(code);
            let write = done(&worker, memory.range(), async |cx, range| {
                cx.memory(range)?.write(9, b"123").await.map(|()| 0)
            });
            failed(
                write,
                code,
                &format!("writing 3 bytes at 9 of a host's memory ({}", path.name()),
            );
        }
        assert_eq!(done(&worker, memory.range(), first), Ok(0));
        assert_eq!((memory.bytes(), memory.opened()), (counting(), 0));
    }
    let (worker, memory) = open(BOTH, MemoryPath::MAPPED);
    memory.fail_operation(DocaError::IO_FAILED);
    assert_eq!(done(&worker, memory.range(), first), Ok(0), "no operation has a part in it");
    let add = done(&worker, memory.range(), async |cx, range| cx.memory(range)?.swap(0, 1).await);
    assert!(add.is_ok(), "nor in atomic operations: {add:?}");
}

#[test]
fn a_handler_that_waits_no_more_leaves_its_operation_to_the_worker() {
    let (worker, memory) = open(BOTH, MemoryPath::NETWORK);
    memory.pause();
    act(async |cx, range| {
        let memory = cx.memory(range)?;
        let mut bytes = [0; 64];
        cx.unless_cancelled(memory.read(0, &mut bytes)).await??;
        Ok(0)
    });
    let reads = worker.send(Act { memory: memory.range() });
    act(async |cx, range| {
        let memory = cx.memory(range)?;
        let bytes = b"written".to_vec();
        cx.unless_cancelled(memory.write(0, &bytes)).await??;
        Ok(0)
    });
    let writes = worker.send(Act { memory: memory.range() });
    act(async |cx, range| {
        let memory = cx.memory(range)?;
        cx.unless_cancelled(memory.fetch_add(56, 1)).await?
    });
    let adds = worker.send(Act { memory: memory.range() });
    for sent in [reads, writes, adds] {
        worker.cancel(&sent, CancelReason::Cancelled);
        assert_eq!(worker.wait(sent), Err(DocaError::SKIPPED));
    }
    assert_eq!((memory.in_flight(), memory.opened()), (3, 0));
    assert_eq!(memory.bytes(), counting());
    memory.resume();
    worker.progress();
    assert_eq!((memory.in_flight(), &memory.bytes()[..7]), (0, &b"written"[..]));
    let word = u64::from_ne_bytes([56, 57, 58, 59, 60, 61, 62, 63]);
    assert_eq!(memory.view().get::<u64>(7), Ok(word + 1));
}

#[test]
fn a_future_that_is_dropped_before_it_is_polled_does_nothing() {
    let (worker, memory) = open(BOTH, MemoryPath::NETWORK);
    let dropped = done(&worker, memory.range(), async |cx, range| {
        let memory = cx.memory(range)?;
        drop(memory.write(0, b"never"));
        Ok(0)
    });
    assert_eq!((dropped, memory.bytes(), memory.in_flight()), (Ok(0), counting(), 0));
}

#[test]
fn memory_that_is_kept_outlives_its_command_and_its_share() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        worker.call(Keep { memory: memory.slice(3..4) }).unwrap();
        worker.call(Keep { memory: memory.slice(4..) }).unwrap();
        assert_eq!(memory.opened(), 2);
        memory.unshare();
        act(first);
        let later = worker.call(Act { memory: memory.range() });
        assert_eq!(later, Err(DocaError::NOT_FOUND), "{path:?}");
        memory.view().set(3, 30_u8).unwrap();
        assert_eq!(worker.call(Kept), Ok(Value { value: 34 }), "{path:?}");
        assert_eq!(worker.call(Release), Ok(Value { value: 2 }));
        assert_eq!(memory.opened(), 0);
    }
}

#[test]
fn memory_that_a_handler_keeps_until_close_goes_with_it() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        worker.call(Keep { memory: memory.range() }).unwrap();
        drop(memory);
        assert_eq!(worker.call(Kept), Ok(Value { value: 0 }));
        worker.finish().assert_clean();
    }
}

#[test]
fn the_memory_of_a_host_that_left_is_gone_but_for_what_is_mapped() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        let theirs = worker.share_from(7, [70, 71], BOTH, path);
        let sent = worker.send_from(7, Keep { memory: theirs.slice(1..) });
        worker.wait(sent).unwrap();
        worker.leave(7);
        let kept = worker.call(Kept);
        match path {
            MemoryPath::MAPPED => assert_eq!(kept, Ok(Value { value: 71 })),
            _ => assert_eq!(kept, Err(DocaError::CONNECTION_RESET)),
        }
        act(first);
        assert_eq!(worker.call(Act { memory: memory.range() }), Ok(Value { value: 0 }));
        assert_eq!(worker.call(Act { memory: theirs.range() }), Err(DocaError::NOT_FOUND));
    }
}

#[test]
fn an_operation_ends_with_its_host_even_in_a_pause() {
    let (worker, memory) = open(BOTH, MemoryPath::NETWORK);
    memory.pause();
    act(first);
    let sent = worker.send(Act { memory: memory.range() });
    worker.leave(CONNECTION);
    worker.progress();
    let why = worker.failure(&sent).unwrap();
    assert!(why.ends_with("(network): the host has left, or its answer was lost"), "{why}");
    assert_eq!(worker.wait(sent), Err(DocaError::CONNECTION_RESET));
}

#[test]
fn operations_that_are_cut_off_by_the_close_leave_nothing() {
    for is_awaited in [true, false] {
        let (worker, memory) = open(BOTH, MemoryPath::NETWORK);
        memory.pause();
        act(async move |cx, range| {
            let (memory, mut bytes) = (cx.memory(range)?, [0; 64]);
            if is_awaited {
                memory.read(0, &mut bytes).await?;
            } else {
                assert!(now(memory.read(0, &mut bytes)).is_pending());
                std::future::pending::<()>().await;
            }
            Ok(0)
        });
        let _ = worker.send(Act { memory: memory.range() });
        assert_eq!((memory.in_flight(), worker.close()), (1, 1));
        assert_eq!((memory.in_flight(), memory.opened()), (0, 0));
        worker.finish().assert_clean();
    }
}

#[test]
fn memory_is_of_no_use_after_the_close() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        done(&worker, memory.range(), async |cx, range| {
            let memory = cx.memory(range)?;
            LEAKED.with_borrow_mut(|leaked| leaked.push(memory));
            Ok(0)
        })
        .unwrap();
        worker.close();
        let leaked = LEAKED.take().pop().unwrap();
        let part = leaked.slice(1..).clone();
        assert!(leaked.mapped().is_none());
        let mut bytes = [0; 8];
        let read = now(part.read(0, &mut bytes)).map_err(|error| error.code());
        assert_eq!(read, Poll::Ready(Err(DocaError::BAD_STATE)), "{path:?}");
        let add = now(leaked.fetch_add(0, 1)).map_err(|error| error.code());
        assert_eq!(add, Poll::Ready(Err(DocaError::BAD_STATE)), "{path:?}");
        drop((part, leaked));
        assert_eq!(memory.bytes(), counting());
        // It was open when the plugin was closed, which is a fault.
        assert!(!worker.finish().is_clean());
    }
}
