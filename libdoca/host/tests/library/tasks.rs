//! Command tasks: slots, buffers, user data.

use std::cell::Cell;
use std::ptr::null_mut;

use urom_abi::host::{CmdTask, Data};
use urom_abi::{DocaError, DocaStatus};

use crate::processes::{op, with_worker};
use crate::support::{
    OK, as_task, command, fill, note_and_keep, note_and_release, response, take_done,
};

#[test]
fn a_response_is_as_long_as_the_notification() {
    with_worker(2, |engine, _, worker| {
        for len in [0, 1, 7, 4064, 8, 500] {
            worker.submit(&command(op::BIG, len));
            assert_eq!(engine.done().response.map(|bytes| bytes.len() as u64), Some(len));
        }
        for len in [0, 1, 23, 4064, 4072] {
            let payload = vec![0; len];
            worker.submit(&payload);
            let done = engine.done();
            let expected =
                if len > 4064 { (DocaStatus::TOO_BIG, None) } else { (OK, Some(payload)) };
            assert_eq!((done.status, done.response), expected, "{len}");
        }
    });
}

#[test]
fn a_second_answer_to_one_command_matches_none() {
    with_worker(1, |engine, _, worker| {
        for word in 0..100 {
            worker.submit(&command(op::TWICE, word));
            assert_eq!(engine.next(), 1);
            let done = take_done();
            assert_eq!((done.len(), done[0].response.clone()), (1, Some(command(op::TWICE, word))));
        }
        engine.is_quiet(10_000);
    });
}

#[test]
fn as_many_tasks_as_allowed_can_be_allocated_and_each_is_one_hosts() {
    with_worker(3, |engine, _, worker| {
        let tasks: Vec<*mut CmdTask> = (0..3).map(|_| worker.allocate().unwrap()).collect();
        assert_eq!(worker.allocate(), Err(DocaError::NO_MEMORY));
        assert_eq!(c!(doca_urom_worker_cmd_task_release(tasks[1])), OK);
        assert_eq!(c!(doca_urom_worker_cmd_task_release(tasks[1])), DocaError::INVALID_VALUE);
        assert_eq!(c!(doca_task_submit(as_task(tasks[1]))), DocaError::INVALID_VALUE);
        assert_eq!(worker.allocate(), Ok(tasks[1]));
        assert_eq!(worker.allocate(), Err(DocaError::NO_MEMORY));
        // In flight, the task cannot be released or submitted.
        fill(tasks[0], &command(op::HOLD, 0));
        assert_eq!(c!(doca_task_get_status(as_task(tasks[0]))), DocaError::BAD_STATE);
        assert_eq!(c!(doca_task_submit(as_task(tasks[0]))), OK);
        assert_eq!(c!(doca_task_submit(as_task(tasks[0]))), DocaError::NOT_PERMITTED);
        assert_eq!(c!(doca_urom_worker_cmd_task_release(tasks[0])), DocaError::NOT_PERMITTED);
        assert_eq!(c!(doca_task_get_status(as_task(tasks[0]))), DocaError::IN_PROGRESS);
        assert!(response(tasks[0]).is_none());
        c!(doca_urom_worker_cmd_task_set_cb(tasks[2], Some(note_and_keep)));
        for word in 0..3 {
            fill(tasks[2], &command(op::ECHO, word));
            assert_eq!(c!(doca_task_submit(as_task(tasks[2]))), OK);
            assert!(response(tasks[2]).is_none());
            assert_eq!(engine.next(), 1);
            assert_eq!(take_done().len(), 1);
            assert_eq!(response(tasks[2]), Some(command(op::ECHO, word)));
        }
        fill(tasks[2], &command(op::RELEASE, 0));
        assert_eq!(c!(doca_task_submit(as_task(tasks[2]))), OK);
        assert_eq!((engine.next(), engine.next()), (1, 1));
        assert_eq!(take_done().len(), 2);
        assert_eq!(c!(doca_urom_worker_cmd_task_release(tasks[1])), OK);
        assert_eq!(c!(doca_urom_worker_cmd_task_release(tasks[2])), OK);
    });
}

