//! A command costs the plugin no allocation on the Rust heap, whether its future ends at once or
//! waits.
//!
//! The descriptors that the interface demands are on the C heap, which is not counted here.

// Hundreds of the same commands, which take Miri minutes; others run there.
#![cfg(not(miri))]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::Worker;
use common::protocol::*;
use urom_pdk::DocaError;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread that ends may allocate when its counter is gone.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: all work is done by the system's allocator; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is the same.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// How many allocations `body` makes on this thread.
fn allocations(body: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    body();
    ALLOCATIONS.get() - before
}

/// Sends `rounds` lists of 100 commands and collects all their notifications.
fn exchange(worker: &mut Worker, rounds: u64, bytes: &[u8]) {
    for _ in 0..rounds {
        for i in 0..100 {
            worker.queue(i % 3, i, bytes);
        }
        worker.flush();
        let mut collected = 0;
        while collected < 100 {
            worker.progress_with(|notification| {
                assert_eq!(notification.header().status, DocaError::SUCCESS);
                collected += 1;
            });
        }
    }
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(7u64)))), 1);
}

#[test]
fn a_command_that_ends_at_once_allocates_nothing_from_the_first_on() {
    let mut worker = Worker::open::<Obedient, Words>().expect("it opens");
    assert_eq!(allocations(|| exchange(&mut worker, 10, &command(ECHO, 1))), 0);
}

#[test]
fn a_command_that_waits_and_is_woken_allocates_nothing_once_there_are_slots() {
    let mut worker = Worker::open::<Obedient, Words>().expect("it opens");
    exchange(&mut worker, 1, &command(YIELD, 3));
    assert_eq!(allocations(|| exchange(&mut worker, 10, &command(YIELD, 3))), 0);
}

#[test]
fn holding_the_bytes_of_a_command_allocates_nothing() {
    *script().act.borrow_mut() = Some(Box::new(|cx, bytes| {
        let held = cx.hold(&bytes[4..])?;
        Ok(held.clone().len() as u64)
    }));
    let mut worker = Worker::open::<Obedient, Words>().expect("it opens");
    assert_eq!(allocations(|| exchange(&mut worker, 10, &command(ACT, 1))), 0);
}
