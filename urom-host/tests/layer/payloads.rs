//! Replies with payloads, which keep their task and its worker.

use std::cell::RefCell;
use std::error::Error as _;
use std::rc::Rc;

use urom_abi::Payload;
use urom_abi::protocol::HostSide;
use urom_abi::wire::DecodeError;
use urom_host::{Completion, ContextState, DocaError, Error, Host, Worker};

use crate::bring::{Bring, Brought, LEN, split};
use crate::fake::{self, live, script};
use crate::{Client, connected, fails, send, start, world};
use counting_allocator::allocations_of;

fn bring<'a>(graph: &Client, worker: &Worker, command: Bring<'a>) -> Completion<Brought> {
    Host::submit(graph.plugin(), worker, &command, None).unwrap()
}

fn whole(graph: &Client, worker: &Worker, data: &[u8]) -> Payload {
    bring(graph, worker, Bring { script: 0, first: data, rest: &[] }).wait().unwrap().first
}

#[test]
fn a_completion_outlives_what_was_sent_and_brings_it_back() {
    let (_clean, _service, graph, worker) = world(0);
    let flight = {
        let data = vec![1, 2, 3];
        bring(&graph, &worker, split(&data))
    };
    let brought = flight.wait().unwrap();
    assert_eq!((&brought.first[..], &brought.rest[..]), (&[1][..], &[2, 3][..]));
}

#[test]
fn a_payload_is_the_response_itself_and_can_be_written() {
    let (_clean, _service, graph, worker) = world(0);
    let mut payload = whole(&graph, &worker, b"in place");
    assert_eq!(payload.as_ptr().addr(), fake::last_response() + LEN);
    payload[..2].copy_from_slice(b"IN");
    assert_eq!(*payload, *b"IN place");
}

#[test]
fn payloads_count_as_tasks_until_they_are_dropped() {
    let (_clean, _service, graph, worker) = world(0);
    let mut held: Vec<Payload> = (0..4).map(|n| whole(&graph, &worker, &[n; 9])).collect();
    fails(
        graph.task_loopback(&worker, 1).submit(),
        DocaError::NO_MEMORY,
        &["4 of them by replies", "drop payloads of earlier replies, or copy them"],
    );
    assert_eq!(*held.remove(2), [2; 9]);
    assert_eq!(send(&graph, &worker, 5).wait().unwrap().data, 5);
    assert_eq!(*held[2], [3; 9]);
}

#[test]
fn a_reply_without_bytes_behind_it_releases_its_task_at_once() {
    let (_clean, _service, graph, worker) = world(0);
    let replies: Vec<Brought> =
        (0..8).map(|_| bring(&graph, &worker, split(&[])).wait().unwrap()).collect();
    assert!(replies.iter().all(|reply| reply.first.is_empty() && reply.rest.is_empty()));
    worker.stop().wait().unwrap();
}

#[test]
fn a_worker_whose_payloads_are_held_is_in_use_and_goes_with_the_last_of_them() {
    let (_clean, service) = connected();
    let before = live();
    let (graph, worker) = start(&service, 7);
    let first = whole(&graph, &worker, b"first");
    let second = bring(&graph, &worker, split(b"second")).wait().unwrap();
    fails(worker.stop().wait(), DocaError::IN_USE, &["stopping worker 7", "keep 2 tasks"]);
    assert_eq!((&first[..], second.to_vec()), (&b"first"[..], b"second".to_vec()));
    drop(first);
    // Both halves of the second payload keep it. The first one's task is kept for the next command.
    drop(second.first);
    assert_eq!((live(), &second.rest[..]), (before + 3, &b"econd"[..]));
    drop(second.rest);
    assert_eq!(live(), before);
}

#[test]
fn a_payload_outlives_its_workers_handle_and_then_lets_it_go() {
    let (_clean, service) = connected();
    let before = live();
    let (graph, worker) = start(&service, 0);
    let payload = whole(&graph, &worker, b"alone");
    drop(worker);
    while service.progress() {}
    assert_eq!(*payload, *b"alone");
    assert!(live() > before);
    drop(payload);
    assert_eq!(live(), before);
}

#[test]
fn a_payload_dropped_inside_a_callback_makes_room_for_the_next_task() {
    let (_clean, service, graph, worker) = world(0);
    let held: Vec<Payload> = (0..3).map(|_| whole(&graph, &worker, b"held")).collect();
    let worker = Rc::new(worker);
    let (next, their_worker, codes) =
        (graph.clone(), Rc::clone(&worker), Rc::new(RefCell::new(Vec::new())));
    let theirs = Rc::clone(&codes);
    let callback = move |reply: Result<Brought, Error>| {
        let submit = || {
            next.task_loopback(&their_worker, 1)
                .submit_with(|_| ())
                .map(drop)
                .map_err(|error| error.code())
        };
        theirs.borrow_mut().push(submit());
        drop(reply);
        theirs.borrow_mut().push(submit());
    };
    let command = split(b"mine");
    Host::submit_with(graph.plugin(), &worker, &command, None, callback).unwrap();
    while service.progress() {}
    assert_eq!(*codes.borrow(), [Err(DocaError::NO_MEMORY), Ok(())]);
    assert_eq!(*held[2], *b"held");
}

