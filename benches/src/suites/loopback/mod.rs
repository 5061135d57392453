//! Loopback commands against raw UCX active messages of the same sizes: round trips and rates, over both transports, with
//! one and with four hosts, with `uromd` and embedded.
//!
//! Hosts are processes; those of an embedded service, which is there for its own process only, are threads of that one. Each
//! holds a connection of the kit's and one of raw UCX to the same worker, and both sides have their rounds in turns. While raw
//! UCX has its round, the worker's thread belongs to it.
//!
//! Raw UCX is as it comes. A single command over shared memory is held against raw UCX with the kit's settings, too.

mod crew;
pub(super) mod host;
pub(super) mod round;

use anyhow::{Context, Result, ensure};
use urom_tests::{PluginDirectory, Uromd};

use self::host::{Arguments, Order, Place};
use self::round::{Done, Side, Work};
use super::Suite;
use crate::child::Child;
use crate::distribution::Distribution;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::statistics::{in_turns, median};
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "loopback commands against raw UCX active messages of the same sizes",
    run,
    child: Some(crew::run),
};

pub(super) const NAME: &str = "loopback";
const RAW: &str = "raw UCX";
const RAW_SAME_SETTINGS: &str = "raw UCX with the kit's settings";
/// What the most hosts at once are.
const MANY: usize = 4;

/// Where one row of the matrix is measured.
#[derive(Clone, Copy)]
struct Cell {
    transport: Transport,
    embedded: bool,
    hosts: usize,
    /// How many are in flight, one measurement each. The worker allows as many as the last says.
    depths: &'static [u64],
}

/// The matrix. 512 in flight take another worker: one that allows so many has more memory in use at 64, too. A first look does
/// without.
fn cells(quick: bool) -> Vec<Cell> {
    let mut cells = Vec::new();
    let depths = [&[1, 8, 64][..], &[512]];
    for depths in &depths[..if quick { 1 } else { 2 }] {
        for transport in Transport::ALL {
            for (embedded, hosts) in [(false, 1), (false, MANY), (true, 1), (true, MANY)] {
                cells.push(Cell { transport, embedded, hosts, depths });
            }
        }
    }
    cells
}

fn run(extent: &Extent) -> Result<Vec<Figure>> {
    extent.launches(NAME, |_| {
        let mut figures = Vec::new();
        for cell in cells(extent.quick) {
            figures.extend(cell.measure(extent).with_context(|| cell.name("", 0))?);
        }
        Ok(figures)
    })
}

impl Cell {
    fn name(&self, what: &str, depth: u64) -> String {
        let Cell { transport, embedded, hosts, .. } = self;
        let place = if *embedded { "embedded" } else { "uromd" };
        let plural = if *hosts == 1 { "" } else { "s" };
        format!("{NAME}/{what}/{}/{place}/{hosts}-host{plural}/{depth}", transport.name())
    }

    fn measure(&self, extent: &Extent) -> Result<Vec<Figure>> {
        let plugins = PluginDirectory::with(&["worker_graph", "worker_benchpeer"])?;
        let (variable, value) = self.transport.variable();
        let daemon = (!self.embedded)
            .then(|| {
                Uromd::start_with(plugins.variable(), |command| {
                    command.args(["-l", "30"]).env(variable, value)
                })
            })
            .transpose()?;
        let place = match &daemon {
            Some(daemon) => Place::Uromd { address: daemon.address().to_owned() },
            None => Place::Embedded { plugins: plugins.path().to_owned() },
        };
        let mut hosts = Hosts::start(self, extent, &place)?;
        let mut figures = Vec::new();
        for &depth in self.depths {
            figures.extend(self.at_depth(extent, &mut hosts, depth)?);
        }
        hosts.finish()?;
        if let Some(daemon) = daemon {
            ensure!(daemon.stop()?.success(), "uromd did not end in order");
        }
        Ok(figures)
    }

    /// Whether raw UCX is measured with the kit's settings, too.
    fn same_settings(&self, depth: u64) -> bool {
        self.transport == Transport::SharedMemory
            && !self.embedded
            && self.hosts == 1
            && [1, 64].contains(&depth)
    }

