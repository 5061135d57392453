//! Completes commands: hands their tasks back to their hosts.

use std::ptr;

use urom_abi::host::CmdTask as CCmdTask;

use super::Pe;
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
}
