//! Counts the instructions of this program's own loops.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::Counted;
use crate::process::Process;

/// Calls `round` `count` times. callgrind gets this unmangled name, and counts the function with
/// all its calls.
#[unsafe(no_mangle)]
#[inline(never)]
pub(super) fn codec_counted_rounds(
    count: usize,
    round: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    (0..count).try_for_each(|_| round())
}

pub(super) fn per_round(what: &Counted, count: usize) -> Result<f64> {
    // In parallel: other load does not change instruction counts.
    let (once, twice) = std::thread::scope(|scope| {
        let once = scope.spawn(|| collected(what, count));
        let twice = collected(what, 2 * count);
        (once.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), twice)
    });
    let (once, twice) = (once?, twice?);
    ensure!(
        twice > once,
        "callgrind counted {once} instructions for {count} rounds, {twice} for twice as many"
    );
    Ok((twice - once) as f64 / count as f64)
}

fn collected(what: &Counted, count: usize) -> Result<u64> {
    let own = Process::Counted(serde_json::to_value(what)?, count).command()?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg("--toggle-collect=codec_counted_rounds");
    command.arg(own.get_program()).args(own.get_args());
    // The sandbox plugins in Rust and in C then both use shared memory alone. With `self`, the C
    // plugin would use it to reach itself; the Rust plugin cannot, because it requires the handling
    // of lost peers. UCX's memory hooks do not work under valgrind.
    command.env("UCX_TLS", "shm").env("UCX_MEM_EVENTS", "n");
    let output =
        command.output().context("cannot start valgrind: `cargo xtask setup` installs it")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{command:?} ended with {}:\n{said}", output.status);
    }
    let line = said.lines().find_map(|line| line.split_once("Collected :"));
    let (_, count) = line.with_context(|| format!("{command:?} printed no count:\n{said}"))?;
    count.trim().parse().with_context(|| format!("callgrind counted {count:?}"))
}
