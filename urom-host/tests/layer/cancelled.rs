//! Cancelled tasks, and the cost of other commands.

use std::cell::{Cell, RefCell};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use urom_host::{Completion, DocaError, ErrorKind, Service, block_on_for};

use crate::fake::{self, script};
use crate::{Client, connect, fails, send, sleep_until, start, world};

const SHORT: Duration = Duration::from_millis(2);

fn plain() -> Service {
    Service::builder().library(fake::plain_library()).connect_blocking().unwrap()
}

fn round_trip(graph: &Client, worker: &urom_host::Worker, data: u64) {
    assert_eq!(graph.task_loopback(worker, data).submit().unwrap().wait().unwrap().data, data);
}

#[test]
fn a_command_takes_two_calls_of_the_library_that_keeps_tasks_and_fifteen_of_another() {
    let (_clean, service, graph, worker) = world(0);
    round_trip(&graph, &worker, 1);
    // Submit and progress; the result is read in place.
    assert_eq!(fake::calls(|| round_trip(&graph, &worker, 2)), 2);
    let callback = || {
        graph
            .task_loopback(&worker, 3)
            .submit_with(|done| assert_eq!(done.unwrap().data, 3))
            .unwrap();
        assert!(service.progress());
    };
    assert_eq!(fake::calls(callback), 2);
    let service = plain();
    let (graph, worker) = start(&service, 0);
    round_trip(&graph, &worker, 1);
    assert_eq!(fake::calls(|| round_trip(&graph, &worker, 2)), 15);
}

#[test]
fn tasks_are_released_where_the_library_takes_none_twice() {
    let _clean = fake::clean();
    let service = plain();
    let (graph, worker) = start(&service, 0);
    let live = fake::live();
    (0..20).for_each(|data| round_trip(&graph, &worker, data));
    assert_eq!(fake::live(), live);
    worker.stop().wait().unwrap();
}

#[test]
fn a_task_that_hangs_is_cancelled_and_its_worker_stops_all_the_same() {
    let _clean = fake::clean();
    for service in [connect(), plain()] {
        let (graph, worker) = start(&service, 6);
        let hangs = graph.task_loopback(&worker, script::HANG).timeout(SHORT).submit().unwrap();
        round_trip(&graph, &worker, 1);
        fails(
            hangs.wait(),
            DocaError::TIME_OUT,
            &["Loopback on worker 6, plugin `worker_graph`", "timed out after 2ms"],
        );
        let called = Rc::new(RefCell::new(Vec::new()));
        let theirs = Rc::clone(&called);
        let task = graph.task_loopback(&worker, script::HANG);
        let note = move |done: Result<_, urom_host::Error>| {
            theirs
                .borrow_mut()
                .push(done.map(|done: graph_protocol::LoopbackDone| done.data).unwrap_err().code());
        };
        assert!(task.submit_with(note).unwrap().cancel());
        assert!(called.borrow().is_empty(), "not inside of cancel");
        assert!(service.progress());
        assert_eq!(*called.borrow(), [DocaError::SKIPPED]);
        assert_eq!((worker.cancelled(), worker.late_replies()), (2, 0));
        worker.stop().wait().unwrap();
        assert_eq!(called.borrow().len(), 1);
    }
}

#[test]
fn an_error_has_the_kind_of_its_origin() {
    let (_clean, _service, graph, worker) = world(0);
    let kind = |task: Completion<_>| task.wait().unwrap_err().kind();
    // The plugin's own code does not count as this host's.
    for code in [DocaError::TIME_OUT, DocaError::SKIPPED, DocaError::NOT_FOUND] {
        let status = script::STATUS_WITH_REPLY | u64::from(code.code());
        assert_eq!(kind(send(&graph, &worker, status)), ErrorKind::Plugin);
    }
    assert_eq!(kind(send(&graph, &worker, script::SHORT_REPLY)), ErrorKind::Malformed);
    let hangs = || graph.task_loopback(&worker, script::HANG);
    assert_eq!(kind(hangs().timeout(SHORT).submit().unwrap()), ErrorKind::TimedOut);
    let cancelled = hangs().submit().unwrap();
    assert!(cancelled.cancel());
    assert_eq!(kind(cancelled), ErrorKind::Cancelled);
    let held: Vec<_> = (0..2).map(|_| hangs().submit().unwrap()).collect();
    assert_eq!(hangs().submit().map(drop).unwrap_err().kind(), ErrorKind::Full);
    worker.stop().wait().unwrap();
    drop(held);
}

