//! This crate's own layer, on a library in memory that fails on demand. What the real service does is tested elsewhere.

mod fake;

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fake::script;
use graph_protocol::Protocol as Graph;
use urom_abi::protocol::Protocol;
use urom_host::{
    DocaError, Host, ProgressEngine, Service, ServiceBuilder, State, Worker, block_on, block_on_for,
};

type Client = <Graph as Protocol>::Client<Host>;

const LIMIT: Duration = Duration::from_secs(20);

fn connect() -> Service {
    ServiceBuilder::with_library(fake::library()).connect().unwrap()
}

fn start(service: &Service, id: u64) -> (Client, Worker) {
    let graph = service.plugin::<Graph>().unwrap();
    let worker = service.worker().id(id).plugin(graph.plugin()).max_inflight(4).start().wait().unwrap();
    (graph, worker)
}

#[test]
fn a_future_resolves_to_the_reply() {
    let _clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 3);
    let done = block_on_for(LIMIT, graph.task_loopback(&worker, 42).submit().unwrap()).unwrap().unwrap();
    assert_eq!(done.data, 42);
    assert_eq!(graph.task_loopback(&worker, 43).submit().unwrap().wait().unwrap().data, 43);
    assert_eq!(worker.in_flight().unwrap(), 0);
}

#[test]
fn each_progress_call_completes_one_task_in_order() {
    let _clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 0);
    let order = Rc::new(RefCell::new(Vec::new()));
    for data in 0..4 {
        let order = Rc::clone(&order);
        let note =
            move |done: Result<graph_protocol::LoopbackDone, _>| order.borrow_mut().push(done.unwrap().data);
        graph.task_loopback(&worker, data).submit_with(note).unwrap();
    }
    assert_eq!(service.engine().in_flight().unwrap(), 4);
    for so_far in 1..=4 {
        assert!(service.progress());
        assert_eq!(order.borrow().len(), so_far);
    }
    assert!(!service.progress());
    assert_eq!(*order.borrow(), [0, 1, 2, 3]);
}

#[test]
fn completions_can_be_awaited_in_any_order() {
    let _clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 0);
    let mut flights: Vec<_> = (0..4).map(|n| graph.task_loopback(&worker, n).submit().unwrap()).collect();
    for n in (0..4).rev() {
        assert_eq!(flights.pop().unwrap().wait().unwrap().data, n);
    }
}

#[test]
fn a_dropped_future_frees_its_task_when_it_completes_and_after() {
    let _clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 0);
    for _ in 0..3 {
        drop(graph.task_loopback(&worker, 1).submit().unwrap());
        let complete = graph.task_loopback(&worker, 2).submit().unwrap();
        while worker.in_flight().unwrap() > 0 {
            assert!(service.progress());
        }
        assert!(complete.is_complete());
        drop(complete);
    }
    // All four tasks are free again.
    let flights: Vec<_> = (0..4).map(|n| graph.task_loopback(&worker, n).submit().unwrap()).collect();
    drop(flights);
}

#[test]
fn too_many_tasks_are_no_memory_and_the_next_fits_after_one_is_taken() {
    let _clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 0);
    let mut flights: Vec<_> = (0..4).map(|n| graph.task_loopback(&worker, n).submit().unwrap()).collect();
    let error = graph.task_loopback(&worker, 4).submit().unwrap_err();
    assert_eq!(error.code(), DocaError::NO_MEMORY);
    assert!(error.to_string().contains("all 4 tasks"), "{error}");
    assert_eq!(flights.remove(0).wait().unwrap().data, 0);
    assert_eq!(graph.task_loopback(&worker, 5).submit().unwrap().wait().unwrap().data, 5);
}

