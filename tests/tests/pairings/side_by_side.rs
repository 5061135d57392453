//! One worker with a C plugin and a Rust plugin, both in use.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use urom_host::gather::InProcess;
use urom_host::{DocaError, Received, Service as Connection, block_on_for};
use urom_tests::c::Service;

use crate::{Make, Protocol, plugins};

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn rust_host_and_a_graph_plugin_in_c_beside_a_sandbox_plugin_in_rust() -> Result<()> {
    check(Make::C, Make::Rust)
}

#[test]
fn rust_host_and_a_graph_plugin_in_rust_beside_a_sandbox_plugin_in_c() -> Result<()> {
    check(Make::Rust, Make::C)
}

fn check(graph: Make, sandbox: Make) -> Result<()> {
    let daemon =
        Service::daemon(plugins(&[(Protocol::Graph, graph), (Protocol::Sandbox, sandbox)])?)?;
    let address = daemon.uromd().context("a daemon")?.address();
    let service = Connection::builder().address(address).connect_blocking()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let sandbox = service.plugin::<sandbox_protocol::Protocol>()?;
    let worker =
        service.worker().plugin(&graph).plugin(&sandbox).max_inflight(128).start().wait()?;
    let domain = service.domain().worker(4, &worker).gather(InProcess::alone()).start();
    let domain = block_on_for(LIMIT, domain)??;

    for round in 0..50_u64 {
        // Commands of both at once, some of them invalid.
        let receive = sandbox.task_tag_recv(&worker, 100, round, u64::MAX).submit()?;
        let loopback = graph.task_loopback(&worker, round).submit()?;
        let bad = || {
            Ok([worker.task(&graph, &[9; 16]).submit()?, worker.task(&sandbox, &[9; 72]).submit()?])
        };
        let bad: Option<Result<_>> = (round % 25 == 0).then(bad);
        let send = sandbox.task_tag_send(&worker, 4, round).data(b"to itself").submit()?;
        let again = graph.task_loopback(&worker, !round).submit()?;
        ensure!(block_on_for(LIMIT, again)??.data == !round, "round {round}");
        ensure!(block_on_for(LIMIT, loopback)??.data == round, "round {round}");
        ensure!(block_on_for(LIMIT, send)??.status == 0, "round {round}");
        let received = block_on_for(LIMIT, receive)??;
        ensure!(
            matches!(&received.data, Received::Inline(data) if data[..] == *b"to itself"),
            "{received:?}"
        );
        for bad in bad.transpose()?.into_iter().flatten() {
            ensure!(block_on_for(LIMIT, bad)?.status == DocaError::INVALID_VALUE, "round {round}");
        }
    }
    domain.stop_blocking()?;
    Ok(block_on_for(LIMIT, worker.stop())??)
}
