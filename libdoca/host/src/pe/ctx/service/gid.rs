//! The query for the workers of a group.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::rc::{Rc, Weak};

use urom_abi::DocaError;
use urom_abi::host::{GidTask as CGidTask, GidTaskCallback};

use crate::pe::ctx::service::ServiceRun;
use crate::pe::run::task::{Head, Stage};

/// A query. It is allocated and freed each time, because queries are rare.
pub(crate) struct GidTask {
    pub(crate) head: Head,
    me: Weak<GidTask>,
    pub(crate) pointer: Cell<*mut CGidTask>,
    /// It goes idle only once this task is released.
    pub(crate) run: Rc<ServiceRun>,
    pub(crate) gid: Cell<u32>,
    pub(crate) callback: Cell<Option<GidTaskCallback>>,
    pub(crate) ids: RefCell<Vec<u64>>,
}

impl GidTask {
    pub(crate) fn new(
        run: Rc<ServiceRun>,
        gid: u32,
        callback: Option<GidTaskCallback>,
    ) -> Rc<GidTask> {
        let task = Rc::new_cyclic(|me| GidTask {
            head: Head::new(),
            me: Weak::clone(me),
            pointer: Cell::new(ptr::null_mut()),
            run,
            gid: Cell::new(gid),
            callback: Cell::new(callback),
            ids: RefCell::default(),
        });
        task.head.hold();
        task
    }

    pub(crate) fn handle(&self) -> Option<Rc<GidTask>> {
        self.me.upgrade()
    }

    pub(crate) fn answer(&self, result: Result<Vec<u64>, DocaError>) {
        self.head.status.set(DocaError::of(result.as_ref().map(|_| ()).map_err(|code| *code)));
        *self.ids.borrow_mut() = result.unwrap_or_default();
        self.head.stage.set(Stage::Answered);
    }

    /// Whether it has completed, so that its ids can be read.
    pub(crate) fn is_done(&self) -> bool {
        self.head.stage.get() == Stage::Done
    }
}
