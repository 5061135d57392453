//! Services and workers: settings, start, stop, death, and all orders of dropping.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use urom_abi::host::WorkerHealth;
use urom_host::{ContextState, DocaError, Health, ProgressEngine, Service, block_on, block_on_for};

use crate::fake::{self, script};
use crate::{Graph, LIMIT, connect, connected, fails, send, start, world};

#[test]
fn a_worker_dropped_in_its_own_callback_is_stopped_after_it() {
    let (_clean, service, graph, worker) = world(0);
    let slot = Rc::new(RefCell::new(None));
    let theirs = Rc::clone(&slot);
    graph.task_loopback(&worker, 1).submit_with(move |_| drop(theirs.borrow_mut().take())).unwrap();
    let unanswered = Rc::new(Cell::new(None));
    let note = Rc::clone(&unanswered);
    let code =
        move |done: Result<_, urom_host::Error>| note.set(done.err().map(|error| error.code()));
    graph.task_loopback(&worker, script::HANG).submit_with(code).unwrap();
    *slot.borrow_mut() = Some(worker);
    assert!(service.progress());
    assert_eq!(unanswered.take(), Some(DocaError::CONNECTION_RESET));
}

#[test]
fn stopping_keeps_what_completed_and_fails_what_did_not() {
    let (_clean, service, graph, worker) = world(0);
    let complete = send(&graph, &worker, 7);
    let hanging = send(&graph, &worker, script::HANG);
    while service.progress() {}
    assert!(complete.is_complete() && !hanging.is_complete());
    worker.stop().wait().unwrap();
    assert_eq!(complete.wait().unwrap().data, 7);
    assert_eq!(hanging.wait().unwrap_err().code(), DocaError::CONNECTION_RESET);
}

#[test]
fn a_worker_that_dies_fails_its_tasks_says_why_if_the_library_can_and_takes_no_more() {
    let _clean = fake::clean();
    for (library, why) in [(fake::library(), fake::FAILURE), (fake::plain_library(), "")] {
        let service = Service::builder().library(library).connect_blocking().unwrap();
        let (graph, worker) = start(&service, 5);
        let first = send(&graph, &worker, script::DIE | 11);
        let second = send(&graph, &worker, script::HANG);
        for flight in [first, second] {
            let end = block_on_for(LIMIT, flight).unwrap();
            fails(end, DocaError::CONNECTION_RESET, &[why]);
        }
        assert_eq!(worker.failure().unwrap_or_default(), why);
        fails(graph.task_loopback(&worker, 1).submit(), DocaError::BAD_STATE, &[why]);
        assert_ne!(worker.state().unwrap(), ContextState::Running);
        worker.stop().wait().unwrap();
    }
}

#[test]
fn what_a_worker_says_of_its_plugins_is_told_until_it_is_gone() {
    let clean = fake::clean();
    let service = connect();
    let (graph, worker) = start(&service, 5);
    assert_eq!(worker.health(), Health::Well);
    let say = |health| *fake::HEALTH.lock().unwrap() = health;
    say(Some(WorkerHealth::hung("worker_graph", "worker_cmd", 7)));
    let (plugin, method) = ("worker_graph".to_owned(), "worker_cmd".to_owned());
    assert_eq!(worker.health(), Health::Hung { plugin, method, since: Duration::from_secs(7) });
    // The longest possible texts.
    say(Some(WorkerHealth::hung(&"p".repeat(99), &"m".repeat(99), 8)));
    let (plugin, method) = ("p".repeat(47), "m".repeat(15));
    assert_eq!(worker.health(), Health::Hung { plugin, method, since: Duration::from_secs(8) });
    let end = send(&graph, &worker, script::DIE | 11);
    block_on_for(LIMIT, end).unwrap().unwrap_err();
    assert_eq!(worker.health(), Health::Unknown);
    say(None);
    drop((worker, graph, service, clean));
}

#[test]
fn a_worker_on_another_thread_outlives_the_service_it_was_started_with() {
    let (_clean, service) = connected();
    let handle = service.handle();
    let (gone, wait_for_it) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let graph = handle.plugin::<Graph>().unwrap();
        let engine = ProgressEngine::with_library(handle.library()).unwrap();
        let worker = handle.worker().engine(&engine).plugin(&graph).start().wait().unwrap();
        drop(handle);
        wait_for_it.recv().unwrap();
        send(&graph, &worker, 9).wait().unwrap().data
    });
    drop(service);
    gone.send(()).unwrap();
    assert_eq!(thread.join().unwrap(), 9);
}

