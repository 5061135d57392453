//! One command, one notification, for any bytes and any handler.

mod common;

use common::protocol::*;
use common::{PLUGIN_ID, open};
use urom_abi::descriptor::NotificationDesc;
use urom_pdk::{DocaError, DocaStatus};

fn only(mut all: Vec<NotificationDesc>, dest_id: u64, token: u64) -> (DocaStatus, (u64, u64)) {
    assert_eq!(all.len(), 1);
    let notification = all.remove(0);
    let header = *notification.header();
    assert_eq!((notification.dest_id(), header.urom_context), (dest_id, token));
    assert_eq!((header.plugin_id, header.reserved, header.len), (PLUGIN_ID, 0, 16));
    (header.status, fields(&notification))
}

#[test]
fn a_value_comes_back_to_where_its_command_came_from() {
    let mut worker = open();
    worker.send(9, 0xabc, &command(ECHO, 42));
    assert_eq!(only(worker.progress(), 9, 0xabc), (DocaStatus::SUCCESS, (ECHO, 42)));
    assert!(worker.progress().is_empty());
    worker.send(5, 1, &command(DEST, 0));
    assert_eq!(only(worker.progress(), 5, 1), (DocaStatus::SUCCESS, (DEST, 5 << 8 | PLUGIN_ID)));
}

#[test]
fn one_list_gives_one_notification_for_each_command_in_the_order_they_ended() {
    let mut worker = open();
    let mut unknown = command(77, 1).to_vec();
    worker.queue(1, 10, &command(ECHO, 1));
    worker.queue(2, 11, &command(YIELD, 1));
    worker.queue(1, 12, &unknown);
    unknown.push(0);
    worker.queue(3, 13, &unknown);
    worker.queue(2, 14, &command(ECHO, 2)[..15]);
    worker.queue(2, 15, &[]);
    worker.queue(1, 16, &command(FAIL, u64::from(DocaError::NOT_FOUND.code())));
    worker.queue(1, 17, &command(PANIC, 0));
    worker.queue(1, 18, &command(PANIC_AT_ONCE, 0));
    worker.queue(1, 19, &command(ECHO, 3));
    worker.flush();
    let got: Vec<_> = worker
        .progress()
        .iter()
        .map(|n| (n.dest_id(), n.header().urom_context, n.header().status, fields(n)))
        .collect();
    let invalid = DocaStatus::INVALID_VALUE;
    let want = [
        (1, 10, DocaStatus::SUCCESS, (ECHO, 1)),
        (1, 12, invalid, (77, 0)),
        (3, 13, invalid, (77, 0)),
        (2, 14, invalid, (ECHO, 0)),
        (2, 15, invalid, (0, 0)),
        (1, 16, DocaStatus::NOT_FOUND, (FAIL, 0)),
        (1, 17, DocaStatus::UNEXPECTED, (PANIC, 0)),
        (1, 18, DocaStatus::UNEXPECTED, (PANIC_AT_ONCE, 0)),
        (1, 19, DocaStatus::SUCCESS, (ECHO, 3)),
        (2, 11, DocaStatus::SUCCESS, (YIELD, 1)),
    ];
    assert_eq!(got, want);
    assert!(worker.progress().is_empty());
}

#[test]
fn an_error_is_answered_with_its_code() {
    let mut worker = open();
    let unknown = DocaStatus(4711);
    for (tag, value, status) in [
        (FAIL, unknown.0.into(), unknown),
        // It panics when it is formatted and when it is dropped.
        (FAIL_NASTILY, 0, DocaStatus::DRIVER),
    ] {
        worker.send(1, 1, &command(tag, value));
        assert_eq!(only(worker.progress(), 1, 1), (status, (tag, 0)));
    }
}

#[test]
fn a_panic_after_the_first_poll_is_an_answer_too() {
    let mut worker = open();
    worker.send(1, 1, &command(PANIC_LATER, 0));
    assert_eq!(only(worker.wait(), 1, 1), (DocaStatus::UNEXPECTED, (PANIC_LATER, 0)));
    worker.send(1, 2, &command(ECHO, 6));
    assert_eq!(only(worker.progress(), 1, 2), (DocaStatus::SUCCESS, (ECHO, 6)));
}

#[test]
fn a_future_that_panics_when_dropped_after_it_was_ready_is_answered_with_what_it_gave() {
    let mut worker = open();
    // Ready in the first poll, and later.
    for turns in 0..3 {
        worker.queue(1, turns, &command(PANIC_WHEN_READY, turns));
        worker.queue(1, 10 + turns, &command(ECHO, turns));
        worker.flush();
        let mut got = worker.progress();
        while got.len() < 2 {
            got.extend(worker.wait());
        }
        got.sort_by_key(|notification| notification.header().urom_context);
        let answers = got.iter().map(|one| (one.header().status, fields(one)));
        let want =
            [(PANIC_WHEN_READY, turns), (ECHO, turns)].map(|fields| (DocaStatus::SUCCESS, fields));
        assert!(answers.eq(want), "{turns}");
    }
}

#[test]
fn a_pending_future_is_polled_only_after_it_was_woken() {
    let script = script();
    let mut worker = open();
    worker.send(1, 1, &command(WAIT, 8));
    for _ in 0..10 {
        assert!(worker.progress().is_empty());
    }
    assert_eq!(script.polls.get(), 1);
    script.wakers.borrow()[0].wake_by_ref();
    script.wakers.borrow()[0].wake_by_ref();
    assert!(worker.progress().is_empty());
    assert_eq!(script.polls.get(), 2, "two wakes are one poll");
    script.released.set(true);
    assert!(worker.progress().is_empty());
    // From another thread.
    let waker = script.wakers.borrow_mut().remove(0);
    std::thread::spawn(move || waker.wake()).join().expect("waking does not panic");
    assert_eq!(only(worker.progress(), 1, 1), (DocaStatus::SUCCESS, (WAIT, 8)));
}

