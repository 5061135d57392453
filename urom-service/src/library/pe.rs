//! The progress engine.
//!
//! A call of `doca_pe_progress` either delivers the oldest event that is ready, or moves everything that can move and
//! then delivers at most one event. So a host gets one callback a call, in the order in which answers arrived, and 0
//! whenever nothing it can see has happened.

mod sleep;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use rustix::event::epoll;
use urom_abi::DocaError;
use urom_abi::host::{CmdTask as CCmdTask, CtxState};
use urom_abi::signals;

use super::bell::Bell;
use super::channels::Channels;
use super::ctx::Context;
use super::event::Mailbox;
use super::failure::failure;
use super::gid::GidTask;
use super::run::Run;
use super::task::{CmdTask, Stage};
use super::transport::Transport;
use crate::wire::control::Failure;
use crate::wire::frame;

/// Something a host is to see.
pub(super) enum Ready {
    /// A command completed.
    Command(Rc<CmdTask>),
    /// A group query completed.
    Group(Rc<GidTask>),
    /// A context changes its state.
    State(Rc<Context>, CtxState),
}

/// What delivering an event came to.
enum Delivery {
    /// The host saw something that counts.
    Seen,
    /// A callback ran that does not count.
    Told,
    /// Nothing was ready, or what was no longer applied.
    Nothing,
}

/// A progress engine. It belongs to one thread at a time; only its mailbox is shared.
pub(super) struct Pe {
    me: Weak<Pe>,
    mailbox: Arc<Mailbox>,
    bell: Bell,
    epoll: OwnedFd,
    /// UCX, once a worker context starts.
    transport: OnceCell<Transport>,
    ready: RefCell<VecDeque<Ready>>,
    /// Runs that have frames to send, sends under way, or a broken endpoint.
    to_tend: RefCell<Vec<Rc<Run>>>,
    /// Domains whose out-of-band exchange is under way, which wakes nobody.
    exchanging: RefCell<Vec<Rc<Context>>>,
    /// Wakes a host that sleeps meanwhile, once a domain starts.
    timer: OnceCell<OwnedFd>,
    runs: RefCell<HashMap<u64, Rc<Context>>>,
    channels: RefCell<Channels<Rc<Run>>>,
    connected: Cell<isize>,
    in_flight: Cell<usize>,
    busy: Cell<bool>,
}

/// Clears the flag on every way out.
struct Busy<'a>(&'a Cell<bool>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl Pe {
    /// An engine without contexts.
    pub(super) fn new() -> std::io::Result<Rc<Pe>> {
        let mailbox = Arc::new(Mailbox::new()?);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = Bell::new()?;
        epoll::add(&epoll, mailbox.as_fd(), epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        epoll::add(&epoll, bell.as_fd(), epoll::EventData::new_u64(1), epoll::EventFlags::IN)?;
        Ok(Rc::new_cyclic(|me| Pe {
            me: Weak::clone(me),
            mailbox,
            bell,
            epoll,
            transport: OnceCell::new(),
            ready: RefCell::default(),
            to_tend: RefCell::default(),
            exchanging: RefCell::default(),
            timer: OnceCell::new(),
            runs: RefCell::default(),
            channels: RefCell::new(Channels::new()),
            connected: Cell::new(0),
            in_flight: Cell::new(0),
            busy: Cell::new(false),
        }))
    }

    pub(super) fn handle(&self) -> Option<Rc<Pe>> {
        self.me.upgrade()
    }

    /// Counts contexts that are connected.
    pub(super) fn connected(&self, by: isize) {
        self.connected.set(self.connected.get() + by);
    }

    /// `IN_USE` while contexts are connected, and inside a callback.
    pub(super) fn may_go(&self) -> Result<(), DocaError> {
        if self.connected.get() != 0 || self.busy.get() { Err(DocaError::IN_USE) } else { Ok(()) }
    }

    pub(super) fn mailbox(&self) -> &Arc<Mailbox> {
        &self.mailbox
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.get()
    }

    /// Counts a task as in flight.
    pub(super) fn submitted(&self) {
        self.in_flight.set(self.in_flight.get() + 1);
    }

    /// UCX, made when it is first needed.
    pub(super) fn transport(&self) -> Result<&Transport, Failure> {
        if let Some(transport) = self.transport.get() {
            return Ok(transport);
        }
        super::transport::require_ucx()?;
        let broken = |what: &str| failure(DocaError::INITIALIZATION, format!("UCX cannot be used: {what}"));
        // UCX starts a thread of its own.
        let transport = signals::blocked(|| Transport::new(Weak::clone(&self.me)));
        let transport = transport.map_err(|error| broken(&error.to_string()))?;
        let fd = transport.ucx().event_fd().map_err(|error| broken(&error.to_string()))?;
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(2), epoll::EventFlags::IN)
            .map_err(|error| broken(&error.to_string()))?;
        Ok(self.transport.get_or_init(|| transport))
    }

