//! Whether an error says what happened.

use anyhow::{Result, ensure};

use super::plan::Blow;
use crate::blocked::is_blocked;
use crate::host::{Tally, Trouble};

/// What the texts of errors say when a process has ended, and when one was silent.
const ENDED: [&str; 4] =
    ["closed by the other side", "the connection broke", "the connection to it broke", "UCX says"];
const SILENT: [&str; 1] = ["was silent for"];

/// Checks the errors of a load whose worker was lost.
pub(super) fn names_the_cause(tally: &Tally, worker: u64, blow: Blow) -> Result<()> {
    ensure!(!tally.errors.is_empty(), "nothing failed: {tally:?}");
    tally.errors.iter().try_for_each(|(trouble, _)| check(trouble, worker, blow))
}

fn check(trouble: &Trouble, worker: u64, blow: Blow) -> Result<()> {
    let text = &trouble.text;
    ensure!(text.contains(&format!("worker {worker}")), "an error that does not say which worker: {text}");
    let names = |causes: &[&str]| causes.iter().any(|cause| text.contains(cause));
    // What was stopped is ended by its daemon, and whoever hears of that first says so.
    ensure!(
        names(&ENDED) || is_blocked(trouble) || blow.stops() && names(&SILENT),
        "an error that does not say why the worker was lost: {text}"
    );
    Ok(())
}
