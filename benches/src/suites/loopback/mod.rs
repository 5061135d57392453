//! Loopback commands against raw UCX active messages of the same sizes: round trips and rates over
//! both transports, of one and of four hosts at a `uromd`, and of one with an embedded service.
//!
//! Each host is a process with connections of the kit and of raw UCX to the same worker, and both
//! sides have rounds in turns. Raw UCX has the worker's thread in its rounds, and its own settings.
//! Over shared memory the kit uses rings.

pub(super) mod round;

use anyhow::{Context, Result};
use bench_raw::Kind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, to_value};
use urom_tests::PluginDirectory;

use self::round::{Done, Side, Trips};
use crate::child::{self, Child};
use crate::distribution::Distribution;
use crate::figure::Figure;
use crate::launch::{Daemon, Launch};
use crate::party::{HostArguments, PLUGINS, Party, Server};
use crate::process::Process;
use crate::statistics::{in_turns, of_rounds};
use crate::transport::Transport;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Order {
    /// Gives the worker's thread to raw UCX, for rounds of a side.
    Serve(Side),
    EndServe,
    Round(Side, Trips),
}

pub(crate) fn host(arguments: &HostArguments) -> Result<()> {
    let mut party = Party::new(arguments, Kind::Awake)?;
    child::answer(&party.worker.id())?;
    child::serve(|order| -> Result<Value> {
        Ok(match order {
            Order::Serve(side) => json!(party.serve(side.style().context("it is raw UCX")?)?),
            Order::EndServe => json!(party.end_serve()?),
            Order::Round(side, work) => to_value(side.round(&party, work)?)?,
        })
    })
}

#[derive(Clone, Copy)]
struct Cell {
    transport: Transport,
    embedded: bool,
    hosts: usize,
    /// Numbers of commands in flight; the last is the worker's limit.
    depths: &'static [u64],
}

/// The matrix. 512 commands in flight need a separate worker, with more memory.
fn cells(launch: &Launch) -> Vec<Cell> {
    let depths = [&[1, 8, 64][..], &[512]];
    let services = [(false, 1), (false, 4), (true, 1)];
    let of_depths = |depths| {
        let transport = launch.transport;
        services.map(|(embedded, hosts)| Cell { transport, embedded, hosts, depths })
    };
    depths[..if launch.quick { 1 } else { 2 }].iter().flat_map(|depths| of_depths(depths)).collect()
}

pub(crate) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for cell in cells(launch) {
        figures.extend(cell.measure(launch).with_context(|| cell.name("", 0))?);
    }
    Ok(figures)
}

impl Cell {
    fn name(&self, what: &str, depth: u64) -> String {
        let Cell { transport, embedded, hosts, .. } = self;
        let service = if *embedded { "embedded" } else { "uromd" };
        let plural = if *hosts == 1 { "" } else { "s" };
        format!("loopback/{what}/{}/{service}/{hosts}-host{plural}/{depth}", transport.name())
    }

    fn measure(&self, launch: &Launch) -> Result<Vec<Figure>> {
        // An embedded service needs the plugins as long as the daemon would.
        let plugins = PluginDirectory::with(&PLUGINS)?;
        let (server, _daemon, _plugins) = if self.embedded {
            (Server::Embedded { plugins: plugins.path().to_owned() }, None, Some(plugins))
        } else {
            let daemon = Daemon::start(plugins, |command| command)?;
            (Server::Uromd { address: daemon.address().to_owned() }, Some(daemon), None)
        };
        let in_flight = self.depths.iter().copied().max().unwrap_or(1);
        let cores = launch.cores.clone();
        let first = HostArguments { place: server, number: 0, worker: None, in_flight, cores };
        let mut hosts = Hosts::start(self.hosts, first)?;
        let mut figures = Vec::new();
        for &depth in self.depths {
            figures.extend(self.at_depth(launch, &mut hosts, depth)?);
        }
        hosts.0.into_iter().try_for_each(Child::finish)?;
        Ok(figures)
    }

