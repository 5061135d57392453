//! Hosts die one by one at a lasting worker, and workers under a lasting host; the survivors do not
//! grow.

mod workers;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal};

use crate::ending::wait_for_end;
use crate::host::Kind;
use crate::process::{END, HostProcess, signal};
use crate::service::{Logs, Service};
use crate::suite::{Extent, Figure, Outcome};
use crate::transports::Transports;
use crate::vitals::{descriptors, rings, until, vitals};

const WORKER: u64 = 1;

const IN_FLIGHT: u32 = 32;

const A_FEW: u64 = 500;

/// Length of the warm-up, with all one-time allocations, in losses.
const WARM_UP: u64 = 16;

/// Number of hosts that die over each transport, in the short and the full form.
const HOSTS: [u32; 2] = [64, 200];

/// Allowed growth of a worker for each host, and of a host for each worker, in KiB: UCX keeps up to
/// 0.15 KiB of each peer.
const EACH: u64 = 1;

/// Additional allowed growth, in KiB: holes in the heap.
const HOLES: u64 = 256;

pub(crate) fn run(extent: &Extent) -> Result<Outcome> {
    let [short, full] = HOSTS;
    let hosts = extent.rounds.unwrap_or(extent.pick(short, full));
    let workers = hosts / 2;
    let mut random = fastrand::Rng::with_seed(extent.seed);
    let mut figures = Vec::new();
    for transports in [Transports::All, Transports::Tcp] {
        let logs = Logs::new()?;
        let grown =
            turn_over(hosts, transports, &mut random, &logs).with_context(|| logs.tails())?;
        figures.extend(grown);
        let logs = Logs::new()?;
        figures
            .extend(workers::turn_over(workers, transports, &logs).with_context(|| logs.tails())?);
    }
    let done = format!("{hosts} hosts and {workers} workers over each of two transports");
    Ok(Outcome::Passed { done, figures })
}

fn turn_over(
    hosts: u32,
    transports: Transports,
    random: &mut fastrand::Rng,
    logs: &Logs,
) -> Result<[Figure; 2]> {
    let mut scene = Scene::new(transports, logs)?;
    for host in 1..=hosts {
        // Every other host dies with commands in flight.
        scene
            .lose(random.u64(1..300), host % 2 == 0)
            .with_context(|| format!("host {host} of {hosts}"))?;
    }
    scene.end()
}

struct Scene {
    // Drop order: later processes end first.
    stays: HostProcess,
    service: Service,
    worker: Grown,
    daemon: Grown,
    transports: Transports,
}

impl Scene {
    fn new(transports: Transports, logs: &Logs) -> Result<Scene> {
        let service = Service::start(transports, logs)?;
        let mut stays = service.host("the host that stays")?;
        let worker = Grown::new("worker", "hosts", EACH, stays.start_worker(WORKER)?);
        let daemon = Grown::new("daemon", "hosts", 0, service.pid());
        let mut scene = Scene { stays, service, worker, daemon, transports };
        scene.work()?;
        Ok(scene)
    }

    fn work(&mut self) -> Result<()> {
        self.stays.load(WORKER, Kind::Busy, IN_FLIGHT, 0)?;
        self.stays.pass(WORKER, A_FEW)
    }

    /// Connects a host that dies after `after` answers; if `idle`, it waits for its other answers
    /// first.
    fn lose(&mut self, after: u64, idle: bool) -> Result<()> {
        let mut host = self.service.host("host")?;
        ensure!(
            host.start_worker(WORKER)? == self.worker.pid,
            "worker {WORKER} is one process for all hosts"
        );
        host.load(WORKER, Kind::Busy, IN_FLIGHT, after)?;
        host.pass(WORKER, after)?;
        if idle {
            host.halt(WORKER)?;
        }
        let descriptors =
            || anyhow::Ok((descriptors(self.worker.pid)?, descriptors(self.service.pid())?));
        let before = descriptors()?;
        let its = rings(host.pid())?;
        let shared = rings(self.worker.pid)?.intersection(&its).count();
        // Without a ring the test of the unmapping would prove nothing.
        ensure!(
            shared == usize::from(self.transports == Transports::All) && shared == its.len(),
            "host and worker share {shared} rings, and the host has {its:?}"
        );
        signal(host.pid(), Signal::KILL)?;
        wait_for_end(host.pid(), END, "the host that dies")?;
        until(END, "the lost host is let go", || {
            let now = descriptors()?;
            Ok(now.0 < before.0 && now.1 < before.1)
        })?;
        self.stays
            .pass_within(END, WORKER, A_FEW)
            .context("the host that stays is kept waiting")?;
        self.stays.halt(WORKER)?;
        let unmapped = || Ok(rings(self.worker.pid)?.is_disjoint(&its));
        until(END, "the lost host's ring is unmapped", unmapped)?;
        self.worker.look()?;
        self.daemon.look()?;
        self.work()
    }

    fn end(mut self) -> Result<[Figure; 2]> {
        let figures = [&self.worker, &self.daemon].map(|grown| grown.figure(self.transports));
        self.stays.halt(WORKER)?;
        self.stays.leave(WORKER)?;
        wait_for_end(self.worker.pid, END, "a worker that its host has left")?;
        self.stays.disconnect()?;
        self.stays.is_quiet()?;
        self.service.end()?;
        Ok(figures)
    }
}

#[derive(Debug)]
struct Grown {
    name: &'static str,
    lost: &'static str,
    each: u64,
    pid: Pid,
    losses: u64,
    /// Peak during the warm-up, in KiB.
    first: u64,
    /// Growth above the peak, in KiB.
    by: u64,
}

impl Grown {
    fn new(name: &'static str, lost: &'static str, each: u64, pid: Pid) -> Grown {
        Grown { name, lost, each, pid, losses: 0, first: 0, by: 0 }
    }

    fn look(&mut self) -> Result<()> {
        self.sees(vitals(self.pid)?.memory)
    }

    fn sees(&mut self, memory: u64) -> Result<()> {
        self.losses += 1;
        if self.losses <= WARM_UP {
            self.first = self.first.max(memory);
            return Ok(());
        }
        let Grown { name, lost, each, losses, first, .. } = *self;
        self.by = memory.saturating_sub(first);
        let limit = HOLES + each * (losses - WARM_UP);
        ensure!(
            self.by <= limit,
            "the {name} has {memory} KiB after {losses} lost {lost}, and had at most {first} KiB after the first {WARM_UP}, where \
             {limit} KiB more are tolerated"
        );
        Ok(())
    }

    fn figure(&self, transports: Transports) -> Figure {
        let Grown { name, lost, losses, first, by, .. } = self;
        let over = format!("{transports:?}").to_lowercase();
        let note = format!("with {losses} lost {lost}, above {first} KiB with the first {WARM_UP}");
        Figure::new(format!("turnover/growth/lost-{lost}/{name}/{over}"), "KiB", *by as f64, note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_out(keeps: u64) -> Option<u32> {
        let mut grown = Grown::new("worker", "hosts", EACH, rustix::process::getpid());
        (1..=HOSTS[1]).find(|host| grown.sees(1000 + keeps * u64::from(*host)).is_err())
    }

    #[test]
    fn ten_kib_of_each_host_are_found_out_in_the_short_form_and_what_ucx_keeps_is_not() {
        assert!(found_out(10).is_some_and(|host| host <= HOSTS[0]));
        assert!(found_out(3).is_some());
        assert_eq!(found_out(EACH), None);
    }
}
