//! Taking a reply's payload, and giving it back, costs no heap allocation.

#[path = "layer/bring.rs"]
#[allow(dead_code, reason = "every test program uses a part of it")]
mod bring;
#[path = "layer/fake/mod.rs"]
#[allow(unused_imports, reason = "every test program uses a part of it")]
mod fake;

use bring::{Bring, BringWhole, Whole};
use counting_allocator::{CountingAllocator, allocations_of};
use graph_protocol::Protocol as Graph;
use urom_abi::protocol::HostSide;
use urom_host::{Host, ServiceBuilder};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

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
    let taken = allocations_of(|| {
        let Whole(payload) = flight.wait().unwrap();
        assert_eq!(*payload, *b"payload");
    });
    assert_eq!(taken, 0);
}
