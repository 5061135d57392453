//! Loopback commands against raw UCX active messages of the same sizes: round trips and rates over
//! both transports, at a `uromd` and with an embedded service.
//!
//! The host is a process. It has a connection of the kit and one of raw UCX to the same worker, and
//! both sides have their rounds in turns. In a round of raw UCX the worker's thread belongs to it.
//!
//! Raw UCX has its own settings. A host at a `uromd` over shared memory is compared with raw UCX
//! with the kit's settings, too.

pub(super) mod host;
pub(super) mod round;

use anyhow::{Context, Result};
use urom_tests::PluginDirectory;

use self::host::{Arguments, Order, Place};
use self::round::{Done, Side, Work};
use super::{Part, Suite};
use crate::child::{self, Child};
use crate::distribution::Distribution;
use crate::figure::Figure;
use crate::launch::{DEPTH, Daemon, Launch};
use crate::statistics::{in_turns, of_rounds};
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "loopback commands against raw UCX active messages of the same sizes",
    parts: &[Part::new(measure)],
    process: Some(host::run),
};

pub(super) const NAME: &str = "loopback";

/// The numbers of commands in flight.
const DEPTHS: [u64; 3] = [1, 8, DEPTH];
const RAW: &str = "raw UCX";
const RAW_SAME_SETTINGS: &str = "raw UCX with the kit's settings";

fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for embedded in [false, true] {
        let measured = at_a_place(launch, embedded);
        figures.extend(measured.with_context(|| name(launch.transport, embedded, "", 0))?);
    }
    Ok(figures)
}

fn name(transport: Transport, embedded: bool, what: &str, depth: u64) -> String {
    let place = if embedded { "embedded" } else { "uromd" };
    format!("{NAME}/{what}/{}/{place}/1-host/{depth}", transport.name())
}

fn at_a_place(launch: &Launch, embedded: bool) -> Result<Vec<Figure>> {
    let plugins = PluginDirectory::with(&["worker_graph", "worker_benchpeer"])?;
    // One of these owns the plugins until the host has ended.
    let (mut daemon, mut of_embedded) = (None, None);
    let place = if embedded {
        Place::Embedded { plugins: of_embedded.insert(plugins).path().to_owned() }
    } else {
        let daemon = daemon.insert(Daemon::start(plugins, |command| command)?);
        Place::Uromd { address: daemon.address().to_owned() }
    };
    let arguments = Arguments { place, cores: launch.cores.clone() };
    let mut host = Child::start(child::of_suite(NAME, &arguments)?)?;
    let mut figures = Vec::new();
    for depth in DEPTHS {
        figures.extend(at_depth(launch, embedded, &mut host, depth)?);
    }
    host.finish()?;
    Ok(figures)
}

fn at_depth(launch: &Launch, embedded: bool, host: &mut Child, depth: u64) -> Result<Vec<Figure>> {
    let work = |trips| Work { trips, depth, single: false };
    let same_settings =
        launch.transport == Transport::SharedMemory && !embedded && [1, DEPTH].contains(&depth);
    // A short round says how many trips a round has. It warms everything, too.
    let mut calibrate = |side| -> Result<u64> {
        let first = 200.max(depth * 4);
        Ok(launch.trips(round(host, side, work(first))?.each(first), first))
    };
    let sides = [Side::Raw, Side::Kit, Side::RawSameSettings];
    let mut trips = [0; 3];
    let measured = if same_settings { 3 } else { 2 };
    for (side, trips) in sides.into_iter().zip(&mut trips).take(measured) {
        *trips = calibrate(side)?;
    }
    // Nanoseconds of a command.
    let mut each = |side: usize| Ok(round(host, sides[side], work(trips[side]))?.each(trips[side]));
    let rounds: [Vec<f64>; 3] = if same_settings {
        in_turns(launch.rounds(), each)?
    } else {
        let [raw, kit] = in_turns(launch.rounds(), &mut each)?;
        [raw, kit, Vec::new()]
    };
    let of = |side: usize, what: fn(&f64) -> f64| {
        of_rounds(&rounds[side].iter().map(what).collect::<Vec<_>>())
    };
    let figure = |what, unit, value, peer, side| -> Result<Figure> {
        let name = name(launch.transport, embedded, what, depth);
        Ok(Figure::new(name, unit, of(1, value)?).against(peer, of(side, value)?))
    };
    let rate: fn(&f64) -> f64 = |each| 1e9 / each;
    let trip: fn(&f64) -> f64 = |each| *each;
    let mut figures = vec![figure("rate", "/s", rate, RAW, 0)?];
    if depth == 1 {
        let figure = figure("round-trip", "ns", trip, RAW, 0)?;
        let mut single = |side, each| -> Result<Option<Distribution>> {
            let work = Work { trips: launch.samples(each), depth, single: true };
            Ok(round(host, side, work)?.histogram)
        };
        let own = single(Side::Kit, figure.value)?;
        figures.push(figure.histograms(own, single(Side::Raw, of(0, trip)?)?));
    }
    if same_settings {
        let (what, unit, value) = match depth {
            1 => ("round-trip-same-settings", "ns", trip),
            _ => ("rate-same-settings", "/s", rate),
        };
        figures.push(figure(what, unit, value, RAW_SAME_SETTINGS, 2)?);
    }
    Ok(figures)
}

/// A round of the host; raw UCX gets the worker's thread for it.
fn round(host: &mut Child, side: Side, work: Work) -> Result<Done> {
    if side != Side::Kit {
        host.ask::<()>(&Order::Serve(side))?;
    }
    let done = host.ask(&Order::Round(side, work))?;
    if side != Side::Kit {
        host.ask::<()>(&Order::EndServe)?;
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_the_budgets_are_measured() {
        let names: Vec<_> = [Transport::SharedMemory, Transport::Tcp]
            .into_iter()
            .flat_map(|transport| DEPTHS.map(|depth| (transport, depth)))
            .flat_map(|(transport, depth)| {
                ["rate", "round-trip"].map(|what| name(transport, false, what, depth))
            })
            .collect();
        for row in crate::budget::rows().iter().filter(|row| row.figures.starts_with(NAME)) {
            assert!(names.contains(&row.figures), "{}", row.figures);
        }
    }
}
