//! A plugin's context, and the domain look-ups, which it may call from any thread between `open`
//! and `close`.
//!
//! A plugin has nothing but the address of its `WorkerCtx`. It is the first member of a
//! [`PluginCtx`], which has the rest: what the worker knows of domains, which plugin asks, and the
//! services that the plugin was attached to.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use urom_abi::DocaError;
use urom_abi::extension::WorkerServices;
use urom_abi::plugin::{DomainLookups, PluginIface, WorkerCtx};
use urom_log::guard;

use super::domains::Domains;
use super::hosts::Hosts;

#[derive(Debug)]
pub(crate) struct Supply {
    pub(crate) domains: Arc<Domains>,
    pub(crate) services: WorkerServices,
    pub(crate) hosts: Rc<Hosts>,
    /// Nothing but DOCA's interface is used.
    pub(crate) plain_doca: bool,
}

#[derive(Debug)]
#[repr(C)]
pub(crate) struct PluginCtx {
    ctx: WorkerCtx,
    domains: Arc<Domains>,
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
    /// The context for a plugin; it stays where it is until [`free`](PluginCtx::free).
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

    /// The services of a context, which stay where they are until it is freed.
    pub(crate) fn services(ctx: NonNull<WorkerCtx>) -> *const WorkerServices {
        // SAFETY: an address of the box from `leak`, whose first member `ctx` is.
        unsafe { &raw const (*ctx.cast::<PluginCtx>().as_ptr()).services }
    }

    /// The worker's hosts behind a context; NULL without one. It stays until the context is freed.
    ///
    /// # Safety
    /// `ctx` is NULL or the address that the plugin got, before the end of its `close`.
    pub(crate) unsafe fn hosts(ctx: *mut WorkerCtx) -> *const Hosts {
        if ctx.is_null() {
            return std::ptr::null();
        }
        // SAFETY: the caller's promise, and a plugin's context is the first member of a
        // `PluginCtx`.
        let hosts = unsafe { &raw const (*ctx.cast::<PluginCtx>()).hosts };
        // SAFETY: nobody writes to this member until the context is freed.
        Rc::as_ptr(unsafe { &*hosts })
    }

    /// Frees a context.
    ///
    /// # Safety
    ///
    /// `ctx` is from [`leak`](PluginCtx::leak) and was not freed, and nobody uses it any more: the
    /// plugin's `close` has returned.
    pub(crate) unsafe fn free(ctx: NonNull<WorkerCtx>) {
        // SAFETY: from the box in `leak`, whose first member it points to, and with the caller's
        // promise.
        drop(unsafe { Box::from_raw(ctx.cast::<PluginCtx>().as_ptr()) });
    }
}

/// Writes what `look` finds for the plugin that asks to its place; NULL is bad input.
///
/// # Safety
///
/// `ctx` is NULL or the address that the plugin got in `open`, before the end of its `close`, and
/// `place` is NULL or one that the plugin may write to.
unsafe fn answer<T>(
    ctx: *mut WorkerCtx,
    place: *mut T,
    look: impl FnOnce(&Domains, &str) -> Option<T>,
) -> Result<(), DocaError> {
    if ctx.is_null() || place.is_null() {
        return Err(DocaError::INVALID_VALUE);
    }
    let whole = ctx.cast::<PluginCtx>();
    // No reference to the whole: the plugin may be writing to its part.
    // SAFETY: the caller's promise, and a plugin's context is the first member of a `PluginCtx`.
    let domains = unsafe { &raw const (*whole).domains };
    // SAFETY: as above.
    let plugin = unsafe { &raw const (*whole).plugin };
    // SAFETY: as above; nobody writes to this member until the context is freed, and it may be read
    // from any thread.
    let domains = unsafe { &*domains };
    // SAFETY: as for `domains`.
    let plugin = unsafe { &*plugin };
    let found = look(domains, plugin).ok_or(DocaError::NOT_FOUND)?;
    // SAFETY: the caller's promise.
    unsafe { place.write(found) };
    Ok(())
}

unsafe extern "C" fn addr(ctx: *mut WorkerCtx, id: u64, addr: *mut *mut c_void) -> DocaError {
    let look =
        |domains: &Domains, plugin: &str| Some(domains.address(id, plugin)?.cast_mut().cast());
    // SAFETY: the plugin's promise.
    guard(|| unsafe { answer(ctx, addr, look) })
}

unsafe extern "C" fn seg(ctx: *mut WorkerCtx, id: u64, va: u64, seg: *mut c_int) -> DocaError {
    let look = |domains: &Domains, _: &str| c_int::try_from(domains.segment(id, va)?).ok();
    // SAFETY: the plugin's promise.
    guard(|| unsafe { answer(ctx, seg, look) })
}

unsafe extern "C" fn memh(
    ctx: *mut WorkerCtx,
    id: u64,
    seg: c_int,
    len: *mut usize,
    memh: *mut *mut c_void,
) -> DocaError {
    // SAFETY: the plugin's promise.
    guard(|| unsafe { handle(ctx, seg, len, memh, |domains, seg| domains.memh(id, seg)) })
}

unsafe extern "C" fn mkey(
    ctx: *mut WorkerCtx,
    id: u64,
    seg: c_int,
    len: *mut usize,
    rkey: *mut *mut c_void,
) -> DocaError {
    // SAFETY: the plugin's promise.
    guard(|| unsafe { handle(ctx, seg, len, rkey, |domains, seg| domains.mkey(id, seg)) })
}

/// Writes the handle that `find` finds of a segment, and its length, to the plugin's places.
///
/// # Safety
///
/// As for [`answer`]; `len` is NULL or a place that the plugin may write to.
unsafe fn handle(
    ctx: *mut WorkerCtx,
    seg: c_int,
    len: *mut usize,
    handle: *mut *mut c_void,
    find: impl FnOnce(&Domains, usize) -> Option<*const [u8]>,
) -> Result<(), DocaError> {
    let seg = usize::try_from(seg).map_err(|_| DocaError::INVALID_VALUE)?;
    if len.is_null() {
        return Err(DocaError::INVALID_VALUE);
    }
    let look = |domains: &Domains, _: &str| {
        let found = find(domains, seg)?;
        // SAFETY: the plugin's place.
        unsafe { len.write(found.len()) };
        Some(found.cast_mut().cast())
    };
    // SAFETY: the caller's promise.
    unsafe { answer(ctx, handle, look) }
}
