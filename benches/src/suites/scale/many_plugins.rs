//! As many plugins in one worker as it takes: one is used, the others have no work.

use anyhow::{Context, Result, ensure};
use urom_host::Plugin;
use urom_tests::{PluginDirectory, built};

use super::NAME;
use crate::cores::pin;
use crate::figure::Figure;
use crate::launch::{Daemon, Launch, worker};
use crate::suites::loopback::round::{self, Work};

const MOST: usize = 62;

pub(super) fn measure(launch: &Launch) -> Result<Vec<Figure>> {
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    let file = built("libworker_graph.so")?;
    let name = |number: usize| format!("copy_{number:02}");
    for number in 1..MOST {
        // A copy, so that each is loaded by itself.
        let copy = plugins.path().join(format!("{}.so", name(number)));
        std::fs::copy(&file, &copy).with_context(|| file.display().to_string())?;
    }
    let daemon = Daemon::start(plugins, |command| command)?;
    let service = daemon.connect()?;
    let graph = service.plugin::<graph_protocol::Protocol>()?;
    let others = (1..MOST).map(|number| service.plugin_named(&name(number)));
    let others = others.collect::<urom_host::Result<Vec<Plugin>>>()?;
    let plugins: Vec<&Plugin> = [graph.plugin()].into_iter().chain(&others).collect();
    ensure!(plugins.len() == service.plugins().len(), "the service has other plugins too");
    let worker = worker(&service, &plugins, launch.cores.worker())?;
    pin(launch.cores.host(0))?;
    round::kit(&graph, &worker, Work { trips: 1_000, depth: 1, single: false })?;
    let figure = Figure::new(format!("{NAME}/plugins-in-one-worker"), "", plugins.len() as f64);
    Ok(vec![figure.note("open in a worker that answered commands")])
}
