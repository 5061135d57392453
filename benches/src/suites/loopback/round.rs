//! One round of one side in a host.

use std::collections::VecDeque;

use anyhow::{Result, ensure};
use bench_raw::{Peer, Style};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use urom_host::{Completion, Host, Worker};

use crate::distribution::{Distribution, Recorder};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::suites) enum Side {
    /// Raw UCX without settings.
    Raw,
    /// With the kit's settings of UCX.
    RawSameSettings,
    /// With messages as long as the kit's, answered as the kit's worker answers.
    RawAtOnce,
    Kit,
}

impl Side {
    /// Its raw messages.
    pub(in crate::suites) fn style(self) -> Style {
        if self == Side::RawAtOnce { Style::AtOnce } else { Style::Doca }
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::suites) struct Work {
    pub(in crate::suites) trips: u64,
    /// How many of them are in flight at the same time.
    pub(in crate::suites) depth: u64,
    /// Each is timed by itself, the reading of the clock included.
    pub(in crate::suites) single: bool,
}

/// The times of a round, in nanoseconds of the clock that all processes of a machine share.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::suites) struct Done {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) histogram: Option<Distribution>,
}

impl Done {
    /// Nanoseconds of one of `trips`.
    pub(in crate::suites) fn each(&self, trips: u64) -> f64 {
        self.end.saturating_sub(self.begin) as f64 / trips as f64
    }
}

/// Untimed trips before each round: the other end has to notice that it begins, and caches fill.
const WARM_UP: u64 = 1_000;

#[inline]
pub(in crate::suites) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn timed(
    work: Work,
    all: impl FnOnce() -> Result<()>,
    mut one: impl FnMut(u64) -> Result<()>,
) -> Result<Done> {
    let mut recorder = work.single.then(Recorder::new);
    let begin = now();
    if let Some(recorder) = &mut recorder {
        let mut last = begin;
        for trip in 0..work.trips {
            one(trip)?;
            let time = now();
            recorder.record(time - last);
            last = time;
        }
    } else {
        all()?;
    }
    Ok(Done { begin, end: now(), histogram: recorder.map(Recorder::finish) })
}

pub(super) fn raw(peer: &Peer, style: Style, work: Work) -> Result<Done> {
    let trips = |count, depth| {
        peer.round_trips(style, count, depth);
        Ok(())
    };
    trips(WARM_UP.min(work.trips), 1)?;
    timed(work, || trips(work.trips, work.depth), |_| trips(1, 1))
}

type Graph = graph_protocol::Client<Host>;

pub(in crate::suites) fn kit(client: &Graph, worker: &Worker, work: Work) -> Result<Done> {
    (0..WARM_UP.min(work.trips)).try_for_each(|data| round_trip(client, worker, data))?;
    timed(
        work,
        || match work.depth {
            1 => (0..work.trips).try_for_each(|data| round_trip(client, worker, data)),
            depth => in_flight(client, worker, work.trips, depth),
        },
        |data| round_trip(client, worker, data),
    )
}

fn round_trip(client: &Graph, worker: &Worker, data: u64) -> Result<()> {
    check(data, send(client, worker, data)?)
}

fn in_flight(client: &Graph, worker: &Worker, count: u64, depth: u64) -> Result<()> {
    let mut in_flight = VecDeque::with_capacity(depth as usize);
    for data in 0..count {
        if in_flight.len() as u64 == depth
            && let Some((sent, task)) = in_flight.pop_front()
        {
            check(sent, task)?;
        }
        in_flight.push_back((data, send(client, worker, data)?));
    }
    in_flight.into_iter().try_for_each(|(sent, task)| check(sent, task))
}

#[inline]
fn send(
    client: &Graph,
    worker: &Worker,
    data: u64,
) -> urom_host::Result<Completion<graph_protocol::LoopbackDone>> {
    client.task_loopback(worker, data).submit()
}

#[inline]
fn check(sent: u64, task: Completion<graph_protocol::LoopbackDone>) -> Result<()> {
    let got = task.wait()?.data;
    ensure!(got == sent, "sent {sent}, got {got}");
    Ok(())
}
