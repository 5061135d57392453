//! The graph plugin in Rust against the same plugin in C, in one worker, called by one host through
//! one client type. A second client type would be a copy of the code, whose different address in
//! memory affects the time by more than the plugin does.

use anyhow::{Result, ensure};
use graph_protocol::{Client, Protocol};
use urom_abi::protocol::Protocol as _;
use urom_host::{Host, Worker};
use urom_tests::PluginDirectory;

use super::loopback::round::{self, Trips};
use crate::cores::pin;
use crate::figure::Figure;
use crate::in_c;
use crate::launch::{DEPTH, Daemon, Launch, worker};

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let mut plugins = PluginDirectory::with(&["worker_graph"])?;
    plugins.add(&in_c::plugin("graph")?)?;
    let daemon = Daemon::start(plugins, |command| command)?;
    let service = daemon.connect()?;
    let in_rust = service.plugin::<Protocol>()?;
    let of_c = service.plugin_named(&in_c::name("graph"))?;
    ensure!(of_c.version() == Protocol::VERSION, "the plugin in C has another version");
    let in_c = Protocol::client::<Host>(of_c);
    let worker = worker(&service, &[in_rust.plugin(), &of_c], launch.cores.worker())?;
    pin(launch.cores.host(0))?;
    let clients = [&in_rust, &in_c];
    let mut figures = Vec::new();
    for (what, depth) in [("round-trip", 1), ("in-flight", DEPTH)] {
        let trips = |client| Ok(launch.trips(each(client, &worker, 1_000, depth)?, 1_000));
        let trips: Vec<u64> = clients.into_iter().map(trips).collect::<Result<_>>()?;
        let name = format!("plugin-in-c/{what}/{}/{depth}", launch.transport.name());
        figures.push(launch.compare(name, "plugin in C", |side| {
            each(clients[side], &worker, trips[side], depth)
        })?);
    }
    Ok(figures)
}

fn each(client: &Client<Host>, worker: &Worker, trips: u64, depth: u64) -> Result<f64> {
    Ok(round::kit(client, worker, Trips { depth, ..Trips::alone(trips) })?.each(trips))
}
