//! The four look-ups of a played worker, as its plugin calls them: from any thread, from `open` to
//! `close`.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use urom_abi::DocaError;
use urom_abi::plugin::{DomainLookups, PluginIface, WorkerCtx};

use super::members::SharedDomain;
use super::services::{Served, Services};
use crate::guard::guard;

/// Which look-up: what [`Worker::fail_lookup`](super::Worker::fail_lookup) makes fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Of an address (`addr_lookup`).
    Address,
    /// Of the buffer that holds an address (`seg_lookup`).
    Segment,
    /// Of a memory handle (`memh_lookup`).
    MemoryHandle,
    /// Of a remote key (`mkey_lookup`).
    Key,
}

pub(super) struct Member {
    pub(super) domain: Arc<SharedDomain>,
    pub(super) plugin: &'static str,
    pub(super) failures: Mutex<VecDeque<(Lookup, DocaError)>>,
}

impl Member {
    fn failure(&self, lookup: Lookup) -> Option<DocaError> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let at = failures.iter().position(|(which, _)| *which == lookup)?;
        failures.remove(at).map(|(_, code)| code)
    }
}

/// A plugin's `WorkerCtx`, and what its look-ups and the worker's services need.
#[repr(C)]
pub(super) struct Seat {
    served: Served,
    member: Arc<Member>,
}

impl Seat {
    /// The context for a plugin; it stays where it is until [`free`](Seat::free).
    pub(super) fn leak(
        iface: PluginIface,
        member: Arc<Member>,
        services: Rc<Services>,
    ) -> NonNull<WorkerCtx> {
        let domain_iface = DomainLookups {
            addr_lookup: Some(addr),
            seg_lookup: Some(seg),
            memh_lookup: Some(memh),
            mkey_lookup: Some(mkey),
        };
        // What a worker holds there before `open` is not the plugin's to read.
        let plugin_ctx = std::ptr::without_provenance_mut(0x10);
        let ctx = WorkerCtx { iface, domain_iface, plugin_ctx };
        NonNull::from(Box::leak(Box::new(Seat { served: Served { ctx, services }, member }))).cast()
    }

    /// Takes it back.
    ///
    /// # Safety
    /// `ctx` is from [`leak`](Seat::leak), is given back once, and the plugin does not use it any
    /// more.
    pub(super) unsafe fn free(ctx: NonNull<WorkerCtx>) {
        // SAFETY: from the box in `leak`, whose first member it points to, and with the caller's
        // promise.
        drop(unsafe { Box::from_raw(ctx.cast::<Seat>().as_ptr()) });
    }
}

/// Runs a look-up for the plugin that asks. `None` is what nobody has.
///
/// # Safety
/// `ctx` is NULL or from [`Seat::leak`] and not freed.
unsafe fn answer(
    ctx: *mut WorkerCtx,
    lookup: Lookup,
    places_are_there: bool,
    look: impl FnOnce(&SharedDomain, &str) -> Option<()>,
) -> DocaError {
    guard("a look-up", DocaError::UNEXPECTED, || {
        if ctx.is_null() || !places_are_there {
            return DocaError::INVALID_VALUE;
        }
        // No reference to the whole: the plugin may be writing to its part.
        // SAFETY: the caller's promise; a plugin's context is the first member of a `Seat`.
        let member = unsafe { &raw const (*ctx.cast::<Seat>()).member };
        // SAFETY: as above; nobody writes to this member until the context is freed.
        let member = unsafe { &*member };
        if let Some(code) = member.failure(lookup) {
            return code;
        }
        match look(&member.domain, member.plugin) {
            Some(()) => DocaError::SUCCESS,
            None => DocaError::NOT_FOUND,
        }
    })
}

unsafe extern "C" fn addr(ctx: *mut WorkerCtx, member: u64, addr: *mut *mut c_void) -> DocaError {
    let look = |domain: &SharedDomain, plugin: &str| {
        let found = domain.address(member, plugin)?;
        // SAFETY: the plugin's place, which `answer` found not to be NULL.
        unsafe { addr.write(found.cast::<c_void>().cast_mut()) };
        Some(())
    };
    // SAFETY: the plugin passes the context of its `open` and writable places, as DOCA demands.
    unsafe { answer(ctx, Lookup::Address, !addr.is_null(), look) }
}

unsafe extern "C" fn seg(ctx: *mut WorkerCtx, member: u64, va: u64, seg: *mut c_int) -> DocaError {
    let look = |domain: &SharedDomain, _: &str| {
        let found = c_int::try_from(domain.segment(member, va)?).ok()?;
        // SAFETY: the plugin's place, which `answer` found not to be NULL.
        unsafe { seg.write(found) };
        Some(())
    };
    // SAFETY: the plugin passes the context of its `open` and writable places, as DOCA demands.
    unsafe { answer(ctx, Lookup::Segment, !seg.is_null(), look) }
}

unsafe extern "C" fn memh(
    ctx: *mut WorkerCtx,
    member: u64,
    seg: c_int,
    len: *mut usize,
    memh: *mut *mut c_void,
) -> DocaError {
    // SAFETY: the plugin passes the context of its `open` and writable places, as DOCA demands.
    unsafe { packed(ctx, Lookup::MemoryHandle, member, seg, len, memh) }
}

unsafe extern "C" fn mkey(
    ctx: *mut WorkerCtx,
    member: u64,
    seg: c_int,
    len: *mut usize,
    rkey: *mut *mut c_void,
) -> DocaError {
    // SAFETY: the plugin passes the context of its `open` and writable places, as DOCA demands.
    unsafe { packed(ctx, Lookup::Key, member, seg, len, rkey) }
}

/// The two look-ups that give bytes and a length.
///
/// # Safety
/// As for [`answer`]; `len` and `start` are NULL or places that can be written to.
unsafe fn packed(
    ctx: *mut WorkerCtx,
    lookup: Lookup,
    member: u64,
    seg: c_int,
    len: *mut usize,
    start: *mut *mut c_void,
) -> DocaError {
    let look = |domain: &SharedDomain, _: &str| {
        let found = domain.packed(member, usize::try_from(seg).ok()?, lookup == Lookup::Key)?;
        // SAFETY: the plugin's place, which `answer` found not to be NULL.
        unsafe { len.write(found.len()) };
        // SAFETY: `answer` found the plugin's place not to be NULL.
        unsafe { start.write(found.cast::<c_void>().cast_mut()) };
        Some(())
    };
    // SAFETY: the caller vouches for the context and the places.
    unsafe { answer(ctx, lookup, !len.is_null() && !start.is_null(), look) }
}
