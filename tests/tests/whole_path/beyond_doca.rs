//! Extensions between a worker and a plugin of this kit; with only DOCA's interface they are
//! missing, and nothing else is.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use faulty_protocol::Client as Faulty;
use urom_abi::extension::LONGEST_FAILURE;
use urom_host::{DocaError, Host, Worker};

use crate::deadlines::{LIMIT, SHORT};
use crate::provider::{Provider, faulty};

fn until(what: &str, mut ask: impl FnMut() -> Result<bool>) -> Result<()> {
    let start = Instant::now();
    while !ask()? {
        ensure!(start.elapsed() < LIMIT, "{what}");
    }
    Ok(())
}

fn reason(faulty: &Faulty<Host>, worker: &Worker, key: u64) -> Result<u64> {
    Ok(faulty.task_reason(worker, key).submit()?.wait()?.data)
}

pub(crate) fn a_cancelled_command_is_informed_of_the_reason(provider: &Provider) -> Result<()> {
    let (_service, faulty, worker) = provider.faulty()?;
    let late = faulty.task_outlast_host(&worker, 1).timeout(SHORT).submit()?.wait();
    assert_eq!(late.unwrap_err().code(), DocaError::TIME_OUT);
    let cancelled = faulty.task_outlast_host(&worker, 2).submit()?;
    assert!(cancelled.cancel());
    drop(faulty.task_outlast_host(&worker, 3).submit()?);
    if !provider.has_extension() {
        // Commands of one host keep their order.
        assert_eq!([1, 2, 3].map(|key| reason(&faulty, &worker, key).ok()), [Some(0); 3]);
        assert_eq!(worker.cancelled(), 3);
        return Ok(());
    }
    for (key, expected) in [(1, 2), (2, 1), (3, 1)] {
        until("no command was told", || Ok(reason(&faulty, &worker, key)? == expected))?;
    }
    until("the commands were not answered", || Ok(worker.cancelled() == 0))
}

pub(crate) fn commands_of_a_host_that_leaves_end_before_the_plugin_is_informed(
    provider: &Provider,
) -> Result<()> {
    let (_service, staying, worker) = provider.faulty()?;
    let departed = || -> Result<u64> { Ok(staying.task_departed(&worker).submit()?.wait()?.data) };
    for round in 1..=3 {
        let other = provider.connect()?;
        let leaving = faulty(&other)?;
        let theirs = other.worker().id(worker.id()).plugin(&leaving).start().wait()?;
        let pending = leaving.task_outlast_host(&theirs, round).submit()?;
        leaving.task_echo(&theirs, 1).submit()?.wait()?;
        assert_eq!(departed()?, if provider.has_extension() { round - 1 } else { 0 });
        drop(pending);
        drop((theirs, leaving, other));
        if provider.has_extension() {
            until("the plugin was not told", || Ok(departed()? == round))?;
            // The commands' cancellation was reported first.
            assert_ne!(reason(&staying, &worker, round)?, 0);
        }
    }
    assert_eq!(departed()?, if provider.has_extension() { 3 } else { 0 });
    Ok(())
}

pub(crate) fn a_context_returns_the_data_of_its_worker(provider: &Provider) -> Result<()> {
    let service = provider.builder().max_message_size(3000).connect_blocking()?;
    let faulty = faulty(&service)?;
    let worker = service.worker().plugin(&faulty).group(7).start().wait()?;
    let ask = |limit: Option<Duration>| -> Result<_> {
        let task = faulty.task_look_around(&worker);
        let task = limit.into_iter().fold(task, |task, limit| task.timeout(limit));
        Ok(task.submit()?.wait()?)
    };
    for limit in [None, Some(LIMIT), None, Some(2 * LIMIT), Some(LIMIT)] {
        let seen = ask(limit)?;
        if !provider.has_extension() {
            let all = [seen.left, seen.message_limit, seen.worker_id, seen.group_id];
            assert_eq!(all, [u64::MAX; 4]);
            continue;
        }
        assert_eq!((seen.message_limit, seen.worker_id, seen.group_id), (3000, worker.id(), 7));
        match limit.map(|limit| limit.as_micros() as u64) {
            None => assert_eq!(seen.left, u64::MAX),
            Some(limit) => assert!(seen.left <= limit && seen.left > limit / 2, "{}", seen.left),
        }
    }
    Ok(())
}

pub(crate) fn a_failure_s_reason_reaches_the_host(provider: &Provider) -> Result<()> {
    let (_service, faulty, worker) = provider.faulty()?;
    let fail = faulty.task_fail(&worker, DocaError::NOT_FOUND.code()).submit()?.wait().unwrap_err();
    let panic = faulty.task_panic(&worker).submit()?.wait().unwrap_err();
    assert_eq!((fail.code(), panic.code()), (DocaError::NOT_FOUND, DocaError::UNEXPECTED));
    let (fail, panic) = (fail.to_string(), panic.to_string());
    if !provider.has_extension() {
        assert!(fail.ends_with("with this status; its reason is in the worker's log"), "{fail}");
        assert!(!panic.contains("asked for it"), "{panic}");
        return Ok(());
    }
    assert!(fail.ends_with("(DOCA_ERROR_NOT_FOUND): the command asked for it"), "{fail}");
    assert!(panic.contains("its handler panicked at "), "{panic}");
    assert!(panic.ends_with("the command asked for it"), "{panic}");
    // A success does not have the previous command's text.
    assert_eq!(faulty.task_echo(&worker, 5).submit()?.wait()?.data, 5);
    for (len, most) in [(2, 2), (2000, 2000), (2048, 2048), (5000, LONGEST_FAILURE)] {
        let error = faulty.task_fail_at_length(&worker, len).submit()?.wait().unwrap_err();
        let text = error.to_string();
        let (_, reason) = text.rsplit_once(": ").unwrap_or_default();
        assert!(reason.len() == most && reason.chars().all(|c| c == 'ü'), "{len}: {text}");
    }
    Ok(())
}

pub(crate) fn answers_of_pending_and_of_ready_commands_are_right_whatever_their_order(
    provider: &Provider,
) -> Result<()> {
    let (_service, faulty, worker) = provider.faulty()?;
    for round in 0..20 {
        let mut echoes = Vec::new();
        for value in 0..60 {
            let task = match (value + round) % 4 {
                0 => faulty.task_yield(&worker, (value % 5) as u32, value).submit()?,
                1 => faulty.task_await(&worker, round, value).submit()?,
                _ => faulty.task_echo(&worker, value).submit()?,
            };
            echoes.push((value, task));
        }
        let fails = faulty.task_fail(&worker, DocaError::AGAIN.code()).submit()?;
        faulty.task_tell(&worker, round).submit()?.wait()?;
        for (value, echo) in echoes {
            assert_eq!(echo.wait()?.data, value);
        }
        assert_eq!(fails.wait().unwrap_err().code(), DocaError::AGAIN);
        let long = faulty.task_ask_for_long(&worker).submit()?.wait()?;
        assert_eq!(long.words, [u64::MAX; 16]);
    }
    Ok(())
}
