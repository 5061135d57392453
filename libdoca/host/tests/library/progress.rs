//! The contract of `doca_pe_progress`: return values and order of callbacks.

use std::cell::{Cell, RefCell};
use std::ptr::null_mut;

use urom_abi::host::{CmdTask, Ctx, CtxState, Data};
use urom_abi::{DocaError, DocaStatus};

use crate::processes::{
    Plugins, Uromd, daemon_of, op, with_both, with_both_workers, with_service, with_worker,
};
use crate::queries::ids_of;
use crate::support::{
    At, Engine, OK, TestService, TestWorker, as_task, command, fill, note_and_release, state,
    take_done,
};

#[test]
fn a_command_comes_back_and_progress_shows_nothing_else() {
    with_both(|at| {
        let engine = Engine::new();
        let service = TestService::start(at, &engine);
        assert_eq!(service.plugins()[0].name(), Some("obedient"));
        engine.is_quiet(1000);
        let worker = TestWorker::start(service.raw, &engine, 7, 4);
        assert_eq!(worker.id(), Ok(7));
        engine.is_quiet(10_000);
        for word in 0..100 {
            let task = worker.submit(&command(op::ECHO, word)).addr();
            assert_eq!(engine.in_flight(), 1);
            let done = engine.done();
            assert_eq!((done.task, done.status, done.task_data), (task, OK, 0));
            assert_eq!(done.response, Some(command(op::ECHO, word)));
            assert_eq!(engine.in_flight(), 0);
        }
        engine.is_quiet(10_000);
        assert_eq!(c!(doca_ctx_stop(worker.ctx)), DocaError::IN_PROGRESS);
        assert_eq!(engine.next(), 1);
        assert_eq!(state(worker.ctx), CtxState::IDLE);
        engine.is_quiet(1000);
    });
}

#[test]
fn completions_come_one_a_call_in_the_order_of_the_answers() {
    with_both_workers(|engine, _, worker| {
        let tasks: Vec<usize> =
            (0..15).map(|word| worker.submit(&command(op::HOLD, word)).addr()).collect();
        engine.is_quiet(10_000);
        let release = worker.submit(&command(op::RELEASE, 0)).addr();
        for expected in tasks.into_iter().chain([release]) {
            assert_eq!(engine.next(), 1);
            let done = take_done();
            assert_eq!(done.iter().map(|done| done.task).collect::<Vec<_>>(), [expected]);
        }
        engine.is_quiet(1000);
    });
}

#[test]
fn a_failed_task_completes_like_any_other() {
    with_worker(8, |engine, _, worker| {
        let failing = [
            (command(op::STATUS, 17), DocaStatus(17), true),
            (command(op::STATUS, 70_000), DocaStatus(70_000), true),
            (command(op::FAIL_TAKEN, 0), DocaStatus::DRIVER, true),
            (command(op::FAIL_LEFT, 0), DocaStatus::NO_MEMORY, false),
        ];
        for (payload, status, answered) in failing {
            worker.submit(&payload);
            let done = engine.done();
            assert_eq!((done.status, done.response), (status, answered.then_some(payload)));
        }
        worker.submit(&command(op::BIG, 4065));
        let done = engine.done();
        assert_eq!((done.status, done.response), (DocaStatus::TOO_BIG, None));
    });
}

#[test]
fn messages_of_any_length_keep_their_order() {
    let (_plugins, _uromd, engine, service) = daemon_of(Plugins::obedient(), 1 << 20);
    let worker = TestWorker::start(service.raw, &engine, 5, 64);
    for _ in 0..20 {
        let lengths =
            [16, 100_000, 16, 7_990, 8_000, 1_048_500, 16, 16, 3_000, 300_000, 4_000, 4_000, 16];
        let sent: Vec<(usize, Vec<u8>)> = lengths
            .iter()
            .enumerate()
            .map(|(at, len)| {
                let mut payload = command(op::ECHO, at as u64);
                payload.resize(*len, at as u8);
                (worker.submit(&payload).addr(), payload)
            })
            .collect();
        for (task, payload) in sent {
            let done = engine.done();
            assert_eq!((done.task, done.status), (task, OK));
            assert!(done.response == Some(payload));
        }
    }
}

