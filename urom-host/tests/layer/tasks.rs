//! Tasks: futures, callbacks, raw bytes, and their errors.

use std::cell::{Cell, RefCell};
use std::error::Error as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use urom_host::{DocaError, DocaStatus};

use crate::fake::{self, script};
use crate::{connect, fails, send, start, world};

#[test]
fn dropping_a_worker_progresses_the_other_engines_of_the_thread() {
    let (_clean, service, graph, worker) = world(0);
    let engine = urom_host::ProgressEngine::with_library(service.library()).unwrap();
    let other = service.worker().id(1).plugin(&graph).engine(&engine).start().wait().unwrap();
    let flight = graph.task_loopback(&other, 5).submit().unwrap();
    graph.task_loopback(&other, 6).submit_with(|_| panic!("kept")).unwrap();
    assert_eq!(engine.in_flight().unwrap(), 2);
    // Its stop progresses its own engine once, which also progresses all others.
    drop(worker);
    assert!(flight.is_complete());
    let panic = catch_unwind(AssertUnwindSafe(|| while engine.progress() {})).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"kept"));
    assert_eq!(flight.wait().unwrap().data, 5);
}

#[test]
fn a_task_that_is_awaited_is_submitted_or_fails_as_its_submission() {
    let (_clean, _service, graph, worker) = world(0);
    urom_host::block_on(async {
        assert_eq!(graph.task_loopback(&worker, 7).await.unwrap().data, 7);
        let held: Vec<_> = (0..4).map(|n| send(&graph, &worker, n)).collect();
        let error = graph.task_loopback(&worker, 8).await.unwrap_err();
        assert_eq!(error.code(), DocaError::NO_MEMORY);
        drop(held);
    });
}

#[test]
fn a_dropped_future_frees_its_task_when_it_completes_and_after() {
    let (_clean, service, graph, worker) = world(0);
    for _ in 0..3 {
        drop(send(&graph, &worker, 1));
        let complete = send(&graph, &worker, 2);
        while worker.in_flight().unwrap() > 0 {
            assert!(service.progress());
        }
        assert!(complete.is_complete());
        drop(complete);
    }
    // All four tasks are free again.
    let flights: Vec<_> = (0..4).map(|n| send(&graph, &worker, n)).collect();
    drop(flights);
}

#[test]
fn too_many_tasks_are_no_memory_and_the_next_fits_after_one_is_taken() {
    let (_clean, _service, graph, worker) = world(0);
    let mut flights: Vec<_> = (0..4).map(|n| send(&graph, &worker, n)).collect();
    fails(graph.task_loopback(&worker, 4).submit(), DocaError::NO_MEMORY, &["4 tasks allocated"]);
    assert_eq!(flights.remove(0).wait().unwrap().data, 0);
    assert_eq!(send(&graph, &worker, 5).wait().unwrap().data, 5);
}

#[test]
fn a_status_of_the_plugin_comes_with_its_bytes_and_one_of_the_library_without() {
    let (_clean, _service, graph, worker) = world(0);
    let data = script::STATUS_WITH_REPLY | 16;
    let error = send(&graph, &worker, data).wait().unwrap_err();
    assert_eq!(error.code(), DocaError::NOT_FOUND);
    assert_eq!(error.reply().map(<[u8]>::len), Some(16));
    assert!(error.to_string().contains("its reason is in the worker's log"), "{error}");
    let data = script::STATUS_ALONE | 17;
    let error = send(&graph, &worker, data).wait().unwrap_err();
    assert_eq!((error.code(), error.reply()), (DocaError::IO_FAILED, None));
    assert!(error.to_string().contains("Loopback on worker 0, plugin `worker_graph`"), "{error}");
    let data = script::STATUS_ALONE;
    fails(send(&graph, &worker, data).wait(), DocaError::UNEXPECTED, &[]);
}

#[test]
fn an_answer_over_the_limit_names_the_limit_and_no_state_of_a_worker_that_runs() {
    let (_clean, _service, graph, worker) = world(0);
    let data = script::STATUS_ALONE | u64::from(DocaError::TOO_BIG.code());
    let error = send(&graph, &worker, data).wait().unwrap_err();
    assert_eq!((error.code(), error.reply()), (DocaError::TOO_BIG, None));
    let text = error.to_string();
    assert!(
        text.contains("the answer exceeds the message limit; ask for less, or raise"),
        "{text}"
    );
    assert!(
        text.contains("ServiceBuilder::max_message_size, and --max-msg-size of a uromd"),
        "{text}"
    );
    assert!(!text.contains("state"), "{text}");
}

#[test]
fn a_reply_that_does_not_decode_is_an_error_with_its_cause() {
    let (_clean, _service, graph, worker) = world(0);
    let error = send(&graph, &worker, script::SHORT_REPLY).wait().unwrap_err();
    assert_eq!(error.code(), DocaError::INVALID_VALUE);
    assert_eq!(error.reply(), Some(&[0, 0, 0][..]));
    assert!(error.source().unwrap().is::<urom_abi::wire::DecodeError>());
}

#[test]
fn a_refused_task_is_released_and_its_callback_dropped_without_a_call() {
    let (_clean, _service, graph, worker) = world(0);
    let token = Rc::new(());
    for big in [false, true] {
        let (held, ballast) = (Rc::clone(&token), [0u64; 8]);
        let task = graph.task_loopback(&worker, script::REFUSE | 27);
        fails(
            match big {
                false => task.submit_with(move |_| panic!("called, with {held:?}")),
                true => task.submit_with(move |_| panic!("called, with {held:?} {ballast:?}")),
            },
            DocaError::TOO_BIG,
            &[],
        );
        assert_eq!(Rc::strong_count(&token), 1);
    }
    fails(graph.task_loopback(&worker, script::REFUSE | 27).submit(), DocaError::TOO_BIG, &[]);
    assert_eq!(worker.in_flight().unwrap(), 0);
}

#[test]
fn a_callback_of_any_size_gets_the_reply_and_can_submit_the_next() {
    let (_clean, service, graph, worker) = world(0);
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
    let (_clean, service, graph, worker) = world(0);
    graph.task_loopback(&worker, 1).submit_with(|_| panic!("in the callback")).unwrap();
    let payload = catch_unwind(AssertUnwindSafe(|| service.progress())).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"in the callback"));
    assert_eq!(send(&graph, &worker, 2).wait().unwrap().data, 2);
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
            let start = inner.worker().plugin(&client).start().wait();
            note.set(start.err().map(|error| error.code()));
        })
        .unwrap();
    while service.progress() {}
    assert_eq!(outcome.take(), Some(DocaError::BAD_STATE));
}

#[test]
fn raw_commands_have_raw_answers() {
    let (_clean, _service, graph, worker) = world(0);
    let raw = |command: &[u8]| worker.task(&graph, command).submit();
    fails(raw(&[1; fake::CAPACITY + 1]), DocaError::TOO_BIG, &["takes 65 bytes, but 64 fit"]);
    let mut command = [0u8; 16];
    command[8..].copy_from_slice(&(script::REFUSE | 5).to_ne_bytes());
    fails(raw(&command), DocaError::AGAIN, &["a raw command on worker 0"]);
    let answer = raw(&[9; fake::CAPACITY]).unwrap().wait().unwrap();
    assert_eq!((answer.status, answer.bytes), (DocaStatus::SUCCESS, Some(vec![9; fake::CAPACITY])));
    assert_eq!(raw(&[]).unwrap().wait().unwrap().bytes, Some(vec![]));
}
