//! The handlers of a worker by id, and which of them may run.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

/// A handler that the table can clear.
pub(crate) trait Registered {
    /// Drops the closure.
    ///
    /// # Safety
    /// The caller has turned the table's state away from idle, and no call of the handler is under
    /// way.
    unsafe fn clear(&self);
}

/// The active-message handlers of a worker.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) by_id: RefCell<BTreeMap<u16, Rc<dyn Registered>>>,
    pub(crate) state: Cell<HandlerState>,
    /// The announcement whose callback has not returned, unless it was dropped.
    pub(crate) current: Cell<*mut c_void>,
    /// Calls for messages that arrived while a handler ran.
    waiting: RefCell<VecDeque<Box<dyn FnOnce()>>>,
}

/// Whether a handler may be called: it gets its closure for writing, so one call at a time.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum HandlerState {
    /// No handler runs.
    #[default]
    Idle,
    /// One runs.
    Running,
    /// One runs, and others wait for its end.
    Waited,
    /// None will run any more.
    Over,
}

impl Handlers {
    /// Drops the closures. UCX may call back while the worker ends, to no effect.
    pub(crate) fn clear(&self) {
        let before = self.state.replace(HandlerState::Over);
        debug_assert!(
            before == HandlerState::Idle,
            "a handler runs inside a call on a handle of the worker"
        );
        let handlers: Vec<_> = self.by_id.borrow().values().cloned().collect();
        for handler in handlers {
            // SAFETY: the state was idle, and from now on no handler is called.
            unsafe { handler.clear() };
        }
    }

    /// Takes an announcement whose callback has not returned; the callback then reports it as
    /// dropped. False when it has returned.
    pub(crate) fn take_announcement(&self, descriptor: *mut c_void) -> bool {
        let current = self.current.get() == descriptor;
        if current {
            self.current.set(ptr::null_mut());
        }
        current
    }

    /// Has a call wait until the handler that runs has returned.
    pub(crate) fn wait(&self, call: impl FnOnce() + 'static) {
        self.waiting.borrow_mut().push_back(Box::new(call));
        self.state.set(HandlerState::Waited);
    }

    /// Runs the calls that waited. The caller has turned the state away from idle, and its own
    /// handler has returned.
    #[cold]
    pub(crate) fn run_waiting(&self) {
        let next = || self.waiting.borrow_mut().pop_front();
        while let Some(call) = next() {
            call();
        }
    }
}
