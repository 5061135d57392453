//! One round of one side in a host.

use std::collections::VecDeque;

use anyhow::Result;
use bench_raw::{Peer, Style};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use urom_host::{Host, Worker};

use crate::distribution::Distribution;
use crate::party::{Party, answered};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::suites) enum Side {
    /// Raw UCX with messages as long as DOCA's.
    Raw,
    Kit,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::suites) struct Trips {
    pub(in crate::suites) trips: u64,
    pub(in crate::suites) depth: u64,
    /// Times each trip, with the reading of the clock.
    pub(in crate::suites) single: bool,
}

/// Times of a round, in nanoseconds of the machine's shared clock.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::suites) struct Done {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) histogram: Option<Distribution>,
}

impl Side {
    pub(super) fn style(self) -> Option<Style> {
        match self {
            Side::Raw => Some(Style::Doca),
            Side::Kit => None,
        }
    }

    pub(super) fn round(self, party: &Party, work: Trips) -> Result<Done> {
        match self.style() {
            None => kit(&party.graph, &party.worker, work),
            Some(style) => raw(&party.raw, style, work),
        }
    }

    /// Nanoseconds of a trip in a round; gives raw UCX the worker's thread.
    pub(in crate::suites) fn each(self, party: &mut Party, trips: u64) -> Result<f64> {
        let style = self.style();
        style.map_or(Ok(()), |style| party.serve(style))?;
        let done = self.round(party, Trips::alone(trips))?;
        style.map_or(Ok(()), |_| party.end_serve())?;
        Ok(done.each(trips))
    }
}

impl Trips {
    pub(in crate::suites) fn alone(trips: u64) -> Trips {
        Trips { trips, depth: 1, single: false }
    }

    fn timed(
        self,
        all: impl FnOnce() -> Result<()>,
        mut one: impl FnMut(u64) -> Result<()>,
    ) -> Result<Done> {
        let begin = now();
        let mut histogram = None;
        if self.single {
            let histogram = histogram.insert(Distribution::new());
            let mut last = begin;
            for trip in 0..self.trips {
                one(trip)?;
                let time = now();
                histogram.record(time - last);
                last = time;
            }
        } else {
            all()?;
        }
        Ok(Done { begin, end: now(), histogram })
    }
}

impl Done {
    pub(in crate::suites) fn each(&self, trips: u64) -> f64 {
        self.end.saturating_sub(self.begin) as f64 / trips as f64
    }
}

/// Untimed trips before each round: the other end notices the round, and caches fill.
const WARM_UP: u64 = 1_000;

#[inline]
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn raw(peer: &Peer, style: Style, work: Trips) -> Result<Done> {
    let trips = |count, depth| {
        peer.round_trips(style, count, depth);
        Ok(())
    };
    trips(WARM_UP.min(work.trips), 1)?;
    work.timed(|| trips(work.trips, work.depth), |_| trips(1, 1))
}

type Graph = graph_protocol::Client<Host>;

pub(in crate::suites) fn kit(client: &Graph, worker: &Worker, work: Trips) -> Result<Done> {
    let round_trip = |data| answered(data, client.task_loopback(worker, data).submit()?);
    (0..WARM_UP.min(work.trips)).try_for_each(round_trip)?;
    work.timed(
        || match work.depth {
            1 => (0..work.trips).try_for_each(round_trip),
            depth => in_flight(client, worker, work.trips, depth),
        },
        round_trip,
    )
}

pub(in crate::suites) fn in_flight(
    client: &Graph,
    worker: &Worker,
    count: u64,
    depth: u64,
) -> Result<()> {
    let mut in_flight = VecDeque::with_capacity(depth as usize);
    for data in 0..count {
        if in_flight.len() as u64 == depth
            && let Some((sent, task)) = in_flight.pop_front()
        {
            answered(sent, task)?;
        }
        in_flight.push_back((data, client.task_loopback(worker, data).submit()?));
    }
    in_flight.into_iter().try_for_each(|(sent, task)| answered(sent, task))
}
