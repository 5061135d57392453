//! Commands by `call` of the plugin's table: answered in the worker's buffer, or like others.

mod common;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::{Pin, pin};
use std::ptr;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{self, Wake, Waker};

use common::protocol::*;
use common::{Worker, open};
use urom_abi::extension::{Called, CancelReason, CommandCall, TracedCall};
use urom_abi::trace::CONTEXT_LEN;
use urom_pdk::{DocaError, DocaStatus, Held};

const CAPACITY: usize = 64;

fn answered(tag: u64, value: u64) -> (Called, DocaStatus, Vec<u8>) {
    (Called::ANSWERED, DocaStatus::SUCCESS, command(tag, value).to_vec())
}

fn progress(worker: &mut Worker) -> Vec<(u64, DocaStatus, (u64, u64))> {
    let all = worker.progress();
    all.iter().map(|n| (n.header().urom_context, n.header().status, fields(n))).collect()
}

#[test]
fn a_command_that_ends_at_once_is_answered_in_the_workers_buffer() {
    let mut worker = open();
    for value in 0..1000 {
        assert_eq!(worker.call(9, value, &command(ECHO, value), CAPACITY), answered(ECHO, value));
    }
    assert_eq!(worker.call(9, 1, &command(ECHO, 7), 16), answered(ECHO, 7));
    assert!(worker.progress().is_empty());
}

#[test]
fn an_answer_larger_than_the_buffer_comes_by_progress() {
    let mut worker = open();
    for capacity in [0, 1, 15] {
        assert_eq!(worker.call(9, 5, &command(ECHO, 7), capacity).0, Called::PENDING);
        assert_eq!(progress(&mut worker), [(5, DocaStatus::SUCCESS, (ECHO, 7))]);
    }
}

#[test]
fn a_command_that_fails_is_refused_once_and_the_next_is_answered() {
    let mut worker = open();
    let not_found = u64::from(DocaError::NOT_FOUND.code());
    let cut = &command(ECHO, 2)[..15];
    for (bytes, status, tag) in [
        (&command(FAIL, not_found)[..], DocaStatus::NOT_FOUND, FAIL),
        (&command(PANIC, 0), DocaStatus::UNEXPECTED, PANIC),
        (&command(PANIC_AT_ONCE, 0), DocaStatus::UNEXPECTED, PANIC_AT_ONCE),
        (&command(77, 1), DocaStatus::INVALID_VALUE, 77),
        (cut, DocaStatus::INVALID_VALUE, ECHO),
        (&[], DocaStatus::INVALID_VALUE, 0),
    ] {
        assert_eq!(worker.call(9, 3, bytes, CAPACITY).0, Called::PENDING);
        assert_eq!(progress(&mut worker), [(3, status, (tag, 0))]);
        assert_eq!(worker.call(9, 4, &command(ECHO, 5), CAPACITY), answered(ECHO, 5));
        assert!(worker.progress().is_empty());
    }
}

#[test]
fn an_answer_stands_though_its_future_panics_when_it_is_dropped() {
    let mut worker = open();
    let bytes = command(PANIC_WHEN_READY, 0);
    assert_eq!(worker.call(9, 3, &bytes, CAPACITY).0, Called::ANSWERED);
    assert!(worker.progress().is_empty());
}

#[test]
fn a_pending_command_is_answered_by_progress_and_blocks_no_other() {
    let mut worker = open();
    assert_eq!(worker.call(9, 1, &command(WAIT, 1), CAPACITY).0, Called::PENDING);
    assert_eq!(worker.call(9, 2, &command(ECHO, 2), CAPACITY), answered(ECHO, 2));
    assert_eq!(worker.call(9, 3, &command(YIELD, 2), CAPACITY).0, Called::PENDING);
    assert_eq!(worker.call(9, 4, &command(PANIC_LATER, 0), CAPACITY).0, Called::PENDING);
    script().released.set(true);
    script().wakers.take().iter().for_each(std::task::Waker::wake_by_ref);
    let mut all = Vec::new();
    while all.len() < 3 {
        all.extend(progress(&mut worker));
    }
    all.sort_by_key(|(token, ..)| *token);
    let statuses = all.iter().map(|(token, status, _)| (*token, *status));
    let (good, bad) = (DocaStatus::SUCCESS, DocaStatus::UNEXPECTED);
    assert_eq!(statuses.collect::<Vec<_>>(), [(1, good), (3, good), (4, bad)]);
}

#[test]
fn an_answer_waits_behind_those_that_progress_has_yet_to_give() {
    let mut worker = open();
    worker.send(9, 1, &command(ECHO, 1));
    assert_eq!(worker.call(9, 2, &command(ECHO, 2), CAPACITY).0, Called::PENDING);
    let success = DocaStatus::SUCCESS;
    assert_eq!(progress(&mut worker), [(1, success, (ECHO, 1)), (2, success, (ECHO, 2))]);
    assert_eq!(worker.call(9, 3, &command(ECHO, 3), CAPACITY), answered(ECHO, 3));
}

#[test]
fn bytes_that_are_held_outlive_the_call_and_those_after_it() {
    let mut worker = open();
    let held: Rc<RefCell<Vec<Held>>> = Rc::default();
    let keep = Rc::clone(&held);
    script().act.replace(Some(Box::new(move |cx, bytes| {
        keep.borrow_mut().push(cx.hold(bytes)?);
        Ok(0)
    })));
    for value in 0..10 {
        assert_eq!(worker.call(9, value, &command(ACT, value), CAPACITY).0, Called::ANSWERED);
        assert_eq!(worker.call(9, value, &command(ECHO, 7), CAPACITY), answered(ECHO, 7));
    }
    worker.close();
    for (value, held) in held.take().iter().enumerate() {
        assert_eq!(**held, command(ACT, value as u64));
    }
}

