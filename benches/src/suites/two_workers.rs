//! A host with two workers, where the first moves bytes to the second, and raw UCX that relays as
//! many bytes between the same three processes.

use std::task::{Context as TaskContext, Poll, Waker};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bench_raw::{Kind, Peer, STOP, Style};
use urom_host::memory::View;
use urom_host::{Plugin, Service, Worker};

use crate::cores::pin;
use crate::launch::{Daemon, Launch, worker};
use crate::party::{RawClient, introduce, prepare, serve};
use crate::statistics::of_rounds;

/// Time for the host and both workers to fall asleep.
const PAUSE: Duration = Duration::from_millis(10);

pub(super) struct TwoWorkers {
    bench: RawClient,
    pub(super) workers: [Worker; 2],
    /// Polling and sleeping raw UCX of this process, each connected to the sender first.
    raw: [Peer; 2],
    // Both are dropped after their users.
    pub(super) service: Service,
    _daemon: Daemon,
}

#[derive(Clone, Copy)]
pub(super) struct Operations {
    /// Untimed first operations, so that the other side's data leaves the caches. The first of raw
    /// UCX also waits for the workers to take their commands.
    pub(super) warm_up: usize,
    pub(super) count: usize,
    /// Each operation follows a pause, so that the host and both workers sleep.
    pub(super) asleep: bool,
}

impl TwoWorkers {
    /// Starts workers with `plugin` and the plugin of raw UCX; pins the calling thread to the
    /// host's core.
    pub(super) fn start(
        launch: &Launch,
        daemon: Daemon,
        service: Service,
        plugin: &Plugin,
    ) -> Result<TwoWorkers> {
        let cores = &launch.cores;
        let bench = service.plugin::<bench_protocol::Protocol>()?;
        let start = |core| worker(&service, &[plugin, bench.plugin()], core);
        let workers = [start(cores.worker())?, start(cores.host(1))?];
        pin(cores.host(0))?;
        let connect = |kind| -> Result<Peer> {
            let mut raw = Peer::new(0, kind)?;
            let [sender, receiver] = &workers;
            let theirs = [prepare(&bench, sender, 0, kind)?, prepare(&bench, receiver, 1, kind)?];
            theirs.iter().try_for_each(|address| raw.connect(address))?;
            let ours = raw.address()?;
            introduce(&bench, sender, &ours, kind)?;
            introduce(&bench, receiver, &ours, kind)?;
            introduce(&bench, sender, &theirs[1], kind)?;
            Ok(raw)
        };
        let raw = [connect(Kind::Awake)?, connect(Kind::Asleep)?];
        Ok(TwoWorkers { bench, workers, raw, service, _daemon: daemon })
    }

    /// Returns the median time of a round's operations, in nanoseconds. `operation` gets its
    /// number, and adds its times.
    pub(super) fn round(
        &self,
        round: Operations,
        mut operation: impl FnMut(usize, &mut Vec<f64>) -> Result<()>,
    ) -> Result<f64> {
        let Operations { warm_up, count, asleep } = round;
        let mut times = Vec::new();
        for number in 0..warm_up + count {
            if number == warm_up {
                times.clear();
            }
            if asleep {
                // The host's library polls for a shorter time.
                std::thread::sleep(PAUSE);
            }
            operation(number, &mut times)?;
        }
        of_rounds(&times)
    }

    /// The same for raw UCX, which has the threads of both workers meanwhile. Its tag messages have
    /// `size` bytes.
    pub(super) fn raw_round(
        &self,
        round: Operations,
        size: usize,
        mut operation: impl FnMut(&Peer, &mut Vec<f64>) -> Result<()>,
    ) -> Result<f64> {
        let raw = &self.raw[usize::from(round.asleep)];
        let give =
            |to: usize, style| serve(&self.bench, &self.workers[to], raw.kind(), style, size);
        let serving = [give(0, Style::Forward)?, give(1, Style::Receive)?];
        let time = self.round(round, |_, times| operation(raw, times))?;
        for (to, serving) in serving.into_iter().enumerate() {
            raw.send_to(to, STOP);
            raw.progress();
            serving.wait()?;
        }
        Ok(time)
    }
}

pub(super) fn relay(raw: &Peer, request: &'static [u8]) -> Result<f64> {
    let start = Instant::now();
    let counts = [raw.received(0) + 1, raw.received(1) + 1];
    raw.send(request);
    for (from, count) in counts.into_iter().enumerate() {
        match raw.kind() {
            Kind::Asleep => raw.await_asleep(from, count)?,
            _ => await_yielding(raw, from, count),
        }
    }
    Ok(start.elapsed().as_nanos() as f64)
}

pub(super) fn await_yielding(raw: &Peer, from: usize, count: u64) {
    while raw.received(from) < count {
        if !raw.progress() {
            std::thread::yield_now();
        }
    }
}

pub(super) fn yielding<F: Future>(worker: &Worker, future: F) -> Result<F::Output> {
    let mut future = std::pin::pin!(future);
    let mut context = TaskContext::from_waker(Waker::noop());
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Ok(output);
        }
        if !worker.engine().progress() {
            std::thread::yield_now();
            ensure!(Instant::now() < deadline, "a message is on its way for a minute");
        }
    }
}

/// Writes fresh bytes. A worker on this core runs meanwhile: it would regard a process that keeps
/// the core for longer as busy.
pub(super) fn write_fresh(memory: &View<'_>, byte: usize) -> Result<()> {
    static BLOCK: [[u8; 16 << 10]; 2] = [[1; 16 << 10], [2; 16 << 10]];
    let block = &BLOCK[byte % 2];
    for at in (0..memory.len()).step_by(block.len()) {
        let len = block.len().min((memory.len() - at) as usize);
        memory.copy_from(at, &block[..len])?;
        std::thread::yield_now();
    }
    Ok(())
}