#[test]
fn a_status_of_the_plugin_comes_with_its_bytes_and_one_of_the_library_without() {
    let _clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 0);
    let data = script::STATUS_WITH_REPLY | 16;
    let error = graph.task_loopback(&worker, data).submit().unwrap().wait().unwrap_err();
    assert_eq!(error.code(), DocaError::NOT_FOUND);
    assert_eq!(error.reply().map(<[u8]>::len), Some(16));
    let data = script::STATUS_ALONE | 17;
    let error = graph.task_loopback(&worker, data).submit().unwrap().wait().unwrap_err();
    assert_eq!((error.code(), error.reply()), (DocaError::IO_FAILED, None));
    assert!(error.to_string().contains("Loopback on worker 0, plugin `worker_graph`"), "{error}");
    let data = script::STATUS_ALONE;
    let error = graph.task_loopback(&worker, data).submit().unwrap().wait().unwrap_err();
    assert_eq!(error.code(), DocaError::UNEXPECTED);
}

#[test]
fn a_reply_that_does_not_decode_is_an_error_with_its_cause() {
    let _clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 0);
    let error = graph.task_loopback(&worker, script::SHORT_REPLY).submit().unwrap().wait().unwrap_err();
    assert_eq!(error.code(), DocaError::INVALID_VALUE);
    assert_eq!(error.reply(), Some(&[0, 0, 0][..]));
    let source = std::error::Error::source(&error).unwrap();
    assert!(source.is::<urom_abi::wire::DecodeError>());
}

#[test]
fn a_refused_task_is_released_and_its_callback_dropped_without_a_call() {
    let _clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 0);
    let token = Rc::new(());
    for big in [false, true] {
        let (held, ballast) = (Rc::clone(&token), [0u64; 8]);
        let task = graph.task_loopback(&worker, script::REFUSE | 27);
        let error = match big {
            false => task.submit_with(move |_| panic!("called, with {held:?}")),
            true => task.submit_with(move |_| panic!("called, with {held:?} {ballast:?}")),
        }
        .unwrap_err();
        assert_eq!(error.code(), DocaError::TOO_BIG);
        assert_eq!(Rc::strong_count(&token), 1);
    }
    let error = graph.task_loopback(&worker, script::REFUSE | 27).submit().unwrap_err();
    assert_eq!(error.code(), DocaError::TOO_BIG);
    assert_eq!(worker.in_flight().unwrap(), 0);
}

#[test]
fn a_callback_of_any_size_gets_the_reply_and_can_submit_the_next() {
    let _clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 0);
    let worker = Rc::new(worker);
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (next, their_worker, their_seen) = (graph.clone(), Rc::clone(&worker), Rc::clone(&seen));
    let ballast = [7u64; 8];
    graph
        .task_loopback(&worker, 1)
        .submit_with(move |done| {
            their_seen.borrow_mut().push(done.unwrap().data + ballast[3]);
            let seen = Rc::clone(&their_seen);
            let small = move |done: Result<graph_protocol::LoopbackDone, _>| {
                seen.borrow_mut().push(done.unwrap().data)
            };
            next.task_loopback(&their_worker, 2).submit_with(small).unwrap();
        })
        .unwrap();
    while service.progress() {}
    assert_eq!(*seen.borrow(), [8, 2]);
}

#[test]
fn a_panic_in_a_callback_goes_on_in_whoever_progresses() {
    let _clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 0);
    graph.task_loopback(&worker, 1).submit_with(|_| panic!("in the callback")).unwrap();
    let payload = catch_unwind(AssertUnwindSafe(|| service.progress())).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"in the callback"));
    // And everything still works.
    assert_eq!(graph.task_loopback(&worker, 2).submit().unwrap().wait().unwrap().data, 2);
}

#[test]
fn a_callback_cannot_wait_or_progress() {
    let _clean = fake::clean();
    let service = Rc::new(connect());
    let (graph, worker) = start(&service, 0);
    let outcome = Rc::new(Cell::new(None));
    let (note, inner, client) = (Rc::clone(&outcome), Rc::clone(&service), graph.clone());
    graph
        .task_loopback(&worker, 1)
        .submit_with(move |_| {
            assert!(!inner.progress());
            let start = inner.worker().plugin(client.plugin()).start().wait();
            note.set(start.err().map(|error| error.code()));
        })
        .unwrap();
    while service.progress() {}
    assert_eq!(outcome.take(), Some(DocaError::BAD_STATE));
}

