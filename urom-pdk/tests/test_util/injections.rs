//! Injected failures of a worker.

use urom_pdk::DocaError;
use urom_pdk::test_util::{Bytes, Fault, Worker};

use crate::plugin::{self, *};

fn open() -> Worker<plugin::Protocol> {
    Worker::open::<Obliging>()
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn malformed_bytes_are_refused_and_answered() {
    let worker = open();
    for bytes in [&[][..], &[9; 3], &[0xff; 64], &[0; 5000]] {
        let sent = worker.send_bytes(bytes);
        worker.progress();
        let notification = worker.notification(&sent).expect("an answer to every command");
        assert_eq!(notification.status, DocaError::INVALID_VALUE);
        assert_eq!(worker.wait(sent), Err(DocaError::INVALID_VALUE));
    }
    assert!(worker.finish().is_clean());
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn the_bytes_of_a_command_are_as_good_as_the_command() {
    use urom_abi::protocol::Request;
    let worker = open();
    let command = Echo { cookie: 7, value: 8 };
    let mut bytes = vec![0; command.encoded_len().unwrap()];
    command.encode(&mut bytes).unwrap();
    let Bytes(answer) = worker.wait(worker.send_bytes(&bytes)).unwrap();
    assert!(answer.windows(8).any(|word| word == 8u64.to_le_bytes()));
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn a_notification_over_the_limit_is_a_failure_for_its_host_and_none_of_the_plugin() {
    let worker = open();
    let long = vec![7; 5000];
    assert_eq!(worker.call(Keep { milliseconds: 0, bytes: &long }), Err(DocaError::TOO_BIG));
    worker.set_message_limit(6000);
    assert_eq!(worker.call(Keep { milliseconds: 0, bytes: &long }).unwrap().bytes.len(), 5000);
    assert!(worker.finish().is_clean());
}

#[test]
fn a_full_c_heap_delays_the_answer_and_makes_it_a_failure() {
    let worker = open();
    // For the value, the refusal, and the next attempt.
    worker.fill_c_heap(3);
    let sent = worker.send(Echo { cookie: 7, value: 8 });
    assert_eq!((worker.progress(), worker.in_flight()), (0, 1), "memory does not exist yet");
    assert_eq!(worker.progress(), 1);
    assert_eq!(worker.answer(&sent), Some(Err(DocaError::NO_MEMORY)));
    assert_eq!(worker.call(Echo { cookie: 7, value: 8 }), Ok(Value { value: 8 }));
    assert!(worker.finish().is_clean());
}

#[test]
fn bytes_that_are_held_beyond_the_close_are_named() {
    let worker = open();
    assert_eq!(worker.call(Hold { cookie: 1, bytes: b"" }), Ok(Value { value: 0 }));
    assert_eq!(worker.call(Hold { cookie: 1, bytes: b"kept" }), Ok(Value { value: 4 }));
    HELD.take().remove(0);
    assert_eq!(worker.call(Hold { cookie: 1, bytes: b"kept" }), Ok(Value { value: 4 }));
    let report = worker.finish();
    let [Fault::CommandKept(command)] = &report.faults[..] else { panic!("{report}") };
    assert_eq!((command.number, command.name), (3, "Hold"));
    assert_eq!(*HELD.take().remove(0), *b"kept", "and they are still there");
}