#[test]
fn more_commands_than_one_chunk_of_slots_wait_at_the_same_time() {
    let script = script();
    let mut worker = open();
    let many: u64 = if cfg!(miri) { 130 } else { 1000 };
    for round in 0..2 {
        for i in 0..many {
            worker.queue(i, round << 32 | i, &command(WAIT, i));
        }
        worker.flush();
        assert!(worker.progress().is_empty());
        script.released.set(true);
        for waker in script.wakers.borrow_mut().drain(..) {
            waker.wake();
        }
        let mut got: Vec<_> =
            worker.progress().iter().map(|n| (n.dest_id(), fields(n).1)).collect();
        got.sort_unstable();
        let want: Vec<_> = (0..many).map(|i| (i, i)).collect();
        assert_eq!(got, want);
        script.released.set(false);
    }
}

#[test]
fn a_waker_kept_from_an_earlier_command_harms_no_later_one() {
    let script = script();
    let mut worker = open();
    worker.send(1, 1, &command(WAIT, 1));
    let old = script.wakers.borrow_mut().remove(0);
    script.released.set(true);
    old.wake_by_ref();
    assert_eq!(worker.progress().len(), 1);
    old.wake_by_ref();
    assert!(worker.progress().is_empty(), "nothing is in the slot");
    script.released.set(false);
    worker.send(1, 2, &command(WAIT, 2));
    old.wake_by_ref();
    assert!(worker.progress().is_empty(), "a needless poll, and no more");
    script.released.set(true);
    old.wake();
    assert_eq!(only(worker.progress(), 1, 2), (DocaStatus::SUCCESS, (WAIT, 2)));
}

#[test]
fn without_memory_for_an_answer_the_command_is_answered_later() {
    let script = script();
    let mut worker = open();
    script.no_memory.set(4);
    worker.queue(1, 1, &command(PANIC, 0));
    worker.queue(2, 2, &command(FAIL, 16));
    worker.queue(3, 3, &command(ECHO, 9));
    worker.flush();
    assert_eq!(only(worker.progress(), 3, 3), (DocaStatus::SUCCESS, (ECHO, 9)));
    assert!(worker.progress().is_empty(), "memory does not exist yet");
    let mut got: Vec<_> =
        worker.progress().iter().map(|n| (n.dest_id(), n.header().status, fields(n).0)).collect();
    got.sort_unstable();
    assert_eq!(got, [(1, DocaStatus::NO_MEMORY, PANIC), (2, DocaStatus::NO_MEMORY, FAIL)]);
    assert!(worker.progress().is_empty());
}

#[test]
fn a_protocol_that_panics_while_refusing_still_gets_an_answer() {
    let mut worker = open();
    script().refusal_panics.set(true);
    worker.send(1, 1, &command(FAIL, 16));
    assert_eq!(only(worker.progress(), 1, 1), (DocaStatus::NOT_FOUND, (0, 0)));
}

#[test]
fn the_handlers_progress_runs_on_every_call_that_finds_no_answers_and_again_while_it_moves_something()
 {
    let script = script();
    let mut worker = open();
    worker.progress();
    worker.progress();
    assert_eq!(script.progressed.get(), 2);
    script.moves.set(true);
    worker.progress();
    assert!((4..20).contains(&script.progressed.get()), "bounded: {}", script.progressed.get());
}

#[test]
fn answers_that_are_ready_leave_the_handlers_progress_out_but_never_twice_in_turn() {
    let script = script();
    let mut worker = open();
    for turn in 1..=6 {
        worker.send(1, turn, &command(ECHO, 7));
        assert_eq!(only(worker.progress(), 1, turn).0, DocaStatus::SUCCESS);
        assert_eq!(script.progressed.get(), turn as usize / 2);
    }
    // With a pending command it is called each time, even if answers are ready.
    worker.send(1, 7, &command(WAIT, 0));
    for turn in 8..=10 {
        worker.send(1, turn, &command(ECHO, 7));
        assert_eq!(only(worker.progress(), 1, turn).0, DocaStatus::SUCCESS);
        assert_eq!(script.progressed.get(), turn as usize - 4);
    }
}

#[test]
fn a_panic_in_the_handlers_progress_ends_what_is_pending_and_what_comes_later() {
    let script = script();
    let mut worker = open();
    worker.send(1, 1, &command(WAIT, 0));
    script.progress_panics.set(true);
    assert_eq!(only(worker.progress(), 1, 1), (DocaStatus::UNEXPECTED, (WAIT, 0)));
    worker.send(1, 2, &command(ECHO, 0));
    assert_eq!(only(worker.progress(), 1, 2), (DocaStatus::UNEXPECTED, (ECHO, 0)));
    assert_eq!(script.progressed.get(), 1, "it is not called again");
}

#[test]
fn two_answers_at_most_come_before_a_handlers_progress_that_panics() {
    let script = script();
    script.progress_panics.set(true);
    // A worker runs commands that arrive before its first turn, and calls progress after each.
    let mut worker = open();
    let ends = [1, 2, 3].map(|turn| {
        worker.send(1, turn, &command(ECHO, 7));
        only(worker.progress(), 1, turn).0
    });
    assert_eq!(ends, [DocaStatus::SUCCESS, DocaStatus::SUCCESS, DocaStatus::UNEXPECTED]);
    assert_eq!(script.progressed.get(), 1);
}