#[test]
fn a_worker_dropped_in_its_own_callback_is_stopped_after_it() {
    let _clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 0);
    let slot = Rc::new(RefCell::new(None));
    let theirs = Rc::clone(&slot);
    graph.task_loopback(&worker, 1).submit_with(move |_| drop(theirs.borrow_mut().take())).unwrap();
    let unanswered = Rc::new(Cell::new(None));
    let note = Rc::clone(&unanswered);
    let code = move |done: Result<_, urom_host::Error>| note.set(done.err().map(|error| error.code()));
    graph.task_loopback(&worker, script::HANG).submit_with(code).unwrap();
    *slot.borrow_mut() = Some(worker);
    assert!(service.progress());
    assert_eq!(unanswered.take(), Some(DocaError::CONNECTION_RESET));
}

#[test]
fn stopping_keeps_what_completed_and_fails_what_did_not() {
    let _clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 0);
    let complete = graph.task_loopback(&worker, 7).submit().unwrap();
    let hanging = graph.task_loopback(&worker, script::HANG).submit().unwrap();
    while service.progress() {}
    assert!(complete.is_complete() && !hanging.is_complete());
    worker.stop().wait().unwrap();
    assert_eq!(complete.wait().unwrap().data, 7);
    assert_eq!(hanging.wait().unwrap_err().code(), DocaError::CONNECTION_RESET);
}

#[test]
fn a_worker_that_dies_fails_its_tasks_says_why_and_takes_no_more() {
    let _clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 5);
    let first = graph.task_loopback(&worker, script::DIE | 11).submit().unwrap();
    let second = graph.task_loopback(&worker, script::HANG).submit().unwrap();
    for flight in [first, second] {
        let error = block_on_for(LIMIT, flight).unwrap().unwrap_err();
        assert_eq!(error.code(), DocaError::CONNECTION_RESET);
        assert!(error.to_string().contains(fake::FAILURE), "{error}");
    }
    assert_eq!(worker.failure().as_deref(), Some(fake::FAILURE));
    let error = graph.task_loopback(&worker, 1).submit().unwrap_err();
    assert_eq!(error.code(), DocaError::BAD_STATE);
    assert!(error.to_string().contains(fake::FAILURE), "{error}");
    worker.stop().wait().unwrap();
}

#[test]
fn raw_commands_have_raw_answers_and_a_rejected_task_stays_the_callers() {
    let _clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 0);
    let task = worker.task(graph.plugin()).unwrap();
    assert_eq!(task.capacity(), fake::CAPACITY);
    let rejected = task.submit(&[1; fake::CAPACITY + 1]).unwrap_err();
    assert_eq!(rejected.error.code(), DocaError::TOO_BIG);
    assert!(rejected.to_string().contains("takes 65 bytes, but 64 fit"), "{rejected}");
    let mut command = [0u8; 16];
    command[8..].copy_from_slice(&(script::REFUSE | 5).to_ne_bytes());
    let rejected = rejected.task.submit(&command).unwrap_err();
    assert_eq!(rejected.error.code(), DocaError::AGAIN);
    let answer = rejected.task.submit(&[9; fake::CAPACITY]).unwrap().wait().unwrap();
    assert_eq!((answer.status, answer.bytes), (DocaError::SUCCESS, Some(vec![9; fake::CAPACITY])));
    assert_eq!(worker.command(graph.plugin(), &[]).unwrap().wait().unwrap().bytes, Some(vec![]));
}