#[test]
fn a_start_that_fails_says_why_and_leaves_nothing() {
    let (_clean, service) = connected();
    let graph = service.plugin::<Graph>().unwrap();
    fails(
        service.worker().id(fake::id::FAILS).plugin(&graph).start().wait(),
        DocaError::NOT_FOUND,
        &["starting worker 1000", fake::FAILURE],
    );
}

#[test]
fn a_start_can_be_cancelled() {
    let (_clean, service) = connected();
    let graph = service.plugin::<Graph>().unwrap();
    let starting = service.worker().id(fake::id::HANGS).plugin(&graph).start();
    fails(block_on_for(Duration::from_millis(5), starting), DocaError::TIME_OUT, &[]);
}

#[test]
fn workers_start_together() {
    let (_clean, service) = connected();
    let graph = service.plugin::<Graph>().unwrap();
    let starting: Vec<_> = (0..4u32)
        .map(|n| service.worker().id(n.into()).group(n % 2).plugin(&graph).start())
        .collect();
    let workers: Vec<_> = starting.into_iter().map(|start| start.wait().unwrap()).collect();
    for (n, worker) in workers.iter().enumerate() {
        assert_eq!((worker.id(), worker.group().unwrap()), (n as u64, n as u32 % 2));
        assert_eq!(worker.state().unwrap(), ContextState::Running);
    }
    let any = service.worker().plugin(&graph).start().wait().unwrap();
    assert_eq!(any.id(), 4711);
}

#[test]
fn settings_that_cannot_be_are_named() {
    let (_clean, service) = connected();
    let graph = service.plugin::<Graph>().unwrap();
    let worker = || service.worker().plugin(&graph);
    let too_many: urom_host::CpuSet = [9].into_iter().collect();
    let cases = [
        (service.worker(), "lacks a plugin"),
        (worker().env("A=B", "c"), "`A=B`"),
        (worker().env("", "c"), "environment"),
        (worker().env("A", "b\0c"), "`A`"),
        (worker().cpus(too_many), "CPUs"),
        (worker().max_inflight(3), "power of two"),
    ];
    for (builder, text) in cases {
        fails(builder.start().wait(), DocaError::INVALID_VALUE, &[text]);
    }
    drop(worker().env("A", "b=c").cpus((0..8).collect()).start().wait().unwrap());
}

#[test]
fn what_is_shown_of_a_builder_has_no_values_of_the_environment() {
    let _clean = fake::clean();
    let shown = format!("{:?}", connect().worker().env("TOKEN", "secret"));
    assert!(shown.contains("TOKEN") && !shown.contains("secret"), "{shown}");
}

#[test]
fn plugins_of_another_service_and_plugins_not_loaded_are_refused() {
    let _clean = fake::clean();
    let (service, other) = (connect(), connect());
    let (_, worker) = start(&service, 0);
    let foreign = other.plugin::<Graph>().unwrap();
    fails(service.worker().plugin(&foreign).start().wait(), DocaError::INVALID_VALUE, &[]);
    fails(
        foreign.task_loopback(&worker, 1).submit(),
        DocaError::INVALID_VALUE,
        &["another service"],
    );
    let unloaded = service.plugins().iter().find(|plugin| plugin.name() == "worker_other").unwrap();
    let parts = ["with worker_graph, without this plugin", "WorkerBuilder::plugin"];
    fails(worker.task(unloaded, &[]).submit(), DocaError::INVALID_VALUE, &parts);
}

#[test]
fn a_plugin_is_found_by_name_and_exact_version() {
    let (_clean, service) = connected();
    assert_eq!(service.plugin::<Graph>().unwrap().plugin().id(), 2);
    assert_eq!(service.cpus().to_string(), "0-7");
    fake::PLUGIN_VERSION.store(2, Ordering::SeqCst);
    let error = connect().plugin::<Graph>().unwrap_err();
    assert_eq!(error.code(), DocaError::UNSUPPORTED_VERSION);
    let text = error.to_string();
    assert!(text.contains("`worker_graph` version 1") && text.contains("has version 2"), "{text}");
    fake::PLUGIN_COUNT.store(1, Ordering::SeqCst);
    fails(connect().plugin::<Graph>(), DocaError::NOT_FOUND, &["the service has `worker_other`"]);
    fake::PLUGIN_COUNT.store(0, Ordering::SeqCst);
    let service = connect();
    assert!(service.plugins().is_empty());
    fails(service.plugin::<Graph>(), DocaError::NOT_FOUND, &["serves no plugin"]);
}

