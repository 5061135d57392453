//! Step-by-step tests: commands and answers.

use std::time::Duration;

use urom_pdk::DocaError;
use urom_pdk::test_util::{CONNECTION, Worker};

use crate::plugin::*;

fn open() -> Worker<Protocol> {
    Worker::open::<Obliging>()
}

pub(crate) fn panic_of(body: impl FnOnce()) -> String {
    let payload =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).expect_err("it panics");
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string())).expect("a text")
}

#[test]
fn a_call_gives_the_typed_answer() {
    let worker = open();
    assert_eq!(worker.call(Echo { cookie: 7, value: 42 }), Ok(Value { value: 42 }));
    assert_eq!(*worker.call(Keep { milliseconds: 0, bytes: b"bytes" }).unwrap().bytes, *b"bytes");
    let report = worker.finish();
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.commands, report.notifications, report.cut_off), (2, 2, 0));
    assert_eq!(
        report.to_string(),
        "plugin worker_obliging: 2 commands, 2 notifications, nothing wrong"
    );
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn nothing_happens_but_in_progress() {
    let worker = open();
    let sent = worker.send(Turns { cookie: 1, turns: 2 });
    assert_eq!(worker.in_flight(), 1);
    for _ in 0..2 {
        assert!(worker.answer(&sent).is_none());
        assert_eq!(worker.progress() + worker.in_flight(), 1);
    }
    assert_eq!(worker.answer(&sent), Some(Ok(Value { value: 2 })));
    assert!(worker.answer(&sent).is_none(), "an answer is given once");
    assert_eq!((worker.progress(), worker.in_flight()), (0, 0));
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn answers_are_told_apart_whatever_their_order() {
    let worker = open();
    let slow = worker.queue(Turns { cookie: 1, turns: 5 });
    let quick = worker.queue(Echo { cookie: 2, value: 3 });
    assert_eq!(worker.progress(), 0, "nothing was handed over");
    worker.flush();
    assert_eq!(worker.wait(quick), Ok(Value { value: 3 }));
    assert_eq!(worker.wait(slow), Ok(Value { value: 5 }));
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn a_notification_can_be_looked_at_before_its_answer_is_taken() {
    let worker = open();
    let sent = worker.send(Fail { cookie: 0x0102, code: 16 });
    assert!(worker.notification(&sent).is_none());
    worker.progress();
    let notification = worker.notification(&sent).expect("it came");
    assert_eq!(notification.status, DocaError::NOT_FOUND);
    assert!(
        notification.bytes.windows(8).any(|word| word == 0x0102u64.to_le_bytes()),
        "the echoed field"
    );
    assert_eq!(worker.answer(&sent), Some(Err(DocaError::NOT_FOUND)));
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn commands_come_from_the_connection_that_the_test_names() {
    let worker = open();
    assert_eq!(worker.call(Connection { cookie: 0 }), Ok(Value { value: CONNECTION }));
    let sent = worker.send_from(77, Connection { cookie: 0 });
    assert_eq!(worker.wait(sent), Ok(Value { value: 77 }));
}

#[test]
fn a_closed_plugin_owes_nothing_for_what_the_test_cut_off() {
    let worker = open();
    let _never = worker.send(Turns { cookie: 1, turns: u64::MAX });
    let _unseen = worker.queue(Echo { cookie: 1, value: 1 });
    assert_eq!(worker.close(), 2);
    assert_eq!((worker.close(), worker.progress(), worker.in_flight()), (0, 0, 0));
    let report = worker.finish();
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.cut_off, 2);
}

#[test]
#[cfg_attr(miri, ignore = "a panic prints where it comes from, which takes Miri seconds")]
fn a_closed_plugin_takes_no_commands() {
    let worker = open();
    worker.close();
    let text = panic_of(|| _ = worker.send(Echo { cookie: 1, value: 1 }));
    assert!(text.contains("worker_obliging is closed"), "{text}");
}

#[test]
#[cfg_attr(miri, ignore = "a panic prints where it comes from, which takes Miri seconds")]
fn waiting_ends_with_the_name_of_what_was_waited_for() {
    let worker = open();
    worker.set_timeout(Duration::ZERO);
    let text = panic_of(|| _ = worker.call(Turns { cookie: 1, turns: u64::MAX }));
    assert!(text.starts_with("command 1 (Turns, "), "{text}");
    assert!(text.contains("did not get a notification within 0ns"), "{text}");
    worker.close();
}

#[test]
#[cfg_attr(miri, ignore = "a panic prints where it comes from, which takes Miri seconds")]
fn another_workers_command_is_not_this_ones() {
    let (one, other) = (open(), open());
    let sent = one.send(Echo { cookie: 1, value: 1 });
    let text = panic_of(|| _ = other.answer(&sent));
    assert!(text.contains("sent to another worker"), "{text}");
}

#[test]
#[cfg_attr(miri, ignore = "a panic prints where it comes from, which takes Miri seconds")]
fn dropping_a_worker_with_a_command_in_flight_panics_with_its_name() {
    let text = panic_of(|| {
        let worker = open();
        worker.send(Echo { cookie: 1, value: 1 });
        worker.send(Turns { cookie: 1, turns: u64::MAX });
    });
    assert!(
        text.starts_with("plugin worker_obliging: 2 commands, 1 notifications, 1 fault:"),
        "{text}"
    );
    assert!(text.contains("command 2 (Turns, "), "{text}");
}