#[test]
fn objects_may_be_dropped_in_any_order() {
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1], [0, 3, 1, 2], [3, 0, 2, 1]] {
        let _clean = fake::clean();
        let service = connect();
        let engine = service.engine().clone();
        let (graph, worker) = start(&service, 0);
        let flight = graph.task_loopback(&worker, script::HANG).submit().unwrap();
        let mut things: Vec<Option<Box<dyn std::any::Any>>> = vec![
            Some(Box::new(service)),
            Some(Box::new(engine)),
            Some(Box::new(worker)),
            Some(Box::new(flight)),
        ];
        for index in order {
            things[index].take();
        }
    }
}

#[test]
fn a_worker_on_another_thread_outlives_the_service_it_was_started_with() {
    let _clean = fake::clean();
    let service = connect();
    let handle = service.handle();
    let (gone, wait_for_it) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let graph = handle.plugin::<Graph>().unwrap();
        let engine = ProgressEngine::with_library(handle.library()).unwrap();
        let worker = handle.worker().engine(&engine).plugin(graph.plugin()).start().wait().unwrap();
        drop(handle);
        wait_for_it.recv().unwrap();
        graph.task_loopback(&worker, 9).submit().unwrap().wait().unwrap().data
    });
    drop(service);
    gone.send(()).unwrap();
    assert_eq!(thread.join().unwrap(), 9);
}

#[test]
fn a_start_that_fails_says_why_and_leaves_nothing() {
    let _clean = fake::clean();
    let service = connect();
    let graph = service.plugin::<Graph>().unwrap();
    let error = service.worker().id(fake::id::FAILS).plugin(graph.plugin()).start().wait().unwrap_err();
    assert_eq!(error.code(), DocaError::INITIALIZATION);
    assert!(error.to_string().contains("starting worker 1000"), "{error}");
    assert!(error.to_string().contains(fake::FAILURE), "{error}");
}

#[test]
fn a_start_can_be_given_up() {
    let _clean = fake::clean();
    let service = connect();
    let graph = service.plugin::<Graph>().unwrap();
    let starting = service.worker().id(fake::id::HANGS).plugin(graph.plugin()).start();
    let error = block_on_for(Duration::from_millis(5), starting).unwrap_err();
    assert_eq!(error.code(), DocaError::TIME_OUT);
}

#[test]
fn workers_start_together() {
    let _clean = fake::clean();
    let service = connect();
    let graph = service.plugin::<Graph>().unwrap();
    let starting: Vec<_> = (0..4u32)
        .map(|n| service.worker().id(n.into()).group(n % 2).plugin(graph.plugin()).start())
        .collect();
    let workers: Vec<_> = starting.into_iter().map(|start| start.wait().unwrap()).collect();
    for (n, worker) in workers.iter().enumerate() {
        assert_eq!((worker.id(), worker.group().unwrap()), (n as u64, n as u32 % 2));
        assert_eq!(worker.state().unwrap(), State::Running);
    }
    let any = service.worker().any_id().plugin(graph.plugin()).start().wait().unwrap();
    assert_eq!(any.id(), 4711);
}

