//! Context lifecycle: failing starts, stops at any time, ids, limits, wrong orders.

use urom_abi::host::{CmdTask, CtxState};
use urom_abi::{DocaError, DocaStatus};

use crate::processes::{Plugins, daemon_of, op, with_service, with_worker};
use crate::support::{
    At, Engine, OK, TestWorker, as_task, command, failure, has, new_service, note_and_keep, state,
    take_done,
};

#[test]
fn an_id_is_generated_and_known_while_the_worker_runs() {
    with_service(|engine, service| {
        let worker = TestWorker::new(service.raw, engine, urom_abi::WORKER_ID_ANY, 1);
        assert_eq!(worker.id(), Err(DocaError::BAD_STATE));
        worker.run(engine);
        let id = worker.id().unwrap();
        assert_ne!(id, urom_abi::WORKER_ID_ANY);
        // A second context joins the same worker.
        let second = TestWorker::start(service.raw, engine, id, 1);
        assert_eq!(second.id(), Ok(id));
        let pids = [&worker, &second].map(|worker| {
            worker.submit(&command(op::PID, 0));
            assert_eq!(engine.next(), 1);
            take_done().remove(0).response
        });
        assert_eq!(pids[0], pids[1]);
        second.end(engine);
        worker.echo(engine, 1);
        worker.stop(engine);
        assert_eq!(worker.id(), Err(DocaError::BAD_STATE));
    });
}

fn set_env(worker: &TestWorker, env: &[&std::ffi::CStr]) -> DocaStatus {
    let pointers: Vec<_> = env.iter().map(|entry| entry.as_ptr().cast_mut()).collect();
    c!(doca_urom_worker_set_env(worker.raw, pointers.as_ptr(), pointers.len()))
}

#[test]
fn a_failed_start_ends_idle_with_a_reason_and_can_be_repeated() {
    with_service(|engine, service| {
        let _first = TestWorker::start(service.raw, engine, 3, 1);
        let second = TestWorker::new(service.raw, engine, 3, 1);
        assert_eq!(set_env(&second, &[c"UROM_A=some value", c"UROM_B="]), OK);
        assert_eq!(c!(doca_ctx_start(second.ctx)), DocaError::IN_PROGRESS);
        assert_eq!(engine.next(), 1);
        assert_eq!(state(second.ctx), CtxState::IDLE);
        assert!(failure(second.ctx).contains('3'), "{}", failure(second.ctx));
        engine.is_quiet(1000);
        // With another id the context starts, and the environment arrives.
        assert_eq!(c!(doca_urom_worker_set_id(second.raw, 4)), OK);
        second.run(engine);
        assert_eq!(failure(second.ctx), "");
        second.submit(&[&op::GETENV.to_le_bytes()[..], b"UROM_A\0"].concat());
        assert_eq!(engine.done().response.as_deref(), Some(&b"some value"[..]));
        second.end(engine);
        let third = TestWorker::new(service.raw, engine, 9, 1);
        assert_eq!(c!(doca_urom_worker_set_plugins(third.raw, 1 << 61)), OK);
        assert_eq!(c!(doca_ctx_start(third.ctx)), DocaError::IN_PROGRESS);
        assert_eq!(engine.next(), 1);
        assert_eq!(state(third.ctx), CtxState::IDLE);
        assert_ne!(failure(third.ctx), "");
    });
}

#[test]
fn a_worker_can_be_stopped_while_it_starts() {
    with_service(|engine, service| {
        for id in 0..5 {
            let worker = TestWorker::new(service.raw, engine, id, 1);
            assert_eq!(c!(doca_ctx_start(worker.ctx)), DocaError::IN_PROGRESS);
            for _ in 0..id * 20_000 {
                if state(worker.ctx) == CtxState::STARTING {
                    engine.progress();
                }
            }
            worker.stop(engine);
            // The id is available again.
            worker.run(engine);
            worker.echo(engine, 1);
            worker.end(engine);
        }
    });
}

