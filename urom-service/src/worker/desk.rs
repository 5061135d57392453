//! [`Desk`]: the answers to plugins' calls of the worker's services.
//!
//! It is kept apart from `Core`, which is borrowed while a plugin runs.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::thread::{self, ThreadId};

use urom_wire::ucx_context::Config;

use super::memory::Memories;
use super::slot::Token;

/// A host's task slot: the connection's number for plugins, its channel and the slot.
type TaskSlot = (u64, u32);

/// What the data thread knows of connections and commands beside its own tables. It stays on that
/// thread.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(super) thread: ThreadId,
    limits: RefCell<HashMap<u64, usize>>,
    /// The tokens of the last commands that had a deadline, and when that is.
    deadlines: RefCell<HashMap<TaskSlot, (u64, u64)>>,
    /// Why commands fail that are about to be answered.
    failures: RefCell<HashMap<TaskSlot, (u64, String)>>,
    pub(crate) memories: Memories,
    /// Whether the plugin that runs moved something that is no answer.
    moved: Cell<bool>,
}

impl Desk {
    /// `memory` is how UCX is set up for hosts' memory.
    pub(crate) fn new(memory: Config) -> Rc<Desk> {
        Rc::new(Desk {
            thread: thread::current().id(),
            limits: RefCell::default(),
            deadlines: RefCell::default(),
            failures: RefCell::default(),
            memories: Memories::new(memory),
            moved: Cell::new(false),
        })
    }

    pub(crate) fn open(&self, dest_id: u64, limit: usize) {
        self.limits.borrow_mut().insert(dest_id, limit);
    }

    pub(super) fn limit(&self, dest_id: u64) -> usize {
        self.limits.borrow().get(&dest_id).copied().unwrap_or(0)
    }

    pub(super) fn set_moved(&self) {
        self.moved.set(true);
    }

    /// Whether the plugin that ran last moved something that is no answer.
    #[inline]
    pub(crate) fn take_moved(&self) -> bool {
        self.moved.get() && self.moved.replace(false)
    }

    pub(crate) fn close(&self, dest_id: u64) {
        self.limits.borrow_mut().remove(&dest_id);
        self.deadlines.borrow_mut().retain(|(dest, _), _| *dest != dest_id);
        self.failures.borrow_mut().retain(|(dest, _), _| *dest != dest_id);
        self.memories.close(dest_id);
    }

    /// Notes the deadline of a command, in nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) fn set_deadline(&self, dest_id: u64, token: u64, at: u64) {
        self.deadlines.borrow_mut().insert(task_slot(dest_id, token), (token, at));
    }

    /// Forgets the deadline of a command that is not pending.
    pub(crate) fn forget_deadline(&self, dest_id: u64, token: u64) {
        self.deadlines.borrow_mut().remove(&task_slot(dest_id, token));
    }

    pub(super) fn deadline(&self, dest_id: u64, token: u64) -> Option<u64> {
        let deadlines = self.deadlines.borrow();
        deadlines.get(&task_slot(dest_id, token)).filter(|(of, _)| *of == token).map(|(_, at)| *at)
    }

    pub(super) fn explain(&self, dest_id: u64, token: u64, text: String) {
        // Of a host that is gone, nobody asks.
        if self.limits.borrow().contains_key(&dest_id) {
            self.failures.borrow_mut().insert(task_slot(dest_id, token), (token, text));
        }
    }

    /// Takes the plugin's words on why a command failed; empty when there are none.
    pub(crate) fn failure(&self, dest_id: u64, token: u64) -> String {
        let found = self.failures.borrow_mut().remove(&task_slot(dest_id, token));
        let found = found.filter(|(of, _)| *of == token);
        found.map_or_else(String::new, |(_, text)| text)
    }
}

/// The slot that a token names, whatever its generation: for tokens of commands, what the maps have
/// stays as small as the hosts' numbers of tasks.
fn task_slot(dest_id: u64, token: u64) -> TaskSlot {
    let Token { channel, slot, .. } = Token::unpack(token);
    (dest_id, u32::from(channel) << 16 | u32::from(slot))
}
