//! Runs a suite. Each launch is a separate process that measures a part of the suite.
//!
//! The process is the measured host, unless the suite starts others. Memory and threads lie
//! differently in each launch, so a run has several, and takes the medians.

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::cache_line::{self, Distance};
use crate::child::Child;
use crate::cores::Cores;
use crate::figure::{Figure, merge};
use crate::launch::Launch;
use crate::process::Process;
use crate::suites::Suite;
use crate::suites::counted::COUNTS_DIRECTORY;

/// Launches of a full run, and the minimum for a recorded run.
pub(crate) const LAUNCHES: usize = 5;

/// Measures a suite in `launches` launches and merges their figures. A cache line's round trip
/// before each is also a figure, and separates near cores from far cores.
pub(crate) fn measure(suite: &Suite, quick: bool, launches: usize) -> Result<Vec<Figure>> {
    let cores = Cores::find()?;
    let mut measured = Vec::new();
    for number in 1..=launches {
        let mut cores_of_launch = None;
        if suite.parts.iter().any(|part| !part.once) {
            eprintln!("{}: launch {number} of {launches}", suite.name);
            let name = format!("{}/cache-line", suite.name);
            let round_trip = cache_line::round_trip(&cores)?;
            cores_of_launch = Some(Distance::of(round_trip));
            let ping = Figure::new(name, "ns", round_trip);
            measured.push(vec![ping.note("a cache line from one core to the other and back")]);
        }
        for (index, part) in suite.parts.iter().enumerate() {
            if part.once && number > 1 {
                continue;
            }
            for (transport, tls) in part.transports {
                let launch = Launch { quick, transport: *transport, cores: cores.clone() };
                for _ in 0..if quick { 1 } else { part.processes } {
                    let figures = in_a_process(suite, index, tls, &launch);
                    let about = || format!("launch {number}, {}", transport.name());
                    let on = |figure| Figure { cores: cores_of_launch, ..figure };
                    measured.push(figures.with_context(about)?.into_iter().map(on).collect());
                }
            }
        }
    }
    Ok(merge(measured))
}

fn in_a_process(suite: &Suite, part: usize, tls: &str, launch: &Launch) -> Result<Vec<Figure>> {
    let counts = TempDir::new()?;
    let (suite_name, launch) = (suite.name.to_owned(), launch.clone());
    let mut command = Process::Launch { suite: suite_name, part, launch }.command()?;
    command.env_remove("UCX_MEM_EVENTS").env("UCX_TLS", tls);
    command.envs(suite.parts[part].variables.iter().copied());
    command.env(COUNTS_DIRECTORY, counts.path());
    let mut process = Child::start(command)?;
    let figures = process.answer()?;
    process.finish()?;
    Ok(figures)
}
