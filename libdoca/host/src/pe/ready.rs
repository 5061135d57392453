//! The events that a host will see, oldest first.
//!
//! Nearly all are commands, which are on a list of their own. Any other event knows how many
//! commands had ever been on it before.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use urom_abi::host::CtxState;

use crate::list::Queue;
use crate::pe::ctx::Context;
use crate::pe::ctx::service::gid::GidTask;
use crate::pe::run::task::CmdTask;

/// An event other than a command.
pub(crate) enum Ready {
    Group(Rc<GidTask>),
    State(Rc<Context>, CtxState),
}

const NEVER: u64 = u64::MAX;

pub(crate) struct ReadyQueue {
    commands: Queue,
    /// How many commands ever came, and how many were taken.
    pushed: Cell<u64>,
    popped: Cell<u64>,
    /// Each with the number of commands that came before it.
    others: RefCell<VecDeque<(u64, Ready)>>,
    /// That number of the first of them.
    due: Cell<u64>,
}

impl ReadyQueue {
    pub(crate) fn new() -> ReadyQueue {
        ReadyQueue {
            commands: Queue::default(),
            pushed: Cell::new(0),
            popped: Cell::new(0),
            others: RefCell::default(),
            due: Cell::new(NEVER),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.commands.is_empty() && !self.has_others()
    }

    pub(crate) fn has_others(&self) -> bool {
        self.due.get() != NEVER
    }

    #[inline]
    pub(crate) fn push_command(&self, task: &'static CmdTask) {
        self.pushed.set(self.pushed.get() + 1);
        self.commands.push(task);
    }

    pub(crate) fn push(&self, other: Ready) {
        self.change_others(|others| others.push_back((self.pushed.get(), other)));
    }

    #[inline]
    pub(crate) fn pop_command(&self) -> Option<&'static CmdTask> {
        if self.due.get() == self.popped.get() {
            return None;
        }
        let task = self.commands.pop()?;
        self.popped.set(self.popped.get() + 1);
        Some(task)
    }

    pub(crate) fn pop_other(&self) -> Option<Ready> {
        let is_due = self.due.get() == self.popped.get();
        is_due.then(|| self.change_others(VecDeque::pop_front))?.map(|(_, other)| other)
    }

    /// Drops the other events that `keep` refuses.
    pub(crate) fn retain(&self, keep: impl Fn(&Ready) -> bool) {
        self.change_others(|others| others.retain(|(_, other)| keep(other)));
    }

    fn change_others<R>(&self, change: impl FnOnce(&mut VecDeque<(u64, Ready)>) -> R) -> R {
        let mut others = self.others.borrow_mut();
        let result = change(&mut others);
        self.due.set(others.front().map_or(NEVER, |(before, _)| *before));
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pe::ctx::Kind;
    use crate::pe::ctx::domain::Domain;

    fn pop(ready: &ReadyQueue) -> String {
        if let Some(task) = ready.pop_command() {
            return task.slot().to_string();
        }
        match ready.pop_other() {
            Some(Ready::State(_, state)) => format!("state {}", state.0),
            Some(Ready::Group(_)) => "query".into(),
            None => String::new(),
        }
    }

    #[test]
    fn everything_comes_out_in_the_order_in_which_it_went_in() {
        let ready = ReadyQueue::new();
        let ctx = Context::new(Kind::Domain(Domain::default()));
        let task = |slot| CmdTask::new(slot, 8).unwrap();
        let state = |number| Ready::State(Rc::clone(&ctx), CtxState(number));
        let mut seen = Vec::new();
        let mut take = |count: usize| seen.extend((0..count).map(|_| pop(&ready)));
        ready.push(state(90));
        ready.push_command(task(1));
        ready.push_command(task(2));
        take(2);
        ready.push(state(91));
        ready.push(state(92));
        ready.push_command(task(3));
        take(3);
        ready.push(state(93));
        take(3);
        assert!(ready.is_empty());
        ready.push_command(task(4));
        take(1);
        assert_eq!(
            seen,
            ["state 90", "1", "2", "state 91", "state 92", "3", "state 93", "", "4"]
                .map(String::from)
        );
    }

    #[test]
    fn what_is_dropped_leaves_the_order_of_the_rest() {
        let ready = ReadyQueue::new();
        let ctx = Context::new(Kind::Domain(Domain::default()));
        for number in 0..4 {
            ready.push(Ready::State(Rc::clone(&ctx), CtxState(number)));
            ready.push_command(CmdTask::new(10 + number as u16, 8).unwrap());
        }
        ready.retain(|other| matches!(other, Ready::State(_, state) if state.0 % 2 == 1));
        let seen: Vec<String> = (0..7).map(|_| pop(&ready)).collect();
        assert_eq!(seen, ["10", "state 1", "11", "12", "state 3", "13", ""]);
    }
}