#[test]
fn a_task_whose_future_is_told_late_neither_loses_nor_doubles_its_slot() {
    let (_clean, service, graph, worker) = world(0);
    for round in 0..10 {
        let flights: Vec<_> = (0..4).map(|data| send(&graph, &worker, data)).collect();
        assert!(flights.iter().all(|flight| flight.cancel()));
        // All answers arrive before the first cancel.
        while service.progress() {}
        assert_eq!((worker.cancelled(), worker.late_replies()), (0, round * 4 + 4));
        let others: Vec<_> = (4..8).map(|data| send(&graph, &worker, data)).collect();
        for flight in flights {
            assert_eq!(flight.wait().unwrap_err().code(), DocaError::SKIPPED);
        }
        for (data, other) in (4..).zip(others) {
            assert_eq!(other.wait().unwrap().data, data);
        }
    }
}

#[test]
fn a_callback_that_panics_at_its_deadline_keeps_no_other_from_its_own() {
    let (_clean, service, graph, worker) = world(0);
    let first = graph.task_loopback(&worker, script::HANG).timeout(Duration::ZERO);
    first.submit_with(|_| panic!("at the deadline")).unwrap();
    let second =
        graph.task_loopback(&worker, script::HANG).timeout(Duration::ZERO).submit().unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| service.progress())).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"at the deadline"));
    assert!(service.progress());
    assert!(second.is_complete());
    assert_eq!(second.wait().unwrap_err().code(), DocaError::TIME_OUT);
}

#[test]
fn a_worker_dropped_by_a_callback_at_its_deadline_is_stopped_after_it() {
    let (_clean, service, graph, worker) = world(0);
    let live = fake::live();
    let slot = Rc::new(RefCell::new(None));
    let theirs = Rc::clone(&slot);
    let task = graph.task_loopback(&worker, script::HANG).timeout(Duration::ZERO);
    task.submit_with(move |_| drop(theirs.take())).unwrap();
    slot.replace(Some(worker));
    assert!(service.progress());
    assert_eq!(fake::live(), live - 1);
}

#[test]
fn an_answer_that_is_there_counts_however_late_it_is_looked_at() {
    let (_clean, _service, graph, worker) = world(0);
    let flights: Vec<_> = (0..4)
        .map(|data| graph.task_loopback(&worker, data).timeout(Duration::ZERO).submit().unwrap())
        .collect();
    for (data, flight) in (0..).zip(flights) {
        assert_eq!(flight.wait().unwrap().data, data);
    }
    assert_eq!((worker.cancelled(), worker.late_replies()), (0, 0));
}

#[test]
fn a_deadline_that_is_set_after_the_notification_was_asked_for_wakes_the_event_loop() {
    let (_clean, service, graph, worker) = world(0);
    let engine = service.engine();
    let hang = |limit| graph.task_loopback(&worker, script::HANG).timeout(limit).submit().unwrap();
    // The first poll makes the descriptor, after the deadline was set.
    engine.request_notification().unwrap();
    let first = hang(SHORT);
    sleep_until(engine, || first.is_complete());
    // A task waits long: this deadline comes before the timer's.
    let long = hang(Duration::from_secs(3600));
    engine.request_notification().unwrap();
    let second = hang(SHORT);
    sleep_until(engine, || second.is_complete());
    assert!(!long.is_complete());
}

