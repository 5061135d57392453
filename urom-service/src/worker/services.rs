//! The worker's services for plugins, which `attach` of a plugin's extension receives.

use std::ffi::c_char;
use std::thread;

use urom_abi::extension::{LONGEST_FAILURE, Words, WorkerServices};
use urom_abi::plugin::WorkerCtx;
use urom_abi::{DocaError, DocaStatus};
use urom_log::{guard, guard_or};
use urom_memory::engine::{Shares, Site, functions};
use urom_wire::trace::LONGEST_SPAN_NAME;

use super::config::WorkerConfig;
use super::hosts::{Hosts, TaskToken, Traces};
use super::lookups::PluginCtx;
use crate::plugin_log::worker_log;

pub(crate) fn services(config: &WorkerConfig) -> WorkerServices {
    functions::<Hosts>(WorkerServices {
        worker_id: config.id.0,
        group_id: config.gid.into(),
        message_limit: config.max_message,
        log: worker_log().map_or(std::ptr::null(), std::ptr::from_ref),
        connection_limit: Some(connection_limit),
        deadline: Some(deadline),
        explain: Some(explain),
        moved: Some(moved),
        enter_span: Some(enter_span),
        leave_span: Some(leave_span),
        ..WorkerServices::NONE
    })
}

impl Site for Hosts {
    unsafe fn serve(
        ctx: *mut WorkerCtx,
        _: &'static str,
        call: impl FnOnce(&Shares) -> Result<(), DocaError>,
    ) -> DocaStatus {
        let call = |hosts: &Hosts| Some(call(&hosts.memories.shares));
        // SAFETY: the caller's promise.
        guard(|| unsafe { with_hosts(ctx, call) }.unwrap_or(Err(DocaError::BAD_STATE)))
    }
}

/// Asks the worker's hosts; returns zero if a plugin calls on another thread.
///
/// # Safety
/// `ctx` is NULL or the context of an open plugin.
unsafe fn with_hosts<T: Default>(ctx: *mut WorkerCtx, ask: impl FnOnce(&Hosts) -> T) -> T {
    // SAFETY: the caller's promise.
    let hosts = unsafe { PluginCtx::hosts(ctx) };
    if hosts.is_null() {
        return T::default();
    }
    // SAFETY: it lives as long as the context, and this member never changes.
    let thread = unsafe { &raw const (*hosts).thread };
    // SAFETY: see above.
    if unsafe { *thread } != thread::current().id() {
        limited!(error, "a plugin called one of the worker's services on a thread of its own");
        return T::default();
    }
    // SAFETY: see above; this is the hosts' thread.
    ask(unsafe { &*hosts })
}

unsafe extern "C" fn connection_limit(ctx: *mut WorkerCtx, dest_id: u64) -> usize {
    let limit = |hosts: &Hosts| hosts.by_dest_id(dest_id).map_or(0, |host| host.limit);
    // SAFETY: the plugin's promise.
    guard_or(0, || unsafe { with_hosts(ctx, limit) })
}

unsafe extern "C" fn deadline(ctx: *mut WorkerCtx, dest_id: u64, urom_context: u64) -> u64 {
    let deadline = |hosts: &Hosts| {
        hosts.of_command(dest_id, urom_context).map_or(0, |host| host.deadline(urom_context))
    };
    // SAFETY: the plugin's promise.
    guard_or(0, || unsafe { with_hosts(ctx, deadline) })
}

unsafe extern "C" fn moved(ctx: *mut WorkerCtx) {
    // SAFETY: the plugin's promise.
    guard_or((), || unsafe { with_hosts(ctx, Hosts::set_moved) });
}

unsafe extern "C" fn enter_span(
    ctx: *mut WorkerCtx,
    dest_id: u64,
    urom_context: u64,
    name: *const c_char,
    len: usize,
) {
    guard_or((), || {
        if name.is_null() {
            return;
        }
        // SAFETY: the plugin vouches for so many bytes.
        let name =
            unsafe { std::slice::from_raw_parts(name.cast::<u8>(), len.min(LONGEST_SPAN_NAME)) };
        let name = String::from_utf8_lossy(name);
        let enter = |traces: &Traces, token| traces.enter(token, &name);
        // SAFETY: the plugin's promise.
        unsafe { with_traces(ctx, (dest_id, urom_context), enter) };
    });
}

unsafe extern "C" fn leave_span(ctx: *mut WorkerCtx, dest_id: u64, urom_context: u64) {
    // SAFETY: the plugin's promise.
    guard_or((), || unsafe { with_traces(ctx, (dest_id, urom_context), Traces::leave) });
}

/// Changes the traces of a command's host.
///
/// # Safety
/// See [`with_hosts`].
unsafe fn with_traces(
    ctx: *mut WorkerCtx,
    (dest_id, urom_context): (u64, u64),
    change: impl FnOnce(&Traces, TaskToken),
) {
    let change = |hosts: &Hosts| {
        if let Some(host) = hosts.of_command(dest_id, urom_context) {
            change(&host.traces, TaskToken::unpack(urom_context));
        }
    };
    // SAFETY: the caller's promise.
    unsafe { with_hosts(ctx, change) };
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
        // SAFETY: the plugin vouches for so many bytes.
        let bytes =
            unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len.min(LONGEST_FAILURE)) };
        let text = String::from_utf8_lossy(bytes);
        // Replaced a character that was cut in two.
        let text = if len > LONGEST_FAILURE { text.trim_end_matches('\u{fffd}') } else { &text };
        let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let explain = |hosts: &Hosts| {
            if let Some(host) = hosts.of_command(dest_id, urom_context) {
                host.explain(urom_context, line);
            }
        };
        // SAFETY: the plugin's promise.
        unsafe { with_hosts(ctx, explain) };
    });
}
