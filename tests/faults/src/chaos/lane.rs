//! One lane: a daemon, two workers, two hosts, and their rounds.
//!
//! Host `a` uses worker 1, host `b` workers 1 and 2. Rounds break worker 1, the daemon or host `a`;
//! worker 2 and host `b` must go on.

use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::{Pid, Signal};

use super::judge::Cause;
use super::plan::{Blow, Round, Victim};
use super::watch::{Everybody, Watch};
use crate::ending::{crash, wait_for_end};
use crate::host::Kind;
use crate::measure::{between, now};
use crate::process::{END, HostProcess, TIMEOUT, in_time, signal};
use crate::service::{Logs, Service};
use crate::transports::Transports;
use crate::vitals::{descriptors, orphaned, until};

/// The broken worker and the intact worker.
const ONE: u64 = 1;
const TWO: u64 = 2;

const ANY: u64 = u64::MAX;

/// Length of a pause: with a heartbeat before it, well below the timeout.
const PAUSE: Duration = Duration::from_secs(1);

const A_FEW: u64 = 200;

pub(super) struct Lane {
    // Drop order: later processes end first.
    a: HostProcess,
    b: HostProcess,
    service: Service,
    workers: [Pid; 2],
    watch: Watch,
    transports: Transports,
    logs: Logs,
}

impl Lane {
    pub(super) fn start(transports: Transports) -> Result<Lane> {
        let logs = Logs::new()?;
        let service = Service::start(transports, &logs)?;
        let (mut a, mut b) = (new_host("host a", &service)?, new_host("host b", &service)?);
        let workers = [a.start_worker(ONE)?, b.start_worker(TWO)?];
        ensure!(b.start_worker(ONE)? == workers[0], "worker {ONE} is one process for both hosts");
        let watch = Watch::default();
        let mut lane = Lane { a, b, service, workers, watch, transports, logs };
        lane.warm_up()?;
        Ok(lane)
    }

    pub(super) fn logs(&self) -> String {
        self.logs.tails()
    }

    /// Uses every process once, so that first-use allocations are done.
    fn warm_up(&mut self) -> Result<()> {
        self.loads([32; 3], 0)?;
        self.a.pass(ONE, A_FEW)?;
        self.b.pass(ONE, A_FEW)?;
        self.b.pass(TWO, A_FEW)?;
        self.halt_all()
    }

    fn loads(&mut self, in_flight: [u32; 3], seed: u64) -> Result<()> {
        self.a.load(ONE, Kind::Busy, in_flight[0], seed)?;
        self.b.load(ONE, Kind::Busy, in_flight[1], seed.wrapping_add(1))?;
        self.b.load(TWO, Kind::Busy, in_flight[2], seed.wrapping_add(2))
    }

    fn halt_all(&mut self) -> Result<()> {
        self.a.halt(ONE)?;
        self.b.halt(ONE)?;
        self.b.halt(TWO)?;
        Ok(())
    }

    /// Plays one round; returns the time until the last affected process noticed. The caller judges
    /// the time at the end of the run.
    pub(super) fn play(&mut self, round: &Round) -> Result<Duration> {
        self.watch.remember(self.processes())?;
        self.shares(round.victim)?;
        self.loads(round.in_flight, round.seed)?;
        match round.observer {
            0 => self.a.pass(ONE, round.after)?,
            1 => self.b.pass(ONE, round.after)?,
            _ => self.b.pass(TWO, round.after)?,
        }
        let noticed = match (round.victim, round.blow) {
            (_, Blow::Pause) => self.pause(round.victim)?,
            (Victim::Worker, blow) => self.lose_worker(blow)?,
            (Victim::Daemon, blow) => self.lose_daemon(blow)?,
            (Victim::Host, blow) => self.lose_host(blow)?,
        };
        // The next worker works, and every process is back in its first state.
        self.warm_up()?;
        self.a.is_quiet()?;
        self.b.is_quiet()?;
        self.watch.compare(self.processes())?;
        Ok(noticed)
    }

    fn victim(&self, victim: Victim) -> Pid {
        match victim {
            Victim::Worker => self.workers[0],
            Victim::Daemon => self.service.pid(),
            Victim::Host => self.a.pid(),
        }
    }

    /// Stops and continues a process; all connections survive.
    fn pause(&mut self, victim: Victim) -> Result<Duration> {
        let pid = self.victim(victim);
        let begin = now();
        signal(pid, Signal::STOP)?;
        // The pause always lasts in full; its last answers may come after it.
        let unfinished = loop {
            let left = PAUSE.saturating_sub(between(begin, now()));
            if left.is_zero() {
                break false;
            }
            if in_time(self.b.pass_within(left, TWO, A_FEW))?.is_none() {
                break true;
            }
        };
        signal(pid, Signal::CONT)?;
        let paused = between(begin, now());
        if unfinished {
            self.b.passed(TIMEOUT, TWO, A_FEW)?;
        }
        self.a.pass(ONE, A_FEW)?;
        self.b.pass(ONE, A_FEW)?;
        self.b.pass(TWO, A_FEW)?;
        self.halt_all()?;
        Ok(paused)
    }

    fn goes_on(&mut self, worker: u64) -> Result<()> {
        self.b.pass_within(END, worker, A_FEW)?;
        self.b.halt(worker)?;
        Ok(())
    }

    fn cause(&self, victim: Victim, blow: Blow) -> Cause {
        Cause { victim, blow, transports: self.transports }
    }