    fn at_depth(&self, launch: &Launch, hosts: &mut Hosts, depth: u64) -> Result<Vec<Figure>> {
        let work = |trips| Trips { depth, ..Trips::alone(trips) };
        let sides = [Side::Raw, Side::Kit];
        // A short round determines the number of trips, and warms up.
        let first = 200.max(depth * 4);
        let mut calibrate = |side: &Side| -> Result<u64> {
            let each = hosts.round(*side, work(first))?.each();
            Ok(launch.trips(each * self.hosts as f64, first))
        };
        let trips = sides.iter().map(&mut calibrate).collect::<Result<Vec<_>>>()?;
        let round = |side: usize| hosts.round(sides[side], work(trips[side]));
        let rounds = in_turns(launch.rounds(), sides.len(), round)?;
        let figure = |name, unit, what: fn(&HostsRound) -> f64| -> Result<Figure> {
            let of = |side: &[HostsRound]| of_rounds(&side.iter().map(what).collect::<Vec<_>>());
            Ok(Figure::new(self.name(name, depth), unit, of(&rounds[1])?)
                .against("raw UCX", of(&rounds[0])?))
        };
        let mut figures = vec![figure("rate", "/s", HostsRound::rate)?];
        if depth == 1 {
            let mut trip = figure("round-trip", "ns", HostsRound::trip)?;
            if self.hosts == 1 {
                let peers = trip.peer.as_ref().map_or(0.0, |peer| peer.of.value);
                let mut single = |side, each| -> Result<Option<Distribution>> {
                    let work = Trips { single: true, ..Trips::alone(launch.samples(each)) };
                    Ok(hosts.round(side, work)?.histogram())
                };
                let own = single(Side::Kit, trip.kit.value)?;
                trip = trip.histograms(own, single(Side::Raw, peers)?);
            }
            figures.push(trip);
        }
        if let Some(note) = launch.cores.sharing(self.hosts) {
            figures = figures.into_iter().map(|figure| figure.note(note.clone())).collect();
        }
        Ok(figures)
    }
}

struct Hosts(Vec<Child>);

struct HostsRound {
    done: Vec<Done>,
    trips: u64,
}

impl HostsRound {
    /// Nanoseconds of a command, from the first host's begin to the last host's end.
    fn each(&self) -> f64 {
        let begin = self.done.iter().map(|done| done.begin).min().unwrap_or_default();
        let end = self.done.iter().map(|done| done.end).max().unwrap_or_default();
        end.saturating_sub(begin) as f64 / (self.trips * self.done.len() as u64) as f64
    }

    fn rate(&self) -> f64 {
        1e9 / self.each()
    }

    /// Mean nanoseconds of the hosts' trips, one at a time.
    fn trip(&self) -> f64 {
        let sum: f64 = self.done.iter().map(|done| done.each(self.trips)).sum();
        sum / self.done.len() as f64
    }

    fn histogram(self) -> Option<Distribution> {
        Distribution::sum(self.done.iter().filter_map(|done| done.histogram.as_ref()))
    }
}

impl Hosts {
    /// Starts the hosts one by one: raw UCX at the worker numbers them in this order.
    fn start(count: usize, mut arguments: HostArguments) -> Result<Hosts> {
        let mut hosts = Vec::new();
        for number in 0..count {
            arguments.number = number;
            let mut host = Child::start(Process::Host(arguments.clone()).command()?)?;
            arguments.worker = Some(host.answer()?);
            hosts.push(host);
        }
        Ok(Hosts(hosts))
    }

    fn round(&mut self, side: Side, work: Trips) -> Result<HostsRound> {
        if side != Side::Kit {
            self.0[0].ask::<()>(&Order::Serve(side))?;
        }
        for host in &mut self.0 {
            host.order(&Order::Round(side, work))?;
        }
        let done = self.0.iter_mut().map(Child::answer).collect::<Result<_>>()?;
        if side != Side::Kit {
            self.0[0].ask::<()>(&Order::EndServe)?;
        }
        Ok(HostsRound { done, trips: work.trips })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::Cores;

    #[test]
    fn the_figures_of_the_budgets_are_in_the_matrix() {
        let cores = Cores::find().unwrap();
        let launches = [Transport::SharedMemory, Transport::Tcp].map(|transport| Launch {
            quick: true,
            transport,
            cores: cores.clone(),
        });
        let names = |cell: &Cell| {
            let cell = *cell;
            let both = move |depth| ["rate", "round-trip"].map(|what| cell.name(what, depth));
            cell.depths.iter().flat_map(move |depth| both(*depth))
        };
        let names: Vec<_> = launches
            .iter()
            .flat_map(|launch| cells(launch).iter().flat_map(names).collect::<Vec<_>>())
            .collect();
        for row in crate::budget::rows().iter().filter(|row| row.figures.starts_with("loopback/")) {
            assert!(names.contains(&row.figures), "{}", row.figures);
        }
    }

    #[test]
    fn a_round_of_several_hosts_lasts_from_the_first_begin_to_the_last_end() {
        let done = |begin, end| Done { begin, end, histogram: None };
        let round = HostsRound { done: vec![done(0, 100), done(50, 200)], trips: 10 };
        assert_eq!((round.each(), round.trip()), (10.0, 12.5));
    }
}