#[test]
fn settings_that_cannot_be_are_named() {
    let _clean = fake::clean();
    let service = connect();
    let graph = service.plugin::<Graph>().unwrap();
    let worker = || service.worker().plugin(graph.plugin());
    let too_many: urom_host::CpuSet = [9].into_iter().collect();
    let cases = [
        (service.worker(), "no plugin"),
        (worker().env("A=B", "c"), "`A=B`"),
        (worker().env("", "c"), "environment"),
        (worker().env("A", "b\0c"), "`A`"),
        (worker().cpus(too_many), "CPUs"),
        (worker().max_inflight(3), "power of two"),
    ];
    for (builder, text) in cases {
        let error = builder.start().wait().unwrap_err();
        assert_eq!(error.code(), DocaError::INVALID_VALUE, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
    drop(worker().env("A", "b=c").cpus((0..8).collect()).start().wait().unwrap());
}

#[test]
fn plugins_of_another_service_and_plugins_not_loaded_are_refused() {
    let _clean = fake::clean();
    let (service, other) = (connect(), connect());
    let (_, worker) = start(&service, 0);
    let foreign = other.plugin::<Graph>().unwrap();
    let error = service.worker().plugin(foreign.plugin()).start().wait().unwrap_err();
    assert_eq!(error.code(), DocaError::INVALID_VALUE);
    let error = foreign.task_loopback(&worker, 1).submit().unwrap_err();
    assert_eq!(error.code(), DocaError::INVALID_VALUE);
    assert!(error.to_string().contains("another service"), "{error}");
    let unloaded = service.plugins().iter().find(|plugin| plugin.name() == "worker_other").unwrap();
    let error = worker.task(unloaded).unwrap_err();
    assert_eq!(error.code(), DocaError::INVALID_VALUE);
    assert!(error.to_string().contains("without this plugin"), "{error}");
}

#[test]
fn a_plugin_is_found_by_name_and_exact_version() {
    let _clean = fake::clean();
    let service = connect();
    assert_eq!(service.plugin::<Graph>().unwrap().plugin().id(), 2);
    assert_eq!(service.cpus().to_string(), "0-7");
    fake::PLUGIN_VERSION.store(2, Ordering::SeqCst);
    let error = connect().plugin::<Graph>().unwrap_err();
    assert_eq!(error.code(), DocaError::UNSUPPORTED_VERSION);
    let text = error.to_string();
    assert!(text.contains("`worker_graph` version 1") && text.contains("has version 2"), "{text}");
    fake::PLUGIN_COUNT.store(1, Ordering::SeqCst);
    let error = connect().plugin::<Graph>().unwrap_err();
    assert_eq!(error.code(), DocaError::NOT_FOUND);
    assert!(error.to_string().contains("the service has `worker_other`"), "{error}");
    fake::PLUGIN_COUNT.store(0, Ordering::SeqCst);
    let service = connect();
    assert!(service.plugins().is_empty());
    let error = service.plugin::<Graph>().unwrap_err();
    assert_eq!(error.code(), DocaError::NOT_FOUND);
    assert!(error.to_string().contains("no plugin at all"), "{error}");
}

#[test]
fn group_queries_answer_fail_and_can_be_dropped() {
    let _clean = fake::clean();
    let service = connect();
    assert_eq!(block_on(service.workers_of_group(3)).unwrap(), [0, 1, 2]);
    assert_eq!(service.handle().workers_of_group(0).wait().unwrap(), []);
    for (group, code) in [(7, DocaError::AGAIN), (8, DocaError::NO_MEMORY), (9, DocaError::CONNECTION_RESET)]
    {
        let error = service.workers_of_group(group).wait().unwrap_err();
        assert_eq!(error.code(), code);
        assert!(error.to_string().contains(&format!("group {group}")), "{error}");
    }
    drop(service.workers_of_group(2));
}

#[test]
fn settings_of_the_service_are_checked_and_named() {
    let _clean = fake::clean();
    let builder = || ServiceBuilder::with_library(fake::library());
    drop(builder().address("fake:1").max_workers(4).max_message_size(8192).connect().unwrap());
    drop(builder().plugin_path("/nowhere").connect().unwrap());
    for (builder, text) in [
        (builder().max_workers(3), "workers to 3"),
        (builder().max_message_size(1), "message size to 1"),
        (builder().address_from("fake:2", "--service"), "fake:2 (from --service)"),
        (builder().address("fake\0:1"), "nul byte"),
    ] {
        let error = builder.connect().unwrap_err();
        assert_eq!(error.code(), DocaError::INVALID_VALUE, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
    let error = builder().device("mlx5_0").connect().unwrap_err();
    assert_eq!(error.code(), DocaError::NOT_FOUND);
    assert!(error.to_string().contains("no device at all"), "{error}");
    assert_eq!(urom_host::devices_of(fake::library()).unwrap(), []);
}
