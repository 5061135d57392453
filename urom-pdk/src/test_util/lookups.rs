//! The simulated worker's look-ups, which its plugin calls from any thread.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use urom_abi::plugin::{DomainLookups, PluginIface, WorkerCtx};
use urom_abi::{DocaError, DocaStatus};

use super::members::SharedDomain;
use super::services::{ServedCtx, Services};
use crate::guard::guard;

/// A kind of look-up, for [`Worker::fail_lookup`](super::Worker::fail_lookup).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Of an address (`addr_lookup`).
    Address,
    /// Of the buffer that contains an address (`seg_lookup`).
    Segment,
    /// Of a memory handle (`memh_lookup`).
    MemoryHandle,
    /// Of a remote key (`mkey_lookup`).
    Key,
}

pub(super) struct TestMember {
    pub(super) domain: Arc<SharedDomain>,
    pub(super) plugin: &'static str,
    pub(super) failures: Mutex<VecDeque<(Lookup, DocaError)>>,
}

impl TestMember {
    fn failure(&self, lookup: Lookup) -> Option<DocaError> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let at = failures.iter().position(|(which, _)| *which == lookup)?;
        failures.remove(at).map(|(_, code)| code)
    }
}

#[repr(C)]
pub(super) struct TestCtx {
    served: ServedCtx,
    member: Arc<TestMember>,
}

impl TestCtx {
    pub(super) fn leak(
        iface: PluginIface,
        member: Arc<TestMember>,
        services: Rc<Services>,
    ) -> NonNull<WorkerCtx> {
        let domain_iface = DomainLookups {
            addr_lookup: Some(addr),
            seg_lookup: Some(seg),
            memh_lookup: Some(memh),
            mkey_lookup: Some(mkey),
        };
        // A plugin must not read the worker's value before `open`.
        let plugin_ctx = std::ptr::without_provenance_mut(0x10);
        let served = ServedCtx { ctx: WorkerCtx { iface, domain_iface, plugin_ctx }, services };
        NonNull::from(Box::leak(Box::new(TestCtx { served, member }))).cast()
    }

    /// # Safety
    /// `ctx` is from [`leak`](TestCtx::leak), is freed once, and the plugin no longer uses it.
    pub(super) unsafe fn free(ctx: NonNull<WorkerCtx>) {
        // SAFETY: the caller guarantees that it points to the first member of the box in `leak`.
        drop(unsafe { Box::from_raw(ctx.cast::<TestCtx>().as_ptr()) });
    }
}

/// `None` becomes `NOT_FOUND`.
/// # Safety
/// `ctx` is NULL or from [`TestCtx::leak`] and not freed.
unsafe fn answer(
    ctx: *mut WorkerCtx,
    lookup: Lookup,
    pointers_are_valid: bool,
    look: impl FnOnce(&SharedDomain, &str) -> Option<()>,
) -> DocaStatus {
    guard("a look-up", DocaStatus::UNEXPECTED, || {
        if ctx.is_null() || !pointers_are_valid {
            return DocaStatus::INVALID_VALUE;
        }
        // SAFETY: the caller guarantees a `TestCtx`, which begins with the context. Only `member`
        // is borrowed: the plugin may be writing to the rest.
        let member = unsafe { &raw const (*ctx.cast::<TestCtx>()).member };
        // SAFETY: as above; this member is not written until the context is freed.
        let member = unsafe { &*member };
        if let Some(code) = member.failure(lookup) {
            return code.into();
        }
        match look(&member.domain, member.plugin) {
            Some(()) => DocaStatus::SUCCESS,
            None => DocaStatus::NOT_FOUND,
        }
    })
}

unsafe extern "C" fn addr(ctx: *mut WorkerCtx, member: u64, addr: *mut *mut c_void) -> DocaStatus {
    let look = |domain: &SharedDomain, plugin: &str| {
        let found = domain.address(member, plugin)?;
        // SAFETY: the plugin's pointer, which `answer` checked.
        unsafe { addr.write(found.cast::<c_void>().cast_mut()) };
        Some(())
    };
    // SAFETY: the plugin passes the context of its `open` and writable pointers, as DOCA requires.
    unsafe { answer(ctx, Lookup::Address, !addr.is_null(), look) }
}

unsafe extern "C" fn seg(ctx: *mut WorkerCtx, member: u64, va: u64, seg: *mut c_int) -> DocaStatus {
    let look = |domain: &SharedDomain, _: &str| {
        let found = c_int::try_from(domain.segment(member, va)?).ok()?;
        // SAFETY: the plugin's pointer, which `answer` checked.
        unsafe { seg.write(found) };
        Some(())
    };
    // SAFETY: the plugin passes the context of its `open` and writable pointers, as DOCA requires.
    unsafe { answer(ctx, Lookup::Segment, !seg.is_null(), look) }
}

unsafe extern "C" fn memh(
    ctx: *mut WorkerCtx,
    member: u64,
    seg: c_int,
    len: *mut usize,
    memh: *mut *mut c_void,
) -> DocaStatus {
    // SAFETY: the plugin passes the context of its `open` and writable pointers, as DOCA requires.
    unsafe { packed(ctx, Lookup::MemoryHandle, member, seg, len, memh) }
}

unsafe extern "C" fn mkey(
    ctx: *mut WorkerCtx,
    member: u64,
    seg: c_int,
    len: *mut usize,
    rkey: *mut *mut c_void,
) -> DocaStatus {
    // SAFETY: the plugin passes the context of its `open` and writable pointers, as DOCA requires.
    unsafe { packed(ctx, Lookup::Key, member, seg, len, rkey) }
}

/// # Safety
/// As for [`answer`]; `len` and `start` are NULL or writable.
unsafe fn packed(
    ctx: *mut WorkerCtx,
    lookup: Lookup,
    member: u64,
    seg: c_int,
    len: *mut usize,
    start: *mut *mut c_void,
) -> DocaStatus {
    let look = |domain: &SharedDomain, _: &str| {
        let found = domain.packed(member, usize::try_from(seg).ok()?, lookup == Lookup::Key)?;
        // SAFETY: the plugin's pointer, which `answer` checked.
        unsafe { len.write(found.len()) };
        // SAFETY: the plugin's pointer, which `answer` checked.
        unsafe { start.write(found.cast::<c_void>().cast_mut()) };
        Some(())
    };
    // SAFETY: the caller guarantees the context and the pointers.
    unsafe { answer(ctx, lookup, !len.is_null() && !start.is_null(), look) }
}
