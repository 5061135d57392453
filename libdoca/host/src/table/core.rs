//! `doca_ctx_*`, `doca_pe_*`, `doca_task_*`, `doca_buf_*`.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use urom_abi::DocaError;
use urom_abi::host::{self, Buf, Ctx, CtxState, Data, StateChangedCallback, Task};
use urom_log::{guard, guard_or};

use crate::handle::{self, AnyTask, borrow, buffer, hold, present, publish, put, withdraw};
use crate::pe::Pe;
use crate::pe::ctx::Context;
use crate::pe::ctx::service::gid::GidTask;

functions! {
    fn ctx_start(pointer: *mut Ctx) [ctx = hold::<Context, _>, pointer] {
        ctx.start().check()
    }

    fn ctx_stop(pointer: *mut Ctx) [ctx = hold::<Context, _>, pointer] {
        ctx.stop().check()
    }

    fn ctx_get_state(pointer: *const Ctx, state: *mut CtxState)
        [ctx = borrow::<Context, _>, pointer] => state {
        ctx.state()
    }

    fn ctx_set_user_data(pointer: *mut Ctx, data: Data) [ctx = borrow::<Context, _>, pointer] {
        ctx.set_user_data(data);
        Ok(())
    }

    fn ctx_get_user_data(pointer: *const Ctx, data: *mut Data)
        [ctx = borrow::<Context, _>, pointer] => data {
        ctx.user_data()
    }

    fn ctx_set_state_changed_cb(pointer: *mut Ctx, callback: Option<StateChangedCallback>)
        [ctx = borrow::<Context, _>, pointer] {
        ctx.set_state_changed(callback);
        Ok(())
    }

    fn ctx_get_num_inflight_tasks(pointer: *const Ctx, count: *mut usize)
        [ctx = borrow::<Context, _>, pointer] => count {
        ctx.in_flight()
    }
}

pub(super) unsafe extern "C" fn ctx_get_failure(
    pointer: *const Ctx,
    text: *mut c_char,
    capacity: usize,
) -> usize {
    guard_or(0, || {
        // SAFETY: the caller's object.
        let Ok(ctx) = (unsafe { borrow::<Context, _>(pointer) }) else { return 0 };
        let len = ctx.with_failure(|failure| {
            if !text.is_null() {
                let len = failure.text.len().min(capacity);
                // SAFETY: the caller's place has `capacity` bytes, and the text is not in it.
                unsafe { text.cast::<u8>().copy_from_nonoverlapping(failure.text.as_ptr(), len) };
            }
            failure.text.len()
        });
        len.unwrap_or(0)
    })
}

pub(super) unsafe extern "C" fn ctx_get_failure_code(pointer: *const Ctx) -> DocaError {
    guard_or(DocaError::UNEXPECTED, || {
        // SAFETY: the caller's object.
        let Ok(ctx) = (unsafe { borrow::<Context, _>(pointer) }) else {
            return DocaError::INVALID_VALUE;
        };
        ctx.with_failure(|failure| DocaError(failure.code)).unwrap_or(DocaError::SUCCESS)
    })
}

functions! {
    fn pe_create(out: *mut *mut host::Pe) [] => out {
        let pe = Pe::new().map_err(|error| {
            tracing::error!(target: "urom_library", "a progress engine cannot be made: {error}");
            DocaError::OPERATING_SYSTEM
        })?;
        publish(pe)
    }

    fn pe_destroy(pointer: *mut host::Pe) [pe = borrow::<Pe, _>, pointer] {
        pe.may_go()?;
        // SAFETY: the caller's object.
        unsafe { withdraw::<Pe, _>(pointer) }.map(drop)
    }

    fn pe_connect_ctx(pointer: *mut host::Pe, ctx: *mut Ctx)
        [pe = borrow::<Pe, _>, pointer; ctx = borrow::<Context, _>, ctx] {
        ctx.connect(pe.handle().ok_or(DocaError::INVALID_VALUE)?)
    }
}

answers! {
    fn pe_progress(pointer: *mut host::Pe) -> u8, otherwise 0; [pe = handle::pe, pointer] {
        pe.progress()
    }

    fn pe_progress_many(pointer: *mut host::Pe)
        -> u32, otherwise 0; [pe = handle::pe, pointer] {
        pe.progress_many()
    }
}

functions! {
    fn pe_get_num_inflight_tasks(pointer: *const host::Pe, count: *mut usize)
        [pe = borrow::<Pe, _>, pointer] => count {
        pe.in_flight()
    }

    fn pe_get_notification_handle(pointer: *const host::Pe, fd: *mut c_int)
        [pe = borrow::<Pe, _>, pointer] => fd {
        pe.notification_fd()
    }

    fn pe_request_notification(pointer: *mut host::Pe) [pe = handle::pe, pointer] {
        pe.request_notification()
    }

    fn pe_clear_notification(pointer: *mut host::Pe, fd: c_int) [pe = handle::pe, pointer] {
        if fd != pe.notification_fd() {
            return Err(DocaError::INVALID_VALUE);
        }
        pe.clear_notification();
        Ok(())
    }

    fn task_submit(pointer: *mut Task) [task = handle::task, pointer] {
        match task {
            AnyTask::Command(task) => {
                task.head.is_callers()?;
                task.run().ok_or(DocaError::BAD_STATE)?.submit(task)
            }
            AnyTask::Query(task) => submit_query(task),
        }
    }
}

#[cold]
fn submit_query(task: &GidTask) -> Result<(), DocaError> {
    task.head.is_callers()?;
    task.run.upgrade().ok_or(DocaError::BAD_STATE)?.submit(task)
}

pub(super) unsafe extern "C" fn task_get_status(pointer: *const Task) -> DocaError {
    guard_or(DocaError::UNEXPECTED, || {
        // SAFETY: the caller's object.
        unsafe { handle::task(pointer) }.map_or_else(|code| code, |task| task.head().shown_status())
    })
}

answers! {
    fn task_set_user_data(pointer: *mut Task, data: Data)
        -> (), otherwise (); [task = handle::task, pointer] {
        task.head().user_data.set(data);
    }

    fn task_get_user_data(pointer: *const Task)
        -> Data, otherwise Data { u64: 0 }; [task = handle::task, pointer] {
        task.head().user_data.get()
    }
}

pub(super) unsafe extern "C" fn task_get_ctx(pointer: *const Task) -> *mut Ctx {
    guard_or(ptr::null_mut(), || {
        // SAFETY: the caller's object.
        match unsafe { handle::task(pointer) } {
            Ok(AnyTask::Command(task)) => {
                task.run().map_or(ptr::null_mut(), |run| run.context().as_ctx())
            }
            Ok(AnyTask::Query(task)) => {
                task.ctx.upgrade().map_or(ptr::null_mut(), |ctx| ctx.as_ctx())
            }
            Err(_) => ptr::null_mut(),
        }
    })
}

functions! {
    fn buf_get_data(pointer: *const Buf, data: *mut *mut c_void)
        [buffer = buffer, pointer] => data {
        buffer.data().cast()
    }

    fn buf_get_data_len(pointer: *const Buf, len: *mut usize) [buffer = buffer, pointer] => len {
        buffer.len()
    }

    fn buf_set_data(pointer: *mut Buf, data: *mut c_void, len: usize) [buffer = buffer, pointer] {
        present(data)?;
        buffer.set_data(data.cast(), len)
    }
}
