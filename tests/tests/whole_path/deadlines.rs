//! Tasks cancelled by a deadline or the program before their answer.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use faulty_protocol::{Await, Client, Echoed};
use rustix::process::{Pid, Signal, kill_process};
use urom_abi::WorkerId;
use urom_host::{Completion, DocaError, DocaStatus, Error, Host, Service, Worker, block_on};

use crate::provider::{Provider, faulty};

pub(crate) const SHORT: Duration = Duration::from_millis(20);

/// Time limit of a test, and a deadline that must not expire.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

type Notes = Rc<RefCell<Vec<Result<u64, DocaError>>>>;

fn note(notes: &Notes) -> impl FnOnce(Result<Echoed, Error>) + use<> {
    let notes = Rc::clone(notes);
    move |answer| {
        notes.borrow_mut().push(answer.map(|echoed| echoed.data).map_err(|error| error.code()))
    }
}

pub(crate) fn progress_until(service: &Service, done: impl Fn() -> bool) -> Result<()> {
    let start = Instant::now();
    while !done() {
        service.progress();
        ensure!(start.elapsed() < LIMIT, "nothing came within {LIMIT:?}");
    }
    Ok(())
}

fn has_timed_out(answer: Result<Echoed, Error>) -> bool {
    answer.is_err_and(|error| error.code() == DocaError::TIME_OUT && error.reply().is_none())
}

/// Makes the handlers that wait for `key` answer, and waits until the late answers are discarded.
fn answer_late(
    service: &Service,
    faulty: &Client<Host>,
    worker: &Worker,
    key: u64,
    late: u64,
) -> Result<()> {
    faulty.task_tell(worker, key).submit()?.wait()?;
    progress_until(service, || worker.late_replies() == late)?;
    ensure!((worker.cancelled(), worker.in_flight()?) == (0, 0));
    Ok(())
}

pub(crate) fn a_deadline_ends_a_future_and_its_answer_is_discarded(
    provider: &Provider,
) -> Result<()> {
    let (service, faulty, worker) = provider.faulty()?;
    let start = Instant::now();
    let slow = faulty.task_await(&worker, 1, 11).timeout(SHORT).submit()?;
    let error = slow.wait().err().context("it was answered")?;
    assert!((SHORT..LIMIT).contains(&start.elapsed()), "{:?}", start.elapsed());
    assert_eq!(error.code(), DocaError::TIME_OUT);
    let text = error.to_string();
    let what = format!(
        "Await on worker {}, plugin `worker_faulty`, timed out after 20ms",
        WorkerId(worker.id())
    );
    assert!(text.starts_with(&what), "{text}");
    assert_eq!((worker.cancelled(), worker.in_flight()?, worker.late_replies()), (1, 1, 0));
    for data in 0..100 {
        assert_eq!(faulty.task_echo(&worker, data).submit()?.wait()?.data, data);
    }
    answer_late(&service, &faulty, &worker, 1, 1)?;
    assert_eq!(faulty.task_echo(&worker, 7).submit()?.wait()?.data, 7);
    Ok(())
}

pub(crate) fn a_callback_is_called_once_when_its_deadline_passes(
    provider: &Provider,
) -> Result<()> {
    let (service, faulty, worker) = provider.faulty()?;
    let notes = Notes::default();
    for value in 0..3 {
        faulty.task_await(&worker, 5, value).timeout(SHORT).submit_with(note(&notes))?;
    }
    faulty.task_echo(&worker, 9).timeout(LIMIT).submit_with(note(&notes))?;
    progress_until(&service, || notes.borrow().len() == 4)?;
    // In any order: this thread may have been descheduled.
    let count = |what| notes.borrow().iter().filter(|note| **note == what).count();
    assert_eq!((count(Ok(9)), count(Err(DocaError::TIME_OUT))), (1, 3), "{notes:?}");
    answer_late(&service, &faulty, &worker, 5, 3)?;
    assert_eq!(notes.borrow().len(), 4);
    Ok(())
}

