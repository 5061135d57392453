//! Tasks whose answer does not come.

use anyhow::{Context, Result};
use rustix::process::{Signal, kill_process};
use urom_abi::DocaError;
use urom_host::block_on_for;

use crate::deadlines::LIMIT;
use crate::provider::{Provider, faulty};

pub(crate) fn a_task_that_never_ends_is_answered_when_its_worker_stops(
    provider: &Provider,
) -> Result<()> {
    let (_service, faulty, worker) = provider.faulty()?;
    let tasks: Vec<_> =
        (0..10).map(|_| faulty.task_hang(&worker).submit()).collect::<Result<_, _>>()?;
    let stopping = worker.stop();
    for task in tasks {
        assert_eq!(task.wait().map(drop).map_err(|error| error.code()), Err(DocaError::SHUTDOWN));
    }
    Ok(stopping.wait()?)
}

pub(crate) fn a_dropped_future_frees_its_task(provider: &Provider) -> Result<()> {
    let service = provider.connect()?;
    let faulty = faulty(&service)?;
    let worker = service.worker().plugin(&faulty).max_inflight(2).start().wait()?;
    for data in 0..100 {
        drop(faulty.task_echo(&worker, data).submit()?);
        assert_eq!(faulty.task_echo(&worker, data).submit()?.wait()?.data, data);
    }
    assert_eq!(worker.in_flight()?, 0);
    Ok(())
}

pub(crate) fn a_daemon_that_is_told_to_stop_ends_the_tasks_in_flight(
    provider: &Provider,
) -> Result<()> {
    let daemon = provider.pid().context("a daemon")?;
    let (_service, faulty, worker) = provider.faulty()?;
    let pending = faulty.task_hang(&worker).submit()?;
    kill_process(daemon, Signal::TERM)?;
    let error = block_on_for(LIMIT, pending)?.err().context("the worker is gone")?;
    assert!(matches!(error.code(), DocaError::SHUTDOWN | DocaError::CONNECTION_RESET), "{error}");
    Ok(())
}
