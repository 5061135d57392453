//! The fake's progress engines and the states of its contexts.

use std::ffi::c_int;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use urom_abi::DocaError;
use urom_abi::host::{Ctx, CtxState, Data, Pe, StateChangedCallback};

use super::objects::{Context, created, destroyed, plan};
use super::task::{complete, complete_query, due_query};
use super::{OK, Object, domain, put};

pub struct Engine {
    pub contexts: Vec<*mut Context>,
    bell: OwnedFd,
    /// A notification was asked for and not cleared.
    armed: bool,
    busy: bool,
}

pub unsafe extern "C" fn pe_create(pe: *mut *mut Pe) -> DocaError {
    created();
    let bell = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
    let new = Engine { contexts: Vec::new(), bell, armed: false, busy: false };
    put(pe, Box::into_raw(Box::new(new)).cast())
}

pub unsafe extern "C" fn pe_destroy(pe: *mut Pe) -> DocaError {
    // SAFETY: a live engine.
    if !unsafe { pe.get() }.contexts.is_empty() {
        return DocaError::IN_USE;
    }
    destroyed();
    // SAFETY: it came from a box, and the caller gives it up.
    drop(unsafe { Box::from_raw(pe.cast::<Engine>()) });
    OK
}

pub unsafe extern "C" fn pe_progress_many(pe: *mut Pe) -> u32 {
    // One is what many may come to.
    // SAFETY: as this function.
    u32::from(unsafe { pe_progress(pe) })
}

pub unsafe extern "C" fn pe_progress(pe: *mut Pe) -> u8 {
    super::called();
    // SAFETY: a live engine.
    let this = unsafe { pe.get() };
    assert!(!this.busy, "progress inside a callback");
    this.busy = true;
    let mut moved = 0;
    // By index: callbacks add and remove contexts.
    for index in 0.. {
        // SAFETY: a live engine.
        let Some(ctx) = unsafe { pe.get() }.contexts.get(index).copied() else { break };
        if step(ctx) {
            moved = 1;
            break;
        }
    }
    // SAFETY: a live engine.
    unsafe { pe.get() }.busy = false;
    moved
}

/// Delivers at most one event of a context.
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
    let is_empty = this.in_flight.is_empty() && this.queries.is_empty();
    if stopping && is_empty && this.allocated == 0 {
        change(ctx, CtxState::IDLE);
        return true;
    }
    if let Some(query) = due_query(this) {
        complete_query(query);
        return true;
    }
    complete(ctx, stopping)
}

pub fn change(ctx: *mut Context, next: CtxState) {
    // SAFETY: a live context.
    let this = unsafe { ctx.get() };
    let previous = std::mem::replace(&mut this.state, next);
    if let Some(callback) = this.callback {
        // SAFETY: what the host registered, with its data.
        unsafe { callback(this.user_data, ctx.cast(), previous, next) };
    }
}

functions! {
    fn pe_connect(pe: *mut Pe, ctx: *mut Ctx) {
        pe.contexts.push(ctx.cast());
        // SAFETY: a live context.
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
        // A domain that starts must be looked after; whatever else can happen here has happened
        // before anyone sleeps. One that is frozen thaws without a sign.
        if pe.contexts.iter().any(is_moving) {
            rustix::io::write(&pe.bell, &1u64.to_ne_bytes()).unwrap();
        }
        OK
    }

    fn pe_clear(pe: *mut Pe, _handle: c_int) {
        pe.armed = false;
        let _ = rustix::io::read(&pe.bell, &mut [0; 8]);
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
        put(count, ctx.in_flight.len())
    }
}

/// Tells who asked for a notification that there is something to do.
///
/// # Safety
/// The engine is live, and nobody borrows it.
pub unsafe fn ring(pe: *mut Engine) {
    // SAFETY: the caller's promise.
    let this = unsafe { pe.get() };
    if std::mem::take(&mut this.armed) {
        rustix::io::write(&this.bell, &1u64.to_ne_bytes()).unwrap();
    }
}

pub unsafe extern "C" fn ctx_start(ctx: *mut Ctx) -> DocaError {
    // SAFETY: a live context.
    let this = unsafe { ctx.get() };
    if this.state != CtxState::IDLE {
        return DocaError::BAD_STATE;
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
    DocaError::IN_PROGRESS
}

pub unsafe extern "C" fn ctx_stop(ctx: *mut Ctx) -> DocaError {
    // SAFETY: a live context.
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
    DocaError::IN_PROGRESS
}
