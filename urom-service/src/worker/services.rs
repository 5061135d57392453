//! The worker's services for plugins: what `attach` of a plugin's extension gives it.

use std::ffi::c_char;
use std::thread;

use urom_abi::DocaError;
use urom_abi::extension::{LONGEST_FAILURE, Words, WorkerServices};
use urom_abi::plugin::WorkerCtx;
use urom_log::{guard, guard_or};
use urom_memory::engine::{Shares, Site, functions};

use super::config::WorkerConfig;
use super::desk::Desk;
use super::lookups::PluginCtx;
use crate::plugin_log::worker_log;

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
    let limit = |desk: &Desk| desk.limit(dest_id);
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
    guard_or((), || unsafe { at_desk(ctx, Desk::set_moved) });
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
