//! Workers die one by one under a lasting host, which starts the next; host and daemon do not grow.

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use super::{A_FEW, EACH, Grown, IN_FLIGHT, WORKER};
use crate::ending::wait_for_end;
use crate::host::Kind;
use crate::process::{END, HostProcess, signal};
use crate::service::{Logs, Service};
use crate::suite::Figure;
use crate::transports::Transports;
use crate::vitals::{rings, until};

pub(super) fn turn_over(losses: u32, transports: Transports, logs: &Logs) -> Result<[Figure; 2]> {
    let service = Service::start(transports, logs)?;
    let mut host = service.host("the host")?;
    let mut grown = [
        Grown::new("host", "workers", EACH, host.pid()),
        Grown::new("daemon", "workers", 0, service.pid()),
    ];
    for loss in 1..=losses {
        lose(&mut host).with_context(|| format!("worker {loss} of {losses}"))?;
        let pid = host.pid();
        until(END, "the lost worker's ring is unmapped", || Ok(rings(pid)?.is_empty()))?;
        grown.iter_mut().try_for_each(Grown::look)?;
    }
    host.disconnect()?;
    host.is_quiet()?;
    service.end()?;
    Ok(grown.map(|grown| grown.figure(transports)))
}

fn lose(host: &mut HostProcess) -> Result<()> {
    let worker = host.start_worker(WORKER)?;
    host.load(WORKER, Kind::Busy, IN_FLIGHT, 0)?;
    host.pass(WORKER, A_FEW)?;
    signal(worker, Signal::KILL)?;
    wait_for_end(worker, END, "the worker that dies")?;
    let tally = host.over(WORKER, END)?;
    ensure!(!tally.errors.is_empty(), "commands of a dead worker ended with {tally:?}");
    host.leave(WORKER)
}
