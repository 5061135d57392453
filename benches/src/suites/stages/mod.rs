//! What a loopback consists of beyond raw UCX: its stages, each timed by itself.
//!
//! The host's stages are timed in a host with a real worker: it submits, waits without looking until the answer must have come,
//! then takes it. The worker's are timed in this process, where a plugin is driven as a worker drives it. The rest is what is left of
//! the difference between the two round trips: the worker's loop, the frames, and what the parties' caches do to each other.

mod clock;
mod host;
mod worker;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use urom_tests::{PluginDirectory, Uromd};

use self::host::HostStages;
use self::worker::WorkerStages;
use super::loopback::host::{Arguments as HostArguments, Place};
use super::{Suite, in_c};
use crate::child::Child;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "the stages of a loopback, and what is left",
    run,
    child: Some(child),
};

const NAME: &str = "stages";
const RAW: &str = "raw UCX";

/// What the child of a launch is started with.
#[derive(Serialize, Deserialize)]
struct Arguments {
    host: HostArguments,
    samples: u64,
    rounds: usize,
}

fn run(extent: &Extent) -> Result<Vec<Figure>> {
    let in_c = in_c::graph_plugin()?;
    extent.launches(NAME, |_| {
        let in_rust = PluginDirectory::with(&["worker_graph"])?
            .path()
            .join("worker_graph.so")
            .canonicalize()?;
        let samples = if extent.quick { 20_000 } else { 100_000 };
        let (rust, c) = (worker::measure(&in_rust, samples)?, worker::measure(&in_c, samples)?);
        let mut figures = of_worker(&rust, &c);
        for transport in Transport::ALL {
            let host = in_a_child(extent, transport, samples / 10)?;
            figures.extend(of_host(transport, &host, &rust));
        }
        Ok(figures)
    })
}

fn of_worker(rust: &WorkerStages, c: &WorkerStages) -> Vec<Figure> {
    let figure = |name: &str, ns| Figure::new(format!("{NAME}/worker/{name}"), "ns", ns);
    vec![
        figure("descriptor", rust.descriptor).note("worker: malloc of the command's descriptor, filling it, hanging it into the list"),
        figure("plugin", rust.plugin).against("plugin in C", c.plugin).note(
            "plugin: worker_cmd and progress, with free of the command and malloc of the answer; one command at a time",
        ),
        figure("pack", rust.pack).against("plugin in C", c.pack).note("worker: notif_pack and free of the answer"),
    ]
}

fn of_host(transport: Transport, host: &HostStages, worker: &WorkerStages) -> Vec<Figure> {
    let figure =
        |name: &str, ns| Figure::new(format!("{NAME}/{}/{name}", transport.name()), "ns", ns);
    let at_host = host.build + (host.submit - host.raw_send) + (host.take - host.raw_take);
    let at_worker = worker.descriptor + worker.plugin + worker.pack;
    vec![
        figure("host-build", host.build).note("host: takes a free task and fills in the command"),
        figure("host-submit", host.submit)
            .against(RAW, host.raw_send)
            .note("host: submits, which sends; raw UCX's is its send alone"),
        figure("host-take", host.take)
            .against(RAW, host.raw_take)
            .note("host: takes an answer that is there, finds its task, completes and releases it; raw UCX's is its progress alone"),
        figure("shorter-messages", host.raw_short - host.raw).note(
            "what raw UCX's round trip takes more, or less, with messages as long as the kit's: 28 bytes there and back in place of 40 and 48",
        ),
        figure("answer-at-once", host.raw_at_once - host.raw_short)
            .note("and when such a message is answered inside the round of UCX that brought it"),
        figure("rest", host.kit - host.raw_at_once - at_host - at_worker).note(
            "what the round trip takes beyond that of such messages and beyond the stages above: the worker's loop and frames, and caches",
        ),
        figure("round-trip", host.kit).against(RAW, host.raw),
    ]
}

fn in_a_child(extent: &Extent, transport: Transport, samples: u64) -> Result<HostStages> {
    let (variable, value) = transport.variable();
    let plugins = PluginDirectory::with(&["worker_graph", "worker_benchpeer"])?;
    let daemon = Uromd::start_with(plugins.variable(), |command| {
        command.args(["-l", "30"]).env(variable, value)
    })?;
    let arguments = Arguments {
        host: HostArguments {
            place: Place::Uromd { address: daemon.address().to_owned() },
            number: 0,
            worker: None,
            in_flight: 64,
            core: extent.cores.host(0),
            worker_core: extent.cores.worker(),
        },
        samples,
        rounds: extent.rounds(),
    };
    let mut host = Child::start(NAME, &arguments, |command| command.env(variable, value))?;
    let stages = host.answer()?;
    host.finish()?;
    ensure!(daemon.stop()?.success(), "uromd did not end in order");
    Ok(stages)
}

fn child(arguments: &str) -> Result<()> {
    let arguments: Arguments =
        serde_json::from_str(arguments).context("what a launch is started with")?;
    let stages = host::measure(&arguments.host, arguments.samples, arguments.rounds)?;
    println!("{}", serde_json::to_string(&stages)?);
    Ok(())
}
