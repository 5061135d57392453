//! The worker's services for plugins: what `attach` of a plugin's extension gives it.
//!
//! What they answer from is kept apart from [`Core`](super::core::Core), which is borrowed while a
//! plugin runs.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_char;
use std::rc::Rc;
use std::thread::{self, ThreadId};

use urom_abi::DocaError;
use urom_abi::extension::{LONGEST_FAILURE, Words, WorkerServices};
use urom_abi::plugin::WorkerCtx;
use urom_log::{guard, guard_or};
use urom_memory::engine::{Shares, Site, functions};
use urom_wire::ucx_context::Config;

use super::config::WorkerConfig;
use super::lookups::PluginCtx;
use super::memory::Memories;
use super::slot::Token;
use crate::plugin_log::worker_log;

/// A host's task slot: the connection's number for plugins, its channel and the slot.
type TaskSlot = (u64, u32);

/// What the data thread knows of connections and commands beside its own tables. It stays on that
/// thread.
#[derive(Debug)]
pub(crate) struct Desk {
    thread: ThreadId,
    /// The message limits of connections.
    limits: RefCell<HashMap<u64, usize>>,
    /// The tokens of the last commands that had a deadline, and when that is.
    deadlines: RefCell<HashMap<TaskSlot, (u64, u64)>>,
    /// Why commands fail that are about to be answered.
    failures: RefCell<HashMap<TaskSlot, (u64, String)>>,
    /// What hosts share.
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

    /// Whether the plugin that ran last moved something that is no answer.
    #[inline]
    pub(crate) fn take_moved(&self) -> bool {
        self.moved.get() && self.moved.replace(false)
    }

    /// Forgets a connection.
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

    fn deadline(&self, dest_id: u64, token: u64) -> Option<u64> {
        let deadlines = self.deadlines.borrow();
        deadlines.get(&task_slot(dest_id, token)).filter(|(of, _)| *of == token).map(|(_, at)| *at)
    }

    fn explain(&self, dest_id: u64, token: u64, text: String) {
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

/// The services of a worker.
pub(crate) fn services(config: &WorkerConfig) -> WorkerServices {
    functions::<Desk>(WorkerServices {
        worker_id: config.id.0,
        group_id: config.gid.into(),
        message_limit: config.max_message,
        log: worker_log().map_or(std::ptr::null(), std::ptr::from_ref),
        connection_limit: Some(connection_limit),
        deadline: Some(deadline),
        explain: Some(explain),
        moved: Some(moved),
        ..WorkerServices::NONE
    })
}

impl Site for Desk {
    unsafe fn serve(
        ctx: *mut WorkerCtx,
        _: &'static str,
        call: impl FnOnce(&Shares) -> Result<(), DocaError>,
    ) -> DocaError {
        let call = |desk: &Desk| Some(call(&desk.memories.shares));
        // SAFETY: the caller's promise.
        guard(|| unsafe { at_desk(ctx, call) }.unwrap_or(Err(DocaError::BAD_STATE)))
    }
}

/// What `ask` gives, or zero where a plugin calls on another thread.
///
/// # Safety
/// `ctx` is NULL or the context of an open plugin.
unsafe fn at_desk<T: Default>(ctx: *mut WorkerCtx, ask: impl FnOnce(&Desk) -> T) -> T {
    // SAFETY: the caller's promise.
    let desk = unsafe { PluginCtx::desk(ctx) };
    if desk.is_null() {
        return T::default();
    }
    // SAFETY: it lives as long as the context, and this member never changes.
    let thread = unsafe { &raw const (*desk).thread };
    // SAFETY: as above.
    if unsafe { *thread } != thread::current().id() {
        limited!(error, "a plugin called one of the worker's services on a thread of its own");
        return T::default();
    }
    // SAFETY: as above, and this is the desk's thread.
    ask(unsafe { &*desk })
}

unsafe extern "C" fn connection_limit(ctx: *mut WorkerCtx, dest_id: u64) -> usize {
    let limit = |desk: &Desk| desk.limits.borrow().get(&dest_id).copied().unwrap_or(0);
    // SAFETY: the plugin's promise.
    guard_or(0, || unsafe { at_desk(ctx, limit) })
}

unsafe extern "C" fn deadline(ctx: *mut WorkerCtx, dest_id: u64, urom_context: u64) -> u64 {
    let deadline = |desk: &Desk| desk.deadline(dest_id, urom_context).unwrap_or(0);
    // SAFETY: the plugin's promise.
    guard_or(0, || unsafe { at_desk(ctx, deadline) })
}

unsafe extern "C" fn moved(ctx: *mut WorkerCtx) {
    // SAFETY: the plugin's promise.
    guard_or((), || unsafe { at_desk(ctx, |desk| desk.moved.set(true)) });
}

unsafe extern "C" fn explain(
    ctx: *mut WorkerCtx,
    dest_id: u64,
    urom_context: u64,
    text: *const c_char,
    len: usize,
) {
    guard_or((), || {
        if text.is_null() {
            return;
        }
        // SAFETY: the plugin says that so many bytes are there.
        let bytes =
            unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len.min(LONGEST_FAILURE)) };
        let text = String::from_utf8_lossy(bytes);
        // A character that was cut in two became another.
        let text = if len > LONGEST_FAILURE { text.trim_end_matches('\u{fffd}') } else { &text };
        let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        // SAFETY: the plugin's promise.
        unsafe { at_desk(ctx, |desk| desk.explain(dest_id, urom_context, line)) };
    });
}
