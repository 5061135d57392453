//! A task that is dropped instead of being submitted.

#![deny(unused_must_use)]

fn host<H: urom_abi::protocol::HostSide>(client: &graph_protocol::Client<H>, worker: &H::Worker) {
    client.task_loopback(worker, 1);
}

fn main() {}
