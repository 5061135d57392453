//! One worker after the other dies under a host that goes on and starts the next: the host needs no more memory for it, nor does the
//! daemon.

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use urom_tests::PluginDirectory;

use super::{A_FEW, EACH, END, Grown, IN_FLIGHT, PROBE, WORKER};
use crate::ending::wait_for_end;
use crate::host::Kind;
use crate::process::{HostProcess, Logs, Transports, signal, start_daemon};
use crate::suite::Figure;
use crate::vitals::{has_thread, until};

/// Has a host lose so many workers.
pub(super) fn turn_over(losses: u32, transports: Transports, logs: &Logs) -> Result<[Figure; 2]> {
    let plugins = PluginDirectory::with(&["worker_faulty"])?;
    let daemon = start_daemon(&plugins, transports, logs)?;
    let mut host = HostProcess::start("the host", &[], transports, logs.file("host")?)?;
    host.connect(daemon.address())?;
    let mut grown = [
        Grown::new("host", "workers", EACH, host.pid()),
        Grown::new("daemon", "workers", 0, daemon.pid()),
    ];
    for loss in 1..=losses {
        lose(&mut host).with_context(|| format!("worker {loss} of {losses}"))?;
        let pid = host.pid();
        until(END, "the receive queue is tried", || Ok(!has_thread(pid, PROBE)?))?;
        grown.iter_mut().try_for_each(Grown::look)?;
    }
    host.disconnect()?;
    host.is_quiet()?;
    ensure!(daemon.stop()?.success(), "the daemon did not end in order");
    Ok(grown.map(|grown| grown.figure(transports)))
}

/// A worker is started, answers, and dies while commands wait at it: not while it sends, which may block the host's receive queue.
fn lose(host: &mut HostProcess) -> Result<()> {
    let worker = host.start_worker(WORKER)?;
    host.load(WORKER, Kind::Busy, IN_FLIGHT, 0)?;
    host.pass(WORKER, A_FEW)?;
    host.halt(WORKER)?;
    host.load(WORKER, Kind::Idle, IN_FLIGHT, 0)?;
    signal(worker, Signal::KILL)?;
    wait_for_end(worker, END, "the worker that dies")?;
    let tally = host.over(WORKER, END)?;
    ensure!(!tally.errors.is_empty(), "commands of a dead worker ended with {tally:?}");
    host.leave(WORKER)
}