    fn at_depth(&self, extent: &Extent, hosts: &mut Hosts, depth: u64) -> Result<Vec<Figure>> {
        let work = |trips| Work { trips, depth, single: false };
        // How many trips a round's time is enough for; measured by a short round that also warms everything.
        let mut calibrate = |side| -> Result<u64> {
            let first = 200.max(depth * 4);
            let each = hosts.round(side, work(first))?.each();
            Ok(((extent.round().as_nanos() as f64 / each / self.hosts as f64) as u64).max(first))
        };
        let sides = [Side::Raw, Side::Kit, Side::RawSameSettings];
        let sides = if self.same_settings(depth) { &sides[..] } else { &sides[..2] };
        let trips = sides.iter().map(|side| calibrate(*side)).collect::<Result<Vec<_>>>()?;
        let round = |side: usize| hosts.round(sides[side], work(trips[side]));
        let (raw, kit, same_settings) = if self.same_settings(depth) {
            let [raw, kit, same_settings] = in_turns(extent.rounds(), round)?;
            (raw, kit, Some(same_settings))
        } else {
            let [raw, kit] = in_turns(extent.rounds(), round)?;
            (raw, kit, None)
        };
        let of = |rounds: &[Round], what: fn(&Round) -> f64| {
            median(&rounds.iter().map(what).collect::<Vec<_>>()).context("no round was measured")
        };
        let rate = |round: &Round| 1e9 / round.each();
        let mut figures = vec![
            Figure::new(self.name("rate", depth), "/s", of(&kit, rate)?)
                .against(RAW, of(&raw, rate)?),
        ];
        if depth == 1 {
            let (kit, raw) = (of(&kit, Round::trip)?, of(&raw, Round::trip)?);
            let mut figure =
                Figure::new(self.name("round-trip", depth), "ns", kit).against(RAW, raw);
            if self.hosts == 1 {
                let mut single = |side, each: f64| -> Result<Option<Distribution>> {
                    let trips = extent.samples(std::time::Duration::from_nanos(each as u64));
                    Ok(hosts.round(side, Work { trips, depth, single: true })?.histogram())
                };
                let (kit, raw) = (single(Side::Kit, kit)?, single(Side::Raw, raw)?);
                figure = figure.histograms(kit, raw);
            }
            figures.push(figure);
        }
        if let Some(same_settings) = same_settings {
            let (name, unit, what): (_, _, fn(&Round) -> f64) =
                if depth == 1 { ("round-trip", "ns", Round::trip) } else { ("rate", "/s", rate) };
            let figure = Figure::new(
                self.name(&format!("{name}-same-settings"), depth),
                unit,
                of(&kit, what)?,
            );
            figures.push(figure.against(RAW_SAME_SETTINGS, of(&same_settings, what)?));
        }
        if let Some(note) = extent.cores.sharing(self.hosts) {
            figures = figures.into_iter().map(|figure| figure.note(note.clone())).collect();
        }
        Ok(figures)
    }
}

/// The hosts of a cell, by process.
struct Hosts(Vec<Child>);

/// One round of all hosts.
struct Round {
    done: Vec<Done>,
    trips: u64,
}

impl Round {
    /// Nanoseconds a command, from the first host's begin to the last one's end.
    fn each(&self) -> f64 {
        let begin = self.done.iter().map(|done| done.begin).min().unwrap_or_default();
        let end = self.done.iter().map(|done| done.end).max().unwrap_or_default();
        end.saturating_sub(begin) as f64 / (self.trips * self.done.len() as u64) as f64
    }

    /// Nanoseconds a host waits for each of its trips, one at a time; the mean of the hosts.
    fn trip(&self) -> f64 {
        let times = self.done.iter().map(|done| done.end.saturating_sub(done.begin) as f64);
        times.sum::<f64>() / (self.trips * self.done.len() as u64) as f64
    }

    fn histogram(self) -> Option<Distribution> {
        Distribution::sum(self.done.iter().filter_map(|done| done.histogram.as_ref()))
    }
}

impl Hosts {
    fn start(cell: &Cell, extent: &Extent, place: &Place) -> Result<Hosts> {
        let mut processes = Vec::new();
        let mut worker = None;
        let numbers: Vec<_> = (0..cell.hosts).collect();
        for numbers in numbers.chunks(if cell.embedded { cell.hosts } else { 1 }) {
            let arguments = |&number: &usize| Arguments {
                place: place.clone(),
                number,
                worker,
                in_flight: cell.depths.iter().copied().max().unwrap_or(1),
                core: extent.cores.host(number),
                worker_core: extent.cores.worker(),
            };
            let arguments: Vec<_> = numbers.iter().map(arguments).collect();
            let (variable, value) = cell.transport.variable();
            let mut process =
                Child::start(NAME, &arguments, |command| command.env(variable, value))?;
            worker = Some(process.ask(&Order::Join)?);
            processes.push(process);
        }
        Ok(Hosts(processes))
    }

    fn round(&mut self, side: Side, work: Work) -> Result<Round> {
        if side != Side::Kit {
            self.first()?.ask::<()>(&Order::Serve(side))?;
        }
        for process in &mut self.0 {
            process.order(&Order::Round(side, work))?;
        }
        let mut done = Vec::new();
        for process in &mut self.0 {
            done.extend(process.answer::<Vec<Done>>()?);
        }
        if side != Side::Kit {
            self.first()?.ask::<()>(&Order::EndServe)?;
        }
        Ok(Round { done, trips: work.trips })
    }

    fn first(&mut self) -> Result<&mut Child> {
        self.0.first_mut().context("a cell has a host")
    }

    fn finish(self) -> Result<()> {
        self.0.into_iter().try_for_each(Child::finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_transport_has_one_host_and_many_with_uromd_and_embedded() {
        let names: Vec<_> = cells(true).iter().map(|cell| cell.name("rate", 1)).collect();
        for transport in ["shm", "tcp"] {
            for place in ["uromd/1-host", "uromd/4-hosts", "embedded/1-host", "embedded/4-hosts"] {
                let name = format!("loopback/rate/{transport}/{place}/1");
                assert!(names.contains(&name), "{name}");
            }
        }
    }

    #[test]
    fn what_the_budgets_are_about_is_in_the_matrix() {
        let names: Vec<_> = cells(true)
            .iter()
            .flat_map(|cell| {
                cell.depths
                    .iter()
                    .flat_map(|depth| ["rate", "round-trip"].map(|what| cell.name(what, *depth)))
            })
            .collect();
        for row in crate::budget::ROWS.iter().filter(|row| row.suite == NAME) {
            assert!(names.iter().any(|name| name == row.figures), "{}", row.figures);
        }
    }

    #[test]
    fn a_round_of_several_hosts_lasts_from_the_first_begin_to_the_last_end() {
        let done = |begin, end| Done { begin, end, histogram: None };
        let round = Round { done: vec![done(0, 100), done(50, 200)], trips: 10 };
        assert_eq!((round.each(), round.trip()), (10.0, 12.5));
    }
}
