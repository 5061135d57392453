//! Cancelled group queries: their answers are discarded and counted.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use urom_host::{DocaError, GroupQuery, Service, block_on, block_on_for};

use crate::fake::group;
use crate::{LIMIT, connected, fails};

const SHORT: Duration = Duration::from_millis(2);

fn waiting(service: &Service, group: u32) -> GroupQuery {
    let query = service.workers_of_group(group);
    // Queries are submitted in order.
    assert_eq!(service.workers_of_group(3).wait().unwrap(), [0, 1, 2]);
    query
}

fn release(service: &Service) -> (u64, u64) {
    assert_eq!((service.late_replies(), service.dropped_replies()), (0, 0), "nothing came yet");
    assert_eq!(service.workers_of_group(group::RELEASES).wait().unwrap(), [0, 1, 2, 3]);
    assert_eq!(service.handle().late_replies(), service.late_replies());
    assert_eq!(service.handle().dropped_replies(), service.dropped_replies());
    (service.late_replies(), service.dropped_replies())
}

#[test]
fn a_question_past_its_deadline_times_out_and_its_answer_is_counted() {
    let (_clean, service) = connected();
    let start = Instant::now();
    let error = service.workers_of_group(group::WAITS).timeout(SHORT).wait().unwrap_err();
    assert!((SHORT..LIMIT).contains(&start.elapsed()), "{:?}", start.elapsed());
    assert_eq!(error.code(), DocaError::TIME_OUT);
    let text = error.to_string();
    assert!(text.contains("workers of group 6") && text.contains("timed out after 2ms"), "{text}");
    assert_eq!(release(&service), (1, 0));
    assert_eq!(service.workers_of_group(2).timeout(LIMIT).wait().unwrap(), [0, 1]);
    assert_eq!((service.late_replies(), service.dropped_replies()), (1, 0));
}

#[test]
fn each_question_has_a_deadline_of_its_own_and_the_last_one_said_counts() {
    let (_clean, service) = connected();
    let never = waiting(&service, group::WAITS).timeout(Duration::MAX);
    let long = service.workers_of_group(group::WAITS).timeout(Duration::from_secs(3600));
    let later = service.workers_of_group(group::WAITS).timeout(SHORT * 3);
    let taken_back = service.workers_of_group(group::WAITS).timeout(Duration::ZERO).timeout(LIMIT);
    let sooner = service.workers_of_group(group::WAITS).timeout(LIMIT).timeout(SHORT);
    for query in [sooner, later] {
        assert_eq!(block_on_for(LIMIT, query).unwrap().unwrap_err().code(), DocaError::TIME_OUT);
    }
    // The deadline of zero may have passed before the cancel.
    let cancelled = taken_back.cancel();
    let code = taken_back.wait().unwrap_err().code();
    assert_eq!(code, if cancelled { DocaError::SKIPPED } else { DocaError::TIME_OUT });
    assert_eq!(release(&service).1, 0);
    for query in [never, long] {
        assert_eq!(query.wait().unwrap(), [0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn a_cancelled_question_is_skipped_and_its_answer_counted() {
    let (_clean, service) = connected();
    let query = waiting(&service, group::WAITS);
    let handle = query.handle();
    assert!(query.cancel() && !query.cancel() && !handle.cancel());
    // The answer may arrive before the future is polled.
    assert_eq!(release(&service), (1, 0));
    fails(query.wait(), DocaError::SKIPPED, &["was cancelled (DOCA_ERROR_SKIPPED)"]);
    let answered = service.workers_of_group(2);
    let handle = answered.handle();
    assert_eq!(answered.wait().unwrap(), [0, 1]);
    assert!(!handle.clone().cancel(), "it is over");
    assert_eq!(service.late_replies(), 1);
}

#[test]
fn a_question_that_is_awaited_is_cancelled_from_another_thread() {
    let (_clean, service) = connected();
    let query = waiting(&service, group::WAITS);
    let handle = query.handle();
    let other = std::thread::spawn(move || handle.cancel());
    assert_eq!(block_on_for(LIMIT, query).unwrap().unwrap_err().code(), DocaError::SKIPPED);
    assert!(other.join().unwrap());
    assert_eq!(release(&service), (1, 0));
}

#[test]
fn the_answer_to_a_question_that_was_dropped_is_counted_apart() {
    let (_clean, service) = connected();
    let query = waiting(&service, group::WAITS);
    let handle = query.handle();
    assert_eq!(block_on_for(SHORT, query).unwrap_err().code(), DocaError::TIME_OUT);
    assert!(!handle.cancel(), "it was cancelled");
    // Answered or not: it was cancelled first.
    let query = waiting(&service, group::WAITS);
    assert!(query.cancel());
    drop(query);
    assert_eq!(release(&service), (1, 1));
}

#[test]
fn a_late_refusal_is_an_answer_and_the_end_of_the_service_is_none() {
    let (_clean, service) = connected();
    let query = waiting(&service, group::WAITS_REFUSED).timeout(Duration::ZERO);
    assert_eq!(query.wait().unwrap_err().code(), DocaError::TIME_OUT);
    assert_eq!(release(&service), (1, 0));
    let cancelled = waiting(&service, group::WAITS);
    assert!(cancelled.cancel());
    drop(waiting(&service, group::WAITS));
    let waits = waiting(&service, group::WAITS).timeout(LIMIT);
    fails(service.workers_of_group(group::KILLS).wait(), DocaError::CONNECTION_RESET, &[]);
    assert_eq!(waits.wait().unwrap_err().code(), DocaError::CONNECTION_RESET);
    assert_eq!(cancelled.wait().unwrap_err().code(), DocaError::SKIPPED);
    assert_eq!((service.late_replies(), service.dropped_replies()), (1, 0));
}

#[test]
fn a_service_with_questions_that_were_cancelled_can_be_dropped() {
    let (_clean, service) = connected();
    let (query, late) =
        (waiting(&service, group::WAITS), waiting(&service, group::WAITS).timeout(SHORT));
    let handle = query.handle();
    assert_eq!(late.wait().unwrap_err().code(), DocaError::TIME_OUT);
    drop(query);
    drop(service);
    assert!(!handle.cancel());
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker of the test's");
    }
}

#[test]
fn a_waker_that_panics_at_a_deadline_does_not_end_the_services_thread() {
    let (_clean, service) = connected();
    let mut query = pin!(waiting(&service, group::WAITS));
    let waker = Waker::from(Arc::new(Panics));
    assert!(query.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let other = waiting(&service, group::WAITS).timeout(Duration::ZERO);
    assert_eq!(other.wait().unwrap_err().code(), DocaError::TIME_OUT);
    // The library answers; the waker panics; the next query is still answered.
    assert_eq!(release(&service), (1, 0));
    assert_eq!(block_on(&mut query).unwrap(), [0, 1, 2, 3, 4, 5]);
    let again = catch_unwind(AssertUnwindSafe(|| {
        query.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }));
    let message = again.map(|poll: Poll<_>| poll.is_ready()).unwrap_err();
    assert_eq!(message.downcast_ref(), Some(&"a group query was polled after it had resolved"));
}
