//! Killed or stopped peers: all tasks fail, contexts leave RUNNING, the rest continues.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use urom_abi::host::{CtxState, GidTask};
use urom_abi::{DocaError, DocaStatus};

use crate::processes::{Plugins, Uromd, daemon, daemon_of, op};
use crate::support::{
    At, Engine, OK, TestService, TestWorker, as_task, command, failure, has, state, take_done,
    until,
};

pub fn pid_of(engine: &Engine, worker: &TestWorker) -> Pid {
    worker.submit(&command(op::PID, 0));
    assert_eq!(engine.next(), 1);
    let pid = take_done().remove(0).response.unwrap();
    Pid::from_raw(u64::from_le_bytes(pid.try_into().unwrap()) as i32).unwrap()
}

/// All 16 tasks in flight at the ended process must fail with `code` within `limit`.
fn lose(end: impl FnOnce(Pid), codes: &[DocaStatus], limit: Duration) {
    let (_plugins, _uromd, engine, service) = daemon();
    let worker = TestWorker::start(service.raw, &engine, 1, 32);
    let other = TestWorker::start(service.raw, &engine, 2, 1);
    let pid = pid_of(&engine, &worker);
    let tasks: Vec<usize> =
        (0..16).map(|word| worker.submit(&command(op::HOLD, word)).addr()).collect();
    let unused = worker.allocate().unwrap();
    engine.is_quiet(10_000);
    end(pid);
    let begin = Instant::now();
    let mut code = OK;
    for task in tasks {
        let done = engine.done();
        assert_eq!((done.task, done.response.as_deref()), (task, None));
        assert!(codes.contains(&done.status), "{:?}", done.status);
        assert_eq!(state(worker.ctx), CtxState::STOPPING);
        code = done.status;
    }
    assert!(begin.elapsed() < limit, "{:?}", begin.elapsed());
    assert_eq!(c!(doca_task_submit(as_task(unused))), code);
    has(&failure(worker.ctx), &["worker 1"]);
    engine.is_quiet(1000);
    assert_eq!(c!(doca_urom_worker_cmd_task_release(unused)), OK);
    assert_eq!(engine.next(), 1);
    assert_eq!(state(worker.ctx), CtxState::IDLE);
    engine.is_quiet(1000);
    other.echo(&engine, 3);
    let _ = kill_process(pid, Signal::KILL);
    TestWorker::start(service.raw, &engine, urom_abi::WORKER_ID_ANY, 1);
}

#[test]
fn a_killed_worker_is_noticed_within_a_second() {
    let kill = |pid| kill_process(pid, Signal::KILL).unwrap();
    lose(kill, &[DocaStatus::CONNECTION_RESET], Duration::from_secs(1));
}

#[test]
fn a_stopped_worker_is_noticed_within_five_seconds() {
    let stop = |pid| kill_process(pid, Signal::STOP).unwrap();
    // The daemon kills unresponsive workers and may notice first.
    lose(stop, &[DocaStatus::TIME_OUT, DocaStatus::CONNECTION_RESET], Duration::from_secs(5));
}

#[test]
fn commands_that_ucx_could_not_send_yet_end_with_the_worker() {
    let (_plugins, _uromd, engine, service) = daemon_of(Plugins::obedient(), 1 << 20);
    let worker = TestWorker::start(service.raw, &engine, 1, 16);
    let pid = pid_of(&engine, &worker);
    kill_process(pid, Signal::STOP).unwrap();
    let mut payload = command(op::HOLD, 0);
    payload.resize(1_000_000, 1);
    let tasks: Vec<usize> = (0..16).map(|_| worker.submit(&payload).addr()).collect();
    let begin = Instant::now();
    for task in tasks {
        let done = engine.done();
        assert_eq!((done.task, done.response), (task, None));
        assert_ne!(done.status, OK);
    }
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!(engine.next(), 1);
    assert_eq!(state(worker.ctx), CtxState::IDLE);
    let next = TestWorker::start(service.raw, &engine, 2, 1);
    next.submit(&payload[8..]);
    assert_eq!(engine.done().status, OK);
    next.end(&engine);
    worker.destroy();
    service.end();
    let begin = Instant::now();
    drop(engine);
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
}

#[test]
fn answers_that_came_before_the_loss_are_delivered() {
    let (_plugins, _uromd, engine, service) = daemon();
    let worker = TestWorker::start(service.raw, &engine, 1, 32);
    let pid = pid_of(&engine, &worker);
    for word in 0..15 {
        worker.submit(&command(op::HOLD, word));
    }
    engine.is_quiet(100_000);
    worker.submit(&command(op::RELEASE, 0));
    // Sends it. This host does not progress until the worker has ended; the second context shows
    // that the worker has answered.
    assert_eq!(c!(doca_pe_request_notification(engine.0)), OK);
    let other_engine = Engine::new();
    let other = TestWorker::start(service.raw, &other_engine, 1, 1);
    for word in 0..10 {
        other.submit(&command(op::ECHO, word));
        assert_eq!(other_engine.next(), 1);
    }
    take_done();
    kill_process(pid, Signal::KILL).unwrap();
    wait_gone(pid);
    for _ in 0..16 {
        assert_eq!(engine.next(), 1);
        let done = take_done();
        assert_eq!((done.len(), done[0].status), (1, OK));
    }
    for (engine, worker) in [(&engine, worker), (&other_engine, other)] {
        assert_eq!(engine.next(), 1);
        assert_eq!(state(worker.ctx), CtxState::IDLE);
    }
}

