//! Answers nobody waits for: to dropped futures, and to questions for a group's workers.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Signal, kill_process};
use urom_host::{DocaError, block_on_for};

use crate::deadlines::{LIMIT, SHORT, progress_until};
use crate::provider::Provider;

pub(crate) fn answers_to_dropped_futures_are_counted_apart(provider: &Provider) -> Result<()> {
    let (service, faulty, worker) = provider.faulty()?;
    // As an executor's own timeout does it, and one that was never polled.
    let slow = faulty.task_await(&worker, 1, 1).submit()?;
    assert_eq!(block_on_for(SHORT, slow).map(drop).unwrap_err().code(), DocaError::TIME_OUT);
    drop(faulty.task_await(&worker, 1, 2).submit()?);
    let late = faulty.task_await(&worker, 1, 3).deadline(SHORT).submit()?;
    assert_eq!(late.wait().map(drop).unwrap_err().code(), DocaError::TIME_OUT);
    assert_eq!((worker.given_up(), worker.late_answers(), worker.dropped_answers()), (3, 0, 0));
    faulty.task_tell(&worker, 1).submit()?.wait()?;
    progress_until(&service, || worker.given_up() == 0)?;
    assert_eq!((worker.late_answers(), worker.dropped_answers()), (1, 2));
    assert_eq!(faulty.task_echo(&worker, 7).submit()?.wait()?.data, 7);
    Ok(())
}

pub(crate) fn a_question_that_is_given_up_disturbs_no_other(provider: &Provider) -> Result<()> {
    let (service, _faulty, worker) = provider.faulty()?;
    let all = [worker.id()];
    let (mut given_up, mut dropped) = (0, 0);
    for round in 0..200_u64 {
        let cancelled = service.workers_of_group(0);
        let limit = Duration::from_micros(round);
        let tight = service.workers_of_group(0).deadline(limit);
        drop(service.workers_of_group(0));
        dropped += 1;
        let nobody = service.workers_of_group(77);
        let is_cancelled = cancelled.cancel();
        assert_eq!(nobody.deadline(LIMIT).wait()?, []);
        match cancelled.wait() {
            Ok(ids) => assert!(!is_cancelled && ids == all),
            Err(error) => assert!(is_cancelled && error.code() == DocaError::SKIPPED, "{error}"),
        }
        given_up += u64::from(is_cancelled);
        match tight.wait() {
            Ok(ids) => assert_eq!(ids, all),
            Err(error) => {
                assert_eq!(error.code(), DocaError::TIME_OUT, "{error}");
                given_up += 1;
            }
        }
        assert_eq!(service.workers_of_group(0).wait()?, all);
    }
    // One that was given up before it left has no answer.
    assert!(service.late_answers() <= given_up && service.dropped_answers() <= dropped);
    Ok(())
}

pub(crate) fn a_question_is_given_up_while_the_daemon_is_stopped(
    provider: &Provider,
) -> Result<()> {
    let daemon = provider.pid().context("a daemon")?;
    let (service, _faulty, worker) = provider.faulty()?;
    kill_process(daemon, Signal::STOP)?;
    let start = Instant::now();
    let [cancelled, dropped, late] = [(); 3].map(|()| service.workers_of_group(0));
    let answer = late.deadline(SHORT).wait();
    let took = start.elapsed();
    // The deadline passed behind the others: they have left.
    let is_cancelled = cancelled.cancel();
    drop(dropped);
    assert_eq!((service.late_answers(), service.dropped_answers()), (0, 0));
    kill_process(daemon, Signal::CONT)?;
    let error = answer.unwrap_err();
    assert_eq!(error.code(), DocaError::TIME_OUT);
    assert!(error.to_string().contains("within the deadline of 20ms"), "{error}");
    assert!(is_cancelled && took >= SHORT && took < Duration::from_secs(1), "{took:?}");
    assert_eq!(cancelled.wait().unwrap_err().code(), DocaError::SKIPPED);
    while (service.late_answers(), service.dropped_answers()) != (2, 1) {
        assert_eq!(service.workers_of_group(0).wait()?, [worker.id()]);
        ensure!(start.elapsed() < LIMIT, "the late answers never came");
    }
    Ok(())
}