    /// Registers a run for events.
    pub(super) fn begin(&self, run: u64, ctx: Rc<Context>) {
        self.runs.borrow_mut().insert(run, ctx);
    }

    /// Events of this run mean nothing from now on.
    pub(super) fn end(&self, run: u64) {
        self.runs.borrow_mut().remove(&run);
    }

    /// A channel number for a run of a worker. `None` when all are taken.
    pub(super) fn open_channel(&self, make: impl FnOnce(u16) -> Rc<Run>) -> Option<Rc<Run>> {
        self.channels.borrow_mut().open(make)
    }

    pub(super) fn close_channel(&self, channel: u16) {
        self.channels.borrow_mut().close(channel);
    }

    /// Puts an event behind those that are ready.
    pub(super) fn push(&self, ready: Ready) {
        self.bell.ring();
        self.ready.borrow_mut().push_back(ready);
    }

    /// Has progress make the steps of a domain's exchange.
    pub(super) fn exchange(&self, ctx: Rc<Context>) {
        self.bell.ring();
        self.exchanging.borrow_mut().push(ctx);
    }

    /// Takes back changes of a context's state that the host has not seen.
    pub(super) fn forget(&self, ctx: &Context) {
        let is_its = |ready: &Ready| matches!(ready, Ready::State(of, _) if std::ptr::eq(&**of, ctx));
        self.ready.borrow_mut().retain(|ready| !is_its(ready));
        self.exchanging.borrow_mut().retain(|of| !std::ptr::eq(&**of, ctx));
    }

    /// Has a run looked after by the next progress.
    pub(super) fn tend(&self, run: Rc<Run>) {
        self.bell.ring();
        self.to_tend.borrow_mut().push(run);
    }

    /// `doca_pe_progress`.
    pub(super) fn progress(&self) -> u8 {
        if self.busy.replace(true) {
            return 0;
        }
        let _busy = Busy(&self.busy);
        match self.deliver() {
            Delivery::Seen => return 1,
            Delivery::Told => return 0,
            Delivery::Nothing => {}
        }
        self.advance();
        u8::from(matches!(self.deliver(), Delivery::Seen))
    }

    /// Everything that can move, without the host seeing it.
    fn advance(&self) {
        self.flush();
        if let Some(transport) = self.transport.get()
            && transport.ucx().progress()
        {
            // UCX was armed for what it has just taken.
            self.bell.ring();
        }
        if !self.exchanging.borrow().is_empty() {
            self.exchange_all();
        }
        if self.mailbox.has_post() {
            self.read_mail();
        }
    }

    /// Sends what waits to be sent.
    fn flush(&self) {
        if self.to_tend.borrow().is_empty() {
            return;
        }
        // What has to be looked after again goes to the end of the list, which keeps its memory.
        let count = self.to_tend.borrow().len();
        for at in 0..count {
            let run = self.to_tend.borrow().get(at).cloned();
            if let Some(run) = run {
                run.tend(self);
            }
        }
        self.to_tend.borrow_mut().drain(..count);
    }