pub(crate) fn a_raw_task_has_a_deadline_too(provider: &Provider) -> Result<()> {
    let (service, faulty, worker) = provider.faulty()?;
    let mut command = [0; 64];
    let length = urom_abi::protocol::Request::encode(&Await { key: 3, value: 4 }, &mut command)?;
    let answer = worker.task(&faulty, &command[..length]).timeout(SHORT).submit()?.wait()?;
    assert_eq!((answer.status, answer.bytes), (DocaStatus::TIME_OUT, None));
    let cancelled = worker.task(&faulty, &command[..length]).submit()?;
    assert!(cancelled.cancel() && !cancelled.cancel());
    assert_eq!(block_on(cancelled).status, DocaError::SKIPPED);
    answer_late(&service, &faulty, &worker, 3, 2)
}

pub(crate) fn a_worker_s_deadline_applies_to_tasks_without_their_own(
    provider: &Provider,
) -> Result<()> {
    let service = provider.connect()?;
    let faulty = faulty(&service)?;
    let worker = service.worker().plugin(&faulty).timeout(SHORT).start().wait()?;
    let patient = faulty.task_await(&worker, 1, 10).timeout(Duration::MAX).submit()?;
    let usual = faulty.task_await(&worker, 1, 11).submit()?;
    assert!(has_timed_out(usual.wait()));
    let mut command = [0; 64];
    let length = urom_abi::protocol::Request::encode(&Await { key: 1, value: 12 }, &mut command)?;
    let raw = worker.task(&faulty, &command[..length]).submit()?;
    assert_eq!(raw.wait()?.status, DocaError::TIME_OUT);
    assert!(!patient.is_complete());
    faulty.task_tell(&worker, 1).timeout(LIMIT).submit()?.wait()?;
    assert_eq!(patient.wait()?.data, 10);
    progress_until(&service, || worker.late_replies() == 2)
}

pub(crate) fn answers_around_their_deadline_are_right_or_late_but_never_another_s(
    provider: &Provider,
) -> Result<()> {
    let service = provider.connect()?;
    let faulty = faulty(&service)?;
    let worker = service.worker().plugin(&faulty).max_inflight(16).start().wait()?;
    let (mut timed_out, mut right) = (0, 0);
    for round in 0..500_u64 {
        let limit = Duration::from_micros(round % 100 * 4);
        let flights: Vec<_> = (0..4)
            .map(|n| {
                Ok((
                    round * 4 + n,
                    faulty.task_echo(&worker, round * 4 + n).timeout(limit).submit()?,
                ))
            })
            .collect::<Result<_, Error>>()?;
        for (value, flight) in flights {
            match flight.wait() {
                Ok(echoed) => {
                    assert_eq!(echoed.data, value);
                    right += 1;
                }
                Err(error) => {
                    assert_eq!(error.code(), DocaError::TIME_OUT);
                    timed_out += 1;
                }
            }
        }
        progress_until(&service, || worker.cancelled() <= 8)?;
    }
    progress_until(&service, || worker.cancelled() == 0)?;
    assert_eq!((worker.late_replies(), timed_out + right), (timed_out, 2000));
    Ok(())
}

pub(crate) fn a_deadline_of_zero_cancels_a_task_at_the_first_check(
    provider: &Provider,
) -> Result<()> {
    let (service, faulty, worker) = provider.faulty()?;
    let slow = faulty.task_await(&worker, 1, 1).timeout(Duration::ZERO).submit()?;
    assert!(!slow.is_complete(), "nothing has looked yet");
    progress_until(&service, || slow.is_complete())?;
    assert!(has_timed_out(slow.wait()));
    // The command was still sent.
    answer_late(&service, &faulty, &worker, 1, 1)
}

pub(crate) fn a_cancelled_future_is_skipped_and_one_that_is_complete_is_not(
    provider: &Provider,
) -> Result<()> {
    let (service, faulty, worker) = provider.faulty()?;
    let slow = faulty.task_await(&worker, 1, 1).submit()?;
    let handle = slow.handle();
    assert!(slow.cancel() && !slow.cancel() && !handle.cancel());
    let error = slow.wait().err().context("it was answered")?;
    assert_eq!(error.code(), DocaError::SKIPPED);
    assert!(error.to_string().contains("was cancelled (DOCA_ERROR_SKIPPED)"), "{error}");
    answer_late(&service, &faulty, &worker, 1, 1)?;

    let quick = faulty.task_echo(&worker, 8).submit()?;
    let handle = quick.handle();
    progress_until(&service, || quick.is_complete())?;
    assert!(!quick.cancel() && !handle.cancel());
    assert_eq!(quick.wait()?.data, 8);
    // Another task has the slot now.
    let other = faulty.task_echo(&worker, 9).submit()?;
    assert!(!handle.cancel());
    assert_eq!(other.wait()?.data, 9);
    assert_eq!(worker.late_replies(), 1);
    Ok(())
}

