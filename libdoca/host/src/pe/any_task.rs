//! A task of any kind, behind a `doca_task` pointer.

use std::ptr;

use urom_abi::DocaError;
use urom_abi::host::{CmdTask, Ctx, Data, Task, TaskCallback};

use crate::handle::{Opaque, borrow};
use crate::pe::Pe;
use crate::pe::ctx::service::gid::GidTask;
use crate::pe::local::LocalTask;
use crate::pe::run::task::{CmdTaskRef, Head, TaskStage};

pub(crate) enum AnyTask<'a> {
    Command(CmdTaskRef),
    Query(&'a GidTask),
    Local(&'a LocalTask),
}

impl AnyTask<'_> {
    #[inline]
    pub(crate) fn head(&self) -> &Head {
        match self {
            AnyTask::Command(task) => &task.head,
            AnyTask::Query(task) => &task.head,
            AnyTask::Local(task) => &task.head,
        }
    }

    pub(crate) fn ctx(&self) -> *mut Ctx {
        match self {
            AnyTask::Command(task) => task.run().map_or(ptr::null_mut(), |run| run.ctx.as_ctx()),
            AnyTask::Query(task) => task.ctx.as_ctx(),
            AnyTask::Local(task) => task.ctx.as_ctx(),
        }
    }

    #[inline(always)]
    pub(crate) fn submit(&self) -> Result<(), DocaError> {
        match self {
            AnyTask::Command(task) => {
                task.head.is_callers()?;
                task.run().ok_or(DocaError::BAD_STATE)?.submit(*task)
            }
            AnyTask::Query(task) => task.submit(),
            AnyTask::Local(task) => task.submit(),
        }
    }
}

impl Opaque for Task {
    type Found<'a> = AnyTask<'a>;

    #[inline]
    unsafe fn find<'a>(pointer: *const Task) -> Result<AnyTask<'a>, DocaError> {
        // SAFETY: the caller's promise.
        match unsafe { CmdTask::find(pointer.cast()) } {
            Err(DocaError::INVALID_VALUE) => {}
            task => return task.map(AnyTask::Command),
        }
        // SAFETY: the caller's promise.
        match unsafe { borrow(pointer) } {
            // SAFETY: the caller's promise.
            Err(DocaError::INVALID_VALUE) => unsafe { borrow(pointer) }.map(AnyTask::Local),
            query => query.map(AnyTask::Query),
        }
    }
}

impl Pe {
    /// Returns a completed task to the host, or its result to the graph that submitted it.
    #[inline]
    pub(super) fn hand_back<C>(
        &self,
        head: &Head,
        task: *mut C,
        callback: Option<TaskCallback<C>>,
        ctx_data: Data,
    ) {
        head.stage.set(TaskStage::Done);
        if head.in_graph.get() {
            self.node_ended(head, task.cast());
        } else if let Some(callback) = callback {
            // SAFETY: the host set this function for this call, and owns the task from now on.
            unsafe { callback(task, head.user_data.get(), ctx_data) };
        }
    }
}
