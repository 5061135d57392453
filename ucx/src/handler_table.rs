//! The handlers of a worker by id, and whether they may run.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

pub(crate) trait RegisteredHandler {
    /// Drops the closure.
    ///
    /// # Safety
    /// The caller has changed the table's state from idle, and the handler is not running.
    unsafe fn clear(&self);
}

#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) by_id: RefCell<BTreeMap<u16, Rc<dyn RegisteredHandler>>>,
    pub(crate) state: Cell<HandlerState>,
    /// The announcement whose callback has not returned, unless it was dropped.
    pub(crate) current: Cell<*mut c_void>,
    waiting: RefCell<VecDeque<Box<dyn FnOnce()>>>,
}

/// Whether a handler may be called: calls have exclusive access to the closure, so only one runs.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum HandlerState {
    #[default]
    Idle,
    Running,
    Waited,
    Over,
}

impl Handlers {
    /// Drops the closures. Later callbacks of UCX, while the worker ends, have no effect.
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

    /// Takes an announcement, which its callback then drops; false if the callback has returned.
    pub(crate) fn take_announcement(&self, descriptor: *mut c_void) -> bool {
        let current = self.current.get() == descriptor;
        if current {
            self.current.set(ptr::null_mut());
        }
        current
    }

    pub(crate) fn wait(&self, call: impl FnOnce() + 'static) {
        self.waiting.borrow_mut().push_back(Box::new(call));
        self.state.set(HandlerState::Waited);
    }

    /// Runs the queued calls. The caller has changed the state from idle; its handler has returned.
    #[cold]
    pub(crate) fn run_waiting(&self) {
        let next = || self.waiting.borrow_mut().pop_front();
        while let Some(call) = next() {
            call();
        }
    }
}