#[test]
fn group_queries_answer_fail_and_can_be_dropped() {
    let (_clean, service) = connected();
    assert_eq!(block_on(service.workers_of_group(3)).unwrap(), [0, 1, 2]);
    assert_eq!(service.handle().workers_of_group(0).wait().unwrap(), [0_u64; 0]);
    for (group, code) in
        [(7, DocaError::AGAIN), (8, DocaError::NO_MEMORY), (9, DocaError::CONNECTION_RESET)]
    {
        fails(service.workers_of_group(group).wait(), code, &[&format!("group {group}")]);
    }
    drop(service.workers_of_group(2));
}

struct Tell(mpsc::Sender<()>);

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
}

#[test]
fn services_connect_beside_each_other_and_a_dropped_attempt_leaves_nothing() {
    let _clean = fake::clean();
    let connect = || Service::builder().library(fake::library()).connect();
    let [one, other] = [connect(), connect()];
    let services = block_on(async { (one.await.unwrap(), other.await.unwrap()) });
    assert_eq!(services.0.plugins().len(), services.1.plugins().len());
    drop(services);
    // Its engine, the thread's engine, and the service: the thread may not have reported yet.
    let connecting = connect();
    fake::wait_for_live(3);
    drop(connecting);
    fake::wait_for_live(0);
    // The thread has reported and sleeps: a connection takes longer than its polling.
    let (tell, told) = mpsc::channel();
    let mut connecting = connect();
    let waker = Waker::from(Arc::new(Tell(tell)));
    assert!(Pin::new(&mut connecting).poll(&mut Context::from_waker(&waker)).is_pending());
    told.recv_timeout(LIMIT).unwrap();
    drop(connect().wait().unwrap());
    drop(connecting);
    fake::wait_for_live(0);
}

#[test]
fn settings_of_the_service_are_checked_and_named() {
    let _clean = fake::clean();
    let builder = || Service::builder().library(fake::library());
    drop(
        builder()
            .address("fake:1")
            .max_workers(4)
            .max_message_size(8192)
            .connect_blocking()
            .unwrap(),
    );
    drop(builder().plugin_paths(["/nowhere"]).connect_blocking().unwrap());
    for (builder, text) in [
        (builder().max_workers(3), "workers to 3"),
        (builder().max_message_size(1), "message size to 1"),
        (builder().address_from("fake:2", "--service"), "fake:2 (from --service)"),
        (builder().address("fake\0:1"), "nul byte"),
        (builder().plugin_paths(["/a", "/b;c"]), "\"/b;c\" contains `;`"),
    ] {
        fails(builder.connect_blocking(), DocaError::INVALID_VALUE, &[text]);
    }
    fails(
        builder().device("mlx5_0").connect_blocking(),
        DocaError::NOT_FOUND,
        &["this host lacks devices"],
    );
    assert_eq!(urom_host::devices_of(fake::library()).unwrap(), []);
}

#[test]
fn the_services_thread_leaves_signals_to_the_program() {
    let _clean = fake::clean();
    let before = signals_blocked("thread-self").unwrap();
    let _service = connect();
    assert_eq!(signals_blocked("thread-self"), Some(before));
    let threads =
        std::fs::read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap().file_name());
    let blocked: Vec<u64> = threads
        .map(|id| id.into_string().unwrap())
        .filter(|id| {
            let name = std::fs::read_to_string(format!("/proc/self/task/{id}/comm"));
            name.is_ok_and(|name| name.trim() == "urom-service")
        })
        .filter_map(|id| signals_blocked(&format!("self/task/{id}")))
        .collect();
    // Signal n is bit n - 1.
    let (interrupt, terminate) = (1 << 1, 1 << 14);
    assert!(
        !blocked.is_empty()
            && blocked.iter().all(|mask| mask & interrupt != 0 && mask & terminate != 0)
    );
}

fn signals_blocked(task: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{task}/status")).ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
