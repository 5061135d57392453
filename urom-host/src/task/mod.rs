//! Command tasks.

mod callback;
mod future;
mod handle;
mod outcome;
mod raw;
mod response;

pub use future::Completion;
pub use handle::TaskHandle;
pub use raw::{RawCompletion, RawTask};

pub(crate) use callback::submit_with;
pub(crate) use future::submit;
pub(crate) use response::{Arrived, Response};

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::time::Duration;

use urom_abi::host::{Api, Buf, CmdTask, Data};
use urom_abi::{DocaError, DocaStatus};

use crate::callback::guard;
use crate::error::Result;
use crate::library::non_null;
use crate::plugin::Plugin;
use crate::worker::{Context, RawReply, Slot, SlotState, TaskEnd, TaskPayload};

/// A command task not in flight. Dropping it returns its slot with the task.
pub(crate) struct Task<'a> {
    context: &'a Context,
    slot: &'a Slot,
}

impl<'a> Task<'a> {
    /// # Safety
    /// The slot belongs to `context`; it has its task, not in flight and without another user.
    #[inline]
    pub(crate) unsafe fn of(context: &'a Context, slot: &'a Slot) -> Task<'a> {
        Task { context, slot }
    }

    #[inline]
    fn api(&self) -> &'static Api {
        // Checked at the allocation.
        self.context.library.api()
    }

    #[inline]
    pub(crate) fn into_slot(self) -> &'a Slot {
        ManuallyDrop::new(self).slot
    }

    #[inline]
    pub(crate) fn leave(self) {
        self.into_slot();
    }

    #[inline]
    pub(crate) fn allocate(context: &'a Context, plugin: &Plugin) -> Result<Task<'a>> {
        context.check()?;
        if plugin.service() != context.serial || plugin.id() & context.plugins == 0 {
            return Err(outcome::foreign(context, plugin));
        }
        let slot = match context.slots.take_ready() {
            Some(slot) => slot,
            None => Task::make(context, plugin)?,
        };
        // SAFETY: a ready or new task is not in flight, and was taken from the slots here.
        let task = unsafe { Task::of(context, slot) };
        if slot.plugin.get() != plugin.id() {
            task.address(plugin.id());
        }
        Ok(task)
    }

    #[cold]
    fn address(&self, plugin: u64) {
        // SAFETY: the task is live and not in flight.
        unsafe {
            (self.api().doca_urom_worker_cmd_task_set_plugin)(self.slot.command.as_ptr(), plugin)
        };
        self.slot.plugin.set(plugin);
    }

    /// Allocates a task (`doca_urom_worker_cmd_task_allocate_init`) and reads its constants.
    #[cold]
    fn make(context: &'a Context, plugin: &Plugin) -> Result<&'a Slot> {
        let what = || "allocating a command task";
        let api = context.library.api();
        let mut command = ptr::null_mut();
        // SAFETY: the worker is live, and the pointer is to a local variable.
        let status = unsafe {
            (api.doca_urom_worker_cmd_task_allocate_init)(
                context.object(),
                plugin.id(),
                &mut command,
            )
        };
        status.check().map_err(|code| outcome::refused(context, plugin.name(), code))?;
        let command = non_null(command, what)?;
        let found = || -> Result<(Slot, Option<NonNull<c_void>>)> {
            // SAFETY: the task was allocated above, and is released below at the earliest.
            let payload = unsafe { (api.doca_urom_worker_cmd_task_get_payload)(command.as_ptr()) };
            let what_payload = || "asking a command task for its payload";
            let buffer = non_null(payload, what_payload)?;
            let (data, capacity) = extent(context, buffer);
            let payload = TaskPayload { buffer, data: non_null(data, what_payload)?, capacity };
            // SAFETY: the task was allocated above, and is released below at the earliest.
            let task = unsafe { (api.doca_urom_worker_cmd_task_as_task)(command.as_ptr()) };
            let get_end = context.task_extensions().urom_worker_cmd_task_get_end;
            let end = get_end.and_then(|get_end| {
                // SAFETY: the task was allocated above, and is released below at the earliest.
                let end = unsafe { get_end(command.as_ptr()) };
                NonNull::new(end.cast_mut())
            });
            let get_area = context.task_extensions().urom_worker_cmd_task_get_area;
            let area = get_area.map(|get_area| {
                // SAFETY: the task was allocated above, and is released below at the earliest.
                non_null(unsafe { get_area(command.as_ptr()) }, || "asking a task for its area")
            });
            let slot = Slot::new(command, non_null(task, what)?, payload, end, plugin.id());
            Ok((slot, area.transpose()?))
        };
        let (slot, area) = found().inspect_err(|_| {
            // SAFETY: the task is live, not in flight, and this function's own.
            unsafe { (api.doca_urom_worker_cmd_task_release)(command.as_ptr()) };
        })?;
        // SAFETY: the task's area has `CMD_TASK_AREA` bytes.
        let slot = unsafe { context.slots.add(slot, area) };
        // SAFETY: the task is live and not in flight.
        unsafe { (api.doca_urom_worker_cmd_task_set_cb)(command.as_ptr(), Some(on_complete)) };
        let data = Data { ptr: NonNull::from(slot).as_ptr().cast::<c_void>() };
        // SAFETY: the task is live and not in flight.
        unsafe { (api.doca_task_set_user_data)(slot.task.as_ptr(), data) };
        Ok(slot)
    }

    #[inline]
    pub(crate) fn payload(&mut self) -> &mut [u8] {
        // SAFETY: the task's own writable memory of that many bytes; the task is not in flight, and
        // this is the only borrow.
        unsafe { std::slice::from_raw_parts_mut(self.slot.data.as_ptr(), self.slot.capacity) }
    }

    #[inline]
    pub(crate) fn set_len(&mut self, length: usize) -> Result<()> {
        if self.slot.length.get() as usize == length {
            return Ok(());
        }
        self.set_other_len(length)
    }

    #[inline(never)]
    fn set_other_len(&self, length: usize) -> Result<()> {
        let (payload, data) =
            (self.slot.payload.as_ptr(), self.slot.data.as_ptr().cast::<c_void>());
        // SAFETY: the buffer belongs to the task, and the range starts at its data.
        let status = unsafe { (self.api().doca_buf_set_data)(payload, data, length) };
        crate::error::check(status, || "setting the length of a command")?;
        self.slot.length.set(u32::try_from(length).unwrap_or(u32::MAX));
        Ok(())
    }

    /// Submits the task (`doca_task_submit`): the library owns it until completion or an error.
    #[inline]
    pub(crate) fn submit(
        self,
        state: SlotState,
        deadline: Option<Duration>,
    ) -> Result<&'a Slot, (DocaError, Task<'a>)> {
        let (context, slot) = (self.context, self.slot);
        let limit = deadline.or(context.settings.timeout).map_or(0, nanoseconds);
        if limit != slot.limit.get() {
            context.set_limit(slot, limit);
        }
        slot.state.set(state);
        // SAFETY: the task is live, not in flight, and has its callback.
        let status = unsafe { (self.api().doca_task_submit)(slot.task.as_ptr()) };
        if let Err(code) = status.check() {
            slot.state.set(SlotState::Idle);
            return Err((code, self));
        }
        let serial = context.submitted.get() + 1;
        context.submitted.set(serial);
        slot.serial.set(serial);
        if limit != 0 {
            context.begin_limit(slot);
        }
        Ok(self.into_slot())
    }

    /// Status and notification of a complete task. The bytes are its writable memory until release.
    #[inline]
    fn end(&self) -> (DocaStatus, Option<NonNull<[u8]>>) {
        if let Some(end) = self.slot.end {
            // SAFETY: the library keeps this memory while the task is live.
            let end = unsafe { end.read() };
            let data = NonNull::new(end.response.cast::<u8>());
            return (end.status, data.map(|data| NonNull::slice_from_raw_parts(data, end.length)));
        }
        // SAFETY: `self` keeps the task from `Context::release`, and the task is complete.
        let status = unsafe { (self.api().doca_task_get_status)(self.slot.task.as_ptr()) };
        // SAFETY: `self` keeps the task from `Context::release`, and the task is complete.
        let buffer = unsafe {
            (self.api().doca_urom_worker_cmd_task_get_response)(self.slot.command.as_ptr())
        };
        let bytes = NonNull::new(buffer).and_then(|buffer| -> Option<NonNull<[u8]>> {
            let (data, length) = extent(self.context, buffer);
            if length == 0 {
                return Some(NonNull::from(&mut []));
            }
            Some(NonNull::slice_from_raw_parts(NonNull::new(data)?, length))
        });
        (status, bytes)
    }

    pub(crate) fn has_response(&self) -> bool {
        self.end().1.is_some()
    }

    pub(crate) fn cancelled(&self) -> Option<TaskEnd> {
        // SAFETY: the library keeps this memory while the task is live.
        let end =
            self.slot.end.map(|end| unsafe { end.read() }).filter(|end| end.cancelled != 0)?;
        Some(match end.status {
            DocaStatus::TIME_OUT => TaskEnd::TimedOut(self.slot.limit.get()),
            _ => TaskEnd::Cancelled,
        })
    }

    pub(crate) fn reply(&self) -> RawReply {
        let (status, bytes) = self.end();
        // SAFETY: the response is the task's memory until its release, not written meanwhile.
        let bytes = bytes.map(|bytes| unsafe { bytes.as_ref() }.to_vec());
        let why = match status {
            DocaStatus::SUCCESS => String::new(),
            _ => self.context.why(self.slot),
        };
        RawReply { status, bytes, why }
    }
}

