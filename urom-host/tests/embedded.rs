//! End to end on the embedded service: real workers on threads, the real graph plugin.

mod embedded_support;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use embedded_support::{Graph, LIMIT, connect, fails, plugins, soon, start, until};
use graph_protocol::LoopbackDone;
use urom_host::{DocaError, DocaStatus, Error, ProgressEngine, Service, block_on_for};

#[test]
fn a_plugin_found_by_name_takes_commands_as_bytes() {
    let service = connect();
    let plugin = service.plugin_named("worker_graph").unwrap();
    assert_eq!((plugin.name(), plugin.version()), ("worker_graph", 1));
    let worker = service.worker().plugin(plugin).start().wait().unwrap();
    let mut command = [0; 16];
    command[8] = 42;
    let answer = soon(worker.task(plugin, &command).submit().unwrap());
    assert_eq!((answer.status, answer.bytes), (DocaStatus::SUCCESS, Some(command.to_vec())));
    assert_eq!(service.handle().plugin_named("worker_graph").unwrap().id(), plugin.id());
    for absent in ["worker_absent", "worker_grap", "", "worker_graph.so"] {
        fails(
            service.plugin_named(absent),
            DocaError::NOT_FOUND,
            &["the service has `worker_graph`"],
        );
    }
}

#[test]
fn each_progress_call_that_moves_something_runs_one_callback_in_order() {
    let service = connect();
    let (graph, worker) = start(&service);
    let seen = Rc::new(RefCell::new(Vec::new()));
    for data in 0..64 {
        let seen = Rc::clone(&seen);
        let note =
            move |done: Result<LoopbackDone, Error>| seen.borrow_mut().push(done.unwrap().data);
        graph.task_loopback(&worker, data).submit_with(note).unwrap();
    }
    let mut moved = 0;
    until(|| {
        if service.progress() {
            moved += 1;
        }
        assert_eq!(seen.borrow().len(), moved);
        moved == 64
    });
    assert_eq!(*seen.borrow(), (0..64).collect::<Vec<_>>());
    assert_eq!(service.engine().in_flight().unwrap(), 0);
}

#[test]
fn a_worker_that_idles_moves_nothing() {
    let service = connect();
    let (graph, worker) = start(&service);
    soon(graph.task_loopback(&worker, 1).submit().unwrap()).unwrap();
    for _ in 0..100_000 {
        assert!(!service.progress(), "something moved, but no task was in flight");
    }
}

#[test]
fn workers_of_other_threads_run_on_engines_of_their_own_while_this_one_only_waits() {
    let service = connect();
    std::thread::scope(|scope| {
        for id in 0..4 {
            let handle = service.handle();
            scope.spawn(move || {
                let graph = handle.plugin::<Graph>().unwrap();
                let engine = ProgressEngine::new().unwrap();
                let builder = handle.worker().engine(&engine).id(id).group(id as u32 % 2);
                let worker = soon(builder.plugin(&graph).start()).unwrap();
                assert_eq!((worker.id(), worker.group().unwrap()), (id, id as u32 % 2));
                for n in 0..1000 {
                    let done = soon(graph.task_loopback(&worker, n << 8 | id).submit().unwrap());
                    assert_eq!(done.unwrap().data, n << 8 | id);
                }
            });
        }
    });
}

#[test]
fn groups_are_answered_in_full_and_follow_their_workers() {
    let service = connect();
    let graph = service.plugin::<Graph>().unwrap();
    let start = |id: u64| service.worker().id(id).group(id as u32 % 2).plugin(&graph).start();
    let starting: Vec<_> = (0..4).map(start).collect();
    let mut workers: Vec<_> = starting.into_iter().map(|worker| soon(worker).unwrap()).collect();
    assert_eq!(soon(service.workers_of_group(1)).unwrap(), [1, 3]);
    assert_eq!(soon(service.workers_of_group(0)).unwrap(), [0, 2]);
    assert_eq!(soon(service.workers_of_group(77)).unwrap(), [0_u64; 0]);
    soon(workers.remove(3).stop()).unwrap();
    // The worker leaves the service asynchronously.
    until(|| soon(service.handle().workers_of_group(1)).unwrap() == [1]);
}

#[test]
fn drop_order_does_not_matter() {
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
        let service = connect();
        let engine = service.engine().clone();
        let (graph, worker) = start(&service);
        let flight = graph.task_loopback(&worker, 5).submit().unwrap();
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
fn a_plugin_is_found_under_the_name_that_cargo_gave_its_file() {
    let plugins = plugins();
    let link = |name: &str| plugins.path().join(name);
    std::fs::rename(link("worker_graph.so"), link("libworker_graph.so")).unwrap();
    let service = Service::builder().plugin_paths([plugins.path()]).connect_blocking().unwrap();
    start(&service);
}

#[test]
fn without_a_path_plugins_of_the_same_build_are_found() {
    assert_eq!(std::env::var_os("UROM_PLUGIN_PATH"), None, "the tests run without it");
    let service = Service::builder().embedded().connect_blocking().unwrap();
    start(&service);
}

#[test]
fn the_message_size_of_an_embedded_service_is_what_its_host_says() {
    let plugins = plugins();
    let connect = |size| {
        Service::builder()
            .plugin_paths([plugins.path()])
            .max_message_size(size)
            .connect_blocking()
            .unwrap()
    };
    // Concurrently, and from the same directory.
    for (service, size) in [1 << 16, 1 << 12, 1 << 10].map(|size| (connect(size), size)) {
        let (graph, worker) = start(&service);
        let text = format!("takes {} bytes, but {} fit", size - 23, size - 24);
        let too_big = worker.task(&graph, &vec![0; size - 23]).submit();
        let error = too_big.map(drop).unwrap_err();
        assert_eq!(error.to_string().matches("max_message_size").count(), 1, "{error}");
        fails(Err::<(), _>(error), DocaError::TOO_BIG, &[&text, "send less, or raise"]);
        // The worker accepts it; the plugin rejects it.
        let answer =
            block_on_for(LIMIT, worker.task(&graph, &vec![0xff; size - 24]).submit().unwrap())
                .unwrap();
        assert_eq!((answer.status, answer.bytes.is_some()), (DocaStatus::INVALID_VALUE, true));
    }
}

#[test]
fn a_directory_without_plugins_is_a_service_without_plugins() {
    let empty = urom_tests::PluginDirectory::with(&[]).unwrap();
    let service = Service::builder().plugin_paths([empty.path()]).connect_blocking().unwrap();
    assert!(service.plugins().is_empty());
    let directory = empty.path().display().to_string();
    let parts = [&*directory, "the plugin path that this program gives"];
    fails(service.plugin::<Graph>(), DocaError::NOT_FOUND, &parts);
}

#[test]
fn an_address_where_nobody_listens_is_an_error_in_time_that_names_it() {
    let began = std::time::Instant::now();
    let error =
        Service::builder().address_from("127.0.0.1:1", "a test").connect_blocking().unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(6));
    let text = error.to_string();
    assert!(text.contains("127.0.0.1:1") && text.contains("a test"), "{text}");
}