#[test]
fn a_stop_with_long_commands_under_way_leaves_the_engine_as_good_as_new() {
    let (_plugins, _uromd, engine, service) = daemon_of(Plugins::obedient(), 1 << 20);
    let worker = TestWorker::new(service.raw, &engine, 1, 16);
    let neighbour = TestWorker::start(service.raw, &engine, 1, 16);
    let payload = vec![0; 1_000_000];
    for _ in 0..5 {
        worker.run(&engine);
        let tasks: Vec<usize> = (0..16).map(|_| worker.submit(&payload).addr()).collect();
        neighbour.submit(&payload);
        assert_eq!(c!(doca_ctx_stop(worker.ctx)), DocaError::IN_PROGRESS);
        let mut flushed = Vec::new();
        while state(worker.ctx) != CtxState::IDLE || engine.in_flight() > 0 {
            assert_eq!(engine.next(), 1);
            for done in take_done() {
                match done.status {
                    DocaStatus::SHUTDOWN => flushed.push(done.task),
                    // The neighbour's tasks are not affected.
                    status => {
                        assert_eq!(
                            (status, done.response.map(|bytes| bytes.len())),
                            (OK, Some(1_000_000))
                        )
                    }
                }
            }
        }
        assert_eq!(flushed, tasks);
    }
}

#[test]
fn a_stop_flushes_tasks_one_by_one_and_waits_for_their_release() {
    with_worker(8, |engine, _, worker| {
        let held: Vec<*mut CmdTask> =
            (0..3).map(|word| worker.submit(&command(op::HOLD, word))).collect();
        let kept = worker.task(&command(op::HOLD, 9));
        c!(doca_urom_worker_cmd_task_set_cb(kept, Some(note_and_keep)));
        assert_eq!(c!(doca_task_submit(as_task(kept))), OK);
        let unused = worker.allocate().unwrap();
        engine.is_quiet(10_000);
        assert_eq!(c!(doca_ctx_stop(worker.ctx)), DocaError::IN_PROGRESS);
        assert_eq!(c!(doca_task_submit(as_task(unused))), DocaError::BAD_STATE);
        assert_eq!(worker.allocate(), Err(DocaError::BAD_STATE));
        for task in held.into_iter().chain([kept]) {
            let done = engine.done();
            assert_eq!((done.task, done.status), (task.addr(), DocaStatus::SHUTDOWN));
            assert_eq!(done.response, None);
            assert_eq!(state(worker.ctx), CtxState::STOPPING);
        }
        engine.is_quiet(10_000);
        assert_eq!(c!(doca_urom_worker_cmd_task_release(kept)), OK);
        engine.is_quiet(10_000);
        assert_eq!(state(worker.ctx), CtxState::STOPPING);
        assert_eq!(c!(doca_urom_worker_cmd_task_release(unused)), OK);
        assert_eq!(engine.next(), 1);
        assert_eq!(state(worker.ctx), CtxState::IDLE);
        worker.run(engine);
    });
}

#[test]
fn a_service_holds_as_many_workers_as_configured() {
    let plugins = Plugins::obedient();
    let engine = Engine::new();
    let service = new_service(&At::Embedded(plugins.path()));
    service.connect(&engine);
    assert_eq!(c!(doca_urom_service_set_max_workers(service.raw, 2)), OK);
    assert_eq!(c!(doca_ctx_start(service.ctx)), OK);
    let first = TestWorker::start(service.raw, &engine, 0, 1);
    let _second = TestWorker::start(service.raw, &engine, 1, 1);
    let third = TestWorker::new(service.raw, &engine, 2, 1);
    assert_eq!(c!(doca_ctx_start(third.ctx)), DocaError::FULL);
    assert_eq!(state(third.ctx), CtxState::IDLE);
    has(&failure(third.ctx), &["max_workers"]);
    first.end(&engine);
    third.run(&engine);
}
