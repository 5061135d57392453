//! A plugin's context, and domain look-ups: callable from any thread between `open` and `close`. A
//! plugin's `WorkerCtx` is the first member of a [`PluginCtx`], which also has the worker's data.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use urom_abi::extension::WorkerServices;
use urom_abi::plugin::{DomainLookups, PluginIface, WorkerCtx};
use urom_abi::{DocaError, DocaStatus};
use urom_log::guard;

use super::domains::WorkerDomains;
use super::hosts::Hosts;

#[derive(Debug)]
pub(crate) struct Supply {
    pub(crate) domains: Arc<WorkerDomains>,
    pub(crate) services: WorkerServices,
    pub(crate) hosts: Rc<Hosts>,
    /// Use only DOCA's interface.
    pub(crate) plain_doca: bool,
}

#[derive(Debug)]
#[repr(C)]
pub(crate) struct PluginCtx {
    ctx: WorkerCtx,
    domains: Arc<WorkerDomains>,
    plugin: String,
    services: WorkerServices,
    hosts: Rc<Hosts>,
}

const LOOKUPS: DomainLookups = DomainLookups {
    addr_lookup: Some(addr),
    seg_lookup: Some(seg),
    memh_lookup: Some(memh),
    mkey_lookup: Some(mkey),
};

impl PluginCtx {
    /// Allocates a plugin's context, which stays in place until [`free`](PluginCtx::free).
    pub(crate) fn leak(iface: PluginIface, plugin: String, supply: &Supply) -> NonNull<WorkerCtx> {
        let whole = PluginCtx {
            ctx: WorkerCtx { iface, domain_iface: LOOKUPS, plugin_ctx: std::ptr::null_mut() },
            domains: Arc::clone(&supply.domains),
            plugin,
            services: supply.services,
            hosts: Rc::clone(&supply.hosts),
        };
        NonNull::from(Box::leak(Box::new(whole))).cast()
    }

    /// Returns a context's services, which stay in place until it is freed.
    pub(crate) fn services(ctx: NonNull<WorkerCtx>) -> *const WorkerServices {
        // SAFETY: `ctx` is the first member of the box from `leak`.
        unsafe { &raw const (*ctx.cast::<PluginCtx>().as_ptr()).services }
    }

    /// Returns the worker's hosts, valid until the context is freed; NULL without a context.
    ///
    /// # Safety
    /// `ctx` is NULL or the plugin's context, before the end of its `close`.
    pub(crate) unsafe fn hosts(ctx: *mut WorkerCtx) -> *const Hosts {
        if ctx.is_null() {
            return std::ptr::null();
        }
        // SAFETY: the caller's promise; a plugin's context is the first member of a `PluginCtx`.
        let hosts = unsafe { &raw const (*ctx.cast::<PluginCtx>()).hosts };
        // SAFETY: this member is not written until the context is freed.
        Rc::as_ptr(unsafe { &*hosts })
    }

    /// # Safety
    /// `ctx` is from [`leak`](PluginCtx::leak), was not freed, and is no longer used: the plugin's
    /// `close` has returned.
    pub(crate) unsafe fn free(ctx: NonNull<WorkerCtx>) {
        // SAFETY: the caller's promise; `ctx` points to the first member of the box from `leak`.
        drop(unsafe { Box::from_raw(ctx.cast::<PluginCtx>().as_ptr()) });
    }
}

/// Writes the result of `look` for the calling plugin to `target`; NULL is an error.
///
/// # Safety
/// `ctx` is NULL or the plugin's context, before the end of its `close`. `target` is NULL or
/// writable by the plugin.
unsafe fn answer<T>(
    ctx: *mut WorkerCtx,
    target: *mut T,
    look: impl FnOnce(&WorkerDomains, &str) -> Option<T>,
) -> Result<(), DocaError> {
    if ctx.is_null() || target.is_null() {
        return Err(DocaError::INVALID_VALUE);
    }
    let whole = ctx.cast::<PluginCtx>();
    // Without a reference to the whole context: the plugin may be writing to its part.
    // SAFETY: the caller's promise; a plugin's context is the first member of a `PluginCtx`.
    let domains = unsafe { &raw const (*whole).domains };
    // SAFETY: see above.
    let plugin = unsafe { &raw const (*whole).plugin };
    // SAFETY: see above; until the context is freed, this member is only read, by any thread.
    let domains = unsafe { &*domains };
    // SAFETY: as for `domains`.
    let plugin = unsafe { &*plugin };
    let found = look(domains, plugin).ok_or(DocaError::NOT_FOUND)?;
    // SAFETY: the caller's promise.
    unsafe { target.write(found) };
    Ok(())
}

unsafe extern "C" fn addr(ctx: *mut WorkerCtx, id: u64, addr: *mut *mut c_void) -> DocaStatus {
    let look = |domains: &WorkerDomains, plugin: &str| {
        Some(domains.address(id, plugin)?.cast_mut().cast())
    };
    // SAFETY: the plugin's promise.
    guard(|| unsafe { answer(ctx, addr, look) })
}

unsafe extern "C" fn seg(ctx: *mut WorkerCtx, id: u64, va: u64, seg: *mut c_int) -> DocaStatus {
    let look = |domains: &WorkerDomains, _: &str| c_int::try_from(domains.segment(id, va)?).ok();
    // SAFETY: the plugin's promise.
    guard(|| unsafe { answer(ctx, seg, look) })
}

unsafe extern "C" fn memh(
    ctx: *mut WorkerCtx,
    id: u64,
    seg: c_int,
    len: *mut usize,
    memh: *mut *mut c_void,
) -> DocaStatus {
    // SAFETY: the plugin's promise.
    guard(|| unsafe { handle(ctx, seg, len, memh, |domains, seg| domains.memh(id, seg)) })
}

unsafe extern "C" fn mkey(
    ctx: *mut WorkerCtx,
    id: u64,
    seg: c_int,
    len: *mut usize,
    rkey: *mut *mut c_void,
) -> DocaStatus {
    // SAFETY: the plugin's promise.
    guard(|| unsafe { handle(ctx, seg, len, rkey, |domains, seg| domains.mkey(id, seg)) })
}

/// Writes a segment's handle from `find`, and its length, to the plugin's pointers.
///
/// # Safety
/// See [`answer`]; `len` is NULL or writable by the plugin.
unsafe fn handle(
    ctx: *mut WorkerCtx,
    seg: c_int,
    len: *mut usize,
    handle: *mut *mut c_void,
    find: impl FnOnce(&WorkerDomains, usize) -> Option<*const [u8]>,
) -> Result<(), DocaError> {
    let seg = usize::try_from(seg).map_err(|_| DocaError::INVALID_VALUE)?;
    if len.is_null() {
        return Err(DocaError::INVALID_VALUE);
    }
    let look = |domains: &WorkerDomains, _: &str| {
        let found = find(domains, seg)?;
        // SAFETY: the plugin's pointer.
        unsafe { len.write(found.len()) };
        Some(found.cast_mut().cast())
    };
    // SAFETY: the caller's promise.
    unsafe { answer(ctx, handle, look) }
}
