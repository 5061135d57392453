//! One round of one side in a host process.

use std::collections::VecDeque;

use anyhow::{Result, ensure};
use bench_raw::{Peer, Style};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use urom_host::{Completion, Host, Worker};

use crate::distribution::{Distribution, Recorder};

/// Whose round it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::suites) enum Side {
    /// As UCX comes.
    Raw,
    /// With the kit's settings of UCX.
    RawSameSettings,
    /// As UCX comes, with messages as long as the kit's.
    RawShort,
    /// The same, answered as the kit's worker answers.
    RawShortAtOnce,
    Kit,
}

impl Side {
    /// What raw messages are like.
    pub(in crate::suites) fn style(self) -> Style {
        match self {
            Side::Raw | Side::RawSameSettings | Side::Kit => Style::Doca,
            Side::RawShort => Style::Short,
            Side::RawShortAtOnce => Style::ShortAtOnce,
        }
    }
}

/// What is to be done in a round.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::suites) struct Work {
    /// How many round trips.
    pub(in crate::suites) trips: u64,
    /// How many of them at the same time.
    pub(in crate::suites) depth: u64,
    /// One at a time, each timed by itself. Reading the clock is then part of each.
    pub(in crate::suites) single: bool,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::suites) struct Done {
    /// On the clock that all processes of a machine share, in nanoseconds.
    pub(in crate::suites) begin: u64,
    pub(in crate::suites) end: u64,
    pub(in crate::suites) histogram: Option<Distribution>,
}

/// Before each round, untimed: the other end has to notice that it begins, and caches have to fill.
const WARM_UP: u64 = 1_000;

fn now() -> u64 {
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

/// A round of raw UCX, against a worker that serves.
pub(in crate::suites) fn raw(peer: &Peer, style: Style, work: Work) -> Result<Done> {
    peer.round_trips(style, WARM_UP.min(work.trips), 1);
    timed(
        work,
        || {
            peer.round_trips(style, work.trips, work.depth);
            Ok(())
        },
        |_| {
            peer.round_trips(style, 1, 1);
            Ok(())
        },
    )
}

type Graph = graph_protocol::Client<Host>;

/// A round of the kit.
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
) -> urom_host::Result<Completion<graph_protocol::Loopback>> {
    client.task_loopback(worker, data).submit()
}

#[inline]
fn check(sent: u64, task: Completion<graph_protocol::Loopback>) -> Result<()> {
    let got = task.wait()?.data;
    ensure!(got == sent, "sent {sent}, got {got}");
    Ok(())
}
