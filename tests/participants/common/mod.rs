//! What the hosts in Rust share with each other, and with those in C (`tests/c/host.h`): they say what they see, line by
//! line and in the same words.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use urom_host::{DocaError, Plugin, ProgressEngine, RawCompletion, Service, Worker, block_on_for};

/// How many calls of progress show that nothing is due.
const QUIET_CALLS: u32 = 1000;

/// Longer than anything here takes.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The service that the environment names, and a device: the first argument, or `mlx5_0`.
pub(crate) fn connect() -> Result<Service> {
    let device = std::env::args().nth(1).unwrap_or_else(|| "mlx5_0".to_owned());
    Ok(Service::builder().device(device).max_workers(8).connect()?)
}

pub(crate) fn say_service(service: &Service, plugin: &str) -> Result<()> {
    let plugin =
        service.plugins().iter().find(|found| found.name() == plugin).context("no such plugin")?;
    println!("plugin {}, version {}", plugin.name(), plugin.version());
    println!("{} of the CPUs 0 to 7", (0..8).filter(|cpu| service.cpus().contains(*cpu)).count());
    Ok(())
}

/// One call; lets others have the processor when nothing came of it.
pub(crate) fn progress(engine: &ProgressEngine) -> bool {
    let moved = engine.progress();
    if !moved {
        thread::yield_now();
    }
    moved
}

pub(crate) fn say_quiet(engine: &ProgressEngine) {
    let nonzero = (0..QUIET_CALLS).filter(|_| progress(engine)).count();
    println!("{nonzero} of {QUIET_CALLS} calls nonzero");
}

/// The code of a result.
pub(crate) fn code<T>(result: &urom_host::Result<T>) -> DocaError {
    result.as_ref().map_or_else(urom_host::Error::code, |_| DocaError::SUCCESS)
}

/// A command that is nothing but bytes.
pub(crate) fn submit_raw(worker: &Worker, plugin: &Plugin, bytes: &[u8]) -> Result<RawCompletion> {
    Ok(worker.command(plugin, bytes)?)
}

/// Sends bytes as a command and says what came of it.
pub(crate) fn say_raw(what: &str, worker: &Worker, plugin: &Plugin, bytes: &[u8]) -> Result<()> {
    let answer = block_on_for(LIMIT, submit_raw(worker, plugin, bytes)?)?;
    match answer.bytes {
        Some(bytes) => {
            println!("{what}: {}, answer of {} bytes", answer.status.name(), bytes.len())
        }
        None => println!("{what}: {}, no answer", answer.status.name()),
    }
    Ok(())
}
