//! Heap allocations of a command in steady state, at the host and in the worker, which are the programs that are used.
//!
//! Over TCP UCX remembers which memory it has sent from, and allocates for what it has not: a few times in thousands of commands, when
//! a buffer is used for the first time.

mod sandbox;

use anyhow::{Result, ensure};

use super::Suite;
use super::counted::{Counted, Each};
use super::pair::DEPTH;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "heap allocations of a command, at the host and in the worker",
    run,
    child: Some(sandbox::child),
};

const NAME: &str = "allocations";
/// What the ABI has a worker and a plugin allocate for a command: its descriptor, and that of its answer.
const DESCRIPTORS: f64 = 2.0;
const NOTE: &str = "besides the descriptors of the command and of its answer, as the ABI has it";

fn run(extent: &Extent) -> Result<Vec<Figure>> {
    extent.launches(NAME, |_| {
        let mut figures = Vec::new();
        for transport in Transport::ALL {
            figures.extend(launch(extent, transport)?);
            figures.extend(sandbox::launch(extent, transport)?);
        }
        Ok(figures)
    })
}

fn launch(extent: &Extent, transport: Transport) -> Result<Vec<Figure>> {
    let commands = match transport {
        Transport::SharedMemory => 10_000,
        Transport::Tcp => 2_000,
    };
    let mut pair = Counted::start(extent, transport)?;
    let mut figures = Vec::new();
    for depth in [1, DEPTH] {
        let [host, worker]: [Each; 2] = pair.each(commands, depth)?;
        // Without the counting library in the worker there would be none, and the row would be met.
        ensure!(
            worker.allocations >= DESCRIPTORS,
            "{} allocations in the worker for each command, of which its descriptors alone take {DESCRIPTORS}: \
             the counting does not work",
            worker.allocations
        );
        let name = |side| format!("{NAME}/per-command/{}/{side}/{depth}", transport.name());
        figures.extend([
            Figure::new(name("host"), "allocations", host.allocations),
            Figure::new(name("worker"), "allocations", worker.allocations - DESCRIPTORS).note(NOTE),
        ]);
    }
    pair.finish()?;
    Ok(figures)
}