#[test]
fn a_plugin_that_works_no_more_and_a_call_of_nothing_are_declined() {
    let mut worker = open();
    assert_eq!(worker.call_of_size(size_of::<CommandCall>() - 8), Called::DECLINED);
    assert_eq!(worker.call_with_nothing(), Called::DECLINED);
    script().progress_panics.set(true);
    worker.progress();
    assert_eq!(worker.call(9, 1, &command(ECHO, 1), CAPACITY).0, Called::DECLINED);
}

#[test]
fn a_trace_context_reaches_its_handler_and_a_malformed_one_does_not_fail_the_command() {
    let (own, long) = (size_of::<CommandCall>(), size_of::<TracedCall>());
    let mut worker = open();
    let seen: Rc<RefCell<Vec<Option<String>>>> = Rc::default();
    let see = Rc::clone(&seen);
    script().act.replace(Some(Box::new(move |_, _| {
        see.borrow_mut().push(urom_pdk::traceparent());
        Ok(0)
    })));
    let (context, none) = ([7; CONTEXT_LEN], [0; CONTEXT_LEN]);
    let shown = format!("00-{}-{}-07", "07".repeat(16), "07".repeat(8));
    for (size, context, expected) in [
        (long, context, Some(shown.clone())),
        (long + 64, context, Some(shown)),
        (long, none, None),
        (long - 1, context, None),
        (own + 1, context, None),
        (own, context, None),
    ] {
        let bytes = command(ACT, 1);
        let called = worker.call_traced(9, 1, &bytes, CAPACITY, (size, context)).0;
        assert_eq!((called, seen.take()), (Called::ANSWERED, vec![expected]), "{size}");
    }
    let (panic, traced) = (command(PANIC_AT_ONCE, 0), (long, context));
    assert_eq!(worker.call_traced(9, 1, &panic, CAPACITY, traced).0, Called::PENDING);
    assert_eq!((progress(&mut worker).len(), urom_pdk::traceparent()), (1, None));
}

#[test]
fn a_cancel_wakes_the_command_it_is_for_and_no_other() {
    let mut worker = open();
    let reasons = Rc::new(RefCell::new(Vec::new()));
    for token in [1, 2] {
        worker.call(9, token, &command(CANCELLED, token), CAPACITY);
    }
    for (dest_id, token) in [(8, 1), (9, 3), (9, u64::MAX)] {
        worker.cancel(dest_id, token, CancelReason::CANCELLED);
        assert!(worker.progress().is_empty());
    }
    for (token, reason) in [(2, CancelReason::TIMED_OUT), (1, CancelReason::HOST_LEFT)] {
        worker.cancel(9, token, reason);
        // A second reason changes nothing.
        worker.cancel(9, token, CancelReason::CANCELLED);
        reasons.borrow_mut().extend(progress(&mut worker));
    }
    let success = DocaStatus::SUCCESS;
    assert_eq!(*reasons.borrow(), [(2, success, (CANCELLED, 1)), (1, success, (CANCELLED, 2))]);
}

#[test]
fn a_handler_is_notified_of_each_host_that_left() {
    let mut worker = open();
    worker.host_left(9);
    worker.host_left(4);
    assert_eq!(*script().left.borrow(), [9, 4]);
}

thread_local! {
    static DROPPED: Cell<u32> = const { Cell::new(0) };
}

/// A waker that does nothing, and may panic when it is dropped.
struct Idle {
    breaks: bool,
}

impl Wake for Idle {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Idle {
    fn drop(&mut self) {
        DROPPED.set(DROPPED.get() + 1);
        assert!(!self.breaks, "a waker that breaks");
    }
}

#[test]
fn a_wait_that_is_over_keeps_no_waker() {
    let mut worker = open();
    let idle = Arc::new(Idle { breaks: false });
    let waker = Waker::from(Arc::clone(&idle));
    script().act.replace(Some(Box::new(move |cx, _| {
        for _ in 0..10 {
            let mut cancelled = pin!(cx.cancelled());
            for _ in 0..2 {
                let poll = cancelled.as_mut().poll(&mut task::Context::from_waker(&waker));
                assert!(poll.is_pending());
            }
        }
        Ok(0)
    })));
    assert_eq!(worker.call(9, 1, &command(ACT, 1), CAPACITY).0, Called::ANSWERED);
    script().act.replace(None);
    assert_eq!(Arc::strong_count(&idle), 1);
}

/// Addresses of leaked waits: reachable, so they do not count as leaks.
static FORGOTTEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn a_waker_that_breaks_takes_no_answer_with_it() {
    let mut worker = open();
    for fails in [false, true] {
        script().act.replace(Some(Box::new(move |cx, _| {
            let waker = Waker::from(Arc::new(Idle { breaks: true }));
            let cancelled = Box::leak(Box::new(cx.cancelled()));
            FORGOTTEN.lock().unwrap().push(ptr::from_ref(cancelled).cast::<u8>().addr());
            // SAFETY: its memory is never reused.
            let cancelled = unsafe { Pin::new_unchecked(cancelled) };
            let poll = cancelled.poll(&mut task::Context::from_waker(&waker));
            assert!(poll.is_pending());
            drop(waker);
            if fails { Err(DocaError::FULL.into()) } else { Ok(0) }
        })));
        let called = worker.call(9, 1, &command(ACT, 1), CAPACITY).0;
        assert_eq!(called, if fails { Called::PENDING } else { Called::ANSWERED });
        assert_eq!(progress(&mut worker).len(), usize::from(fails));
        assert_eq!(DROPPED.replace(0), 1, "it did break");
        assert_eq!(worker.call(9, 2, &command(ECHO, 7), CAPACITY), answered(ECHO, 7));
    }
}
