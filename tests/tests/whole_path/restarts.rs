//! Restarted workers.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use faulty_protocol::Client;
use rustix::process::{Signal, kill_process};
use urom_abi::WorkerId;
use urom_host::{ContextState, DocaError, Host, Worker};

use crate::deadlines::{process, progress_until};
use crate::provider::{Provider, faulty, variable};

const LIMIT: Duration = Duration::from_secs(20);

pub(crate) fn a_worker_that_is_killed_is_restarted_with_nothing_in_flight(
    provider: &Provider,
) -> Result<()> {
    let service = provider.connect()?;
    let faulty = faulty(&service)?;
    let settings =
        service.worker().group(3).env("UROM_TEST_MARK", "kept").max_inflight(8).timeout(LIMIT);
    let mut worker = settings.plugin(&faulty).start().wait()?;
    for round in 0..3 {
        let (id, pid) = (worker.id(), process(&faulty, &worker)?);
        let lost = faulty.task_await(&worker, 1, round).submit()?;
        kill_process(pid, Signal::KILL)?;
        let error = lost.wait().err().context("it was answered")?;
        assert_eq!(error.code(), DocaError::CONNECTION_RESET, "{error}");
        progress_until(&service, || worker.state().is_ok_and(|state| state == ContextState::Idle))?;
        assert!(worker.failure().is_some() && worker.in_flight()? == 0);
        let again = worker.restart().wait()?;
        assert_eq!(
            (again.id(), again.group()?, again.max_inflight(), again.in_flight()?),
            (id, 3, 8, 0)
        );
        assert!(process(&faulty, &again)? != pid);
        assert_eq!(variable(&faulty, &again, "UROM_TEST_MARK")?.as_deref(), Some("kept"));
        assert_eq!(
            faulty.task_echo(&worker, 1).submit().map(drop).map_err(|e| e.code()),
            Err(DocaError::BAD_STATE)
        );
        worker = again;
    }
    Ok(())
}

/// The host notices before the service ends the worker: until then a start would join the old
/// worker.
pub(crate) fn a_worker_that_is_stopped_is_restarted_with_its_environment(
    provider: &Provider,
) -> Result<()> {
    let service = provider.connect()?;
    let faulty = faulty(&service)?;
    let worker = service.worker().env("UROM_TEST_MARK", "kept").plugin(&faulty).start().wait()?;
    let pid = process(&faulty, &worker)?;
    let lost = faulty.task_await(&worker, 1, 1).submit()?;
    kill_process(pid, Signal::STOP)?;
    let error = lost.wait().err().context("it was answered")?;
    assert_eq!(error.code(), DocaError::TIME_OUT, "{error}");
    let again = worker.restart().wait()?;
    assert!(again.id() == worker.id() && process(&faulty, &again)? != pid);
    assert_eq!(variable(&faulty, &again, "UROM_TEST_MARK")?.as_deref(), Some("kept"));
    Ok(())
}

pub(crate) fn a_restart_without_a_service_names_the_cause(provider: &Provider) -> Result<()> {
    let daemon = provider.pid().context("a daemon")?;
    let (_service, faulty, worker) = provider.faulty()?;
    let lost = faulty.task_await(&worker, 1, 1).submit()?;
    kill_process(daemon, Signal::KILL)?;
    assert!(lost.wait().is_err());
    let error = worker.restart().wait().err().context("it was restarted")?;
    assert!(
        error.to_string().contains(&format!("starting worker {}", WorkerId(worker.id()))),
        "{error}"
    );
    assert!(error.code() != DocaError::IN_USE && error.code() != DocaError::TIME_OUT, "{error}");
    Ok(())
}

fn kill(faulty: &Client<Host>, worker: &Worker) -> Result<()> {
    let lost = faulty.task_await(worker, 1, 1).submit()?;
    kill_process(process(faulty, worker)?, Signal::KILL)?;
    let error = lost.wait().err().context("it was answered")?;
    assert_eq!(error.code(), DocaError::CONNECTION_RESET, "{error}");
    Ok(())
}

pub(crate) fn a_worker_that_another_host_has_started_again_is_joined(
    provider: &Provider,
) -> Result<()> {
    let (one, other) = (provider.connect()?, provider.connect()?);
    let (first, second) = (faulty(&one)?, faulty(&other)?);
    let mark = "UROM_TEST_MARK";
    let mut a = one.worker().id(9).plugin(&first).env(mark, "one's").start().wait()?;
    kill(&first, &a)?;
    let begin = Instant::now();
    let mut b = loop {
        match other.worker().id(9).plugin(&second).env(mark, "other").start().wait() {
            Err(error) if error.code() == DocaError::ALREADY_EXIST && begin.elapsed() < LIMIT => {}
            started => break started?,
        }
    };
    for round in 0..2 {
        a = a.restart().wait()?;
        assert_eq!(process(&first, &a)?, process(&second, &b)?, "one worker for both");
        assert_eq!(
            variable(&first, &a, mark)?.as_deref(),
            Some("other"),
            "the environment is the first host's"
        );
        assert_eq!(second.task_echo(&b, round).submit()?.wait()?.data, round);
        // The same in the next round, independently of the environment of `a`.
        kill(&first, &a)?;
        second
            .task_echo(&b, round)
            .submit()
            .and_then(|task| task.wait())
            .expect_err("it was killed");
        b = b.restart().wait()?;
    }
    // Without other hosts, the worker has its own environment.
    b.stop().wait()?;
    a = a.restart().wait()?;
    assert_eq!(variable(&first, &a, mark)?.as_deref(), Some("one's"));
    Ok(())
}
