//! This crate's own layer, on a library in memory that fails on demand. What the real service does is tested elsewhere.

mod all_gather;
mod bring;
mod domains;
mod fake;
mod objects;
mod payloads;
mod plain;
mod tasks;

use std::time::Duration;

use graph_protocol::Protocol as Graph;
use urom_abi::protocol::Protocol;
use urom_host::{Host, Service, ServiceBuilder, Worker};

type Client = <Graph as Protocol>::Client<Host>;

const LIMIT: Duration = Duration::from_secs(20);

fn connect() -> Service {
    ServiceBuilder::with_library(fake::library()).connect().unwrap()
}

fn start(service: &Service, id: u64) -> (Client, Worker) {
    let graph = service.plugin::<Graph>().unwrap();
    let worker = service.worker().id(id).plugin(&graph).max_inflight(4).start().wait().unwrap();
    (graph, worker)
}
