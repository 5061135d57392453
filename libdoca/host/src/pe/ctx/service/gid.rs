//! The query for the workers of a group.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use urom_abi::DocaError;
use urom_abi::host::GidTaskCallback;
use urom_wire::control::{DaemonToHost, Failure, HostToDaemon};

use crate::daemon_link::DaemonRequest;
use crate::event::EngineEvent;
use crate::failure::failure;
use crate::handle::{ObjectTag, as_c, object};
use crate::pe::ctx::Context;
use crate::pe::ctx::service::Service;
use crate::pe::run::task::{Head, TaskStage};
use crate::pe::{Other, Pe};

/// A query. Allocated each time, because queries are rare.
#[repr(C)]
pub(crate) struct GidTask {
    tag: ObjectTag,
    pub(crate) head: Head,
    me: Weak<GidTask>,
    /// The service, which goes idle only after this task's release.
    pub(crate) ctx: Rc<Context>,
    pub(crate) gid: Cell<u32>,
    pub(crate) callback: Cell<Option<GidTaskCallback>>,
    pub(crate) ids: RefCell<Vec<u64>>,
}

object!(GidTask, Query, urom_abi::host::GidTask);

#[derive(Default)]
pub(crate) struct Queries {
    waiting: RefCell<BTreeMap<u64, Rc<GidTask>>>,
    last: Cell<u64>,
    pub(crate) in_flight: Cell<usize>,
    /// Number of unreleased queries.
    out: Cell<usize>,
}

impl Queries {
    pub(crate) fn allocate(
        &self,
        ctx: Rc<Context>,
        gid: u32,
        callback: Option<GidTaskCallback>,
    ) -> Rc<GidTask> {
        self.out.set(self.out.get() + 1);
        let task = Rc::new_cyclic(|me| GidTask {
            tag: ObjectTag::of::<GidTask>(),
            head: Head::new(),
            me: Weak::clone(me),
            ctx,
            gid: Cell::new(gid),
            callback: Cell::new(callback),
            ids: RefCell::default(),
        });
        task.head.hold();
        task
    }

    pub(crate) fn released(&self) {
        self.out.set(self.out.get() - 1);
    }

    pub(crate) fn are_released(&self) -> bool {
        self.out.get() == 0
    }

    pub(crate) fn on_answer(&self, pe: &Pe, query: u64, result: Result<Vec<u64>, Failure>) {
        if let Some(task) = self.waiting.borrow_mut().remove(&query) {
            task.answer(pe, result.map_err(|failure| failure.code));
        }
    }

    pub(crate) fn cancel_all(&self, pe: &Pe, code: DocaError) {
        for task in self.waiting.take().into_values() {
            task.answer(pe, Err(code));
        }
    }
}

impl GidTask {
    /// Sends the query. After an error the caller still owns it.
    #[cold]
    pub(crate) fn submit(&self) -> Result<(), DocaError> {
        self.head.is_callers()?;
        let task = self.me.upgrade().ok_or(DocaError::INVALID_VALUE)?;
        let service = self.ctx.part::<Service>()?;
        let (running, queries) = (service.running(&self.ctx)?, &service.queries);
        let query = queries.last.get() + 1;
        let (mailbox, run) = (Arc::clone(&self.ctx.pe()?.mailbox), self.ctx.run());
        let gid = self.gid.get();
        let ask = move |request| HostToDaemon::Group { request, gid };
        let on_answer = move |reply| {
            let result = match reply {
                Ok(DaemonToHost::Group { ids, .. }) => Ok(ids),
                Ok(_) => Err(failure!(IO_FAILED, "the daemon's answer is of another kind")),
                Err(failure) => Err(failure),
            };
            mailbox.post((run, EngineEvent::Group { query, result }));
        };
        let request = DaemonRequest::new(ask, on_answer);
        running.requests.send(request).map_err(|_| DocaError::CONNECTION_RESET)?;
        self.head.stage.set(TaskStage::InFlight);
        queries.last.set(query);
        queries.waiting.borrow_mut().insert(query, task);
        queries.in_flight.set(queries.in_flight.get() + 1);
        Ok(())
    }

    fn answer(self: Rc<Self>, pe: &Pe, result: Result<Vec<u64>, DocaError>) {
        self.head.status.set(result.as_ref().map(drop).map_err(|code| *code).into());
        *self.ids.borrow_mut() = result.unwrap_or_default();
        self.head.stage.set(TaskStage::Answered);
        pe.push(Other::Group(self));
    }

    pub(crate) fn complete(&self, pe: &Pe) {
        let Ok(service) = self.ctx.part::<Service>() else { return };
        service.queries.in_flight.set(service.queries.in_flight.get() - 1);
        pe.hand_back(&self.head, as_c(self), self.callback.get(), self.ctx.user_data.get());
        service.check_over(&self.ctx, pe);
    }

    pub(crate) fn is_done(&self) -> bool {
        self.head.stage.get() == TaskStage::Done
    }
}
