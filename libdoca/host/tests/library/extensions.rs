//! Extensions: in-place ends, deadlines, cancelling, batched completions, and abandoned workers.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use urom_abi::host::{CMD_TASK_AREA, Cancelled, CmdTask, CmdTaskEnd, CtxState};
use urom_abi::{DocaError, DocaStatus};

use crate::processes::{op, with_service, with_worker};
use crate::support::{
    Engine, OK, TestWorker, as_task, command, destroy, fill, note_and_keep, state, take_done, until,
};

const SHORT: Duration = Duration::from_millis(2);

fn end_of(task: *mut CmdTask) -> *const CmdTaskEnd {
    x!(urom_worker_cmd_task_get_end(task))
}

fn many(engine: &Engine) -> u32 {
    x!(urom_pe_progress_many(engine.0))
}

fn many_until_something(engine: &Engine) -> u32 {
    let mut seen = 0;
    until("nothing happens", || {
        seen = many(engine);
        seen != 0
    });
    seen
}

#[test]
fn the_end_of_a_task_is_read_where_it_lies_however_often_it_is_submitted() {
    with_worker(1, |engine, _, worker| {
        let task = worker.allocate().unwrap();
        c!(doca_urom_worker_cmd_task_set_cb(task, Some(note_and_keep)));
        let end = end_of(task);
        for (payload, status) in [
            (command(op::ECHO, 1), OK),
            (command(op::STATUS, 17), DocaStatus(17)),
            (command(op::ECHO, 2), OK),
        ] {
            fill(task, &payload);
            assert_eq!(c!(doca_task_submit(as_task(task))), OK);
            let done = engine.done();
            assert_eq!(end_of(task), end);
            // SAFETY: the pointer belongs to the task, which is complete.
            let CmdTaskEnd { status: read, cancelled, response, length } = unsafe { end.read() };
            assert_eq!((read, cancelled, done.status), (status, 0, status));
            let bytes = (!response.is_null()).then(|| {
                // SAFETY: the response of a complete task, of that length.
                unsafe { std::slice::from_raw_parts(response.cast::<u8>(), length) }.to_vec()
            });
            assert_eq!(bytes, done.response);
        }
        assert_eq!(c!(doca_urom_worker_cmd_task_release(task)), OK);
        assert!(end_of(std::ptr::null_mut()).is_null());
    });
}

#[test]
fn commands_that_are_ready_complete_in_one_call_and_in_the_order_of_the_answers() {
    with_worker(16, |engine, _, worker| {
        let tasks: Vec<usize> =
            (0..15).map(|word| worker.submit(&command(op::HOLD, word)).addr()).collect();
        assert_eq!(many(engine), 0);
        let release = worker.submit(&command(op::RELEASE, 0)).addr();
        let mut delivered = 0;
        while delivered < 16 {
            let before = delivered;
            delivered += many_until_something(engine);
            assert!(delivered > before);
        }
        let done: Vec<usize> = take_done().iter().map(|done| done.task).collect();
        assert_eq!(done, tasks.into_iter().chain([release]).collect::<Vec<_>>());
        assert_eq!((many(engine), engine.in_flight()), (0, 0));
    });
}

#[test]
fn no_call_delivers_more_than_64_commands() {
    with_worker(200, |engine, _, worker| {
        for word in 0..199 {
            worker.submit(&command(op::HOLD, word));
        }
        worker.submit(&command(op::RELEASE, 0));
        let mut delivered = 0;
        while delivered < 200 {
            let now = many_until_something(engine);
            assert!(now <= 64, "{now}");
            delivered += now;
        }
        assert_eq!((delivered, take_done().len()), (200, 200));
    });
}

fn cancelled_of(worker: &TestWorker) -> Cancelled {
    let mut cancelled = Cancelled::default();
    assert_eq!(x!(urom_worker_get_cancelled(worker.raw, &mut cancelled)), OK);
    cancelled
}

/// Submits a command with a deadline. The plugin answers it after a release command.
fn hold(worker: &TestWorker, limit: Duration) -> *mut CmdTask {
    let task = worker.task(&command(op::HOLD, 1));
    assert_eq!(x!(urom_worker_cmd_task_set_deadline(task, limit.as_nanos() as u64)), OK);
    assert_eq!(c!(doca_task_submit(as_task(task))), OK);
    task
}

#[test]
fn a_cancelled_command_keeps_its_number_until_its_answer_comes() {
    with_worker(4, |engine, _, worker| {
        let began = Instant::now();
        let late = hold(worker, SHORT);
        c!(doca_urom_worker_cmd_task_set_cb(late, Some(note_and_keep)));
        let [cancelled, forgotten] = [(); 2].map(|()| hold(worker, Duration::ZERO));
        assert_eq!(engine.done().status, DocaError::TIME_OUT);
        assert!(began.elapsed() >= SHORT);
        // SAFETY: the pointer belongs to the task, which is complete.
        assert_eq!(unsafe { end_of(late).read() }.cancelled, 1);
        assert_eq!(c!(doca_task_submit(as_task(late))), DocaError::INVALID_VALUE);
        assert_eq!(c!(doca_urom_worker_cmd_task_release(late)), OK);

        assert_eq!(x!(urom_worker_cmd_task_cancel(cancelled)), OK);
        assert_eq!(x!(urom_worker_cmd_task_cancel(cancelled)), DocaError::BAD_STATE);
        assert_eq!(x!(urom_worker_cmd_task_forget(cancelled)), DocaError::BAD_STATE);
        assert_eq!(x!(urom_worker_cmd_task_forget(forgotten)), OK);
        assert_eq!(engine.done().status, DocaError::SKIPPED);
        assert_eq!(cancelled_of(worker), Cancelled { waiting: 3, late: 0, dropped: 0 });

        // Three of four numbers are in use, and answers reach their commands.
        let last = worker.submit(&command(op::HOLD, 7));
        assert_eq!(worker.allocate(), Err(DocaError::NO_MEMORY));
        assert_eq!(x!(urom_worker_cmd_task_cancel(last)), OK);
        assert_eq!(engine.in_flight(), 4);
        assert_eq!((engine.done().status, engine.in_flight()), (DocaStatus::SKIPPED, 4));
        assert_eq!(worker.allocate(), Err(DocaError::NO_MEMORY));
        worker.stop(engine);
        // The end of the worker does not count as an answer.
        assert_eq!(cancelled_of(worker), Cancelled::default());
    });
}