#[test]
fn a_callback_that_is_cancelled_after_the_notification_was_asked_for_wakes_the_event_loop() {
    let (_clean, service, graph, worker) = world(0);
    let engine = service.engine();
    let called = Rc::new(Cell::new(false));
    let theirs = Rc::clone(&called);
    let handle =
        graph.task_loopback(&worker, script::HANG).submit_with(move |_| theirs.set(true)).unwrap();
    engine.as_fd();
    engine.request_notification().unwrap();
    assert!(handle.cancel());
    sleep_until(engine, || called.get());
}

#[test]
fn a_cancelled_callback_runs_in_the_next_progress_call_though_answers_come_in() {
    let (_clean, service, graph, worker) = world(0);
    let notes = Rc::new(RefCell::new(Vec::new()));
    let submit = |data| {
        let notes = Rc::clone(&notes);
        let note = move |done: Result<graph_protocol::LoopbackDone, urom_host::Error>| {
            notes.borrow_mut().push(done.map(|done| done.data).map_err(|error| error.code()));
        };
        graph.task_loopback(&worker, data).submit_with(note).unwrap()
    };
    let cancelled = submit(script::HANG);
    (1..3).for_each(|data| drop(submit(data)));
    assert!(cancelled.cancel());
    assert!(service.progress());
    assert_eq!(*notes.borrow(), [Err(DocaError::SKIPPED)]);
    while service.progress() {}
    assert_eq!(notes.borrow()[1..], [Ok(1), Ok(2)]);
}

#[test]
fn late_replies_without_bytes_count_and_the_end_of_the_worker_does_not() {
    let _clean = fake::clean();
    for service in [connect(), plain()] {
        let (graph, worker) = start(&service, 0);
        let refused = script::STATUS_ALONE | u64::from(DocaError::NOT_FOUND.code());
        let too_long = script::STATUS_ALONE | u64::from(DocaError::TOO_BIG.code());
        let cancelled = send(&graph, &worker, refused);
        assert!(cancelled.cancel());
        let called = graph.task_loopback(&worker, too_long).submit_with(|_| ()).unwrap();
        assert!(called.cancel());
        let in_time = send(&graph, &worker, refused);
        drop(send(&graph, &worker, refused));
        while worker.in_flight().unwrap() != 0 {
            service.progress();
        }
        assert_eq!((worker.late_replies(), worker.dropped_replies()), (2, 1));
        assert_eq!(cancelled.wait().unwrap_err().code(), DocaError::SKIPPED);
        assert_eq!(in_time.wait().unwrap_err().code(), DocaError::NOT_FOUND);
        let hangs = |_| send(&graph, &worker, script::HANG);
        let [cancelled, dropped] = [0, 1].map(hangs);
        assert!(cancelled.cancel());
        drop(dropped);
        let dies = script::DIE | u64::from(DocaError::CONNECTION_RESET.code());
        fails(send(&graph, &worker, dies).wait(), DocaError::CONNECTION_RESET, &[]);
        while worker.in_flight().unwrap() != 0 {
            service.progress();
        }
        assert_eq!((worker.late_replies(), worker.dropped_replies()), (2, 1));
    }
}

#[test]
fn answers_to_dropped_futures_are_counted_apart_from_late_ones() {
    let (_clean, service, graph, worker) = world(0);
    // As an executor's timeout does; the second task was polled before.
    drop(send(&graph, &worker, 1));
    let hangs = send(&graph, &worker, script::HANG);
    assert_eq!(block_on_for(SHORT, hangs).unwrap_err().code(), DocaError::TIME_OUT);
    let known = send(&graph, &worker, 2);
    assert_eq!((worker.late_replies(), worker.dropped_replies()), (0, 1));
    assert!(service.progress());
    // An answer before the drop of its future is in time.
    assert!(known.is_complete());
    drop(known);
    // An earlier deadline takes precedence.
    let late = send(&graph, &worker, 3);
    assert!(late.cancel());
    drop(late);
    assert!(service.progress());
    assert_eq!((worker.late_replies(), worker.dropped_replies(), worker.cancelled()), (1, 1, 1));
}
