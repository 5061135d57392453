//! The event handle: all awaited events wake a sleeping host, without lasting spurious wake-ups.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use urom_abi::DocaError;
use urom_abi::host::CtxState;

use crate::processes::{Plugins, Uromd, op, with_both, with_both_workers};
use crate::support::{
    At, Engine, OK, TIMEOUT, TestService, TestWorker, command, failure, state, take_done,
};

fn handle(engine: &Engine) -> i32 {
    let mut fd = -1;
    assert_eq!(c!(doca_pe_get_notification_handle(engine.0, &mut fd)), OK);
    fd
}

fn is_readable(fd: i32, within: Duration) -> bool {
    // SAFETY: the engine's descriptor, which is open as long as the engine.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    let timeout =
        Timespec { tv_sec: within.as_secs() as i64, tv_nsec: within.subsec_nanos().into() };
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)).unwrap() == 1
}

pub fn nap(engine: &Engine, longest: Duration) -> bool {
    let fd = handle(engine);
    assert_eq!(c!(doca_pe_request_notification(engine.0)), OK);
    let woken = is_readable(fd, longest);
    assert_eq!(c!(doca_pe_clear_notification(engine.0, fd)), OK);
    woken
}

/// Sleeps until `done`. Returns the number of wake-ups.
fn sleep_until(engine: &Engine, done: impl Fn() -> bool) -> usize {
    let (fd, deadline) = (handle(engine), Instant::now() + TIMEOUT);
    let mut woken = 0;
    loop {
        while engine.progress() == 1 {}
        if done() {
            return woken;
        }
        assert_eq!(c!(doca_pe_request_notification(engine.0)), OK);
        assert!(
            is_readable(fd, deadline.saturating_duration_since(Instant::now())),
            "the host is not woken"
        );
        woken += 1;
        assert_eq!(c!(doca_pe_clear_notification(engine.0, fd)), OK);
    }
}

#[test]
fn a_host_that_sleeps_sees_starts_answers_and_stops() {
    with_both(|at| {
        let engine = Engine::new();
        let service = TestService::start(at, &engine);
        let worker = TestWorker::new(service.raw, &engine, 1, 8);
        assert_eq!(c!(doca_ctx_start(worker.ctx)), DocaError::IN_PROGRESS);
        sleep_until(&engine, || state(worker.ctx) != CtxState::STARTING);
        assert_eq!(state(worker.ctx), CtxState::RUNNING, "{}", failure(worker.ctx));
        for word in 0..100 {
            for _ in 0..word % 8 + 1 {
                worker.submit(&command(op::ECHO, word));
            }
            sleep_until(&engine, || engine.in_flight() == 0);
            assert_eq!(take_done().len() as u64, word % 8 + 1);
        }
        assert_eq!(c!(doca_ctx_stop(worker.ctx)), DocaError::IN_PROGRESS);
        sleep_until(&engine, || state(worker.ctx) == CtxState::IDLE);
    });
}

#[test]
fn an_idle_engine_lets_its_host_sleep() {
    with_both_workers(|engine, _, _| {
        let (fd, begin) = (handle(engine), Instant::now());
        let mut woken = 0;
        while begin.elapsed() < Duration::from_millis(2500) {
            assert_eq!(engine.progress(), 0);
            assert_eq!(c!(doca_pe_request_notification(engine.0)), OK);
            if is_readable(fd, Duration::from_millis(500)) {
                woken += 1;
                assert_eq!(c!(doca_pe_clear_notification(engine.0, fd)), OK);
            }
        }
        assert!(woken < 20, "woken {woken} times");
    });
}