#[test]
fn a_late_answer_is_counted_and_frees_its_number() {
    with_worker(3, |engine, _, worker| {
        for round in 1..=20 {
            let forgotten = hold(worker, Duration::ZERO);
            hold(worker, SHORT);
            assert_eq!(x!(urom_worker_cmd_task_forget(forgotten)), OK);
            assert_eq!(engine.done().status, DocaError::TIME_OUT);
            let release = command(op::RELEASE, round);
            worker.submit(&release);
            assert_eq!(engine.done().status, OK);
            engine.quiet_until(|| cancelled_of(worker).waiting == 0);
            assert_eq!(cancelled_of(worker), Cancelled { waiting: 0, late: round, dropped: round });
            let tasks: Vec<_> =
                (0..3).map(|word| worker.submit(&command(op::ECHO, word))).collect();
            for word in 0..tasks.len() as u64 {
                assert_eq!(engine.done().response, Some(command(op::ECHO, word)));
            }
        }
    });
}

#[test]
fn a_deadline_wakes_a_host_that_sleeps_as_does_a_time_that_it_named() {
    with_worker(4, |engine, _, worker| {
        let mut fd = -1;
        assert_eq!(c!(doca_pe_get_notification_handle(engine.0, &mut fd)), OK);
        // SAFETY: the engine's own descriptor, which is open as long as the engine lives.
        let handle = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
        let is_readable = || {
            let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
            poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit)).unwrap() == 1
        };
        let sleep = || {
            assert!(is_readable(), "nothing woke it");
            assert_eq!(c!(doca_pe_clear_notification(engine.0, fd)), OK);
        };
        let request = || assert_eq!(c!(doca_pe_request_notification(engine.0)), OK);
        hold(worker, Duration::from_secs(3600));
        for early in [false, true] {
            // The deadline is set before or after the request.
            let began = Instant::now();
            if early {
                hold(worker, SHORT);
            }
            request();
            if !early {
                hold(worker, SHORT);
            }
            let mut seen = 0;
            while seen == 0 {
                sleep();
                seen = engine.progress();
                request();
            }
            assert_eq!(take_done()[0].status, DocaError::TIME_OUT);
            assert!(began.elapsed() >= SHORT);
        }
        let began = Instant::now();
        assert_eq!(x!(urom_pe_wake_within(engine.0, SHORT.as_nanos() as u64)), OK);
        while began.elapsed() < SHORT {
            sleep();
            engine.is_quiet(1);
            request();
        }
    });
}

#[test]
fn a_task_has_an_area_that_stays_as_long_as_its_worker() {
    with_worker(1, |engine, _, worker| {
        let task = worker.task(&command(op::ECHO, 1));
        let area: *mut [u8; CMD_TASK_AREA] = x!(urom_worker_cmd_task_get_area(task)).cast();
        assert_eq!(area.addr() % 64, 0);
        assert_eq!(c!(doca_urom_worker_cmd_task_get_user_data(task)), area.cast());
        // SAFETY: the task's area.
        assert_eq!(unsafe { area.replace([7; CMD_TASK_AREA]) }, [0; CMD_TASK_AREA]);
        assert_eq!(c!(doca_task_submit(as_task(task))), OK);
        engine.done();
        worker.stop(engine);
        // SAFETY: the area is valid until the worker is destroyed.
        assert_eq!(unsafe { area.read() }, [7; CMD_TASK_AREA]);
    });
}

#[test]
fn a_worker_that_is_left_is_destroyed_by_its_engine() {
    with_service(|engine, service| {
        for progresses in [true, false] {
            let worker = TestWorker::start(service.raw, engine, 5, 1);
            assert_eq!(x!(urom_worker_leave(worker.raw)), DocaError::IN_USE, "it runs");
            let task = worker.task(&command(op::ECHO, 1));
            assert_eq!(c!(doca_ctx_stop(worker.ctx)), DocaError::IN_PROGRESS);
            assert_eq!(x!(urom_worker_leave(worker.raw)), DocaError::IN_USE, "it has a task");
            assert_eq!(c!(doca_urom_worker_cmd_task_release(task)), OK);
            assert_eq!(state(worker.ctx), CtxState::STOPPING);
            destroy(worker.ctx, |ctx| x!(urom_worker_leave(ctx.cast())));
            if progresses {
                assert_eq!(engine.next(), 1);
                engine.is_quiet(100);
            }
        }
        // The service may end before the second worker; the engine's end waits for it.
    });
}
