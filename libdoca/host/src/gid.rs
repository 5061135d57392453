//! The query for the workers of a group.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::rc::{Rc, Weak};

use urom_abi::DocaError;
use urom_abi::host::{GidTask as CGidTask, GidTaskCallback};

use super::ctx::Context;
use super::service::ServiceRun;
use super::task::{Head, Stage};

/// A query. It is allocated and freed: nothing about it is frequent.
pub(super) struct GidTask {
    pub(super) head: Head,
    me: Weak<GidTask>,
    pub(super) ctx: Weak<Context>,
    /// The host's pointer.
    pub(super) pointer: Cell<*mut CGidTask>,
    pub(super) run: Weak<ServiceRun>,
    pub(super) gid: Cell<u32>,
    pub(super) callback: Cell<Option<GidTaskCallback>>,
    pub(super) ids: RefCell<Vec<u64>>,
}

impl GidTask {
    /// A query in the caller's hands.
    pub(super) fn new(
        run: &Rc<ServiceRun>,
        ctx: Weak<Context>,
        gid: u32,
        callback: Option<GidTaskCallback>,
    ) -> Rc<GidTask> {
        let task = Rc::new_cyclic(|me| GidTask {
            head: Head::new(),
            me: Weak::clone(me),
            ctx,
            pointer: Cell::new(ptr::null_mut()),
            run: Rc::downgrade(run),
            gid: Cell::new(gid),
            callback: Cell::new(callback),
            ids: RefCell::default(),
        });
        task.head.hold();
        task
    }

    /// A handle that keeps it alive.
    pub(super) fn handle(&self) -> Option<Rc<GidTask>> {
        self.me.upgrade()
    }

    /// Notes how the query ended.
    pub(super) fn answer(&self, result: Result<Vec<u64>, DocaError>) {
        self.head.status.set(DocaError::of(result.as_ref().map(|_| ()).map_err(|code| *code)));
        *self.ids.borrow_mut() = result.unwrap_or_default();
        self.head.stage.set(Stage::Answered);
    }

    /// Whether it has completed, so that its ids can be read.
    pub(super) fn is_done(&self) -> bool {
        self.head.stage.get() == Stage::Done
    }
}