#[test]
fn a_callback_may_keep_the_payload_for_longer_than_itself() {
    let (_clean, service, graph, worker) = world(0);
    let kept = Rc::new(RefCell::new(None));
    let theirs = Rc::clone(&kept);
    let command = split(b"kept");
    let keep = move |reply: Result<Brought, Error>| *theirs.borrow_mut() = reply.ok();
    Host::submit_with(graph.plugin(), &worker, &command, None, keep).unwrap();
    while service.progress() {}
    drop(worker);
    assert_eq!(kept.take().unwrap().to_vec(), b"kept");
}

#[test]
fn the_last_payload_of_a_worker_dropped_inside_a_callback_stops_it_after_the_callback() {
    let (_clean, service, graph, worker) = world(0);
    let other = service.worker().id(1).plugin(&graph).start().wait().unwrap();
    let before = live();
    let payload = whole(&graph, &worker, b"last");
    drop(worker);
    graph.task_loopback(&other, 1).submit_with(move |_| drop(payload)).unwrap();
    while service.progress() {}
    // The worker is destroyed with its tasks; the other one has kept the loopback's task.
    assert_eq!(live(), before - 1 + 1);
}

#[test]
fn a_response_that_is_shorter_than_it_claims_is_an_error_with_its_bytes_and_no_task() {
    let (_clean, _service, graph, worker) = world(0);
    let (short, cut) = (script::SHORT_REPLY, script::CUT_REPLY);
    for (script, data, field) in
        [(cut, &b"abc"[..], "rest"), (cut, b"a", "first"), (short, b"abc", "length")]
    {
        let command = Bring { script, ..split(data) };
        let error = bring(&graph, &worker, command).wait().unwrap_err();
        assert_eq!(error.code(), DocaError::INVALID_VALUE);
        let cause = error.source().and_then(|cause| cause.downcast_ref::<DecodeError>());
        assert_eq!(cause.unwrap().field, field, "{error}");
        let bytes = if script == short { 3 } else { LEN + data.len() - 1 };
        assert_eq!(error.reply().map(<[u8]>::len), Some(bytes));
    }
    worker.stop().wait().unwrap();
}

#[test]
fn an_error_status_comes_with_the_bytes_and_keeps_no_task() {
    let (_clean, _service, graph, worker) = world(0);
    let command = Bring { script: script::STATUS_WITH_REPLY | 16, ..split(b"abc") };
    let error = bring(&graph, &worker, command).wait().unwrap_err();
    assert_eq!(
        (error.code(), error.reply().map(<[u8]>::len)),
        (DocaError::NOT_FOUND, Some(LEN + 3))
    );
    worker.stop().wait().unwrap();
}

#[test]
fn a_payload_taken_after_the_stop_began_is_a_copy() {
    let (_clean, service) = connected();
    let before = live();
    let (graph, worker) = start(&service, 0);
    let flight = bring(&graph, &worker, split(b"copied"));
    while service.progress() {}
    let stopping = worker.stop();
    let brought = flight.wait().unwrap();
    stopping.wait().unwrap();
    assert_eq!(live(), before);
    assert_eq!(brought.to_vec(), b"copied");
}

#[test]
fn a_worker_that_died_becomes_idle_although_replies_are_taken_only_then() {
    let (_clean, service, graph, worker) = world(0);
    let flight = bring(&graph, &worker, split(b"late"));
    let killer = send(&graph, &worker, script::DIE | 11);
    killer.wait().unwrap_err();
    let brought = flight.wait().unwrap();
    while service.progress() {}
    assert_eq!(worker.state().unwrap(), ContextState::Idle);
    assert_eq!(brought.to_vec(), b"late");
}

#[test]
fn payloads_of_a_worker_that_died_stay_readable_and_hold_it_until_they_are_dropped() {
    let (_clean, service, graph, worker) = world(0);
    let payload = whole(&graph, &worker, b"before");
    send(&graph, &worker, script::DIE | 11).wait().unwrap_err();
    while service.progress() {}
    assert_eq!((worker.state().unwrap(), &payload[..]), (ContextState::Stopping, &b"before"[..]));
    drop(payload);
    while service.progress() {}
    assert_eq!(worker.state().unwrap(), ContextState::Idle);
    worker.stop().wait().unwrap();
}

#[test]
fn a_payload_is_taken_and_given_back_without_an_allocation() {
    let (_clean, service, graph, worker) = world(0);
    let command = Bring { script: 0, first: b"payload", rest: &[] };
    let flight = bring(&graph, &worker, command);
    // The fake allocates a task's response when it completes.
    while service.progress() {}
    let taken = allocations_of(|| assert_eq!(*flight.wait().unwrap().first, *b"payload"));
    assert_eq!(taken, 0);
}
