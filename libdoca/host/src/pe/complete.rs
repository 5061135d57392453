//! Completes tasks: hands them back to their hosts.

use std::ptr;
use std::rc::Rc;

use urom_abi::host::CmdTask as CCmdTask;

use super::Pe;
use crate::pe::ctx::service::gid::GidTask;
use crate::pe::run::task::{CmdTask, Stage};

impl Pe {
    #[inline]
    pub(super) fn complete_command(&self, task: &'static CmdTask) -> u8 {
        let user_data = task.head.user_data.get();
        let mut ctx_data = user_data;
        if let Some(run) = task.run() {
            run.completed();
            ctx_data = run.context().user_data.get();
        }
        task.head.stage.set(Stage::Done);
        if let Some(callback) = task.callback.get() {
            let pointer = ptr::from_ref(task).cast_mut().cast::<CCmdTask>();
            // SAFETY: the host gave this function for exactly this call, and the task is the host's
            // from now on.
            unsafe { callback(pointer, user_data, ctx_data) };
        }
        if let Some(run) = task.run()
            && run.is_leaving()
        {
            run.check_over(self);
        }
        1
    }

    pub(super) fn complete_group(&self, task: &Rc<GidTask>) {
        let run = &task.run;
        run.completed();
        task.head.stage.set(Stage::Done);
        if let Some(callback) = task.callback.get() {
            let user_data = task.head.user_data.get();
            let ctx_data = run.context().map_or(user_data, |ctx| ctx.user_data.get());
            // SAFETY: as for commands.
            unsafe { callback(task.pointer.get(), user_data, ctx_data) };
        }
        run.check_over(self);
    }
}
