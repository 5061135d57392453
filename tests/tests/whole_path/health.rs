//! Blocked plugins: their hosts and joining hosts are informed.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use urom_abi::DocaError;
use urom_host::{ContextState, Health, Service, Worker};

use crate::provider::{Provider, faulty};

/// Duration of a blocked handler: hosts are informed after 5 to 6 s; the rest is for the checks.
const BLOCKED: Duration = Duration::from_secs(10);

const TOLD: Duration = Duration::from_secs(8);

fn wait_until(what: &str, mut done: impl FnMut() -> bool) -> Result<()> {
    let begin = Instant::now();
    while !done() {
        ensure!(begin.elapsed() < TOLD, "{what}: not within {TOLD:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

pub(crate) fn a_plugin_that_does_not_return_is_named_until_it_does(
    provider: &Provider,
) -> Result<()> {
    let (_service, plugin, first) = provider.faulty()?;
    let others = [provider.connect()?, provider.connect()?];
    let join = |service| join(service, first.id());
    let second = join(&others[0])?;
    assert_eq!((first.health(), second.health()), (Health::Well, Health::Well));
    let begin = Instant::now();
    let millis = u32::try_from(BLOCKED.as_millis())?;
    let stalled = plugin.task_stall(&first, millis).submit()?;
    // The report does not need progress.
    for worker in [&first, &second] {
        wait_until("a plugin does not return", || worker.health() != Health::Well)?;
        let Health::Hung { plugin, method, since } = worker.health() else {
            panic!("{:?}", worker.health())
        };
        assert_eq!((plugin.as_str(), method.as_str()), ("worker_faulty", "call"));
        assert!(since >= Duration::from_secs(5) && since <= begin.elapsed(), "{since:?}");
        assert_eq!(worker.state()?, ContextState::Running);
    }
    let error = join(&others[1]).err().context("a worker that is blocked let a host in")?;
    let error: urom_host::Error = error.downcast()?;
    assert_eq!(error.code(), DocaError::TIME_OUT, "{error}");
    let text = error.to_string();
    assert!(text.contains("plugin `worker_faulty` has not returned from `call`"), "{text}");
    assert!(begin.elapsed() < BLOCKED, "the plugin returned before all was seen");
    stalled.wait()?;
    for worker in [&first, &second] {
        wait_until("a plugin returns", || worker.health() == Health::Well)?;
    }
    let third = join(&others[1])?;
    let plugin = faulty(&others[1])?;
    assert_eq!(plugin.task_echo(&third, 5).submit()?.wait()?.data, 5);
    Ok(())
}

fn join(service: &Service, id: u64) -> Result<Worker> {
    Ok(service.worker().id(id).plugin(&faulty(service)?).start().wait()?)
}
