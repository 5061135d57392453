//! `doca_ctx_*`, `doca_pe_*`, `doca_task_*`, `doca_buf_*`.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::rc::Rc;

use urom_abi::DocaError;
use urom_abi::host::{self, Buf, Ctx, CtxState, Data, StateChangedCallback, Task};
use urom_log::{guard, guard_or};

use crate::library::ctx::Context;
use crate::library::gid::GidTask;
use crate::library::handle::{
    self, AnyTask, borrow, buffer, hold, present, publish, put, withdraw,
};
use crate::library::pe::Pe;

pub(super) unsafe extern "C" fn ctx_start(pointer: *mut Ctx) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let ctx: Rc<Context> = unsafe { hold(pointer) }?;
        ctx.start().check()
    })
}

pub(super) unsafe extern "C" fn ctx_stop(pointer: *mut Ctx) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let ctx: Rc<Context> = unsafe { hold(pointer) }?;
        ctx.stop().check()
    })
}

pub(super) unsafe extern "C" fn ctx_get_state(
    pointer: *const Ctx,
    state: *mut CtxState,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let ctx: &Context = unsafe { borrow(pointer) }?;
        // SAFETY: the caller's place.
        unsafe { put(state, ctx.state()) }
    })
}

pub(super) unsafe extern "C" fn ctx_set_user_data(pointer: *mut Ctx, data: Data) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let ctx: &Context = unsafe { borrow(pointer) }?;
        ctx.set_user_data(data);
        Ok(())
    })
}

pub(super) unsafe extern "C" fn ctx_get_user_data(
    pointer: *const Ctx,
    data: *mut Data,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let ctx: &Context = unsafe { borrow(pointer) }?;
        // SAFETY: the caller's place.
        unsafe { put(data, ctx.user_data()) }
    })
}

pub(super) unsafe extern "C" fn ctx_set_state_changed_cb(
    pointer: *mut Ctx,
    callback: Option<StateChangedCallback>,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let ctx: &Context = unsafe { borrow(pointer) }?;
        ctx.set_state_changed(callback);
        Ok(())
    })
}

pub(super) unsafe extern "C" fn ctx_get_num_inflight_tasks(
    pointer: *const Ctx,
    count: *mut usize,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let ctx: &Context = unsafe { borrow(pointer) }?;
        // SAFETY: the caller's place.
        unsafe { put(count, ctx.in_flight()) }
    })
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

pub(super) unsafe extern "C" fn pe_create(out: *mut *mut host::Pe) -> DocaError {
    guard(|| {
        present(out)?;
        let pe = Pe::new().map_err(|error| {
            tracing::error!(target: "urom_library", "a progress engine cannot be made: {error}");
            DocaError::OPERATING_SYSTEM
        })?;
        // SAFETY: the caller's place.
        unsafe { put(out, publish(pe)) }
    })
}

pub(super) unsafe extern "C" fn pe_destroy(pointer: *mut host::Pe) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let pe: &Pe = unsafe { borrow(pointer) }?;
        pe.may_go()?;
        // SAFETY: the caller\'s object.
        unsafe { withdraw::<Pe, _>(pointer) }.map(drop)
    })
}

pub(super) unsafe extern "C" fn pe_connect_ctx(pointer: *mut host::Pe, ctx: *mut Ctx) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let pe: &Pe = unsafe { borrow(pointer) }?;
        // SAFETY: the caller's object.
        let ctx: &Context = unsafe { borrow(ctx) }?;
        ctx.connect(pe.handle().ok_or(DocaError::INVALID_VALUE)?)
    })
}

pub(super) unsafe extern "C" fn pe_progress(pointer: *mut host::Pe) -> u8 {
    guard_or(0, || {
        // SAFETY: the caller's object.
        unsafe { handle::pe(pointer) }.map_or(0, Pe::progress)
    })
}

pub(super) unsafe extern "C" fn pe_progress_many(pointer: *mut host::Pe) -> u32 {
    guard_or(0, || {
        // SAFETY: the caller's object.
        unsafe { handle::pe(pointer) }.map_or(0, Pe::progress_many)
    })
}

pub(super) unsafe extern "C" fn pe_get_num_inflight_tasks(
    pointer: *const host::Pe,
    count: *mut usize,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let pe: &Pe = unsafe { borrow(pointer) }?;
        // SAFETY: the caller's place.
        unsafe { put(count, pe.in_flight()) }
    })
}

pub(super) unsafe extern "C" fn pe_get_notification_handle(
    pointer: *const host::Pe,
    fd: *mut c_int,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let pe: &Pe = unsafe { borrow(pointer) }?;
        // SAFETY: the caller's place.
        unsafe { put(fd, pe.notification_fd()) }
    })
}

pub(super) unsafe extern "C" fn pe_request_notification(pointer: *mut host::Pe) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        unsafe { handle::pe(pointer) }?.request_notification()
    })
}

pub(super) unsafe extern "C" fn pe_clear_notification(
    pointer: *mut host::Pe,
    fd: c_int,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let pe = unsafe { handle::pe(pointer) }?;
        if fd != pe.notification_fd() {
            return Err(DocaError::INVALID_VALUE);
        }
        pe.clear_notification();
        Ok(())
    })
}

pub(super) unsafe extern "C" fn task_submit(pointer: *mut Task) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        match unsafe { handle::task(pointer) }? {
            AnyTask::Command(task) => {
                task.head.is_callers()?;
                task.run().ok_or(DocaError::BAD_STATE)?.submit(task)
            }
            AnyTask::Query(task) => submit_query(task),
        }
    })
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

pub(super) unsafe extern "C" fn task_set_user_data(pointer: *mut Task, data: Data) {
    guard_or((), || {
        // SAFETY: the caller's object.
        if let Ok(task) = unsafe { handle::task(pointer) } {
            task.head().user_data.set(data);
        }
    });
}

pub(super) unsafe extern "C" fn task_get_user_data(pointer: *const Task) -> Data {
    guard_or(Data { u64: 0 }, || {
        // SAFETY: the caller's object.
        unsafe { handle::task(pointer) }.map_or(Data { u64: 0 }, |task| task.head().user_data.get())
    })
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

pub(super) unsafe extern "C" fn buf_get_data(
    pointer: *const Buf,
    data: *mut *mut c_void,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let buffer = unsafe { buffer(pointer) }?;
        // SAFETY: the caller's place.
        unsafe { put(data, buffer.data().cast()) }
    })
}

pub(super) unsafe extern "C" fn buf_get_data_len(
    pointer: *const Buf,
    len: *mut usize,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let buffer = unsafe { buffer(pointer) }?;
        // SAFETY: the caller's place.
        unsafe { put(len, buffer.len()) }
    })
}

pub(super) unsafe extern "C" fn buf_set_data(
    pointer: *mut Buf,
    data: *mut c_void,
    len: usize,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let buffer = unsafe { buffer(pointer) }?;
        present(data)?;
        buffer.set_data(data.cast(), len)
    })
}
