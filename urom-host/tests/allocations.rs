//! A task needs no heap allocation, with a future or a callback.

mod embedded_support;

use std::cell::Cell;
use std::rc::Rc;

use counting_allocator::{CountingAllocator, allocations_of};
use embedded_support::{connect, soon, start, until};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn neither_futures_nor_small_callbacks_allocate_in_steady_state() {
    let service = connect();
    let (graph, worker) = start(&service);
    let mut flights = Vec::with_capacity(64);
    let mut round = |data: u64| {
        // Fewer than 64: the previous round's dropped task may still be in flight.
        for n in 0..60 {
            flights.push(graph.task_loopback(&worker, data + n).submit().unwrap());
        }
        for (n, flight) in flights.drain(..).enumerate() {
            assert_eq!(soon(flight).unwrap().data, data + n as u64);
        }
        assert_eq!(graph.task_loopback(&worker, data).submit().unwrap().wait().unwrap().data, data);
        drop(graph.task_loopback(&worker, data).submit().unwrap());
    };
    (0..50).for_each(&mut round);
    assert_eq!(allocations_of(|| (0..200).for_each(&mut round)), 0);

    let seen = Rc::new(Cell::new(0));
    let callback = |data| {
        let seen = Rc::clone(&seen);
        let note =
            move |done: Result<graph_protocol::LoopbackDone, _>| seen.set(done.unwrap().data);
        graph.task_loopback(&worker, data).submit_with(note).unwrap();
    };
    let one = |data: u64| {
        callback(data);
        until(|| {
            service.progress();
            seen.get() == data
        });
    };
    (1..50).for_each(&one);
    assert_eq!(allocations_of(|| (50..500).for_each(&one)), 0);
}
