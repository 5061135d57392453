//! What commands get beyond DOCA's interface: ends that are read where they lie, and several
//! completions in one call.

use urom_abi::DocaError;
use urom_abi::host::{CmdTask, CmdTaskEnd};

use crate::processes::{op, with_worker};
use crate::support::{Engine, OK, as_task, command, fill, note_and_keep, take_done, until};

fn end_of(task: *mut CmdTask) -> *const CmdTaskEnd {
    x!(urom_worker_cmd_task_get_end(task))
}

/// One call that may deliver several commands.
fn many(engine: &Engine) -> u32 {
    x!(urom_pe_progress_many(engine.0))
}

fn many_until_something(engine: &Engine) -> u32 {
    let mut seen = 0;
    until("nothing happens", || {
        seen = many(engine);
        seen != 0
    });
    seen
}

#[test]
fn the_end_of_a_task_is_read_where_it_lies_however_often_it_is_submitted() {
    with_worker(1, |engine, _, worker| {
        let task = worker.allocate().unwrap();
        c!(doca_urom_worker_cmd_task_set_cb(task, Some(note_and_keep)));
        let end = end_of(task);
        for (payload, status) in [
            (command(op::ECHO, 1), OK),
            (command(op::STATUS, 17), DocaError(17)),
            (command(op::ECHO, 2), OK),
        ] {
            fill(task, &payload);
            assert_eq!(c!(doca_task_submit(as_task(task))), OK);
            let done = engine.done();
            assert_eq!(end_of(task), end);
            // SAFETY: the place is the task's, which is complete.
            let CmdTaskEnd { status: read, response, length } = unsafe { end.read() };
            assert_eq!((read, done.status), (status, status));
            let bytes = (!response.is_null()).then(|| {
                // SAFETY: the response of a complete task, of that length.
                unsafe { std::slice::from_raw_parts(response.cast::<u8>(), length) }.to_vec()
            });
            assert_eq!(bytes, done.response);
        }
        assert_eq!(c!(doca_urom_worker_cmd_task_release(task)), OK);
        assert!(end_of(std::ptr::null_mut()).is_null());
    });
}

#[test]
fn commands_that_are_ready_complete_in_one_call_and_in_the_order_of_the_answers() {
    with_worker(16, |engine, _, worker| {
        let tasks: Vec<usize> =
            (0..15).map(|word| worker.submit(&command(op::HOLD, word)).addr()).collect();
        assert_eq!(many(engine), 0);
        let release = worker.submit(&command(op::RELEASE, 0)).addr();
        let mut delivered = 0;
        while delivered < 16 {
            let before = delivered;
            delivered += many_until_something(engine);
            assert!(delivered > before);
        }
        let done: Vec<usize> = take_done().iter().map(|done| done.task).collect();
        assert_eq!(done, tasks.into_iter().chain([release]).collect::<Vec<_>>());
        assert_eq!((many(engine), engine.in_flight()), (0, 0));
    });
}

#[test]
fn no_call_delivers_more_than_64_commands() {
    with_worker(200, |engine, _, worker| {
        for word in 0..199 {
            worker.submit(&command(op::HOLD, word));
        }
        worker.submit(&command(op::RELEASE, 0));
        let mut delivered = 0;
        while delivered < 200 {
            let now = many_until_something(engine);
            assert!(now <= 64, "{now}");
            delivered += now;
        }
        assert_eq!((delivered, take_done().len()), (200, 200));
    });
}
