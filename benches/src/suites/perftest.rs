//! This project's raw loop against UCX's own `ucx_perftest`: an active-message ping-pong of the command's size, between the same two
//! cores, in the same launch.
//!
//! Perftest's figure is half a round trip of messages that have the same size both ways, so it is doubled here. Both are
//! means of all trips: a median, which perftest tells as well, leaves out what a loop timed as a whole has in it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bench_raw::Style;

use super::Suite;
use super::pair::Pair;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::transport::Transport;

pub(crate) const SUITE: Suite =
    Suite { name: NAME, about: "the raw loop against ucx_perftest", run, child: None };

const NAME: &str = "ucx_perftest";
const PROGRAM: &str = "ucx_perftest";
/// The size of a command with DOCA's header, as in the raw loops.
const SIZE: usize = Style::Doca.request().len();
/// How many trips the first round has.
const FIRST: u64 = 200;
/// How long one run may take, on a machine that has other things to do.
const LIMIT: Duration = Duration::from_secs(60);

fn run(extent: &Extent) -> Result<Vec<Figure>> {
    let tool = Tool::find()?;
    extent.launches(NAME, |_| {
        Transport::ALL.into_iter().map(|transport| tool.measure(extent, transport)).collect()
    })
}

/// Where UCX has its programs, and what they need.
struct Tool {
    program: PathBuf,
    libraries: Option<PathBuf>,
}

impl Tool {
    /// Beside the libraries that this program is linked with; else on the search path.
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

    fn command(&self, transport: Transport, core: usize) -> Command {
        let mut command = Command::new(&self.program);
        let (variable, value) = transport.variable();
        command.env(variable, value).args(["-c", &core.to_string()]);
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command
    }

    fn measure(&self, extent: &Extent, transport: Transport) -> Result<Figure> {
        let raw = raw_round_trip(extent, transport)?;
        let perftest = self.round_trip(extent, transport)?;
        Ok(Figure::new(format!("{NAME}/round-trip/{}/{SIZE}", transport.name()), "ns", raw)
            .against(NAME, perftest)
            .note("the raw loop, beside twice the overall one-way latency that ucx_perftest -t ucp_am_lat tells"))
    }

    /// Nanoseconds, as perftest tells them.
    fn round_trip(&self, extent: &Extent, transport: Transport) -> Result<f64> {
        let iterations = match (transport, extent.quick) {
            (Transport::SharedMemory, false) => 1_000_000,
            (Transport::SharedMemory, true) => 200_000,
            (Transport::Tcp, false) => 50_000,
            (Transport::Tcp, true) => 10_000,
        };
        let port = free_port()?.to_string();
        let mut server = self.command(transport, extent.cores.worker());
        server.args(["-p", &port]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = Ended(
            server.spawn().with_context(|| format!("cannot start {}", self.program.display()))?,
        );
        let mut client = self.command(transport, extent.cores.host(0));
        client.args(["127.0.0.1", "-p", &port, "-t", "ucp_am_lat", "-s", &SIZE.to_string()]);
        client.args(["-n", &iterations.to_string(), "-f"]);
        let deadline = Instant::now() + LIMIT;
        let one_way = loop {
            let output = client.output().context("cannot start ucx_perftest")?;
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
fn raw_round_trip(extent: &Extent, transport: Transport) -> Result<f64> {
    let mut pair = Pair::start(extent, transport, |daemon| daemon, |host| host)?;
    // The first round tells how many trips are enough, and warms everything.
    let each = pair.raw_round_trip(FIRST)?;
    let trips = ((extent.round().as_nanos() as f64 / each) as u64).max(FIRST);
    let mut sum = 0.0;
    for _ in 0..extent.rounds() {
        sum += pair.raw_round_trip(trips)?;
    }
    pair.finish()?;
    Ok(sum / extent.rounds() as f64)
}

/// The mean one-way time in microseconds, of the last line: iterations, the median, the mean since the line before, and that of all.
fn overall(text: &str) -> Option<f64> {
    let line = text.lines().rev().find(|line| line.split_whitespace().count() >= 4)?;
    line.split_whitespace().nth(3)?.parse().ok()
}

/// A port that nobody has at the moment.
fn free_port() -> Result<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).context("no port is free")?;
    Ok(listener.local_addr()?.port())
}

/// A process that does not outlive its use.
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
        let names = Transport::ALL
            .map(|transport| format!("{NAME}/round-trip/{}/{SIZE}", transport.name()));
        for row in crate::budget::ROWS.iter().filter(|row| row.suite == NAME) {
            assert!(names.iter().any(|name| name == row.figures), "{}", row.figures);
        }
    }

    #[test]
    fn the_mean_is_read_from_the_last_line_of_figures() {
        let text = "some words first of all\n        100000      0.091     0.093     0.094\n\n";
        assert_eq!(overall(text), Some(0.094));
        assert_eq!(overall("nothing"), None);
    }
}
