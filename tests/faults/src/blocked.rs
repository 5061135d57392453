//! What those are told who share a receive queue with a process that died while it sent: see `urom-wire/src/queue_probe.rs`.

use anyhow::{Result, ensure};

use crate::host::{Tally, Trouble};

const BLOCKED: &str = "blocks UCX's receive queue for all others; start the worker again";

/// Whether an error says that a receive queue was blocked, and that the worker has to be started again.
pub(crate) fn is_blocked(trouble: &Trouble) -> bool {
    trouble.text.contains(BLOCKED)
}

/// Checks the errors of a load whose worker nobody broke: there is one reason for which it may have been lost.
pub(crate) fn names_the_queue(tally: &Tally, worker: u64) -> Result<()> {
    ensure!(!tally.errors.is_empty(), "nothing failed, and yet it ended: {tally:?}");
    tally.errors.iter().try_for_each(|(trouble, _)| {
        let named = is_blocked(trouble) && trouble.text.contains(&format!("worker {worker}"));
        ensure!(named, "worker {worker} was lost, which nobody broke: {}", trouble.text);
        Ok(())
    })
}
