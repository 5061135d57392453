//! The fake's progress engines and the states of its contexts.

use std::ffi::c_int;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use urom_abi::DocaStatus;
use urom_abi::host::{Ctx, CtxState, Data, Pe, StateChangedCallback, Worker};

use super::objects::{Context, created, destroyed, plan};
use super::task::{complete, complete_query, due_query, expire, next_deadline};
use super::{OK, Object, domain, put};

pub struct Engine {
    pub contexts: Vec<*mut Context>,
    /// A timer; an event triggers it at once.
    bell: OwnedFd,
    at: Option<Instant>,
    named: Option<Instant>,
    /// A notification was requested and not cleared.
    armed: bool,
    busy: bool,
    turns: u32,
}

pub unsafe extern "C" fn pe_create(pe: *mut *mut Pe) -> DocaStatus {
    created();
    let bell = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK).unwrap();
    let (at, named) = (None, None);
    let new = Engine { contexts: Vec::new(), bell, at, named, armed: false, busy: false, turns: 0 };
    put(pe, Box::into_raw(Box::new(new)).cast())
}

pub unsafe extern "C" fn pe_destroy(pe: *mut Pe) -> DocaStatus {
    let until = Instant::now() + Duration::from_secs(10);
    // SAFETY: the engine is live.
    while unsafe { pe.get() }.contexts.iter().any(has_left) && Instant::now() < until {
        // SAFETY: the caller's promise.
        unsafe { pe_progress(pe) };
        std::thread::yield_now();
    }
    // SAFETY: the engine is live.
    if !unsafe { pe.get() }.contexts.is_empty() {
        return DocaStatus::IN_USE;
    }
    destroyed();
    // SAFETY: it came from a box, and the caller does not use it again.
    drop(unsafe { Box::from_raw(pe.cast::<Engine>()) });
    OK
}

fn has_left(ctx: &*mut Context) -> bool {
    // SAFETY: contexts leave their engine when they are destroyed.
    unsafe { ctx.get() }.left
}

pub unsafe extern "C" fn pe_progress_many(pe: *mut Pe) -> u32 {
    // One move stands for any number.
    // SAFETY: the caller's promise.
    u32::from(unsafe { pe_progress(pe) })
}

pub unsafe extern "C" fn pe_progress(pe: *mut Pe) -> u8 {
    super::called();
    // SAFETY: the engine is live.
    let this = unsafe { pe.get() };
    assert!(!this.busy, "progress inside a callback");
    this.busy = true;
    this.turns += 1;
    this.named = this.named.filter(|named| *named > Instant::now());
    if this.turns.is_multiple_of(64) {
        for ctx in &this.contexts {
            expire(*ctx);
        }
    }
    let mut moved = 0;
    // By index: callbacks add and remove contexts.
    for index in 0.. {
        // SAFETY: the engine is live.
        let Some(ctx) = unsafe { pe.get() }.contexts.get(index).copied() else { break };
        if step(ctx) {
            moved = 1;
            break;
        }
    }
    // SAFETY: the engine is live.
    unsafe { pe.get() }.busy = false;
    moved
}

fn step(ctx: *mut Context) -> bool {
    // SAFETY: contexts leave their engine when they are destroyed.
    let this = unsafe { ctx.get() };
    if this.state == CtxState::STOPPING && domain::has(domain::habit::FREEZES) {
        return false;
    }
    if let Some(next) = this.next.take() {
        change(ctx, next);
        // SAFETY: as above.
        return unsafe { ctx.get() }.id != super::id::FAILS_UNCOUNTED;
    }
    if this.domain.is_some() && this.state == CtxState::STARTING {
        return domain::step(ctx);
    }
    let stopping = this.state == CtxState::STOPPING;
    let is_empty = this.in_flight.is_empty() && this.ended.is_empty() && this.queries.is_empty();
    if stopping && is_empty && this.allocated == 0 {
        change(ctx, CtxState::IDLE);
        if this.left {
            assert_eq!(Context::destroy(ctx), OK);
        }
        return true;
    }
    if let Some(query) = due_query(this) {
        complete_query(query);
        return true;
    }
    complete(ctx, stopping) || expire(ctx) && complete(ctx, false)
}

pub fn change(ctx: *mut Context, next: CtxState) {
    // SAFETY: the context is live.
    let this = unsafe { ctx.get() };
    let previous = std::mem::replace(&mut this.state, next);
    if let Some(callback) = this.callback {
        // SAFETY: the host's callback, with its data.
        unsafe { callback(this.user_data, ctx.cast(), previous, next) };
    }
}

