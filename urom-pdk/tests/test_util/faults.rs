//! The kit detects faulty plugins and describes their faults.

use urom_abi::plugin::PluginIface;
use urom_pdk::DocaError;
use urom_pdk::test_util::{Asked, Domain, Fault, Report, Worker};

use crate::driving::panic_of;
use crate::plugin::*;
use crate::wrong::{IFACE, WRONG, Wrong};

fn open(wrong: Wrong) -> Result<Worker<Protocol>, DocaError> {
    WRONG.set(wrong);
    // SAFETY: the methods are a plugin's, and free memory through this program's `urom-abi`.
    unsafe { Worker::from_watched_iface(IFACE, &Domain::new()) }
}

fn report(wrong: Wrong) -> Report {
    let worker = open(wrong).expect("it opens");
    worker.send(Echo { cookie: 1, value: 2 });
    worker.send_from(9, Turns { cookie: 1, turns: 2 });
    worker.finish()
}

fn asked() -> [Asked; 2] {
    let command = |number, name, connection| Asked { number, name, len: LEN, connection };
    [command(1, "Echo", 1), command(2, "Turns", 9)]
}

const LEN: usize = <Protocol as urom_abi::protocol::Protocol>::COMMAND_LEN;

#[test]
fn hand_made_methods_that_are_right_are_not_found_wrong() {
    let report = report(Wrong::Nothing);
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.commands, report.notifications), (2, 2));
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn commands_that_are_answered_again_are_named_once_each() {
    let report = report(Wrong::AnswersThrice);
    assert_eq!(report.faults, asked().map(|command| Fault::AnsweredAgain(command, 3)));
    let line =
        format!("\n  - command 2 (Turns, {LEN} bytes, from connection 9) got 3 notifications");
    assert!(report.to_string().contains(&line), "{report}");
}

#[test]
fn commands_that_are_never_answered_are_named() {
    let report = report(Wrong::NeverAnswers);
    assert_eq!(report.faults, asked().map(Fault::Unanswered));
    assert!(report.to_string().contains("got no notification"), "{report}");
}

#[test]
fn memory_that_a_plugin_does_not_free_is_named() {
    assert_eq!(report(Wrong::ForgetsCommands).faults, asked().map(Fault::CommandKept));
    let report = report(Wrong::ForgetsNotifications);
    let kept = |fault: &&Fault| matches!(fault, Fault::NotificationKept(len) if *len == LEN);
    assert_eq!(report.faults.iter().filter(kept).count(), 2, "{report}");
    assert_eq!(report.faults.len(), 4, "{report}");
}

#[test]
fn memory_of_plugins_that_cannot_be_watched_is_not_judged() {
    WRONG.set(Wrong::ForgetsCommands);
    // SAFETY: the methods are a plugin's.
    let worker: Worker<Protocol> =
        unsafe { Worker::from_iface(IFACE, &Domain::new()) }.expect("it opens");
    worker.send(Echo { cookie: 1, value: 2 });
    assert!(worker.finish().is_clean());
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn notifications_without_a_command_are_reported_and_answer_none() {
    let report = report(Wrong::MakesUpAToken);
    let [one, other] = asked().map(Fault::Unanswered);
    let unmatched = || Fault::NoCommand(0xabc);
    assert_eq!(report.faults, [unmatched(), unmatched(), one, other]);
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn misaddressed_notifications_are_reported() {
    let faults = |wrong| {
        let report = report(wrong);
        let elsewhere = |fault: &Fault| match fault {
            Fault::Misaddressed { plugin_id, connection, .. } => (*plugin_id, *connection),
            other => panic!("{other}"),
        };
        report.faults.iter().map(elsewhere).collect::<Vec<_>>()
    };
    assert_eq!(faults(Wrong::NamesAnotherPlugin), [(8, 1), (8, 9)]);
    assert_eq!(faults(Wrong::AnswersAnotherConnection), [(4, 2), (4, 10)]);
}

#[test]
fn commands_that_the_plugin_does_not_take_are_answered_by_the_worker() {
    let worker = open(Wrong::FailsToTakeCommands).unwrap();
    let sent = worker.send(Echo { cookie: 1, value: 2 });
    assert_eq!(worker.answer(&sent), Some(Err(DocaError::FULL)));
    assert!(worker.finish().is_clean());
}

#[test]
fn codes_that_progress_cannot_return_are_reported_once() {
    let worker = open(Wrong::FailsToProgress).unwrap();
    worker.send(Echo { cookie: 1, value: 2 });
    (0..100).for_each(|_| assert_eq!(worker.progress(), 0));
    let report = worker.finish();
    let [Fault::Progress(DocaError::IO_FAILED), Fault::Unanswered(_)] = report.faults[..] else {
        panic!("{report}")
    };
}

#[test]
#[cfg_attr(miri, ignore = "a plugin writes beyond its buffer on purpose")]
fn incorrect_packing_is_reported() {
    let texts = [
        (Wrong::PacksBehindTheBuffer, "wrote behind its buffer"),
        (Wrong::PacksIntoASmallBuffer, "are too few"),
        (Wrong::PacksAnotherHeader, "a header that is not the notification's"),
        (Wrong::PacksTooMuch, "gave a length of"),
        (Wrong::FailsToPack, "though 4096 bytes hold"),
    ];
    // Under Miri only the tests of wrong lengths.
    let step = if cfg!(miri) { 3 } else { 1 };
    for (wrong, text) in texts.into_iter().step_by(step) {
        let report = report(wrong);
        assert_eq!(report.faults.len(), 2, "{wrong:?}: {report}");
        for (fault, command) in report.faults.iter().zip(asked()) {
            assert!(fault.to_string().contains(text), "{wrong:?}: {report}");
            assert!(matches!(fault, Fault::Pack(Some(of), _) if *of == command), "{report}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "a panic prints where it comes from, which takes Miri seconds")]
fn an_unreadable_answer_names_its_command() {
    let worker = open(Wrong::Nothing).unwrap();
    // The answer repeats the command's bytes: they are not a notification.
    let text = panic_of(|| _ = worker.call(Turns { cookie: 1, turns: 2 }));
    assert!(text.starts_with("the notification of command 1 (Turns, "), "{text}");
}

#[test]
#[cfg_attr(miri, ignore = "a plugin writes beyond its buffer on purpose")]
fn addresses_that_change_or_do_not_fit_are_reported() {
    for (wrong, text) in [
        (Wrong::GrowsItsAddress, "4 bytes when asked first, and 5 then"),
        (Wrong::WritesBehindItsAddress, "wrote more than"),
    ] {
        let worker = open(wrong).unwrap();
        assert_eq!(worker.address(), b"aaaa");
        let report = worker.finish();
        let [Fault::Address(what)] = &report.faults[..] else { panic!("{report}") };
        assert!(what.contains(text), "{what}");
    }
}

#[test]
fn a_plugin_that_does_not_open_gives_its_code() {
    assert_eq!(open(Wrong::RefusesToOpen).unwrap_err(), DocaError::DRIVER);
    assert_eq!(open(Wrong::HasNoAddress).unwrap_err(), DocaError::NOT_SUPPORTED);
    for iface in [PluginIface { progress: None, ..IFACE }, PluginIface { api_version: 0, ..IFACE }]
    {
        // SAFETY: the methods are a plugin's.
        let incomplete = unsafe { Worker::<Protocol>::from_iface(iface, &Domain::new()) };
        assert_eq!(incomplete.unwrap_err(), DocaError::INITIALIZATION);
    }
}
