//! Many at once: workers on one daemon, domains of them, and plugins in one worker.

mod many_plugins;
mod many_workers;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::Suite;
use crate::extent::Extent;
use crate::figure::Figure;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "256 workers on one daemon, domains of 64 and 256, 1 to 62 plugins in one worker",
    run,
    child: Some(child),
};

const NAME: &str = "scale";
/// What who starts hundreds of workers sets: UCX's hooks on memory take longer to start than all else of a worker, 0.4 s in which it
/// yields its core. Without them UCX allocates for each message over TCP, so no other suite does this.
const SHORT_STARTS: [(&str, &str); 1] = [("UCX_MEM_EVENTS", "n")];

/// What a host process of this suite does.
#[derive(Serialize, Deserialize)]
enum Role {
    Workers(many_workers::Arguments),
    Plugins(many_plugins::Arguments),
}

fn run(extent: &Extent) -> Result<Vec<Figure>> {
    // Once: it takes long, and what is budgeted are counts.
    let mut figures = many_workers::measure()?;
    figures.extend(extent.launches(NAME, |_| many_plugins::measure(extent))?);
    Ok(figures)
}

fn child(arguments: &str) -> Result<()> {
    match serde_json::from_str(arguments).context("what a host is started with")? {
        Role::Workers(arguments) => many_workers::child(&arguments),
        Role::Plugins(arguments) => many_plugins::child(&arguments),
    }
}
