//! A running host library does not allocate on the Rust heap for commands.

#[path = "../../../urom-service/tests/plugins/compile.rs"]
mod compile;

#[allow(unreachable_pub, dead_code, reason = "shared with the other tests of the library")]
#[macro_use]
#[path = "library/support.rs"]
mod support;
#[allow(unreachable_pub, dead_code, reason = "shared with the other tests of the library")]
#[path = "library/processes.rs"]
mod processes;

use std::cell::Cell;
use std::hint::black_box;
use std::ptr::null_mut;

use processes::{op, with_worker};
use support::{Engine, OK, TestWorker, as_task, fill};
use urom_abi::host::{CmdTask, Data};
use urom_wire::fuzzing::Counting;
use urom_wire::fuzzing::memory::calls;

thread_local! {
    static COMPLETED: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

unsafe extern "C" fn count_and_release(task: *mut CmdTask, _: Data, _: Data) {
    assert_eq!(c!(doca_task_get_status(as_task(task))), OK);
    assert!(!c!(doca_urom_worker_cmd_task_get_response(task)).is_null());
    assert_eq!(c!(doca_urom_worker_cmd_task_release(task)), OK);
    COMPLETED.set(COMPLETED.get() + 1);
}

/// Sends commands with a deadline (`limit` nanoseconds) until `count` have completed.
fn run(engine: &Engine, worker: &TestWorker, payload: &[u8], limit: u64, count: u64) {
    let (goal, mut to_send) = (COMPLETED.get() + count, count);
    while COMPLETED.get() < goal {
        let mut task = null_mut();
        while to_send > 0
            && c!(doca_urom_worker_cmd_task_allocate_init(worker.raw, 1, &mut task)) == OK
        {
            c!(doca_urom_worker_cmd_task_set_cb(task, Some(count_and_release)));
            assert_eq!(x!(urom_worker_cmd_task_set_deadline(task, limit)), OK);
            fill(task, payload);
            assert_eq!(c!(doca_task_submit(as_task(task))), OK);
            to_send -= 1;
        }
        engine.progress();
    }
}

fn assert_no_allocations(max_inflight: u32, payload: &[u8], limit: u64) {
    with_worker(max_inflight, |engine, _, worker| {
        run(engine, worker, payload, limit, 20_000);
        let before = calls();
        run(engine, worker, payload, limit, 20_000);
        assert_eq!(calls() - before, 0);
        // Checks the counting allocator itself.
        drop(black_box(Box::new(0_u8)));
        assert_ne!(calls() - before, 0);
    });
}

#[test]
fn one_command_at_a_time_allocates_nothing() {
    assert_no_allocations(1, &op::ECHO.to_le_bytes(), 0);
}

#[test]
fn many_commands_at_a_time_allocate_nothing() {
    assert_no_allocations(64, &[op::ECHO.to_le_bytes(); 2].concat(), 0);
}

#[test]
fn long_commands_allocate_nothing() {
    assert_no_allocations(16, &[0; 4064], 0);
}

#[test]
fn commands_with_a_deadline_allocate_nothing() {
    const MINUTE: u64 = 60_000_000_000;
    assert_no_allocations(1, &op::ECHO.to_le_bytes(), MINUTE);
    assert_no_allocations(16, &[0; 4064], MINUTE);
}
