//! A host in Rust against a host in C that does the same: two processes at one worker, on the same core, of which one waits while
//! the other has its round.

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use urom_tests::PluginDirectory;
use urom_tests::c::{DEVICE, Service, Source};

use super::Suite;
use super::loopback::host::{Arguments, Order, Place};
use super::loopback::round::{Done, Side, Work};
use super::loopback::{self};
use crate::child::Child;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::statistics::alternate;
use crate::transport::Transport;

pub(crate) const SUITE: Suite =
    Suite { name: NAME, about: "a Rust host against the same host in C", run, child: None };

const NAME: &str = "host-in-c";
const PEER: &str = "host in C";
const DEPTH: u64 = 64;

fn run(extent: &Extent) -> Result<Vec<Figure>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/loopback_host.c");
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/c");
    let program =
        Source::new(source).flag("-O2").flag(format!("-I{}", headers.display())).program()?;
    extent.launches(NAME, |_| {
        let mut figures = Vec::new();
        for transport in Transport::ALL {
            figures.extend(launch(extent, transport, &program)?);
        }
        Ok(figures)
    })
}

fn launch(extent: &Extent, transport: Transport, program: &Path) -> Result<Vec<Figure>> {
    let (variable, value) = transport.variable();
    let plugins = PluginDirectory::with(&["worker_graph", "worker_benchpeer"])?;
    let service = Service::daemon_with(plugins, |command| command.env(variable, value))?;
    let address = service.uromd().context("a daemon was started")?.address().to_owned();
    let core = extent.cores.host(0);
    let arguments = Arguments {
        place: Place::Uromd { address },
        number: 0,
        worker: None,
        in_flight: DEPTH,
        core,
        worker_core: extent.cores.worker(),
    };
    let mut in_rust =
        Child::start(loopback::NAME, &[arguments], |command| command.env(variable, value))?;
    let worker: u64 = in_rust.ask(&Order::Join)?;
    let mut command = Command::new(program);
    command.args([DEVICE, &worker.to_string(), &core.to_string(), &DEPTH.to_string()]);
    command.envs(service.environment()).env(variable, value);
    let in_c = RefCell::new(Child::of(command)?);
    let in_rust = RefCell::new(in_rust);
    let round_in_rust = |trips, depth| -> Result<f64> {
        let work = Work { trips, depth, single: false };
        let [done] = in_rust.borrow_mut().ask(&Order::Round(Side::Kit, work))?;
        each(done, trips)
    };
    let round_in_c = |trips: u64, depth: u64| -> Result<f64> {
        each(in_c.borrow_mut().ask(&[trips, depth])?, trips)
    };
    let mut figures = Vec::new();
    for (what, depth) in [("round-trip", 1), ("in-flight", DEPTH)] {
        let trips = |each: f64| ((extent.round().as_nanos() as f64 / each) as u64).max(1_000);
        let (trips_in_rust, trips_in_c) =
            (trips(round_in_rust(1_000, depth)?), trips(round_in_c(1_000, depth)?));
        let rounds = alternate(
            extent.rounds(),
            || round_in_rust(trips_in_rust, depth),
            || round_in_c(trips_in_c, depth),
        )?;
        let name = format!("{NAME}/{what}/{}/{depth}", transport.name());
        figures.push(Figure::in_turns(name, "ns", PEER, &rounds).context("no round was measured")?);
    }
    in_c.into_inner().finish()?;
    in_rust.into_inner().finish()?;
    Ok(figures)
}

/// Nanoseconds a command.
fn each(done: Done, trips: u64) -> Result<f64> {
    Ok(done.end.saturating_sub(done.begin) as f64 / trips as f64)
}