#[test]
fn a_hundred_thousand_commands_keep_their_values() {
    with_worker(64, |engine, _, worker| {
        const COUNT: u64 = 100_000;
        let (mut sent, mut seen) = (0, 0);
        while seen < COUNT {
            while sent < COUNT
                && let Ok(task) = worker.allocate()
            {
                fill(task, &command(op::ECHO, sent));
                assert_eq!(c!(doca_task_submit(as_task(task))), OK);
                sent += 1;
            }
            assert_eq!(engine.next(), 1);
            for done in take_done() {
                assert_eq!((done.status, done.response), (OK, Some(command(op::ECHO, seen))));
                seen += 1;
            }
        }
        assert_eq!(engine.in_flight(), 0);
    });
}

#[test]
fn workers_of_other_threads_need_no_progress_of_the_service() {
    with_both(|at| {
        let engine = Engine::new();
        let service = TestService::start(at, &engine);
        let raw = service.raw.addr();
        let (all_run, ask) = (std::sync::Barrier::new(5), std::sync::Barrier::new(5));
        std::thread::scope(|scope| {
            for id in 0..4 {
                let (all_run, ask) = (&all_run, &ask);
                scope.spawn(move || {
                    let service = std::ptr::with_exposed_provenance_mut(raw);
                    let engine = Engine::new();
                    let worker = TestWorker::new(service, &engine, id, 4);
                    assert_eq!(c!(doca_urom_worker_set_gid(worker.raw, id as u32 % 2)), OK);
                    worker.run(&engine);
                    all_run.wait();
                    for word in 0..100 {
                        worker.submit(&command(op::ECHO, id << 32 | word));
                        assert_eq!(
                            engine.done().response,
                            Some(command(op::ECHO, id << 32 | word))
                        );
                    }
                    ask.wait();
                    engine.is_quiet(100);
                    ask.wait();
                });
            }
            // The service's engine is quiet while the workers start on other engines.
            engine.is_quiet(100_000);
            all_run.wait();
            engine.is_quiet(1000);
            ask.wait();
            assert_eq!(ids_of(&engine, &service, 1), (OK, vec![1, 3]));
            assert_eq!(ids_of(&engine, &service, 0), (OK, vec![0, 2]));
            assert_eq!(ids_of(&engine, &service, 9), (OK, vec![]));
            engine.is_quiet(1000);
            ask.wait();
        });
    });
}

#[test]
fn a_worker_at_another_address_works_and_its_loss_is_noticed() {
    let plugins = Plugins::obedient();
    // This host's local address there is 127.0.0.1, so the daemon appears to be on another machine.
    let uromd = Uromd::start_at("127.0.0.2:0", &plugins, &[]);
    let engine = Engine::new();
    let service = TestService::start(&At::Address(uromd.address), &engine);
    let worker = TestWorker::start(service.raw, &engine, 1, 64);
    for word in 0..1000 {
        worker.submit(&command(op::ECHO, word));
        worker.submit(&command(op::ECHO, word));
        assert_eq!((engine.next(), engine.next()), (1, 1));
        let done = take_done();
        assert!(done.iter().all(|done| done.response == Some(command(op::ECHO, word))));
    }
    engine.is_quiet(1000);
    worker.stop(&engine);
    worker.run(&engine);
    worker.submit(&command(op::HOLD, 0));
    drop(uromd);
    assert_eq!(engine.next(), 1);
    while engine.in_flight() > 0 || state(worker.ctx) != CtxState::IDLE {
        assert_eq!(engine.next(), 1);
    }
    assert_ne!(take_done().remove(0).status, OK);
}

