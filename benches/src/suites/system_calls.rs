//! System calls of a command in steady state, at the host and in the worker, as strace counts them.
//!
//! What happens once cancels out: a run does so many commands, another one twice as many. A traced call takes many times as long as
//! another, so who waits for a message over TCP asks the kernel less often than it would.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::Suite;
use super::pair::{DEPTH, Pair};
use crate::extent::Extent;
use crate::figure::Figure;
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "system calls of a command, at the host and in the worker",
    run,
    child: None,
};

const NAME: &str = "system-calls";
/// Counts the system calls of all threads of what is behind it, and writes a summary into a file.
const STRACE: [&str; 4] = ["strace", "-f", "-c", "-o"];
/// While UCX tries its hooks on memory, for 0.4 s once, it asks the kernel thousands of times whether somebody else wants the core:
/// how often differs from start to start, so it does not cancel out.
const NO_HOOKS: (&str, &str) = ("UCX_MEM_EVENTS", "n");
/// How long the summary may take to appear after its process has ended.
const LIMIT: Duration = Duration::from_secs(30);
/// With less of a call than this a command, it is no part of a command.
const SELDOM: f64 = 0.01;

/// Calls by name.
type Counts = BTreeMap<String, u64>;

fn run(extent: &Extent) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for transport in Transport::ALL {
        let commands = match (transport, extent.quick) {
            (Transport::SharedMemory, _) => 20_000,
            (Transport::Tcp, true) => 1_000,
            (Transport::Tcp, false) => 5_000,
        };
        for depth in [1, DEPTH] {
            let once = counted(extent, transport, commands, depth)?;
            let twice = counted(extent, transport, 2 * commands, depth)?;
            for (side, once, twice) in
                [("host", &once[0], &twice[0]), ("worker", &once[1], &twice[1])]
            {
                let name = format!("{NAME}/{}/{side}/{depth}", transport.name());
                figures.push(figure(name, once, twice, commands));
            }
        }
    }
    Ok(figures)
}

/// What `commands` more commands have taken in calls.
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

/// The calls of a host and of its worker, from their first to their last.
fn counted(
    extent: &Extent,
    transport: Transport,
    commands: u64,
    depth: u64,
) -> Result<[Counts; 2]> {
    let directory = TempDir::new()?;
    let [host, worker] = ["host", "worker"].map(|name| directory.path().join(name));
    let launcher = format!("{} {}", STRACE.join(" "), worker.display());
    let mut pair = Pair::start(
        extent,
        transport,
        |daemon| daemon.args(["--worker-launcher", &launcher]).env(NO_HOOKS.0, NO_HOOKS.1),
        |own| {
            let mut command = Command::new(STRACE[0]);
            command.args(&STRACE[1..]).arg(&host).arg(own.get_program()).args(own.get_args());
            command.env(NO_HOOKS.0, NO_HOOKS.1);
            command
        },
    )
    .context("under strace, which `cargo xtask setup` installs")?;
    pair.loopbacks(commands, depth)?;
    pair.finish()?;
    Ok([summary(&host)?, summary(&worker)?])
}

/// What strace has written, which it does when its process has ended.
fn summary(file: &Path) -> Result<Counts> {
    let begin = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if let Some(counts) = parse(&text) {
            return Ok(counts);
        }
        ensure!(
            begin.elapsed() < LIMIT,
            "strace wrote no summary into {} but {text:?}",
            file.display()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The table between two ruled lines: share, seconds, microseconds a call, calls, errors if any, name. Nothing while the lower line is
/// missing.
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