#[test]
fn a_payload_over_the_limit_is_too_big_and_the_task_still_the_callers() {
    with_worker(1, |engine, _, worker| {
        let task = worker.allocate().unwrap();
        let buf = c!(doca_urom_worker_cmd_task_get_payload(task));
        let (mut data, mut capacity) = (null_mut(), 0);
        assert_eq!(c!(doca_buf_get_data(buf, &mut data)), OK);
        assert_eq!(c!(doca_buf_get_data_len(buf, &mut capacity)), OK);
        assert_eq!((capacity, data.addr() % 8), (4096 - 24, 0));
        assert_eq!(c!(doca_buf_set_data(buf, data, capacity + 1)), DocaError::INVALID_VALUE);
        assert_eq!(c!(doca_task_submit(as_task(task))), DocaError::TOO_BIG);
        assert_eq!(
            c!(doca_buf_set_data(buf, data.wrapping_byte_sub(8), 8)),
            DocaError::INVALID_VALUE
        );
        assert_eq!(c!(doca_task_submit(as_task(task))), DocaError::INVALID_VALUE);
        assert_eq!(engine.in_flight(), 0);
        // Data after the head also arrives.
        fill(task, &command(op::ECHO, 5));
        assert_eq!(c!(doca_buf_set_data(buf, data.wrapping_byte_add(8), 8)), OK);
        assert_eq!(c!(doca_task_submit(as_task(task))), OK);
        assert_eq!(engine.done().response, Some(5_u64.to_le_bytes().to_vec()));
    });
}

#[test]
fn a_plugin_the_worker_does_not_have_is_refused() {
    with_worker(1, |_, _, worker| {
        let mut task = null_mut();
        for plugin in [0, 2, 3, 1 << 61, 1 << 63] {
            let code = c!(doca_urom_worker_cmd_task_allocate_init(worker.raw, plugin, &mut task));
            assert_eq!(code, DocaError::INVALID_VALUE, "{plugin}");
        }
        assert_eq!(c!(doca_urom_worker_cmd_task_allocate(worker.raw, &mut task)), OK);
        assert_eq!(c!(doca_task_submit(as_task(task))), DocaError::INVALID_VALUE);
        c!(doca_urom_worker_cmd_task_set_plugin(task, 3));
        assert_eq!(c!(doca_task_submit(as_task(task))), DocaError::INVALID_VALUE);
        assert_eq!(c!(doca_urom_worker_cmd_task_release(task)), OK);
    });
}

thread_local! {
    static AREA: Cell<[u64; 4]> = const { Cell::new([0; 4]) };
}

unsafe extern "C" fn take_area(task: *mut CmdTask, task_data: Data, ctx_data: Data) {
    let area = c!(doca_urom_worker_cmd_task_get_user_data(task)).cast::<[u64; 4]>();
    // SAFETY: the task's own 32 bytes, 8-aligned.
    AREA.set(unsafe { *area });
    // SAFETY: called with the arguments of this callback.
    unsafe { note_and_release(task, task_data, ctx_data) };
}

fn task_data(task: *mut CmdTask) -> Data {
    c!(doca_task_get_user_data(as_task(task)))
}

#[test]
fn user_data_of_every_kind_comes_back() {
    with_worker(2, |engine, _, worker| {
        assert_eq!(c!(doca_ctx_set_user_data(worker.ctx, Data { u64: 77 })), OK);
        let mut read = Data { u64: 0 };
        assert_eq!(c!(doca_ctx_get_user_data(worker.ctx, &mut read)), OK);
        // SAFETY: every bit pattern is a number.
        assert_eq!(unsafe { read.u64 }, 77);
        let task = worker.task(&command(op::ECHO, 0));
        let area = c!(doca_urom_worker_cmd_task_get_user_data(task)).cast::<[u64; 4]>();
        assert!(area.is_aligned());
        // SAFETY: the task's own 32 bytes.
        assert_eq!(unsafe { area.replace([1, 2, 3, 4]) }, [0; 4]);
        c!(doca_urom_worker_cmd_task_set_cb(task, Some(take_area)));
        c!(doca_task_set_user_data(as_task(task), Data { u64: 88 }));
        // SAFETY: every bit pattern is a number.
        assert_eq!(unsafe { task_data(task).u64 }, 88);
        assert_eq!(c!(doca_task_get_ctx(as_task(task))), worker.ctx);
        assert_eq!(c!(doca_task_submit(as_task(task))), OK);
        let mut count = 0;
        assert_eq!(c!(doca_ctx_get_num_inflight_tasks(worker.ctx, &mut count)), OK);
        assert_eq!(count, 1);
        let done = engine.done();
        assert_eq!((done.task_data, done.ctx_data, AREA.get()), (88, 77, [1, 2, 3, 4]));
        assert_eq!(c!(doca_ctx_get_num_inflight_tasks(worker.ctx, &mut count)), OK);
        assert_eq!(count, 0);
        // The next user of the slot gets reset data.
        let next = worker.allocate().unwrap();
        let area = c!(doca_urom_worker_cmd_task_get_user_data(next)).cast::<[u64; 4]>();
        // SAFETY: the task's own 32 bytes.
        assert_eq!(unsafe { area.read() }, [0; 4]);
        // SAFETY: every bit pattern is a number.
        assert_eq!(unsafe { task_data(next).u64 }, 0);
        assert_eq!(c!(doca_urom_worker_cmd_task_release(next)), OK);
    });
}
