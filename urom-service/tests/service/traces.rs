//! Commands with a trace context: their answers carry the worker's part of the trace.

use urom_abi::DocaStatus;
use urom_abi::trace::CONTEXT_LEN;
use urom_os::clock::monotonic;
use urom_wire::fuzzing::frames as bytes_of;
use urom_wire::trace::WorkerTrace;

use crate::support::client::{Connection, any, attached, op, served};

const CONTEXT: [u8; CONTEXT_LEN] = [1; CONTEXT_LEN];

fn words(op: u64, word: u64) -> Vec<u8> {
    [op.to_le_bytes(), word.to_le_bytes()].concat()
}

/// Sends a command with a context. Returns its status and the trace.
fn call(host: &Connection, bit: u8, payload: &[u8]) -> (DocaStatus, Option<WorkerTrace>) {
    host.send_bytes(bytes_of::traced_command(0, bit, 0, CONTEXT, payload));
    let note = host.note();
    (note.status, note.trace.map(|bytes| WorkerTrace::read(&bytes).unwrap()))
}

#[test]
fn an_answer_has_the_times_of_its_command_and_the_next_one_without_a_context_none() {
    let (_uromd, mut client) = served();
    for host in [client.attach(any(), 1), client.attach_from_afar(any(), 1)] {
        for op in [op::ECHO, op::STATUS] {
            let begin = monotonic();
            let (status, trace) = call(&host, 0, &words(op, 6));
            assert_eq!(status == DocaStatus::SUCCESS, op == op::ECHO);
            let trace = trace.unwrap();
            let times = [begin, trace.received, trace.answered, monotonic()];
            assert!(times.is_sorted(), "{times:?}");
            // A plugin in C has no spans.
            assert_eq!((trace.plugin.as_str(), trace.spans.len()), ("obedient", 0));
            assert_eq!(host.call(op::ECHO, 1).trace, None);
        }
    }
}

#[test]
fn a_refused_command_has_its_times_too() {
    let (_uromd, _client, host) = attached(1);
    let (status, trace) = call(&host, 7, b"whatever");
    assert!(status == DocaStatus::NOT_FOUND && trace.unwrap().plugin.is_empty());
    let (status, trace) = call(&host, 0, &vec![0; 4096 - 23]);
    assert!(status == DocaStatus::TOO_BIG && trace.is_some());
    // The longest command fits with its context.
    let longest = [words(op::BIG, 0), vec![0; 4096 - 24 - 16]].concat();
    let (status, trace) = call(&host, 0, &longest);
    assert!(status == DocaStatus::SUCCESS && trace.is_some());
    let (status, trace) = call(&host, 0, &words(op::BIG, 4096 - 32));
    assert!(status == DocaStatus::SUCCESS && trace.is_some());
}

#[test]
fn a_context_without_ids_does_not_fail_its_command() {
    let (_uromd, _client, host) = attached(1);
    host.send_bytes(bytes_of::traced_command(0, 0, 0, [0; CONTEXT_LEN], &words(op::ECHO, 7)));
    let note = host.note();
    assert_eq!(
        (note.status, note.payload, note.trace),
        (DocaStatus::SUCCESS, Some(words(op::ECHO, 7)), None)
    );
}
