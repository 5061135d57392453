//! `doca_ctx_*`, `doca_pe_*`, `doca_task_*`.

use std::ffi::{c_char, c_int};
use std::rc::Rc;

use urom_abi::host::{self, Ctx, CtxState, Data, StateChangedCallback, Task};
use urom_abi::{DocaError, DocaStatus};
use urom_log::{guard, guard_or};

use crate::failure::refuse_if;
use crate::handle::{Opaque, destroy, present, publish, put, put_text_of};
use crate::pe::Pe;
use crate::pe::any_task::AnyTask;
use crate::pe::ctx::Context;
use crate::pe::ctx::worker::Worker;
use crate::pe::run::WorkerRun;
use crate::table::{
    doca_urom_service_get_workers_by_gid_task_release, doca_urom_worker_cmd_task_release,
};

pub(super) use self::doca_task_submit as doca_task_try_submit;

/// `enum doca_task_submit_flag`. `OPTIMIZE_REPORTS` is ignored: each task has its own callback.
const SUBMIT_FLUSH: u32 = 1;
const SUBMIT_OPTIMIZE_REPORTS: u32 = 2;

functions! {
    fn doca_ctx_start[ctx: *mut Ctx]() { ctx.start() }

    fn doca_ctx_stop[ctx: *mut Ctx]() { ctx.stop() }

    fn doca_ctx_get_state[ctx: *const Ctx](state: *mut CtxState) => state { ctx.state.get() }

    fn doca_ctx_set_user_data[ctx: *mut Ctx](data: Data) {
        ctx.user_data.set(data);
        Ok(())
    }

    fn doca_ctx_get_user_data[ctx: *const Ctx](data: *mut Data) => data { ctx.user_data.get() }

    fn doca_ctx_set_state_changed_cb[ctx: *mut Ctx](callback: Option<StateChangedCallback>) {
        ctx.state_changed.set(callback);
        Ok(())
    }

    fn doca_ctx_get_num_inflight_tasks[ctx: *const Ctx](count: *mut usize) => count {
        ctx.in_flight()
    }

    fn urom_ctx_get_failure_code[ctx: *const Ctx]() {
        ctx.with_failure(|failure| failure.code).map_or(Ok(()), Err)
    }

    fn doca_pe_create[](out: *mut *mut host::Pe) => out {
        let pe = Pe::new().map_err(|error| {
            log!(error, "a progress engine cannot be made: {error}");
            DocaError::OPERATING_SYSTEM
        })?;
        publish(pe)
    }

    fn doca_pe_destroy[](pointer: *mut host::Pe) {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        let pe = unsafe { <host::Pe as Opaque>::find(pointer) }?;
        pe.see_out();
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        unsafe { destroy(pointer, Pe::may_go) }.map(drop)
    }

    fn doca_pe_connect_ctx[pe: *mut host::Pe, ctx: *mut Ctx]() { ctx.connect(pe.handle()?) }

    fn doca_pe_progress[pe: *mut host::Pe]() -> u8 { pe.progress() }

    fn urom_pe_progress_many[pe: *mut host::Pe]() -> u32 { pe.progress_many() }

    fn urom_pe_wake_within[pe: *mut host::Pe](nanoseconds: u64) {
        pe.wake_within(nanoseconds);
        Ok(())
    }

    fn doca_pe_get_num_inflight_tasks[pe: *const host::Pe](count: *mut usize) => count {
        pe.in_flight()
    }

    fn doca_pe_get_notification_handle[pe: *const host::Pe](fd: *mut c_int) => fd {
        pe.notification_fd()
    }

    fn doca_pe_request_notification[pe: *mut host::Pe]() { pe.request_notification() }

    fn doca_pe_clear_notification[pe: *mut host::Pe](fd: c_int) {
        refuse_if(fd != pe.notification_fd(), DocaError::INVALID_VALUE)?;
        pe.clear_notification();
        Ok(())
    }

    fn doca_task_submit[task: *mut Task]() { task.submit() }

    fn doca_task_submit_ex[task: *mut Task](flags: u32) {
        let unknown = flags & !(SUBMIT_FLUSH | SUBMIT_OPTIMIZE_REPORTS);
        refuse_if(unknown != 0, DocaError::INVALID_VALUE)?;
        task.submit()?;
        if flags & SUBMIT_FLUSH != 0
            && let AnyTask::Command(task) = task
        {
            task.run().into_iter().for_each(WorkerRun::flush);
        }
        Ok(())
    }

    fn doca_ctx_flush_tasks[ctx: *mut Ctx]() -> () {
        ctx.part().into_iter().for_each(Worker::flush);
    }

    fn doca_task_get_status[task: *const Task]() { task.head().shown_status().check() }

    fn doca_task_set_user_data[task: *mut Task](data: Data) -> () {
        task.head().user_data.set(data);
    }

    fn doca_task_get_user_data[task: *const Task]() -> Data { task.head().user_data.get() }

    fn doca_task_get_ctx[task: *const Task]() -> *mut Ctx { task.ctx() }
}

pub(super) unsafe extern "C" fn urom_ctx_get_failure(
    pointer: *const Ctx,
    text: *mut c_char,
    capacity: usize,
) -> usize {
    let failure = |ctx: Rc<Context>| ctx.with_failure(|failure| failure.text.clone());
    // SAFETY: NULL, or an object that the host keeps alive in this call; `text` has `capacity`
    // bytes.
    guard_or(0, || unsafe { put_text_of(pointer, failure, text, capacity) })
}

/// Releases a task of any kind, also inside its callback. After an error the caller still owns it.
///
/// # Safety
/// The task is null, or from this library.
pub unsafe extern "C" fn task_release(pointer: *mut Task) -> DocaStatus {
    guard(|| {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        match unsafe { Task::find(pointer) }? {
            AnyTask::Command(_) => {
                // SAFETY: the caller's command.
                unsafe { doca_urom_worker_cmd_task_release(pointer.cast()) }.check()
            }
            AnyTask::Query(_) => {
                // SAFETY: the caller's query.
                unsafe { doca_urom_service_get_workers_by_gid_task_release(pointer.cast()) }.check()
            }
            AnyTask::Local(task) => task.release().map(drop),
        }
    })
}
