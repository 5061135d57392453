//! Tasks whose answer does not come.

use anyhow::Result;
use urom_abi::DocaError;

use crate::provider::{Provider, faulty, faulty_worker};

pub(crate) fn a_task_that_never_ends_is_answered_when_its_worker_stops(
    provider: &Provider,
) -> Result<()> {
    let service = provider.connect()?;
    let (faulty, worker) = faulty_worker(&service)?;
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
