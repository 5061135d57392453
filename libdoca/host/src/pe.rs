//! The progress engine. `doca_pe_progress` delivers the oldest ready event. If none is ready, it
//! advances all work and then delivers at most one event. A host gets at most one callback per
//! call, in order of arrival, and 0 if it cannot see a change.

pub(crate) mod any_task;
mod contexts;
pub(crate) mod ctx;
pub(crate) mod graph;
pub(crate) mod local;
mod notifications;
mod ready;
mod rings;
pub(crate) mod run;
mod sleep;
pub(crate) mod tasks;
pub(crate) mod ucx;
mod waits;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Waker;

use ::ucx::Worker;
use rustix::event::epoll;
use urom_abi::DocaError;
use urom_abi::host::{CtxState, Task};

pub(super) use self::notifications::Lost;
pub(crate) use self::ready::Other;
use self::ready::ReadyQueue;
use self::rings::Rings;
use crate::channels::Channels;
use crate::event::Mailbox;
use crate::handle::{ObjectTag, object};
use crate::pe::ctx::Context;
use crate::pe::graph::instance::GraphInstance;
use crate::pe::local::LocalTask;
use crate::pe::run::WorkerRun;
use crate::pe::run::task::CmdTaskRef;
use crate::pe::sleep::{HostBell, Nap};
use urom_log::LineBudget;
use urom_wire::envelope::first_channel;

/// Maximum commands completed by one `progress_many`: hosts check the time between calls.
const MOST_AT_ONCE: u32 = 64;

/// UCX progress calls of an idle `progress_many`, to save the caller's overhead.
const LOOKS: u32 = 16;

/// Descriptors of an engine without UCX, and spare ones.
const DESCRIPTORS: usize = 8;

/// A progress engine, used by one thread at a time. Only its mailbox is shared.
#[repr(C)]
pub(super) struct Pe {
    tag: ObjectTag,
    me: Weak<Pe>,
    pub(super) mailbox: Arc<Mailbox>,
    bell: HostBell,
    nap: Nap,
    epoll: OwnedFd,
    rings: Rings,
    ucx: OnceCell<Worker>,
    ready: ReadyQueue,
    /// Runs with frames to send, pending sends, or a broken endpoint.
    to_tend: RefCell<Vec<Rc<WorkerRun>>>,
    /// Starting domains, which must be polled.
    exchanging: RefCell<Vec<Rc<Context>>>,
    waiting: RefCell<Vec<Rc<LocalTask>>>,
    /// Called by counter changes while the host sleeps.
    waker: OnceCell<Waker>,
    /// Tasks submitted by graph instances, each with its instance and node.
    nodes: RefCell<BTreeMap<*mut Task, (Rc<GraphInstance>, usize)>>,
    graphs: Cell<usize>,
    /// Whether one of the first three lists may have an entry, or an event other than a command is
    /// ready. If false, progress handles only commands.
    chores: Cell<bool>,
    contexts: RefCell<Vec<Weak<Context>>>,
    channels: RefCell<Channels<Rc<WorkerRun>>>,
    busy: Cell<bool>,
    /// Whether the last answer's connection has further commands in flight.
    owed: Cell<bool>,
    /// Limits log lines about unreadable messages.
    unreadable: RefCell<LineBudget>,
    /// Limits log lines about failures to arm UCX's descriptor or the timer.
    unarmed: RefCell<LineBudget>,
}

object!(Pe, Pe, urom_abi::host::Pe);

/// Blocks progress while it lives, then restores the previous state.
struct Busy<'a>(&'a Cell<bool>, bool);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

