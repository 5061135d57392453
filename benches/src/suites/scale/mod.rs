//! Many at once: workers on one daemon, domains of them, and plugins in one worker.

mod many_plugins;
mod many_workers;

use super::{Part, Suite};
use crate::transport::{Environment, Transport};

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "256 workers on one daemon, domains of 64 and 256, 1 to 62 plugins in one worker",
    // Workers once: they take long, and the budget is about a count.
    parts: &[
        Part { environments: &[SHORT_STARTS], ..Part::once(many_workers::short_starts) },
        Part { environments: &[DEFAULT], ..Part::once(many_workers::default_environment) },
        Part { environments: &[SHORT_STARTS], ..Part::new(many_plugins::measure) },
    ],
    process: None,
};

const NAME: &str = "scale";

/// UCX's hooks on memory take longer to start than all else of a worker: 0.4 s in which it yields
/// its core. Without them UCX allocates for each message over TCP, so no other suite does without.
const SHORT_STARTS: Environment = Environment {
    transport: Transport::SharedMemory,
    variables: &[("UCX_TLS", "self,sm"), ("UCX_MEM_EVENTS", "n")],
};

/// A user's who sets nothing: UCX may use everything, and puts hooks on memory.
const DEFAULT: Environment = Environment { transport: Transport::SharedMemory, variables: &[] };
