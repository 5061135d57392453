//! How many messages of UCX commands take: those that are in flight together share one, and one that is alone neither takes
//! another nor waits for company.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use urom_host::{CpuSet, Service, block_on};
use urom_tests::{PluginDirectory, Uromd};

use super::Suite;
use super::counted::{Counted, sums, variables};
use crate::child::Child;
use crate::cores::pin;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "messages of UCX a command takes, alone and with others",
    run,
    child: Some(child),
};

const NAME: &str = "messages";
/// How many are in flight where a command is not alone.
const TOGETHER: [u64; 2] = [8, 64];
/// How many commands show whether each leaves at once.
const SINGLES: u64 = 1_000;

/// What the host that looks at single commands is started with.
#[derive(Serialize, Deserialize)]
struct Arguments {
    daemon: String,
    counts: PathBuf,
    core: usize,
    worker_core: usize,
}

fn run(extent: &Extent) -> Result<Vec<Figure>> {
    extent.launches(NAME, |_| {
        let mut figures = Vec::new();
        for transport in Transport::ALL {
            figures.extend(per_command(extent, transport)?);
            figures.push(at_once(extent, transport)?);
        }
        Ok(figures)
    })
}

fn per_command(extent: &Extent, transport: Transport) -> Result<Vec<Figure>> {
    let commands = match transport {
        Transport::SharedMemory => 10_000,
        Transport::Tcp => 2_000,
    };
    let mut pair = Counted::start(extent, transport)?;
    let mut figures = Vec::new();
    let mut measure = |depth| -> Result<()> {
        let company = if depth == 1 { "alone".to_owned() } else { format!("together/{depth}") };
        for (side, each) in ["host", "worker"].iter().zip(pair.each(commands, depth)?) {
            let name = format!("{NAME}/{company}/{}/{side}", transport.name());
            figures.push(
                Figure::new(name, "messages", each.messages).note("for each command, at this side"),
            );
        }
        Ok(())
    };
    measure(1)?;
    TOGETHER.into_iter().try_for_each(measure)?;
    pair.finish()?;
    Ok(figures)
}

/// Which part of the commands that are alone has left when the call that submits them returns.
fn at_once(extent: &Extent, transport: Transport) -> Result<Figure> {
    let (variable, value) = transport.variable();
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    let counts = TempDir::new()?;
    let daemon = Uromd::start_with(plugins.variable(), |command| {
        command.args(["-l", "30"]).env(variable, value)
    })?;
    let arguments = Arguments {
        daemon: daemon.address().to_owned(),
        counts: counts.path().to_owned(),
        core: extent.cores.host(0),
        worker_core: extent.cores.worker(),
    };
    let mut host = Child::start(NAME, &arguments, |command| {
        command.env(variable, value).envs(variables(counts.path()))
    })?;
    let part = host.answer()?;
    host.finish()?;
    ensure!(daemon.stop()?.success(), "uromd did not end in order");
    Ok(Figure::new(format!("{NAME}/sent-at-once/{}", transport.name()), "", part)
        .note("commands that are alone whose one message is with UCX when submit returns"))
}

fn child(arguments: &str) -> Result<()> {
    let arguments: Arguments =
        serde_json::from_str(arguments).context("what a host is started with")?;
    let service = Service::builder().address(&arguments.daemon).connect()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let cpus: CpuSet = [arguments.worker_core].into_iter().collect();
    let worker = block_on(service.worker().any_id().plugin(graph.plugin()).cpus(cpus).start())?;
    pin(arguments.core).context("cannot pin the host to its core")?;
    let sent = |counts: &Path| -> Result<u64> { Ok(sums(counts)?.messages) };
    let mut at_once = 0;
    for data in 0..SINGLES {
        let before = sent(&arguments.counts)?;
        let task = graph.task_loopback(&worker, data).submit()?;
        at_once += u64::from(sent(&arguments.counts)? == before + 1);
        let done = task.wait()?;
        ensure!(done.data == data, "sent {data}, got {}", done.data);
    }
    println!("{}", at_once as f64 / SINGLES as f64);
    Ok(())
}
