//! The progress engine.
//!
//! A call of `doca_pe_progress` delivers the oldest event that is ready. If there is none, it
//! advances everything and then delivers at most one event. So a host gets one callback a call, in
//! the order in which responses arrived, and 0 when nothing happened that it can see.

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
use crate::handle::{Tag, object};
use crate::pe::ctx::Context;
use crate::pe::graph::instance::Instance;
use crate::pe::local::LocalTask;
use crate::pe::run::Run;
use crate::pe::run::task::CmdTaskRef;
use crate::pe::sleep::{HostBell, Nap};
use urom_log::LineBudget;
use urom_wire::envelope::first_channel;

/// How many commands one call of `progress_many` completes at most: a host checks the time between
/// calls.
const MOST_AT_ONCE: u32 = 64;

/// How often such a call progresses UCX while nothing comes. A host that waits pays for one call
/// instead of so many.
const LOOKS: u32 = 16;

/// The descriptors of an engine without UCX, and some spare ones.
const DESCRIPTORS: usize = 8;

/// A progress engine. It belongs to one thread at a time; only its mailbox is shared.
#[repr(C)]
pub(super) struct Pe {
    tag: Tag,
    me: Weak<Pe>,
    pub(super) mailbox: Arc<Mailbox>,
    bell: HostBell,
    nap: Nap,
    epoll: OwnedFd,
    rings: Rings,
    ucx: OnceCell<Worker>,
    ready: ReadyQueue,
    /// Runs that have frames to send, sends under way, or a broken endpoint.
    to_tend: RefCell<Vec<Rc<Run>>>,
    /// Domains that start, which wakes nobody.
    exchanging: RefCell<Vec<Rc<Context>>>,
    waiting: RefCell<Vec<Rc<LocalTask>>>,
    /// What a change of these counters calls, once the host sleeps.
    waker: OnceCell<Waker>,
    /// The tasks that instances of graphs submitted, each with its instance and node.
    nodes: RefCell<BTreeMap<*mut Task, (Rc<Instance>, usize)>>,
    /// How many graphs belong to this engine.
    graphs: Cell<usize>,
    /// Whether one of the first three lists may have an entry, or something is ready that is no
    /// command. If not, progress handles commands only.
    chores: Cell<bool>,
    contexts: RefCell<Vec<Weak<Context>>>,
    channels: RefCell<Channels<Rc<Run>>>,
    busy: Cell<bool>,
    /// Whether the connection of the last answer has further commands in flight.
    owed: Cell<bool>,
    /// The limit on log lines about messages that cannot be read.
    unreadable: RefCell<LineBudget>,
    /// The limit on log lines about UCX's descriptor, or the timer, when it cannot be armed.
    unarmed: RefCell<LineBudget>,
}

object!(Pe, Pe, urom_abi::host::Pe);

/// While it lives, progress does nothing. Then all is as before.
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
            // The host asks whether there is anything, not what.
            epoll::add(&epoll, source, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        }
        Ok(Rc::new_cyclic(|me| Pe {
            tag: Tag::of::<Pe>(),
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

    /// A channel number for a run of a worker. `None` when all are taken.
    pub(super) fn open_channel(&self, make: impl FnOnce(u16) -> Rc<Run>) -> Option<Rc<Run>> {
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

    pub(super) fn tend(&self, run: Rc<Run>) {
        self.bell.ring();
        self.chores.set(true);
        self.to_tend.borrow_mut().push(run);
    }

    /// Runs a callback of the host outside of progress, as if inside: its progress does nothing.
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

    /// Delivers the oldest event. If none is ready, looks for answers up to `looks` times.
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

    /// The rest of a progress that has looked for answers.
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
        // Without a further command in flight there is nothing to look for.
        while count != 0
            && count < MOST_AT_ONCE
            && self.owed.get()
            && let Some(task) = self.ready.pop_command().or_else(|| self.rest_of_answers())
        {
            count += u32::from(self.complete_command(task));
        }
        count
    }

    /// The next answer, where no other event is ready.
    #[inline]
    fn rest_of_answers(&self) -> Option<CmdTaskRef> {
        if self.is_called() { None } else { self.rings.take(1) }
    }

    /// [`progress`](Pe::progress) where there may be more to do than commands; `advanced` if all
    /// that is done.
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

    /// Advances everything. The host sees nothing of it.
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
        // Runs that need tending again go to the end of the list, which keeps its memory.
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

    /// Whether the host saw something that counts (1), or a callback ran that does not (0). `None`
    /// for an event that no longer applies, or for which the host has no use.
    fn deliver(&self, other: Other) -> Option<u8> {
        match other {
            Other::Group(task) => {
                task.complete(self);
                Some(1)
            }
            Other::Local(task) => {
                task.complete(self);
                Some(1)
            }
            Other::Graph(instance, step) => {
                instance.deliver(step);
                Some(1)
            }
            Other::State(ctx, next) => {
                let told = ctx.state_changed.get().is_some();
                // A host with tasks in flight takes the next event that counts for the end of one
                // of them. The loss of something else must not count.
                let aside = next == CtxState::STOPPING || (ctx.lost.get() && self.in_flight() != 0);
                match ctx.arrive(self, next) {
                    true if !aside => Some(1),
                    true if told => Some(0),
                    _ => None,
                }
            }
        }
    }

    #[inline]
    fn complete_command(&self, task: CmdTaskRef) -> u8 {
        let mut ctx_data = task.head.user_data.get();
        if let Some(run) = task.run() {
            // The late answer counts for a command that was given up.
            if task.end.get().given_up == 0 {
                run.flight.completed();
            }
            self.owed.set(run.flight.count() != 0);
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
