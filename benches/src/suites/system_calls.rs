//! System calls of a command in steady state, at the host and in the worker, counted by strace.
//!
//! Calls of a start cancel out: one run makes some commands, another twice as many. A traced call
//! takes many times as long, so a process that waits for a message over TCP makes fewer calls.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use urom_tests::PluginDirectory;

use super::loopback::host::{Arguments, Order, Place};
use super::loopback::round::{Done, Side, Work};
use super::{Part, Suite, loopback};
use crate::child::{self, Child};
use crate::figure::Figure;
use crate::launch::{DEPTH, Daemon, Launch};
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "system calls of a command, at the host and in the worker",
    parts: &[Part { once: true, ..Part::new(measure) }],
    process: None,
};

const NAME: &str = "system-calls";
/// Counts the system calls of all threads of a program, and writes a summary into a file.
const STRACE: [&str; 4] = ["strace", "-f", "-c", "-o"];
/// While UCX tries its hooks on memory, for 0.4 s, it yields its core thousands of times: how often
/// differs from start to start, so it does not cancel out.
const NO_HOOKS: (&str, &str) = ("UCX_MEM_EVENTS", "n");
/// The time in which the summary of a process that has ended must appear.
const LIMIT: Duration = Duration::from_secs(30);
/// Calls that are made less often than this in a command are no part of it.
const SELDOM: f64 = 0.01;

type Counts = BTreeMap<String, u64>;

fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let commands = match (launch.transport, launch.quick) {
        (Transport::SharedMemory, _) => 20_000,
        (Transport::Tcp, true) => 1_000,
        (Transport::Tcp, false) => 5_000,
    };
    for depth in [1, DEPTH] {
        let count = |commands| {
            counted(launch, commands, depth)
                .context("under strace: `cargo xtask setup` installs it")
        };
        let (once, twice) = (count(commands)?, count(2 * commands)?);
        for (at, side) in ["host", "worker"].into_iter().enumerate() {
            let name = format!("{NAME}/{}/{side}/{depth}", launch.transport.name());
            figures.push(figure(name, &once[at], &twice[at], commands));
        }
    }
    Ok(figures)
}

/// The calls of `commands` more commands.
fn figure(name: String, once: &Counts, twice: &Counts, commands: u64) -> Figure {
    let each = twice.iter().map(|(call, count)| {
        let before = once.get(call).copied().unwrap_or_default();
        (call, (*count as f64 - before as f64) / commands as f64)
    });
    let often: Vec<_> = each.filter(|(_, each)| *each >= SELDOM).collect();
    let words: Vec<_> = often.iter().map(|(call, each)| format!("{call} {each:.2}")).collect();
    let note = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
    // Not a sum, as the sum of nothing is -0.
    Figure::new(name, "calls", often.iter().fold(0.0, |sum, (_, each)| sum + each)).note(note)
}

/// The calls of a host and of its worker in their whole lives.
fn counted(launch: &Launch, trips: u64, depth: u64) -> Result<[Counts; 2]> {
    let directory = TempDir::new()?;
    let [of_host, of_worker] = ["host", "worker"].map(|name| directory.path().join(name));
    let launcher = format!("{} {}", STRACE.join(" "), of_worker.display());
    let plugins = PluginDirectory::with(&["worker_graph", "worker_benchpeer"])?;
    let daemon = Daemon::start(plugins, |daemon| {
        daemon.args(["--worker-launcher", &launcher]).env(NO_HOOKS.0, NO_HOOKS.1)
    })?;
    let place = Place::Uromd { address: daemon.address().to_owned() };
    let own = child::of_suite(loopback::NAME, &Arguments::first(launch, place, DEPTH))?;
    let mut command = Command::new(STRACE[0]);
    command.args(&STRACE[1..]).arg(&of_host).arg(own.get_program()).args(own.get_args());
    command.env(NO_HOOKS.0, NO_HOOKS.1);
    let mut host = Child::start(command)?;
    let _: Done = host.ask(&Order::Round(Side::Kit, Work { trips, depth, single: false }))?;
    host.finish()?;
    drop(daemon);
    Ok([summary(&of_host)?, summary(&of_worker)?])
}

/// The summary, which strace writes when its process has ended.
fn summary(file: &Path) -> Result<Counts> {
    let begin = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if let Some(counts) = parse(&text) {
            return Ok(counts);
        }
        let file = file.display();
        ensure!(begin.elapsed() < LIMIT, "strace wrote no summary into {file} but {text:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The table between two ruled lines: share, seconds, microseconds of a call, calls, errors if any,
/// name. `None` while the lower line is missing.
fn parse(text: &str) -> Option<Counts> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with('-')).skip(1);
    let mut counts = Counts::new();
    loop {
        let line = lines.next()?;
        if line.starts_with('-') {
            return Some(counts);
        }
        let words: Vec<_> = line.split_whitespace().collect();
        counts.insert((*words.last()?).to_owned(), words.get(3)?.parse().ok()?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 97.52    0.001219           5       230        12 epoll_wait
  2.48    0.000031           1        20           sendmsg
------ ----------- ----------- --------- --------- ----------------
100.00    0.001250           5       250        12 total
";

    #[test]
    fn calls_are_read_with_and_without_errors() {
        let counts = parse(SUMMARY).unwrap();
        assert_eq!(counts, [("epoll_wait".to_owned(), 230), ("sendmsg".to_owned(), 20)].into());
    }

    #[test]
    fn a_summary_that_is_not_whole_is_none() {
        assert_eq!(parse(""), None);
        let cut = SUMMARY.rfind("\n-").unwrap();
        assert_eq!(parse(&SUMMARY[..cut]), None);
    }

    #[test]
    fn what_happens_once_cancels_out() {
        let counts = |sent, mapped| {
            Counts::from([("sendmsg".to_owned(), sent), ("mmap".to_owned(), mapped)])
        };
        let figure = figure("n".to_owned(), &counts(150, 40), &counts(250, 40), 100);
        assert_eq!((figure.value, figure.note.as_deref()), (1.0, Some("sendmsg 1.00")));
        assert_eq!(super::figure("n".to_owned(), &counts(1, 40), &counts(1, 41), 200).value, 0.0);
    }
}
