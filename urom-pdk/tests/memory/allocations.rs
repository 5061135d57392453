//! Allocations of memory operations on the Rust heap.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use counting_allocator::{CountingAllocator, allocations_of};
use urom_pdk::memory::{HostMemory, MemoryPath};

use crate::plugin::*;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn now<T>(future: impl Future<Output = urom_pdk::Result<T>>) {
    let polled = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Ok(_))));
}

fn move_bytes(memory: &HostMemory) {
    let mut bytes = [0; 64];
    now(memory.read(0, &mut bytes));
    now(memory.write(0, &bytes));
    let part = memory.slice(8..);
    now(part.clone().read(1, &mut bytes[..8]));
}

#[test]
fn memory_that_is_mapped_costs_no_allocation() {
    let (worker, memory) = open(BOTH, MemoryPath::MAPPED);
    let count = done(&worker, memory.range(), async |cx, range| {
        drop(cx.memory(range)?);
        Ok(allocations_of(|| {
            let memory = cx.memory(range).unwrap();
            move_bytes(&memory);
            now(memory.fetch_add(0, 1));
            now(memory.swap(8, 1));
            now(memory.compare_swap(8, 1, 2));
            assert_eq!(memory.mapped().unwrap().get::<u64>(1), Ok(2));
        }) as u64)
    });
    assert_eq!(count, Ok(0));
}

#[test]
fn copies_of_the_kernel_cost_no_allocation() {
    let (worker, memory) = open(BOTH, MemoryPath::PROCESS);
    let count = done(&worker, memory.range(), async |cx, range| {
        drop(cx.memory(range)?);
        Ok(allocations_of(|| move_bytes(&cx.memory(range).unwrap())) as u64)
    });
    assert_eq!(count, Ok(0));
}

#[test]
fn an_operation_over_the_network_costs_two_allocations() {
    let (worker, memory) = open(BOTH, MemoryPath::NETWORK);
    let count = done(&worker, memory.range(), async |cx, range| {
        let memory = cx.memory(range)?;
        // The worker reserves space for its operations.
        memory.read(0, &mut [0; 8]).await?;
        memory.fetch_add(0, 0).await?;
        let mut bytes = [0; 8];
        let waits = std::cell::Cell::new(None);
        let before = allocations_of(|| {
            let mut read = Box::pin(memory.read(0, &mut bytes));
            let polled = read.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            waits.set(Some((read, polled.is_pending())));
        });
        let (read, is_pending) = waits.take().unwrap();
        assert!(is_pending);
        read.await?;
        // The box of the future is from the test.
        Ok(before as u64 - 1)
    });
    // The operation and its bytes.
    assert_eq!(count, Ok(2));
}
