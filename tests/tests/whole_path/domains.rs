//! Domains, and failures of their starts.

use std::time::Duration;

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use urom_host::gather::InProcess;
use urom_host::{DocaError, block_on_for};

use crate::provider::Provider;

const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn eight_workers_in_four_processes_read_each_other_s_buffers(
    provider: &Provider,
) -> Result<()> {
    provider.participants("domain_participant", 4)?.finish()
}

pub(crate) fn a_wait_for_other_participants_does_not_spin(provider: &Provider) -> Result<()> {
    let (service, _graph, worker) = provider.graph()?;
    let mut group = InProcess::group(2);
    let start = service.domain().worker(0, &worker).gather(group.remove(0)).start();
    let (wait, before) = (Duration::from_millis(500), clock_gettime(ClockId::ThreadCPUTime));
    let error = block_on_for(wait, start).err().context("no other host is there")?;
    let used = Duration::try_from(clock_gettime(ClockId::ThreadCPUTime) - before)?;
    assert_eq!(error.code(), DocaError::TIME_OUT);
    assert!(used < wait / 2, "{used:?} of computing in {wait:?} of waiting");
    Ok(())
}

/// A running domain stays until it is stopped.
pub(crate) fn a_worker_that_dies_fails_the_start_of_its_domain_and_of_the_next(
    provider: &Provider,
) -> Result<()> {
    let (service, faulty, worker) = provider.faulty()?;
    let mut group = InProcess::group(2);
    let mut starts =
        [0, 1].map(|id| service.domain().worker(id, &worker).gather(group.remove(0)).start());
    let running = starts
        .iter_mut()
        .map(|start| block_on_for(LIMIT, start))
        .collect::<Result<Result<Vec<_>, _>, _>>()??;
    let mut group = InProcess::group(2);
    let starting = service.domain().worker(2, &worker).gather(group.remove(0)).start();
    let crashed = block_on_for(LIMIT, faulty.task_crash(&worker).submit()?)?;
    assert!(crashed.is_err() && worker.failure().is_some());
    let healthy = service.worker().plugin(&faulty).start().wait()?;
    let other = service.domain().worker(3, &healthy).gather(group.remove(0)).start();
    let alone = InProcess::group(1).remove(0);
    let next = service.domain().worker(4, &worker).gather(alone).start();
    for start in [starting, next] {
        let error = block_on_for(LIMIT, start)?.err().context("the worker has ended")?;
        assert!(error.to_string().contains("worker"), "{error}");
    }
    // All participants of a failed start get the reason.
    let error = block_on_for(LIMIT, other)?.err().context("the other participant failed")?;
    assert!(error.to_string().contains("participant 0 of the domain failed"), "{error}");
    running.into_iter().try_for_each(|domain| Ok(domain.stop_blocking()?))
}