    #[cold]
    fn read_mail(&self) {
        // What a message starts may need UCX, which was armed before that.
        self.bell.ring();
        for (run, event) in self.mailbox.take() {
            let ctx = self.runs.borrow().get(&run).cloned();
            if let Some(ctx) = ctx {
                ctx.on_event(event);
            }
        }
    }

    /// One step of every domain's exchange.
    #[cold]
    fn exchange_all(&self) {
        for ctx in self.exchanging.take() {
            if ctx.domain().is_ok_and(|domain| domain.exchange(&ctx)) {
                self.exchanging.borrow_mut().push(ctx);
            }
        }
    }

    /// Receives what UCX still has, after a peer is gone.
    pub(super) fn drain(&self) {
        let Some(transport) = self.transport.get() else { return };
        for _ in 0..10_000 {
            if !transport.ucx().progress() {
                break;
            }
        }
    }

    /// A message of notifications.
    pub(super) fn on_notifications(&self, message: &[u8]) {
        for notification in frame::notifications(message) {
            let notification = match notification {
                Ok(notification) => notification,
                Err(error) => {
                    tracing::warn!(target: "urom_library", "notifications dropped: {error}");
                    return;
                }
            };
            let run = self.channels.borrow().get(notification.channel).cloned();
            match run {
                Some(run) => run.on_notification(self, &notification),
                None => tracing::debug!(
                    target: "urom_library",
                    "a notification for channel {}, which is closed, was dropped",
                    notification.channel
                ),
            }
        }
    }

    /// A worker showed that UCX carries.
    pub(super) fn on_greeting(&self, channel: u16) {
        let run = self.channels.borrow().get(channel).cloned();
        if let Some(run) = run {
            run.on_greeting(self);
        }
    }

    /// Delivers the oldest event.
    fn deliver(&self) -> Delivery {
        loop {
            let Some(ready) = self.ready.borrow_mut().pop_front() else { return Delivery::Nothing };
            match ready {
                Ready::Command(task) => {
                    self.complete_command(&task);
                    return Delivery::Seen;
                }
                Ready::Group(task) => {
                    self.complete_group(&task);
                    return Delivery::Seen;
                }
                Ready::State(ctx, next) => {
                    let told = ctx.is_watched();
                    // A host with tasks in flight takes the next thing that counts for one of them: the loss of something
                    // else must not be it.
                    let aside = next == CtxState::STOPPING || (ctx.is_lost() && self.in_flight.get() != 0);
                    if ctx.arrive(next) {
                        if !aside {
                            return Delivery::Seen;
                        } else if told {
                            return Delivery::Told;
                        }
                    }
                }
            }
        }
    }

    fn complete_command(&self, task: &Rc<CmdTask>) {
        self.in_flight.set(self.in_flight.get() - 1);
        let run = task.run.upgrade();
        if let Some(run) = &run {
            run.completed();
        }
        task.head.stage.set(Stage::Done);
        if let Some(callback) = task.callback.get() {
            let user_data = task.head.user_data.get();
            let ctx_data = task.head.ctx.upgrade().map_or(user_data, |ctx| ctx.user_data());
            let task = Rc::as_ptr(task).cast_mut().cast::<CCmdTask>();
            // SAFETY: the host gave this function for exactly this call, and the task is the host's from now on.
            unsafe { callback(task, user_data, ctx_data) };
        }
        if let Some(run) = run {
            run.check_over(self);
        }
    }

    fn complete_group(&self, task: &Rc<GidTask>) {
        self.in_flight.set(self.in_flight.get() - 1);
        let run = task.run.upgrade();
        if let Some(run) = &run {
            run.completed();
        }
        task.head.stage.set(Stage::Done);
        if let Some(callback) = task.callback.get() {
            let user_data = task.head.user_data.get();
            let ctx_data = task.head.ctx.upgrade().map_or(user_data, |ctx| ctx.user_data());
            // SAFETY: as for commands.
            unsafe { callback(task.pointer.get(), user_data, ctx_data) };
        }
        if let Some(run) = run {
            run.check_over(self);
        }
    }
}
