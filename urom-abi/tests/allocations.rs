//! A payload costs no heap allocation besides the notification that it lies in.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use urom_abi::Payload;
use urom_abi::wire::{self, Field, field};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is the system's allocator; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> usize {
    let before = COUNT.get();
    work();
    COUNT.get() - before
}

const LEN: usize = 8;
const COUNT_WORD: Field<u32, 0, LEN> = field();

#[test]
fn one_payload_is_sent_without_rusts_heap_and_received_with_one_copy() {
    // Seen by nobody, it would be left out of an optimised program.
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1);
    let mut sent = None;
    let sending = || {
        let mut payload = wire::payload::<LEN, u8>("M", 5).unwrap();
        payload.copy_from_slice(b"hello");
        let count: u32 = wire::length_word("M", "payload", &payload).unwrap();
        let payloads = [wire::give(payload)];
        sent = wire::reply::<LEN, 1>("M", payloads, |fixed| COUNT_WORD.write(fixed, &count)).ok();
    };
    assert_eq!(allocations(sending), 0);
    let desc = sent.unwrap();
    let receiving = || {
        let (fixed, mut behind) = wire::start::<LEN>("M", desc.payload()).unwrap();
        let (_, part) = behind.part::<Payload>("payload", true, COUNT_WORD.read(fixed)).unwrap();
        behind.end().unwrap();
        let payload: Payload = wire::Tail::of(desc.payload(), LEN).take(part);
        assert_eq!(*payload, *b"hello");
    };
    assert_eq!(allocations(receiving), 1);
}
