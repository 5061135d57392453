//! This project's raw loop against UCX's own `ucx_perftest`: an active-message ping-pong of the
//! command's size, between the same two cores, in the same launch.
//!
//! Raw UCX would be too easy a peer if its loop were slower than UCX's own. Perftest reports half a
//! round trip of messages of one size, so its result is doubled. Both are means of all trips.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bench_raw::Style;

use super::loopback::round::Side;
use super::{Part, Suite};
use crate::figure::Figure;
use crate::launch::Launch;
use crate::party::Party;
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "the raw loop against ucx_perftest",
    parts: &[Part::new(measure)],
    process: None,
};

const NAME: &str = "ucx_perftest";
const PROGRAM: &str = "ucx_perftest";
/// The size of a command with DOCA's header, as in the raw loops.
const SIZE: usize = Style::Doca.request().len();
/// The trips of the first round.
const FIRST: u64 = 200;
/// The longest that a run may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let raw = raw_round_trip(launch)?;
    let perftest = Tool::find()?.round_trip(launch)?;
    let name = format!("{NAME}/round-trip/{}/{SIZE}", launch.transport.name());
    let note = "twice the one-way latency that `ucx_perftest -t ucp_am_lat` reports";
    Ok(vec![Figure::new(name, "ns", raw).against(NAME, perftest).note(note)])
}

/// Where UCX has its programs, and what they need.
struct Tool {
    program: PathBuf,
    libraries: Option<PathBuf>,
}

impl Tool {
    /// Looks beside the libraries that this program is linked with, then on the search path.
    fn find() -> Result<Tool> {
        let maps = std::fs::read_to_string("/proc/self/maps")
            .context("cannot read which libraries are loaded")?;
        let loaded = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
        let library = loaded.map(PathBuf::from).find(|file| {
            file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libucp"))
        });
        let libraries = library.and_then(|file| Some(file.parent()?.to_owned()));
        if let Some(libraries) = &libraries {
            let program = libraries.join("../bin").join(PROGRAM);
            if program.is_file() {
                return Ok(Tool { program, libraries: Some(libraries.clone()) });
            }
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = std::env::split_paths(&path)
            .map(|entry| entry.join(PROGRAM))
            .find(|file| file.is_file());
        let program = program.context(
            "no ucx_perftest beside UCX's libraries nor on the search path: install UCX's tools",
        )?;
        Ok(Tool { program, libraries: None })
    }

    fn command(&self, core: usize) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["-c", &core.to_string()]);
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command
    }

    /// In nanoseconds.
    fn round_trip(&self, launch: &Launch) -> Result<f64> {
        let iterations = match (launch.transport, launch.quick) {
            (Transport::SharedMemory, false) => 1_000_000,
            (Transport::SharedMemory, true) => 200_000,
            (Transport::Tcp, false) => 50_000,
            (Transport::Tcp, true) => 10_000,
        };
        let port = free_port()?.to_string();
        let mut server = self.command(launch.cores.worker());
        server.args(["-p", &port]).stdout(Stdio::null()).stderr(Stdio::null());
        let cannot = || format!("cannot start {}", self.program.display());
        let mut server = Ended(server.spawn().with_context(cannot)?);
        let mut client = self.command(launch.cores.host(0));
        client.args(["127.0.0.1", "-p", &port, "-t", "ucp_am_lat", "-s", &SIZE.to_string()]);
        client.args(["-n", &iterations.to_string(), "-f"]);
        let deadline = Instant::now() + LIMIT;
        let one_way = loop {
            let output = client.output().with_context(cannot)?;
            let text = String::from_utf8_lossy(&output.stdout);
            if output.status.success() {
                break overall(&text).with_context(|| format!("ucx_perftest said {text:?}"))?;
            }
            // It does not say when it listens.
            ensure!(server.0.try_wait()?.is_none(), "ucx_perftest's server ended");
            if Instant::now() > deadline {
                bail!("ucx_perftest failed: {}", String::from_utf8_lossy(&output.stderr));
            }
            std::thread::yield_now();
        };
        Ok(2.0 * one_way * 1e3)
    }
}

/// Nanoseconds of the raw loop: the mean of some rounds.
fn raw_round_trip(launch: &Launch) -> Result<f64> {
    let mut party = Party::start(launch)?;
    let trips = launch.trips(Side::Raw.each(&mut party, FIRST)?, FIRST);
    let rounds = (0..launch.rounds()).map(|_| Side::Raw.each(&mut party, trips));
    Ok(rounds.sum::<Result<f64>>()? / launch.rounds() as f64)
}

/// The mean one-way time in microseconds, from the last line: iterations, the median, the mean
/// since the line before, and that of all.
fn overall(text: &str) -> Option<f64> {
    let line = text.lines().rev().find(|line| line.split_whitespace().count() >= 4)?;
    line.split_whitespace().nth(3)?.parse().ok()
}

/// A port that is free at the moment.
fn free_port() -> Result<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).context("no port is free")?;
    Ok(listener.local_addr()?.port())
}

/// Kills the process when dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // A server ends after its one client, so there may be nothing left to kill.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budgets_are_about_messages_of_this_size() {
        for name in ["shm", "tcp"].map(|transport| format!("{NAME}/round-trip/{transport}/{SIZE}"))
        {
            assert!(crate::budget::rows().iter().any(|row| row.figures == name), "{name}");
        }
    }

    #[test]
    fn the_mean_is_read_from_the_last_line_of_figures() {
        let text = "some words first of all\n        100000      0.091     0.093     0.094\n\n";
        assert_eq!(overall(text), Some(0.094));
        assert_eq!(overall("nothing"), None);
    }
}
