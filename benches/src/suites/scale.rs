//! Many at once: workers on one daemon, and plugins in one worker.

mod many_plugins;
mod many_workers;

use super::{Part, Suite};

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "256 workers on one daemon, 62 plugins in one worker",
    parts: &[
        Part { variables: &[SHORT_STARTS], ..Part::once(many_workers::measure) },
        Part { variables: &[SHORT_STARTS], ..Part::once(many_plugins::measure) },
    ],
    process: None,
};

const NAME: &str = "scale";

/// UCX's hooks on memory take longer to start than all else of a worker: 0.4 s in which it yields
/// its core. Without them UCX allocates for each message over TCP, so no other suite does without.
const SHORT_STARTS: (&str, &str) = ("UCX_MEM_EVENTS", "n");