    fn finish(&self, pid: Pid, blow: Blow) -> Result<()> {
        match blow {
            Blow::StopThenKill => signal(pid, Signal::KILL),
            Blow::StopThenContinue => signal(pid, Signal::CONT),
            Blow::Kill | Blow::Crash | Blow::Pause => Ok(()),
        }
    }

    fn lose_worker(&mut self, blow: Blow) -> Result<Duration> {
        let (worker, cause) = (self.workers[0], self.cause(Victim::Worker, blow));
        let begin = now();
        strike(worker, blow)?;
        let last = lost(&mut self.a, ONE, cause)?.max(lost(&mut self.b, ONE, cause)?);
        if blow.stops() {
            let _ = self.finish(worker, blow);
        }
        wait_for_end(worker, END, "the lost worker")?;
        self.a.leave(ONE)?;
        self.b.leave(ONE)?;
        self.goes_on(TWO)?;
        self.workers[0] = self.a.start_worker(ONE)?;
        self.b.start_worker(ONE)?;
        Ok(between(begin, last))
    }

    fn lose_daemon(&mut self, blow: Blow) -> Result<Duration> {
        let (pid, cause) = (self.service.pid(), self.cause(Victim::Daemon, blow));
        let begin = now();
        strike(pid, blow)?;
        let mut last = lost(&mut self.a, ONE, cause)?;
        last = last.max(lost(&mut self.b, ONE, cause)?);
        last = last.max(lost(&mut self.b, TWO, cause)?);
        for worker in self.workers {
            wait_for_end(worker, END, "a worker without its daemon")?;
        }
        self.finish(pid, blow)?;
        self.a.leave(ONE)?;
        self.b.leave(ONE)?;
        self.b.leave(TWO)?;
        self.a.disconnect()?;
        self.b.disconnect()?;
        if blow != Blow::StopThenContinue {
            self.service = Service::start(self.transports, &self.logs)?;
        }
        self.a.connect(self.service.address())?;
        self.b.connect(self.service.address())?;
        self.workers = [self.a.start_worker(ONE)?, self.b.start_worker(TWO)?];
        self.b.start_worker(ONE)?;
        Ok(between(begin, last))
    }

    fn lose_host(&mut self, blow: Blow) -> Result<Duration> {
        let (host, worker, daemon) = (self.a.pid(), self.workers[0], self.service.pid());
        let before = (descriptors(worker)?, descriptors(daemon)?);
        let begin = now();
        strike(host, blow)?;
        // The other hosts get no message: worker and daemon only close the lost host's connections.
        until(TIMEOUT, "the lost host is let go", || {
            Ok(descriptors(worker)? < before.0 && descriptors(daemon)? < before.1)
        })?;
        let noticed = between(begin, now());
        self.goes_on(ONE)?;
        self.goes_on(TWO)?;
        self.finish(host, blow)?;
        if blow == Blow::StopThenContinue {
            let cause = self.cause(Victim::Host, blow);
            lost(&mut self.a, ONE, cause)?;
            self.a.leave(ONE)?;
            self.a.disconnect()?;
            self.a.connect(self.service.address())?;
        } else {
            wait_for_end(host, END, "the lost host")?;
            self.a = new_host("host a", &self.service)?;
        }
        ensure!(
            self.a.start_worker(ONE)? == worker,
            "worker {ONE} has host b, and yet it is another process now"
        );
        Ok(noticed)
    }

    fn processes(&self) -> Everybody {
        [
            ("the daemon", self.service.pid()),
            ("host a", self.a.pid()),
            ("host b", self.b.pid()),
            ("worker 1", self.workers[0]),
            ("worker 2", self.workers[1]),
        ]
    }

    /// Checks that another process has mapped a ring of the victim (except for the daemon, and
    /// except over TCP), so that a leak would be seen.
    fn shares(&self, victim: Victim) -> Result<()> {
        let pid = self.victim(victim);
        let rest: Vec<Pid> =
            self.processes().map(|(_, pid)| pid).into_iter().filter(|it| *it != pid).collect();
        let its = rest.iter().map(|it| orphaned(*it, &rest)).collect::<Result<Vec<_>>>()?.concat();
        let shares = self.transports == Transports::All && victim != Victim::Daemon;
        ensure!(
            its.is_empty() != shares,
            "others have mapped these rings of the {victim}: {its:?}"
        );
        Ok(())
    }

    pub(super) fn end(mut self) -> Result<()> {
        self.a.leave(ONE)?;
        self.b.leave(ONE)?;
        self.b.leave(TWO)?;
        for worker in self.workers {
            wait_for_end(worker, END, "a worker that all hosts have left")?;
        }
        self.a.disconnect()?;
        self.b.disconnect()?;
        self.service.end()
    }
}

fn strike(pid: Pid, blow: Blow) -> Result<()> {
    match blow {
        Blow::Kill => signal(pid, Signal::KILL),
        Blow::Crash => crash(pid),
        Blow::StopThenKill | Blow::StopThenContinue | Blow::Pause => signal(pid, Signal::STOP),
    }
}

/// Waits until every task of a lost worker has ended; returns the time of the last end.
fn lost(host: &mut HostProcess, worker: u64, cause: Cause) -> Result<u64> {
    let tally = host.over(worker, TIMEOUT)?;
    cause.is_named_by(&tally, worker)?;
    Ok(tally.last_end)
}

/// Connects a host that has already started and left a worker, so that first-use allocations are
/// done.
fn new_host(name: &str, service: &Service) -> Result<HostProcess> {
    let mut host = service.host(name)?;
    host.start_worker(ANY)?;
    host.leave(ANY)?;
    Ok(host)
}
