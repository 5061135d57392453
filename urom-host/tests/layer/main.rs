//! Tests of this crate on a library in memory that fails on demand.

mod all_gather;
mod bring;
mod cancelled;
mod domains;
#[cfg(feature = "tokio")]
mod drivers;
mod fake;
mod group_queries;
mod layouts;
mod leaving;
mod objects;
mod payloads;
mod plain;

mod restart;
mod tasks;
mod thread_ends;
mod turns;

use std::time::Duration;

use counting_allocator::CountingAllocator;
use graph_protocol::{LoopbackDone, Protocol as Graph};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use urom_abi::protocol::Protocol;
use urom_host::{Completion, DocaError, Host, ProgressEngine, Result, Service, Worker};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

type Client = <Graph as Protocol>::Client<Host>;

const LIMIT: Duration = Duration::from_secs(20);

fn connect() -> Service {
    Service::builder().library(fake::library()).connect_blocking().unwrap()
}

fn start(service: &Service, id: u64) -> (Client, Worker) {
    let graph = service.plugin::<Graph>().unwrap();
    let worker = service.worker().id(id).plugin(&graph).max_inflight(4).start().wait().unwrap();
    (graph, worker)
}

fn connected() -> (fake::Clean, Service) {
    (fake::clean(), connect())
}

fn world(id: u64) -> (fake::Clean, Service, Client, Worker) {
    let (clean, service) = connected();
    let (graph, worker) = start(&service, id);
    (clean, service, graph, worker)
}

fn send(graph: &Client, worker: &Worker, data: u64) -> Completion<LoopbackDone> {
    graph.task_loopback(worker, data).submit().unwrap()
}

#[track_caller]
fn fails<T>(result: Result<T>, code: DocaError, texts: &[&str]) {
    let error = result.map(drop).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    for text in texts {
        assert!(error.to_string().contains(text), "{error}");
    }
}

/// Sleeps like an event loop with a requested notification, until `done` holds.
fn sleep_until(engine: &ProgressEngine, mut done: impl FnMut() -> bool) {
    while !done() {
        let mut fds = [PollFd::new(engine, PollFlags::IN)];
        assert_eq!(
            poll(&mut fds, Some(&Timespec { tv_sec: 20, tv_nsec: 0 })),
            Ok(1),
            "nothing woke it"
        );
        engine.clear_notification().unwrap();
        while engine.progress() {}
        engine.request_notification().unwrap();
    }
}