functions! {
    fn pe_connect(pe: *mut Pe, ctx: *mut Ctx) {
        pe.contexts.push(ctx.cast());
        // SAFETY: the context is live.
        unsafe { ctx.get() }.engine = pe;
        OK
    }

    fn pe_in_flight(pe: *const Pe, count: *mut usize) {
        // SAFETY: contexts leave their engine when they are destroyed.
        put(count, pe.contexts.iter().map(|ctx| unsafe { ctx.get() }.in_flight.len()).sum())
    }

    fn pe_handle(pe: *const Pe, handle: *mut c_int) {
        put(handle, pe.bell.as_raw_fd())
    }

    fn pe_request(pe: *mut Pe) {
        // SAFETY: contexts leave their engine when they are destroyed.
        let state = |ctx: &*mut Context| unsafe { ctx.get() }.state;
        let is_moving = |ctx| matches!(state(ctx), CtxState::STARTING | CtxState::STOPPING);
        pe.armed = true;
        // A starting domain must be polled; a frozen context thaws without a notification.
        if pe.contexts.iter().any(is_moving) {
            pe.set(Instant::now());
        }
        // SAFETY: contexts leave their engine when they are destroyed.
        let deadlines = pe.contexts.iter().filter_map(|ctx| next_deadline(unsafe { ctx.get() }));
        let next = deadlines.chain(pe.named).min();
        next.into_iter().for_each(|at| pe.set(at));
        OK
    }

    fn pe_wake_within(pe: *mut Pe, nanoseconds: u64) {
        let at = Instant::now() + Duration::from_nanos(nanoseconds);
        pe.named = pe.named.into_iter().chain([at]).min();
        // SAFETY: the engine is live.
        unsafe { wake(pe, at) };
        OK
    }

    fn worker_leave(worker: *mut Worker) {
        worker.left = true;
        worker.callback = None;
        OK
    }

    fn pe_clear(pe: *mut Pe, _handle: c_int) {
        pe.armed = false;
        pe.at = None;
        pe.settime(0);
        OK
    }

    fn ctx_get_state(ctx: *const Ctx, state: *mut CtxState) {
        put(state, ctx.state)
    }

    fn ctx_set_user_data(ctx: *mut Ctx, data: Data) {
        ctx.user_data = data;
        OK
    }

    fn ctx_set_cb(ctx: *mut Ctx, callback: Option<StateChangedCallback>) {
        ctx.callback = callback;
        OK
    }

    fn ctx_in_flight(ctx: *const Ctx, count: *mut usize) {
        put(count, ctx.in_flight.len() + ctx.ended.len() + ctx.ghosts.len())
    }
}

/// # Safety
/// The engine is live and not borrowed.
pub unsafe fn ring(pe: *mut Engine) {
    // SAFETY: the caller's promise.
    let this = unsafe { pe.get() };
    if this.armed {
        this.set(Instant::now());
    }
}

/// # Safety
/// As [`ring`].
pub unsafe fn wake(pe: *mut Engine, at: Instant) {
    // SAFETY: the caller's promise.
    let this = unsafe { pe.get() };
    if this.armed {
        this.set(at);
    }
}

impl Engine {
    fn set(&mut self, at: Instant) {
        if self.at.is_none_or(|known| at < known) {
            self.at = Some(at);
            self.settime(at.saturating_duration_since(Instant::now()).as_nanos().max(1) as u64);
        }
    }

    fn settime(&self, nanoseconds: u64) {
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let it_value = Timespec {
            tv_sec: (nanoseconds / 1_000_000_000) as i64,
            tv_nsec: (nanoseconds % 1_000_000_000) as i64,
        };
        let value = Itimerspec { it_interval: zero, it_value };
        timerfd_settime(&self.bell, TimerfdTimerFlags::empty(), &value).unwrap();
    }
}

pub unsafe extern "C" fn ctx_start(ctx: *mut Ctx) -> DocaStatus {
    // SAFETY: the context is live.
    let this = unsafe { ctx.get() };
    if this.state != CtxState::IDLE {
        return DocaStatus::BAD_STATE;
    }
    if this.is_service {
        change(ctx.cast(), CtxState::RUNNING);
        return OK;
    }
    if this.domain.is_some() {
        return domain::start(ctx.cast());
    }
    plan(this);
    change(ctx.cast(), CtxState::STARTING);
    DocaStatus::IN_PROGRESS
}

pub unsafe extern "C" fn ctx_stop(ctx: *mut Ctx) -> DocaStatus {
    // SAFETY: the context is live.
    let this = unsafe { ctx.get() };
    if this.is_service && this.queries.is_empty() {
        change(ctx.cast(), CtxState::IDLE);
        return OK;
    }
    if this.domain.is_some() {
        return domain::stop(ctx.cast());
    }
    this.next = None;
    change(ctx.cast(), CtxState::STOPPING);
    DocaStatus::IN_PROGRESS
}