pub(crate) fn a_callback_may_cancel_a_future_and_another_callback(
    provider: &Provider,
) -> Result<()> {
    let (service, faulty, worker) = provider.faulty()?;
    let notes = Notes::default();
    let future = faulty.task_await(&worker, 1, 1).submit()?;
    let one = future.handle();
    let other = faulty.task_await(&worker, 1, 2).submit_with(note(&notes))?;
    let itself = Rc::new(RefCell::new(None::<urom_host::TaskHandle>));
    let mine = Rc::clone(&itself);
    let handle = faulty.task_echo(&worker, 3).submit_with(move |_| {
        assert!(one.cancel() && other.cancel() && !other.cancel());
        assert!(mine.take().is_some_and(|mine| !mine.cancel()), "it is over");
    })?;
    itself.replace(Some(handle));
    assert_eq!(future.wait().map(drop).map_err(|error| error.code()), Err(DocaError::SKIPPED));
    progress_until(&service, || !notes.borrow().is_empty())?;
    answer_late(&service, &faulty, &worker, 1, 2)?;
    assert_eq!(*notes.borrow(), [Err(DocaError::SKIPPED)]);
    Ok(())
}

pub(crate) fn late_tasks_that_use_a_worker_up_are_named(provider: &Provider) -> Result<()> {
    let service = provider.connect()?;
    let client = faulty(&service)?;
    let worker = service.worker().plugin(&client).max_inflight(4).start().wait()?;
    let slow: Vec<Completion<Echoed>> = (0..3)
        .map(|n| client.task_await(&worker, 1, n).timeout(SHORT).submit())
        .collect::<Result<_, _>>()?;
    for slow in slow {
        assert!(has_timed_out(slow.wait()));
    }
    let last = client.task_await(&worker, 1, 3).submit()?;
    let error = client.task_echo(&worker, 1).submit().err().context("there was a free task")?;
    assert_eq!(error.code(), DocaError::NO_MEMORY);
    let text = error.to_string();
    assert!(
        text.contains("no task is free: 4 tasks allocated, 3 of them for cancelled commands"),
        "{text}"
    );
    last.cancel();
    let error = worker.task(&client, &[]).submit().unwrap_err();
    assert!(error.to_string().contains("4 of them for cancelled commands"), "{error}");
    // Another host makes the handlers answer, which frees the tasks.
    let other_host = provider.connect()?;
    let theirs = faulty(&other_host)?;
    let same = other_host.worker().id(worker.id()).plugin(&theirs).start().wait()?;
    theirs.task_tell(&same, 1).submit()?.wait()?;
    progress_until(&service, || worker.cancelled() == 0)?;
    assert_eq!(client.task_echo(&worker, 5).submit()?.wait()?.data, 5);
    assert_eq!(worker.late_replies(), 4);
    assert_eq!(last.wait().map(drop).map_err(|error| error.code()), Err(DocaError::SKIPPED));
    Ok(())
}

pub(crate) fn process(faulty: &Client<Host>, worker: &Worker) -> Result<Pid> {
    let pid = faulty.task_pid(worker).submit()?.wait()?.pid;
    Pid::from_raw(pid.try_into()?).context("a worker without a process")
}

pub(crate) fn deadlines_fire_while_the_worker_is_stopped(provider: &Provider) -> Result<()> {
    let (service, faulty, worker) = provider.faulty()?;
    let pid = process(&faulty, &worker)?;
    kill_process(pid, Signal::STOP)?;
    let start = Instant::now();
    let answer = faulty.task_echo(&worker, 1).timeout(SHORT).submit()?.wait();
    let took = start.elapsed();
    kill_process(pid, Signal::CONT)?;
    assert!(has_timed_out(answer) && took < Duration::from_secs(1), "{took:?}");
    progress_until(&service, || worker.late_replies() == 1)?;
    assert_eq!(faulty.task_echo(&worker, 2).submit()?.wait()?.data, 2);
    Ok(())
}
