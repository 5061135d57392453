//! The start of a daemon, of a host that connects to it, of its first workers, and the first
//! command.

use std::time::Instant;

use anyhow::{Result, ensure};
use urom_host::block_on;

use super::{Part, Suite};
use crate::cores::pin;
use crate::figure::Figure;
use crate::launch::{Launch, worker};

pub(crate) const SUITE: Suite = Suite {
    name: "startup",
    about: "starting a daemon, a host and workers",
    parts: &[Part::new(measure)],
    process: None,
};

fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let mut begin = Instant::now();
    let mut step = |what| {
        let name = format!("startup/{what}/{}", launch.transport.name());
        figures.push(Figure::new(name, "ns", begin.elapsed().as_nanos() as f64));
        begin = Instant::now();
    };
    let daemon = launch.daemon(&["worker_graph"])?;
    step("daemon");
    pin(launch.cores.host(0))?;
    let service = daemon.connect()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    step("connect");
    let start = || worker(&service, &[graph.plugin()], launch.cores.worker());
    let first = start()?;
    step("first-worker");
    let done = graph.task_loopback(&first, 7).submit()?.wait()?;
    ensure!(done.data == 7, "sent 7, got {}", done.data);
    step("first-command");
    let second = start()?;
    step("second-worker");
    block_on(second.stop())?;
    step("stop-of-a-worker");
    Ok(figures)
}
