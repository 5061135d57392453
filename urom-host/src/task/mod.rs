//! Command tasks.

mod callback;
mod future;
mod outcome;
mod raw;
mod response;

pub use future::Completion;
pub use raw::{RawCompletion, RawTask, Rejected};

pub(crate) use callback::submit_with;
pub(crate) use future::submit;
pub(crate) use response::Response;

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use urom_abi::DocaError;
use urom_abi::host::{Buf, CmdTask, CmdTaskCallback, Data};

use crate::error::{Error, Result};
use crate::library::non_null;
use crate::plugin::Plugin;
use crate::worker::Context;

/// A command task that is not in flight: released when dropped (`doca_urom_worker_cmd_task_release`).
pub(crate) struct Task<'a> {
    context: &'a Context,
    task: NonNull<CmdTask>,
}

impl<'a> Task<'a> {
    /// # Safety
    /// `task` is a live task of `context`, not in flight, and nobody else owns it.
    pub(crate) unsafe fn from_raw(context: &'a Context, task: NonNull<CmdTask>) -> Task<'a> {
        Task { context, task }
    }

    fn context(&self) -> &'a Context {
        self.context
    }

    /// The task without the duty to release it.
    pub(crate) fn into_raw(self) -> NonNull<CmdTask> {
        std::mem::ManuallyDrop::new(self).task
    }

    /// Allocates a task for a command to `plugin`.
    pub(crate) fn allocate(context: &'a Context, plugin: &Plugin) -> Result<Task<'a>> {
        if plugin.service() != context.service.serial() {
            return Err(Error::new(
                DocaError::INVALID_VALUE,
                outcome::what(context, plugin.name(), "command"),
            )
            .why("the plugin was found on another service, and ids of one mean nothing to another")
            .hint("look the plugin up on this worker's service"));
        }
        if plugin.id() & context.plugins.get() == 0 {
            return Err(Error::new(
                DocaError::INVALID_VALUE,
                outcome::what(context, plugin.name(), "command"),
            )
            .why("the worker was started without this plugin")
            .hint("name it with WorkerBuilder::plugin"));
        }
        let mut task = ptr::null_mut();
        // SAFETY: the worker is live, and the pointer is to a local variable.
        let code = unsafe {
            (context.api().doca_urom_worker_cmd_task_allocate_init)(context.worker(), plugin.id(), &mut task)
        };
        code.check().map_err(|code| outcome::refused(context, plugin.name(), code))?;
        let task = non_null(task, "allocating a command task")?;
        Ok(Task { context, task })
    }

    fn payload_buffer(&self) -> Result<NonNull<Buf>> {
        // SAFETY: the task is live.
        let buffer =
            unsafe { (self.context.api().doca_urom_worker_cmd_task_get_payload)(self.task.as_ptr()) };
        non_null(buffer, "asking a command task for its payload")
    }

    /// The memory of the command, all of its capacity as long as nothing was [sent](Self::set_len).
    pub(crate) fn payload(&mut self) -> Result<&mut [u8]> {
        let buffer = self.payload_buffer()?;
        let (data, length) = self.extent(buffer);
        let data = non_null(data, "asking a command task for its payload")?;
        // SAFETY: the buffer's data is the task's own memory, writable, `length` bytes, and this borrow is the only one.
        Ok(unsafe { std::slice::from_raw_parts_mut(data.as_ptr(), length) })
    }

    /// Declares the first `length` bytes of the payload to be the command.
    pub(crate) fn set_len(&mut self, length: usize) -> Result<()> {
        let buffer = self.payload_buffer()?;
        let (data, _) = self.extent(buffer);
        // SAFETY: the buffer is the task's, and the range starts where its data does.
        let code =
            unsafe { (self.context.api().doca_buf_set_data)(buffer.as_ptr(), data.cast::<c_void>(), length) };
        crate::error::check(code, || "setting the length of a command")
    }

    fn extent(&self, buffer: NonNull<Buf>) -> (*mut u8, usize) {
        let (mut data, mut length) = (ptr::null_mut(), 0);
        // SAFETY: the buffer is the task's, and the pointer is to a local variable.
        let code = unsafe { (self.context.api().doca_buf_get_data)(buffer.as_ptr(), &mut data) };
        if code != DocaError::SUCCESS {
            return (ptr::null_mut(), 0);
        }
        // SAFETY: as before.
        let code = unsafe { (self.context.api().doca_buf_get_data_len)(buffer.as_ptr(), &mut length) };
        if code != DocaError::SUCCESS {
            return (ptr::null_mut(), 0);
        }
        (data.cast::<u8>(), length)
    }

    /// 32 bytes of the caller's inside the task, 8-aligned, until it is released.
    pub(crate) fn user_data(&self) -> Result<NonNull<c_void>> {
        // SAFETY: the task is live.
        let data =
            unsafe { (self.context.api().doca_urom_worker_cmd_task_get_user_data)(self.task.as_ptr()) };
        non_null(data, "asking a command task for its user data")
    }

    /// Submits the task. It is the library's until `callback` is called with `data`; after an error it is back here.
    pub(crate) fn submit(self, callback: CmdTaskCallback, data: Data) -> Result<(), (DocaError, Task<'a>)> {
        let api = self.context.api();
        // SAFETY: the task is live and not in flight.
        unsafe { (api.doca_urom_worker_cmd_task_set_cb)(self.task.as_ptr(), Some(callback)) };
        // SAFETY: the task is live.
        let task = unsafe { (api.doca_urom_worker_cmd_task_as_task)(self.task.as_ptr()) };
        // SAFETY: the task is live and not in flight.
        unsafe { (api.doca_task_set_user_data)(task, data) };
        // SAFETY: the task is live, not in flight, and has its callback.
        let code = unsafe { (api.doca_task_submit)(task) };
        match code.check() {
            Ok(()) => {
                self.into_raw();
                Ok(())
            }
            Err(code) => Err((code, self)),
        }
    }

    /// What it ended with; only after completion.
    fn status(&self) -> DocaError {
        let api = self.context.api();
        // SAFETY: the task is live.
        let task = unsafe { (api.doca_urom_worker_cmd_task_as_task)(self.task.as_ptr()) };
        // SAFETY: the task is live.
        unsafe { (api.doca_task_get_status)(task) }
    }

    /// The notification's bytes, the task's own memory and writable until it is released; only after completion. `None`
    /// when there was no notification.
    fn response(&self) -> Option<NonNull<[u8]>> {
        // SAFETY: the task is live.
        let buffer =
            unsafe { (self.context.api().doca_urom_worker_cmd_task_get_response)(self.task.as_ptr()) };
        let (data, length) = self.extent(NonNull::new(buffer)?);
        if length == 0 {
            return Some(NonNull::from(&mut []));
        }
        Some(NonNull::slice_from_raw_parts(NonNull::new(data)?, length))
    }
}

impl Drop for Task<'_> {
    fn drop(&mut self) {
        // SAFETY: the task is live, not in flight, and nobody else's.
        let code = unsafe { (self.context.api().doca_urom_worker_cmd_task_release)(self.task.as_ptr()) };
        if let Err(code) = code.check() {
            tracing::warn!("a command task could not be released: {code}");
        }
    }
}
