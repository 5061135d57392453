//! Cancelled group queries.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Signal, kill_process};
use urom_host::DocaError;

use crate::deadlines::{LIMIT, SHORT};
use crate::provider::Provider;

pub(crate) fn a_query_is_cancelled_while_the_daemon_is_stopped(provider: &Provider) -> Result<()> {
    let daemon = provider.pid().context("a daemon")?;
    let (service, _faulty, worker) = provider.faulty()?;
    kill_process(daemon, Signal::STOP)?;
    let start = Instant::now();
    let [cancelled, dropped, late] = [(); 3].map(|()| service.workers_of_group(0));
    let answer = late.timeout(SHORT).wait();
    let took = start.elapsed();
    // The deadline passed after all three queries were sent.
    let is_cancelled = cancelled.cancel();
    drop(dropped);
    assert_eq!((service.late_replies(), service.dropped_replies()), (0, 0));
    kill_process(daemon, Signal::CONT)?;
    let error = answer.unwrap_err();
    assert_eq!(error.code(), DocaError::TIME_OUT);
    assert!(error.to_string().contains("timed out after 20ms"), "{error}");
    assert!(is_cancelled && took >= SHORT && took < Duration::from_secs(1), "{took:?}");
    assert_eq!(cancelled.wait().unwrap_err().code(), DocaError::SKIPPED);
    while (service.late_replies(), service.dropped_replies()) != (2, 1) {
        assert_eq!(service.workers_of_group(0).wait()?, [worker.id()]);
        ensure!(start.elapsed() < LIMIT, "the late answers never came");
    }
    Ok(())
}
