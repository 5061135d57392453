//! Transcripts of the C hosts, the same for every plugin of a protocol.

pub const GRAPH: &str = "\
C: the service runs when its start returns
plugin worker_graph, version 1
8 of the CPUs 0 to 7
C: a worker that starts is STARTING, then RUNNING with a sum of 1
worker 5 runs
0 of 1000 calls nonzero
loopback 0: DOCA_SUCCESS, 0, 1 nonzero
loopback 42: DOCA_SUCCESS, 42, 1 nonzero
loopback 18446744073709551615: DOCA_SUCCESS, 18446744073709551615, 1 nonzero
32 in flight, one more: DOCA_ERROR_NO_MEMORY
32 completed in order, 32 nonzero
100 one after the other: in order, 100 nonzero
a loopback: DOCA_SUCCESS, answer of 16 bytes
an unknown type: DOCA_ERROR_INVALID_VALUE, answer of 16 bytes
15 bytes: DOCA_ERROR_INVALID_VALUE, answer of 16 bytes
17 bytes: DOCA_ERROR_INVALID_VALUE, answer of 16 bytes
no bytes: DOCA_ERROR_INVALID_VALUE, answer of 16 bytes
4072 bytes: DOCA_ERROR_INVALID_VALUE, answer of 16 bytes
4073 bytes: DOCA_ERROR_TOO_BIG
C: a plugin that the worker does not have: DOCA_ERROR_INVALID_VALUE
good, bad, good: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_SUCCESS
loopback 7: DOCA_SUCCESS, 7, 1 nonzero
workers of group 2: 5
workers of group 99:
worker 5 once more
loopback 6: DOCA_SUCCESS, 6, 1 nonzero
worker 5 with an environment: it exists and does not start
a worker of any id has one of its own
worker 0 in a thread: DOCA_SUCCESS, 0
worker 1 in a thread: DOCA_SUCCESS, 1
worker 2 in a thread: DOCA_SUCCESS, 2
worker 3 in a thread: DOCA_SUCCESS, 3
C: the service's engine: 0 of 1000 calls nonzero
workers of group 1: 1 3
workers of group 0: 0 2
C: a worker that runs is not set, not destroyed, and keeps its service
C: a worker that stops is STOPPING, then IDLE with a sum of 1
worker 5 is stopped
C: no task without a worker that runs: DOCA_ERROR_BAD_STATE
C: a start that is taken back ends IDLE with a sum of 1
C: the same context again: worker 6
C: the service is idle when its stop returns
";

/// Output of the sandbox plugin's host. UCX's status -9 is `UCS_ERR_MESSAGE_TRUNCATED`.
pub const SANDBOX: &str = "\
C: the service runs when its start returns
plugin worker_sandbox, version 1
8 of the CPUs 0 to 7
workers 0 and 1 run
a message before the domain: DOCA_ERROR_NOT_FOUND
a domain of 2 participants runs
0 of 1000 calls nonzero
from worker 0 to worker 1
a receive, then its message: DOCA_SUCCESS, status 0, 12 bytes, tag 0x51234, context 0xbeef
a message, then its receive: DOCA_SUCCESS, status 0, 12 bytes, tag 0x5678, context 0xbeef
no bytes: DOCA_SUCCESS, status 0, 0 bytes, tag 0x1, context 0xbeef
as many as fit: DOCA_SUCCESS, status 0, 4000 bytes, tag 0x2, context 0xbeef
too long, before its receive: DOCA_SUCCESS, status -9, 0 bytes, tag 0x0, context 0xbeef
too long, after its receive: DOCA_SUCCESS, status -9, 0 bytes, tag 0x0, context 0xbeef
from worker 1 to worker 0
a receive, then its message: DOCA_SUCCESS, status 0, 12 bytes, tag 0x51234, context 0xbeef
a message, then its receive: DOCA_SUCCESS, status 0, 12 bytes, tag 0x5678, context 0xbeef
no bytes: DOCA_SUCCESS, status 0, 0 bytes, tag 0x1, context 0xbeef
as many as fit: DOCA_SUCCESS, status 0, 4000 bytes, tag 0x2, context 0xbeef
too long, before its receive: DOCA_SUCCESS, status -9, 0 bytes, tag 0x0, context 0xbeef
too long, after its receive: DOCA_SUCCESS, status -9, 0 bytes, tag 0x0, context 0xbeef
48 in flight: 24 messages intact
memory of worker 0: DOCA_SUCCESS, a handle
memory of worker 1: DOCA_SUCCESS, a handle
a malformed exported handle: DOCA_ERROR_DRIVER, no handle
nothing: DOCA_ERROR_INVALID_VALUE, no handle
between registered memory: DOCA_SUCCESS, status 0, 64000 bytes, tag 0x300, context 0xbeef
16 pieces intact
bytes that stick out: DOCA_ERROR_INVALID_VALUE
bytes before it: DOCA_ERROR_INVALID_VALUE
a handle of nothing: DOCA_ERROR_INVALID_VALUE
71 bytes: DOCA_ERROR_INVALID_VALUE, answer of 48 bytes
no bytes: DOCA_ERROR_INVALID_VALUE, answer of 48 bytes
a byte less than it says: DOCA_ERROR_INVALID_VALUE, answer of 48 bytes
a length that wraps: DOCA_ERROR_INVALID_VALUE, answer of 48 bytes
an unknown type: DOCA_ERROR_INVALID_VALUE, answer of 48 bytes
an unknown member: DOCA_ERROR_NOT_FOUND
more than any answer holds: DOCA_ERROR_TOO_BIG
a good one after them: DOCA_SUCCESS, status 0, 4 bytes, tag 0x9, context 0xbeef
C: a domain is idle when its stop returns
a receive whose worker stops: DOCA_ERROR_SHUTDOWN
the workers are stopped
C: the service is idle when its stop returns
";

/// Fails unless the output equals `expected`. The message begins with the first different line.
pub fn check(output: &crate::c::Output, expected: &str) {
    let other =
        output.stdout.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert_eq!(other, None, "(found, expected) in\n{}{}", output.stdout, output.stderr);
    assert_eq!(output.stdout, expected, "{}", output.stderr);
}