impl Pe {
    pub(super) fn new() -> std::io::Result<Rc<Pe>> {
        ::ucx::require_descriptors(DESCRIPTORS)?;
        let mailbox = Arc::new(Mailbox::new()?);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let (bell, nap, rings) = (HostBell::new()?, Nap::new()?, Rings::new()?);
        let sources =
            [mailbox.wake().as_fd(), bell.wake.as_fd(), nap.timer.as_fd(), rings.bell.as_fd()];
        for source in sources {
            epoll::add(&epoll, source, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        }
        Ok(Rc::new_cyclic(|me| Pe {
            tag: ObjectTag::of::<Pe>(),
            me: Weak::clone(me),
            mailbox,
            bell,
            nap,
            epoll,
            rings,
            ucx: OnceCell::new(),
            ready: ReadyQueue::default(),
            to_tend: RefCell::default(),
            exchanging: RefCell::default(),
            waiting: RefCell::default(),
            waker: OnceCell::new(),
            nodes: RefCell::default(),
            graphs: Cell::new(0),
            chores: Cell::new(false),
            contexts: RefCell::default(),
            channels: RefCell::new(Channels::new(first_channel())),
            busy: Cell::new(false),
            owed: Cell::new(false),
            unreadable: RefCell::default(),
            unarmed: RefCell::default(),
        }))
    }

    pub(super) fn handle(&self) -> Result<Rc<Pe>, DocaError> {
        self.me.upgrade().ok_or(DocaError::INVALID_VALUE)
    }

    /// Allocates a channel number for a run. `None` if all are in use.
    pub(super) fn open_channel(
        &self,
        make: impl FnOnce(u16) -> Rc<WorkerRun>,
    ) -> Option<Rc<WorkerRun>> {
        self.channels.borrow_mut().open(make)
    }

    pub(super) fn close_channel(&self, channel: u16) {
        self.channels.borrow_mut().close(channel);
        self.to_tend.borrow_mut().retain(|run| run.channel != channel);
    }

    pub(super) fn push(&self, other: Other) {
        self.bell.ring();
        self.chores.set(true);
        self.ready.push(other);
    }

    #[inline]
    pub(super) fn push_command(&self, task: CmdTaskRef) {
        self.bell.ring();
        self.ready.push_command(task);
    }

    pub(super) fn push_first(&self, task: CmdTaskRef) {
        self.bell.ring();
        self.ready.push_first(task);
    }

    pub(super) fn exchange(&self, ctx: Rc<Context>) {
        self.bell.ring();
        self.chores.set(true);
        self.exchanging.borrow_mut().push(ctx);
    }

    pub(super) fn tend(&self, run: Rc<WorkerRun>) {
        self.bell.ring();
        self.chores.set(true);
        self.to_tend.borrow_mut().push(run);
    }

    /// Runs a host callback outside of progress. Progress calls in it do nothing.
    pub(super) fn call_back<R>(&self, callback: impl FnOnce() -> R) -> R {
        let _busy = Busy(&self.busy, self.busy.replace(true));
        callback()
    }

    #[inline]
    pub(super) fn progress(&self) -> u8 {
        if self.busy.replace(true) {
            return 0;
        }
        let _busy = Busy(&self.busy, false);
        self.step(1)
    }

    /// Delivers the oldest event. If none is ready, polls for answers up to `looks` times.
    #[inline(always)]
    fn step(&self, looks: u32) -> u8 {
        if let Some(task) = self.ready.pop_command() {
            return self.complete_command(task);
        }
        if self.is_called() {
            return self.progress_all(false);
        }
        if let Some(task) = self.rings.take(looks) {
            if self.rings.is_turn_of_others() {
                self.ready.push_command(task);
                self.progress_ucx(1);
                return self.progress_rest();
            }
            return self.complete_command(task);
        }
        let received = self.progress_ucx(looks);
        if self.is_called() || self.nap.is_due() {
            return self.progress_rest();
        }
        match self.ready.pop_command() {
            Some(task) if received => self.complete_command(task),
            _ => 0,
        }
    }

    #[inline(always)]
    fn is_called(&self) -> bool {
        self.chores.get() || self.mailbox.has_post()
    }

    #[cold]
    fn progress_rest(&self) -> u8 {
        self.read_all();
        self.progress_all(true)
    }

    #[inline]
    pub(super) fn progress_many(&self) -> u32 {
        if self.busy.replace(true) {
            return 0;
        }
        let _busy = Busy(&self.busy, false);
        let mut count = u32::from(self.step(LOOKS));
        // Without further commands in flight, polling is useless.
        while count != 0
            && count < MOST_AT_ONCE
            && self.owed.get()
            && let Some(task) = self.ready.pop_command().or_else(|| self.rest_of_answers())
        {
            count += u32::from(self.complete_command(task));
        }
        count
    }

    /// Takes the next answer if other events are not ready.
    #[inline]
    fn rest_of_answers(&self) -> Option<CmdTaskRef> {
        if self.is_called() { None } else { self.rings.take(1) }
    }

    /// [`progress`](Pe::progress) with all kinds of work; `advanced` if that work is already done.
    #[inline(never)]
    fn progress_all(&self, mut advanced: bool) -> u8 {
        loop {
            if let Some(task) = self.ready.pop_command() {
                return self.complete_command(task);
            }
            if let Some(other) = self.ready.pop_other() {
                match self.deliver(other) {
                    Some(seen) => return seen,
                    None => continue,
                }
            }
            if advanced {
                return 0;
            }
            self.advance();
            advanced = true;
        }
    }

    fn advance(&self) {
        self.flush();
        self.rings.drain(|task| self.push_command(task));
        self.progress_ucx(1);
        self.read_all();
        self.look();
    }

    fn read_all(&self) {
        self.exchange_all();
        if self.mailbox.has_post() {
            self.read_mail();
        }
        if self.nap.is_due() {
            self.expire();
        }
    }

    #[inline(never)]
    fn flush(&self) {
        // Runs that need it again go to the end of the list, which keeps its allocation.
        let count = self.to_tend.borrow().len();
        for at in 0..count {
            let run = self.to_tend.borrow().get(at).cloned();
            if let Some(run) = run {
                run.tend(self);
            }
        }
        let mut to_tend = self.to_tend.borrow_mut();
        to_tend.drain(..count);
        let exchanging = !self.exchanging.borrow().is_empty();
        let others = self.ready.has_others() || !self.waiting.borrow().is_empty();
        self.chores.set(!to_tend.is_empty() || exchanging || others);
    }

    #[cold]
    fn exchange_all(&self) {
        if self.exchanging.borrow().is_empty() {
            return;
        }
        for ctx in self.exchanging.take() {
            if ctx.step(self) {
                self.exchanging.borrow_mut().push(ctx);
            }
        }
    }

    /// Returns 1 for a visible event, 0 for an uncounted callback, `None` for an obsolete event.
    fn deliver(&self, other: Other) -> Option<u8> {
        match other {
            Other::Group(task) => task.complete(self),
            Other::Local(task) => task.complete(self),
            Other::Graph(instance, step) => instance.deliver(step),
            Other::State(ctx, next) => {
                let has_callback = ctx.state_changed.get().is_some();
                // Hosts with tasks in flight take a 1 as a completion: other losses do not count.
                let aside = next == CtxState::STOPPING || (ctx.lost.get() && self.in_flight() != 0);
                return match ctx.arrive(self, next) {
                    true if !aside => Some(1),
                    true if has_callback => Some(0),
                    _ => None,
                };
            }
        }
        Some(1)
    }

    #[inline]
    fn complete_command(&self, task: CmdTaskRef) -> u8 {
        let mut ctx_data = task.head.user_data.get();
        if let Some(run) = task.run() {
            // A cancelled command counts at its late answer.
            if task.end.get().cancelled == 0 {
                run.tasks.completed();
            }
            self.owed.set(run.tasks.count() != 0);
            ctx_data = run.ctx.user_data.get();
        }
        self.hand_back(&task.head, task.as_c(), task.callback.get(), ctx_data);
        if let Some(run) = task.run()
            && run.is_leaving()
        {
            run.check_over(self);
        }
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pe::ctx::domain::Domain;

    #[test]
    fn events_keep_their_order_and_those_of_a_context_can_be_forgotten() {
        let pe = Pe::new().unwrap();
        let contexts = [(); 2].map(|()| Context::new(Domain::default()));
        for (slot, ctx) in [(1, &contexts[0]), (2, &contexts[1]), (3, &contexts[0])] {
            pe.announce(ctx, CtxState::IDLE);
            pe.push_command(CmdTaskRef::new(slot, 8).unwrap());
        }
        pe.forget(&contexts[0]);
        let slot = || {
            pe.ready.pop_command().map(|task| {
                let slot = task.slot.get().unwrap();
                // SAFETY: the queue had the only reference.
                unsafe { task.end() };
                slot
            })
        };
        assert_eq!((slot(), slot()), (Some(1), None));
        assert!(matches!(pe.ready.pop_other(), Some(Other::State(..))));
        assert_eq!((slot(), slot(), slot()), (Some(2), Some(3), None));
    }
}