fn wait_gone(pid: Pid) {
    let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
    until("the process does not end", || {
        std::thread::yield_now();
        let text = std::fs::read_to_string(&stat).unwrap_or_else(|_| ") Z".to_owned());
        text.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
    });
}

unsafe extern "C" fn expect_loss(
    task: *mut GidTask,
    _: urom_abi::host::Data,
    _: urom_abi::host::Data,
) {
    let as_task = c!(doca_urom_service_get_workers_by_gid_task_as_task(task));
    assert_eq!(c!(doca_task_get_status(as_task)), DocaError::TIME_OUT);
    assert_eq!(c!(doca_urom_service_get_workers_by_gid_task_get_workers_count(task)), 0);
    assert_eq!(c!(doca_urom_service_get_workers_by_gid_task_release(task)), OK);
}

#[test]
fn a_service_whose_daemon_is_killed_goes_idle_with_a_reason() {
    let (_plugins, uromd, engine, service) = daemon();
    engine.is_quiet(100);
    uromd.signal(Signal::KILL);
    assert_eq!(engine.next(), 1);
    assert_eq!(state(service.ctx), CtxState::IDLE);
    let text = failure(service.ctx);
    has(&text, &[&uromd.address.to_string()]);
    engine.is_quiet(1000);
    assert_ne!(c!(doca_ctx_start(service.ctx)), OK);
}

fn let_go(engine: &Engine, worker: &TestWorker) {
    worker.submit(&command(op::RELEASE, 0));
    for _ in 0..2 {
        assert_eq!(engine.done().status, OK);
    }
}

/// A host may take the first 1 as its task's completion, so a loss must not return 1 before.
#[test]
fn a_loss_is_not_taken_for_the_end_of_a_task() {
    let plugins = Plugins::obedient();
    let uromd = Uromd::start(&plugins);
    let other_uromd = Uromd::start(&plugins);
    let engine = Engine::new();
    let service = TestService::start(&At::Address(uromd.address), &engine);
    let other_service = TestService::start(&At::Address(other_uromd.address), &engine);
    let worker = TestWorker::start(service.raw, &engine, 1, 2);
    let other = TestWorker::start(other_service.raw, &engine, 1, 1);
    let pid = pid_of(&engine, &other);
    worker.submit(&command(op::HOLD, 0));
    engine.is_quiet(10_000);
    kill_process(pid, Signal::KILL).unwrap();
    engine.quiet_until(|| state(other.ctx) == CtxState::IDLE);
    other_uromd.signal(Signal::KILL);
    engine.quiet_until(|| state(other_service.ctx) == CtxState::IDLE);
    let_go(&engine, &worker);
}

/// The host's own stop counts, even after a loss.
#[test]
fn a_lost_worker_that_is_stopped_counts_as_progress() {
    let (_plugins, _uromd, engine, service) = daemon();
    let worker = TestWorker::start(service.raw, &engine, 1, 2);
    let other = TestWorker::start(service.raw, &engine, 2, 1);
    let pid = pid_of(&engine, &other);
    let unused = other.allocate().unwrap();
    worker.submit(&command(op::HOLD, 0));
    kill_process(pid, Signal::KILL).unwrap();
    engine.quiet_until(|| state(other.ctx) == CtxState::STOPPING);
    assert_eq!(c!(doca_ctx_stop(other.ctx)), DocaError::IN_PROGRESS);
    assert_eq!(c!(doca_urom_worker_cmd_task_release(unused)), OK);
    assert_eq!(engine.next(), 1);
    assert_eq!((state(other.ctx), engine.in_flight()), (CtxState::IDLE, 1));
    let_go(&engine, &worker);
}

#[test]
fn a_query_at_a_stopped_daemon_ends_within_five_seconds() {
    let (_plugins, uromd, engine, service) = daemon();
    uromd.signal(Signal::STOP);
    let task = service.query(0, expect_loss);
    let as_task = c!(doca_urom_service_get_workers_by_gid_task_as_task(task));
    assert_eq!(c!(doca_task_submit(as_task)), OK);
    let begin = Instant::now();
    assert_eq!(engine.next(), 1);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!(engine.next(), 1);
    assert_eq!(state(service.ctx), CtxState::IDLE);
}

#[test]
fn a_worker_that_starts_when_the_daemon_dies_ends_idle() {
    let (_plugins, uromd, engine, service) = daemon();
    let worker = TestWorker::new(service.raw, &engine, 1, 1);
    uromd.signal(Signal::STOP);
    assert_eq!(c!(doca_ctx_start(worker.ctx)), DocaError::IN_PROGRESS);
    uromd.signal(Signal::KILL);
    for _ in 0..2 {
        assert_eq!(engine.next(), 1);
    }
    assert_eq!((state(worker.ctx), state(service.ctx)), (CtxState::IDLE, CtxState::IDLE));
    assert_ne!(failure(worker.ctx), "");
}
