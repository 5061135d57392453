//! Counting the instructions of this program's own loops.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::Counted;
use crate::process::Process;

/// Calls `round` so many times. Has a name that callgrind can be told: the instructions of this
/// function count, with all that it calls.
#[unsafe(no_mangle)]
#[inline(never)]
pub(super) fn codec_counted_rounds(
    count: usize,
    round: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    (0..count).try_for_each(|_| round())
}

/// The instructions of one round.
pub(super) fn per_round(what: &Counted, count: usize) -> Result<f64> {
    // Side by side: instructions do not depend on what else runs.
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
    let own = Process::Counted(what.clone(), count).command()?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg("--toggle-collect=codec_counted_rounds");
    command.arg(own.get_program()).args(own.get_args());
    // The sandbox plugins in Rust and in C both use shared memory alone. With `self` as well, that
    // in C would use it to reach itself; that in Rust cannot, because it asks to be told of lost
    // peers. UCX's hooks on memory do not work under valgrind.
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
