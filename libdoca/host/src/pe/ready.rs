//! The host's events, oldest first. Commands have a queue; other events count commands before them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use urom_abi::host::CtxState;

use crate::pe::ctx::Context;
use crate::pe::ctx::service::gid::GidTask;
use crate::pe::graph::instance::{GraphInstance, GraphStep};
use crate::pe::local::LocalTask;
use crate::pe::run::task::CmdTaskRef;
use crate::pe::run::task::queue::TaskQueue;

pub(crate) enum Other {
    Group(Rc<GidTask>),
    Local(Rc<LocalTask>),
    Graph(Rc<GraphInstance>, GraphStep),
    State(Rc<Context>, CtxState),
}

#[derive(Default)]
pub(super) struct ReadyQueue {
    commands: TaskQueue,
    /// Each with the total number of commands added before it.
    others: RefCell<VecDeque<(u64, Other)>>,
    has_others: Cell<bool>,
    /// Commands taken while other events were queued.
    taken: Cell<u64>,
}

impl ReadyQueue {
    pub(super) fn is_empty(&self) -> bool {
        !self.has_others() && self.commands.is_empty()
    }

    #[inline]
    pub(super) fn has_others(&self) -> bool {
        self.has_others.get()
    }

    #[inline]
    pub(super) fn push_command(&self, task: CmdTaskRef) {
        self.commands.push(task);
    }

    /// Adds a command as the next event, unless other events are ready.
    pub(super) fn push_first(&self, task: CmdTaskRef) {
        match self.has_others() {
            false => self.commands.push_first(task),
            true => self.commands.push(task),
        }
    }

    pub(super) fn push(&self, other: Other) {
        let before = self.taken.get() + self.commands.len() as u64;
        self.others.borrow_mut().push_back((before, other));
        self.has_others.set(true);
    }

    #[inline]
    pub(super) fn pop_command(&self) -> Option<CmdTaskRef> {
        if self.has_others.get() {
            return self.pop_before_others();
        }
        self.commands.pop()
    }

    #[cold]
    fn pop_before_others(&self) -> Option<CmdTaskRef> {
        if self.is_other_due() {
            return None;
        }
        let command = self.commands.pop()?;
        self.taken.set(self.taken.get() + 1);
        Some(command)
    }

    fn is_other_due(&self) -> bool {
        self.others.borrow().front().is_some_and(|(before, _)| *before <= self.taken.get())
    }

    pub(super) fn pop_other(&self) -> Option<Other> {
        if !self.is_other_due() {
            return None;
        }
        let mut others = self.others.borrow_mut();
        let other = others.pop_front();
        self.has_others.set(!others.is_empty());
        other.map(|(_, other)| other)
    }

    pub(super) fn retain(&self, keep: impl Fn(&Other) -> bool) {
        let mut others = self.others.borrow_mut();
        others.retain(|(_, other)| keep(other));
        self.has_others.set(!others.is_empty());
    }
}