thread_local! {
    static ENGINE: Cell<*mut urom_abi::host::Pe> = const { Cell::new(null_mut()) };
    static SECOND: Cell<*mut CmdTask> = const { Cell::new(null_mut()) };
}

unsafe extern "C" fn submit_second(task: *mut CmdTask, task_data: Data, ctx_data: Data) {
    assert_eq!(c!(doca_pe_progress(ENGINE.get())), 0);
    assert_eq!(c!(doca_task_submit(as_task(SECOND.get()))), OK);
    // SAFETY: called with the arguments of this callback.
    unsafe { note_and_release(task, task_data, ctx_data) };
}

#[test]
fn a_callback_may_submit_and_its_progress_does_nothing() {
    with_worker(2, |engine, _, worker| {
        ENGINE.set(engine.0);
        SECOND.set(worker.task(&command(op::ECHO, 2)));
        let first = worker.task(&command(op::ECHO, 1));
        c!(doca_urom_worker_cmd_task_set_cb(first, Some(submit_second)));
        assert_eq!(c!(doca_task_submit(as_task(first))), OK);
        for word in [1, 2] {
            assert_eq!(engine.done().response, Some(command(op::ECHO, word)));
        }
    });
}

thread_local! {
    static CHANGES: RefCell<Vec<(CtxState, CtxState)>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn progress_inside(data: Data, ctx: *mut Ctx, before: CtxState, next: CtxState) {
    // SAFETY: every bit pattern is a number.
    assert_eq!(unsafe { data.u64 }, 5);
    assert_eq!(state(ctx), next);
    assert_eq!(c!(doca_pe_progress(ENGINE.get())), 0);
    CHANGES.with_borrow_mut(|changes| changes.push((before, next)));
}

#[test]
fn every_state_change_is_reported_and_progress_in_the_callback_does_nothing() {
    use CtxState as S;
    with_service(|engine, service| {
        ENGINE.set(engine.0);
        let worker = TestWorker::new(service.raw, engine, 1, 1);
        assert_eq!(c!(doca_ctx_set_user_data(worker.ctx, Data { u64: 5 })), OK);
        assert_eq!(c!(doca_ctx_set_state_changed_cb(worker.ctx, Some(progress_inside))), OK);
        worker.run(engine);
        worker.submit(&command(op::HOLD, 0));
        // The stop completes the task, which is ready when the callback runs.
        assert_eq!(c!(doca_ctx_stop(worker.ctx)), DocaError::IN_PROGRESS);
        assert_eq!(take_done(), []);
        assert_eq!(engine.done().status, DocaError::SHUTDOWN);
        engine.until_idle(worker.ctx);
        let states = [S::IDLE, S::STARTING, S::RUNNING, S::STOPPING, S::IDLE];
        let changes: Vec<_> = states.windows(2).map(|pair| (pair[0], pair[1])).collect();
        assert_eq!(CHANGES.take(), changes);
    });
}

unsafe extern "C" fn stop_inside(_: Data, ctx: *mut Ctx, _: CtxState, next: CtxState) {
    if next == CtxState::STARTING {
        assert_eq!(c!(doca_ctx_stop(ctx)), DocaError::IN_PROGRESS);
        assert_eq!(c!(doca_pe_progress(ENGINE.get())), 0);
        assert_ne!(c!(doca_urom_worker_destroy(ctx.cast())), OK);
    }
}

#[test]
fn a_worker_may_be_stopped_by_the_callback_of_its_start() {
    with_service(|engine, service| {
        ENGINE.set(engine.0);
        let worker = TestWorker::new(service.raw, engine, 1, 1);
        assert_eq!(c!(doca_ctx_set_state_changed_cb(worker.ctx, Some(stop_inside))), OK);
        assert_eq!(c!(doca_ctx_start(worker.ctx)), DocaError::IN_PROGRESS);
        assert_eq!(state(worker.ctx), CtxState::STOPPING);
        engine.until_idle(worker.ctx);
        worker.destroy();
    });
}
