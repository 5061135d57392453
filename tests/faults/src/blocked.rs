//! The error for a blocked receive queue: see `ucx/src/queue_probe.rs`.

use anyhow::{Result, ensure};

use crate::host::{Tally, Trouble};

const BLOCKED: &str = "blocks UCX's receive queue for all others; start the worker again";

pub(crate) fn is_blocked(trouble: &Trouble) -> bool {
    trouble.text.contains(BLOCKED)
}

/// Checks that a load whose worker was not broken ended for a blocked queue.
pub(crate) fn names_the_queue(tally: &Tally, worker: u64) -> Result<()> {
    ensure!(!tally.errors.is_empty(), "nothing failed, and yet it ended: {tally:?}");
    tally.errors.iter().try_for_each(|(trouble, _)| {
        let named = is_blocked(trouble) && trouble.text.contains(&format!("worker {worker}"));
        ensure!(named, "worker {worker} was lost, which nobody broke: {}", trouble.text);
        Ok(())
    })
}