#[test]
fn a_ready_event_wakes_at_once() {
    with_both_workers(|engine, _, worker| {
        for _ in 0..3 {
            worker.submit(&command(op::HOLD, 0));
        }
        worker.submit(&command(op::RELEASE, 0));
        assert_eq!(engine.next(), 1);
        // Three completions remain, and further events will not come for them.
        let fd = handle(engine);
        for left in (0..3).rev() {
            assert_eq!(c!(doca_pe_request_notification(engine.0)), OK);
            assert!(is_readable(fd, TIMEOUT));
            assert_eq!(c!(doca_pe_clear_notification(engine.0, fd)), OK);
            assert_eq!(engine.next(), 1);
            assert_eq!(engine.in_flight(), left);
        }
        // A stop whose last event is caused by the host's own release.
        take_done();
        let kept = worker.allocate().unwrap();
        assert_eq!(c!(doca_ctx_stop(worker.ctx)), DocaError::IN_PROGRESS);
        engine.is_quiet(100_000);
        assert_eq!(c!(doca_pe_request_notification(engine.0)), OK);
        assert_eq!(c!(doca_urom_worker_cmd_task_release(kept)), OK);
        assert!(is_readable(fd, TIMEOUT));
        sleep_until(engine, || state(worker.ctx) == CtxState::IDLE);
    });
}

#[test]
fn a_task_submitted_after_the_request_is_sent_before_a_long_sleep() {
    with_both_workers(|engine, _, worker| {
        let fd = handle(engine);
        // Events of the start.
        engine.is_quiet(1000);
        for word in 0..50 {
            assert_eq!(c!(doca_pe_request_notification(engine.0)), OK);
            // The second is batched while the first is unanswered.
            worker.submit(&command(op::HOLD, word));
            worker.submit(&command(op::RELEASE, word));
            // DOCA's order: request, submit, wait. Only the two answers end the wait.
            while engine.in_flight() > 0 {
                assert!(is_readable(fd, TIMEOUT), "the host is not woken");
                assert_eq!(c!(doca_pe_clear_notification(engine.0, fd)), OK);
                while engine.progress() == 1 {}
                assert_eq!(c!(doca_pe_request_notification(engine.0)), OK);
            }
            assert_eq!(take_done().len(), 2);
            assert_eq!(c!(doca_pe_clear_notification(engine.0, fd)), OK);
        }
    });
}

#[test]
fn answers_that_a_progress_after_the_request_left_wake_the_host() {
    let plugins = Plugins::obedient();
    // The loopback device, and TCP, whose descriptor is quiet once everything is received.
    for (listen, tcp) in [("127.0.0.1:0", false), ("127.0.0.2:0", true)] {
        let uromd = Uromd::start_at(listen, &plugins, &[]);
        let engine = Engine::new();
        let service = TestService::start(&At::Address(uromd.address), &engine);
        let worker = TestWorker::start(service.raw, &engine, 1, 8);
        let fd = handle(&engine);
        for _ in 0..20 {
            for _ in 0..3 {
                worker.submit(&command(op::HOLD, 0));
            }
            worker.submit(&command(op::RELEASE, 0));
            assert_eq!(c!(doca_pe_request_notification(engine.0)), OK);
            assert_eq!(engine.next(), 1);
            let left = engine.in_flight();
            assert!(left > 0);
            // The progress meanwhile received more than it delivered. Readable at once, because
            // unrelated events come sooner or later.
            assert!(
                is_readable(fd, Duration::ZERO),
                "{left} answers wait, and the host is not woken (tcp: {tcp})"
            );
            assert_eq!(c!(doca_pe_clear_notification(engine.0, fd)), OK);
            sleep_until(&engine, || engine.in_flight() == 0);
            assert_eq!(take_done().len(), 4);
        }
        worker.end(&engine);
        service.end();
    }
}

#[test]
fn a_handle_of_something_else_cannot_be_cleared() {
    let engine = Engine::new();
    assert_eq!(
        c!(doca_pe_clear_notification(engine.0, handle(&engine) + 1)),
        DocaError::INVALID_VALUE
    );
    assert_eq!(c!(doca_pe_clear_notification(engine.0, handle(&engine))), OK);
}
