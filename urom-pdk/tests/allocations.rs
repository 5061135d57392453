//! A command allocates nothing on the Rust heap, whether its future ends at once or waits. The
//! descriptors of the interface are on the C heap, which is not counted here.

// Miri would take minutes; it runs other tests of the same commands.
#![cfg(not(miri))]

mod common;

use common::protocol::*;
use common::{Worker, open};
use counting_allocator::{CountingAllocator, allocations_of};
use urom_pdk::DocaStatus;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn exchange(worker: &mut Worker, rounds: u64, bytes: &[u8]) {
    for _ in 0..rounds {
        for i in 0..100 {
            worker.queue(i % 3, i, bytes);
        }
        worker.flush();
        let mut collected = 0;
        while collected < 100 {
            worker.progress_with(|notification| {
                assert_eq!(notification.header().status, DocaStatus::SUCCESS);
                collected += 1;
            });
        }
    }
}

#[test]
fn a_command_that_ends_at_once_allocates_nothing_from_the_first_on() {
    let mut worker = open();
    assert_eq!(allocations_of(|| exchange(&mut worker, 10, &command(ECHO, 1))), 0);
}

#[test]
fn a_command_that_waits_and_is_woken_allocates_nothing_once_there_are_slots() {
    let mut worker = open();
    exchange(&mut worker, 1, &command(YIELD, 3));
    assert_eq!(allocations_of(|| exchange(&mut worker, 10, &command(YIELD, 3))), 0);
}

#[test]
fn holding_the_bytes_of_a_command_allocates_nothing() {
    *script().act.borrow_mut() = Some(Box::new(|cx, bytes| {
        let held = cx.hold(&bytes[4..])?;
        Ok(held.clone().len() as u64)
    }));
    let mut worker = open();
    assert_eq!(allocations_of(|| exchange(&mut worker, 10, &command(ACT, 1))), 0);
}