/// 0 means no deadline. A zero limit becomes 1; an overflow becomes 0.
fn nanoseconds(limit: Duration) -> u64 {
    u64::try_from(limit.as_nanos()).unwrap_or(0).max(limit.is_zero().into())
}

impl Drop for Task<'_> {
    #[inline]
    fn drop(&mut self) {
        self.context.give_back(self.slot);
    }
}

#[inline]
fn extent(context: &Context, buffer: NonNull<Buf>) -> (*mut u8, usize) {
    let (mut data, mut length) = (ptr::null_mut(), 0);
    // SAFETY: the buffer belongs to a live task, and the pointer is to a local variable.
    let status = unsafe { (context.library.api().doca_buf_get_data)(buffer.as_ptr(), &mut data) };
    if status != DocaStatus::SUCCESS {
        return (ptr::null_mut(), 0);
    }
    // SAFETY: as above.
    let status =
        unsafe { (context.library.api().doca_buf_get_data_len)(buffer.as_ptr(), &mut length) };
    if status != DocaStatus::SUCCESS {
        return (ptr::null_mut(), 0);
    }
    (data.cast::<u8>(), length)
}

/// The data are the addresses of the task's slot and of the worker's context.
/// # Safety
/// Only for tasks made by [`Task::make`].
unsafe extern "C" fn on_complete(_task: *mut CmdTask, task_data: Data, ctx_data: Data) {
    // SAFETY: the task data was set to a pointer.
    let slot = unsafe { task_data.ptr };
    // SAFETY: the context's data was also set to a pointer.
    let context = unsafe { ctx_data.ptr };
    let Some(slot) = NonNull::new(slot.cast::<Slot>()) else { return };
    let Some(context) = NonNull::new(context.cast::<Context>()) else { return };
    // SAFETY: slots stay until the last callback of their worker in the library.
    let slot = unsafe { slot.as_ref() };
    // SAFETY: the context is freed after its last callback, like its slots.
    let context = unsafe { context.as_ref() };
    if slot.state.get() == SlotState::Waiting && !slot.is_watched() && !context.is_winding_down() {
        // The usual case: nothing in it can unwind.
        slot.state.set(SlotState::Complete);
    } else {
        // SAFETY: this is the completion of the slot's task.
        guard(|| unsafe { context.complete(slot) });
    }
}
