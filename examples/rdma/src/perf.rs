//! Measures latency and bandwidth of writes, reads and sends by size, compared with raw UCX.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::Result;
use urom_host::{Result as HostResult, block_on};

use crate::figures::{Bandwidth, Latency};
use crate::options::Options;
use crate::other::Other;
use crate::raw::Raw;
use crate::side::{MEMORY, Side};

const SIZES: [u64; 7] = [8, 64, 512, 4 << 10, 64 << 10, 1 << 20, 4 << 20];

const BATCH: u64 = 256;
const BATCH_BYTES: u64 = 64 << 20;

const LATENCY: [&str; 11] = [
    "#bytes",
    "#iterations",
    "t_min[us]",
    "t_max[us]",
    "t_typical[us]",
    "t_avg[us]",
    "t_stdev[us]",
    "99%[us]",
    "99.9%[us]",
    "raw[us]",
    "raw x",
];

const BANDWIDTH: [&str; 7] = [
    "#bytes",
    "#iterations",
    "BW peak[MB/s]",
    "BW average[MB/s]",
    "MsgRate[Mpps]",
    "raw[MB/s]",
    "of raw",
];

/// A measured operation; raw UCX uses put, get and tag send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Write,
    Read,
    Send,
}

impl Operation {
    const ALL: [Operation; 3] = [Operation::Write, Operation::Read, Operation::Send];

    fn names(self) -> [&'static str; 2] {
        match self {
            Operation::Write => ["write", "put"],
            Operation::Read => ["read", "get"],
            Operation::Send => ["send", "tag send"],
        }
    }
}

fn batch_of(size: u64) -> u64 {
    (BATCH_BYTES / size).clamp(1, BATCH)
}

pub(crate) fn run(options: &Options, side: &Side, other: &Other, asks: bool) -> Result<()> {
    let raw = Raw::connect(other, SIZES[SIZES.len() - 1] as usize)?;
    let time = Duration::from_millis(options.time);
    for operation in Operation::ALL {
        let (mut latencies, mut bandwidths) = (Vec::new(), Vec::new());
        for size in SIZES {
            if !asks {
                serve(options, side, other, operation, size)?;
                raw.serve(other, operation, size)?;
                continue;
            }
            progress(&format!("{}, {size} bytes", operation.names()[0]));
            other.meet()?;
            // Opens connections and warms caches.
            batch(side, operation, size, 4, 1)?;
            let times = until(time, || batch(side, operation, size, 1, 1))?;
            let depth = u64::from(options.depth);
            let batches = until(time, || batch(side, operation, size, batch_of(size), depth))?;
            finish(side, operation, other)?;
            raw.batch(operation, size, 4)?;
            let raw_times = until(time, || raw.batch(operation, size, 1))?;
            let raw_batches = until(time, || raw.batch(operation, size, batch_of(size)))?;
            other.meet()?;

            let (ours, theirs) = (Latency::new(&times), Latency::new(&raw_times));
            let raw_cells = [
                format!("{:.2}", theirs.typical()),
                format!("{:.2}", ours.typical() / theirs.typical()),
            ];
            latencies.push(row(size, ours.cells().into_iter().chain(raw_cells)));
            let all = |times: Vec<Duration>| {
                let batches = times.into_iter().map(|time| (batch_of(size), time)).collect();
                Bandwidth { size, batches }
            };
            let (ours, theirs) = (all(batches), all(raw_batches));
            let raw_cells = [
                format!("{:.2}", theirs.megabytes()),
                format!("{:.2}", ours.megabytes() / theirs.megabytes()),
            ];
            bandwidths.push(row(size, ours.cells().into_iter().chain(raw_cells)));
        }
        if asks {
            let [name, raw_name] = operation.names();
            progress("");
            println!("\n{name}, one at a time, beside UCX's {raw_name}");
            print!("{}", example_common::render(LATENCY, &latencies));
            println!("\n{name}, {} at a time, beside UCX's {raw_name}", options.depth);
            print!("{}", example_common::render(BANDWIDTH, &bandwidths));
        }
    }
    Ok(())
}

/// Replaces the progress line on a terminal.
fn progress(measurement: &str) {
    let mut stderr = io::stderr();
    if stderr.is_terminal() {
        // An error does not stop the measurement.
        let _ = write!(stderr, "\r\x1b[K{measurement}");
    }
}

fn row<const COLUMNS: usize>(size: u64, cells: impl Iterator<Item = String>) -> [String; COLUMNS] {
    let mut cells = [size.to_string()].into_iter().chain(cells);
    std::array::from_fn(|_| cells.next().unwrap_or_default())
}

fn until(time: Duration, mut what: impl FnMut() -> Result<Duration>) -> Result<Vec<Duration>> {
    let (began, mut times) = (Instant::now(), Vec::new());
    while times.is_empty() || began.elapsed() < time {
        times.push(what()?);
    }
    Ok(times)
}

/// Runs `count` operations of a size, with `depth` at a time.
fn batch(side: &Side, operation: Operation, size: u64, count: u64, depth: u64) -> Result<Duration> {
    let Side { rdma, memory, remote, .. } = side;
    let part = || memory.slice(..size);
    let began = Instant::now();
    match operation {
        Operation::Write => pipeline(count, depth, || rdma.write(part(), remote.at(0)))?,
        Operation::Read => pipeline(count, depth, || rdma.read(remote.at(0), part()))?,
        Operation::Send => pipeline(count, depth, || rdma.send(part()))?,
    }
    Ok(began.elapsed())
}

fn pipeline<F: Future<Output = HostResult<()>> + Unpin>(
    count: u64,
    depth: u64,
    mut begin: impl FnMut() -> F,
) -> Result<()> {
    let mut running = VecDeque::with_capacity(depth as usize);
    for _ in 0..count {
        if running.len() as u64 == depth
            && let Some(first) = running.pop_front()
        {
            block_on(first)?;
        }
        running.push_back(begin());
    }
    running.into_iter().try_for_each(block_on)?;
    Ok(())
}

/// Receives messages until the other side has sent the last.
fn serve(
    options: &Options,
    side: &Side,
    other: &Other,
    operation: Operation,
    size: u64,
) -> Result<()> {
    let receive =
        || side.rdma.receive(side.memory.slice(MEMORY as u64 / 2..MEMORY as u64 / 2 + size));
    let mut receives = VecDeque::new();
    if operation == Operation::Send {
        receives.extend((0..2 * options.depth).map(|_| receive()));
    }
    other.meet()?;
    while let Some(first) = receives.pop_front() {
        if block_on(first)?.immediate.is_some() {
            break;
        }
        receives.push_back(receive());
    }
    // Empty messages complete the remaining receives.
    let left = receives.len() as u64;
    other.swap(&left.to_le_bytes())?;
    for receive in receives {
        block_on(receive)?;
    }
    Ok(())
}

/// Signals the last message of a size to the other side.
fn finish(side: &Side, operation: Operation, other: &Other) -> Result<()> {
    if operation == Operation::Send {
        block_on(side.rdma.send_imm((), 0))?;
    }
    let left = other.swap(&[0; 8])?;
    for _ in 0..left.try_into().map_or(0, u64::from_le_bytes) {
        block_on(side.rdma.send(()))?;
    }
    Ok(())
}
