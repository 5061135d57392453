//! The raw loop of this project against UCX's own `ucx_perftest`: an active-message ping-pong of
//! the command's size, between the same two cores, in the same launch.
//!
//! A raw loop slower than UCX's own would be too easy a peer. Perftest reports half a round trip,
//! so its result is doubled. Both are means of all trips.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bench_raw::Style;

use super::loopback::round::Side;
use crate::child::Child;
use crate::figure::Figure;
use crate::in_c::UCX_LIBRARIES;
use crate::launch::Launch;
use crate::party::Party;
use crate::transport::Transport;

const NAME: &str = "ucx_perftest";
/// Size of a command with DOCA's header, as in the raw loops.
const SIZE: usize = Style::Doca.request().len();
const FIRST: u64 = 200;
const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let raw = raw_round_trip(launch)?;
    let perftest = round_trip(launch)?;
    let name = format!("{NAME}/round-trip/{}/{SIZE}", launch.transport.name());
    let note = "twice the one-way latency that `ucx_perftest -t ucp_am_lat` reports";
    Ok(vec![Figure::new(name, "ns", raw).against(NAME, perftest).note(note)])
}

/// UCX's program on a core: beside the libraries of this build, or else on the search path.
fn perftest(core: usize) -> Command {
    let beside = Path::new(UCX_LIBRARIES).join("../bin").join(NAME);
    let beside = Some(beside).filter(|program| program.is_file());
    let mut command = Command::new(beside.as_deref().unwrap_or(Path::new(NAME)));
    command.args(["-c", &core.to_string()]);
    if beside.is_some() {
        command.env("LD_LIBRARY_PATH", UCX_LIBRARIES);
    }
    command
}

fn round_trip(launch: &Launch) -> Result<f64> {
    let iterations = match (launch.transport, launch.quick) {
        (Transport::SharedMemory, false) => 1_000_000,
        (Transport::SharedMemory, true) => 200_000,
        (Transport::Tcp, false) => 50_000,
        (Transport::Tcp, true) => 10_000,
    };
    let port = free_port()?.to_string();
    let mut server = perftest(launch.cores.worker());
    server.args(["-p", &port]);
    let server = Child::start(server).context("install UCX's tools")?;
    let mut client = perftest(launch.cores.host(0));
    client.args(["127.0.0.1", "-p", &port, "-t", "ucp_am_lat", "-s", &SIZE.to_string()]);
    client.args(["-n", &iterations.to_string(), "-f"]);
    let deadline = Instant::now() + LIMIT;
    let one_way = loop {
        let output = client.output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        if output.status.success() {
            break overall(&text).with_context(|| format!("ucx_perftest said {text:?}"))?;
        }
        // Its start of listening is not reported.
        if Instant::now() > deadline {
            bail!("ucx_perftest failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        std::thread::yield_now();
    };
    drop(server);
    Ok(2.0 * one_way * 1e3)
}

fn raw_round_trip(launch: &Launch) -> Result<f64> {
    let mut party = Party::start(launch)?;
    let trips = launch.trips(Side::Raw.each(&mut party, FIRST)?, FIRST);
    let rounds = (0..launch.rounds()).map(|_| Side::Raw.each(&mut party, trips));
    Ok(rounds.sum::<Result<f64>>()? / launch.rounds() as f64)
}

/// Mean one-way time in microseconds, from the last line: iterations, median, mean since the
/// previous line, and mean of all.
fn overall(text: &str) -> Option<f64> {
    let line = text.lines().rev().find(|line| line.split_whitespace().count() >= 4)?;
    line.split_whitespace().nth(3)?.parse().ok()
}

fn free_port() -> Result<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).context("no port is free")?;
    Ok(listener.local_addr()?.port())
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
