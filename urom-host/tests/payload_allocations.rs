//! Taking a reply's payload, and giving it back, costs no heap allocation.

#[path = "layer/bring.rs"]
#[allow(dead_code, reason = "every test program uses a part of it")]
mod bring;
#[path = "layer/fake/mod.rs"]
#[allow(unused_imports, reason = "every test program uses a part of it")]
mod fake;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use bring::{Bring, BringWhole, Whole};
use graph_protocol::Protocol as Graph;
use urom_abi::protocol::HostSide;
use urom_host::{Host, ServiceBuilder};

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

#[test]
fn a_payload_is_taken_and_given_back_without_an_allocation() {
    let _clean = fake::clean();
    let service = ServiceBuilder::with_library(fake::library()).connect().unwrap();
    let graph = service.plugin::<Graph>().unwrap();
    let worker = service.worker().plugin(&graph).start().wait().unwrap();
    let command = BringWhole(Bring { data: b"payload", ..Bring::default() });
    let flight = Host::submit(graph.plugin(), &worker, &command, None).unwrap();
    // The fake allocates a task's response when it completes.
    while service.progress() {}
    let before = COUNT.get();
    let Whole(payload) = flight.wait().unwrap();
    assert_eq!(*payload, *b"payload");
    drop(payload);
    assert_eq!(COUNT.get() - before, 0);
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(COUNT.get() - before, 1);
}
