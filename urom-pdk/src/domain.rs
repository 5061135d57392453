//! Domain look-ups: a worker's data about the other members of its domains.
//!
//! A host program joins workers to a *domain*, gives each an id and registers buffers. A plugin
//! looks up the same plugin's address in another member, and the keys of buffers. [`Domains`]
//! borrows the answers for one command; [`DomainHandle`] copies them, at any time, on any thread.

mod lookups;

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use urom_abi::plugin::WorkerCtx;

use self::lookups::{OpenLookups, PackedKind, SharedLookups};
use crate::Result;

/// The index of one of a member's buffers, in registration order: see [`Domains::segment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Segment(u32);

impl Segment {
    /// The buffer registered first.
    pub const FIRST: Segment = Segment(0);

    /// The buffer with this index, from 0. The look-up checks whether it exists.
    #[must_use]
    pub const fn new(index: u32) -> Segment {
        Segment(index)
    }

    /// Returns the index, from 0.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "buffer {}", self.0)
    }
}

/// The look-ups for one command: see [`Context::domains`](crate::Context::domains).
///
/// Members have the application's ids (`doca_urom_domain_set_workers`). All domains of a worker
/// share one name space. The answers are the worker's memory, borrowed until the command ends. DOCA
/// keeps it while the domain exists; a worker of this project keeps it until it closes the plugin.
///
/// # Errors of every look-up
/// - `NOT_FOUND` when no running domain of this worker has the member, buffer or address;
/// - `NOT_SUPPORTED` when the worker has no such look-up;
/// - `UNEXPECTED` when the worker's answer is inconsistent; else the worker's code.
///
/// ```
/// # use urom_pdk::prelude::*;
/// # use urom_pdk::Segment;
/// # fn example(cx: &Context, remote_va: u64) -> Result<()> {
/// let domains = cx.domains();
/// if domains.contains(7)? {
///     // What the handler of member 7 gave as its address.
///     let peer: &[u8] = domains.address(7)?;
///     // Its buffer around an address that its host sent.
///     let segment: Segment = domains.segment(7, remote_va)?;
///     let key: &[u8] = domains.key(7, segment)?;
///     let exported: Option<&[u8]> = domains.memory_handle(7, segment).ok();
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Domains<'cx> {
    shared: &'cx SharedLookups,
}

impl<'cx> Domains<'cx> {
    fn entered(self) -> OpenLookups<'cx> {
        // SAFETY: this is borrowed from a command's context. The instance drops the command's
        // future, and all that it lent to other threads, before its `OpenDomains` (its last field).
        // The worker's context is valid until `close` returns.
        unsafe { self.shared.enter_unlocked() }
    }

    /// Returns whether a running domain has the member (`doca_urom_worker_domain_addr_lookup`). A
    /// member with a C plugin without an address counts as absent.
    ///
    /// # Errors
    /// As for every look-up, without `NOT_FOUND`.
    pub fn contains(self, member: u64) -> Result<bool> {
        self.entered().contains(member)
    }

    /// Returns the bytes of the handler's `address` in the member's worker, or empty without that
    /// method (`doca_urom_worker_domain_addr_lookup`).
    ///
    /// # Errors
    /// As for every look-up; `INVALID_VALUE` when the member's plugin does not use this kit: C
    /// passes no length, so the kit writes its own before the address.
    #[inline]
    pub fn address(self, member: u64) -> Result<&'cx [u8]> {
        // SAFETY: the answer is valid until the command ends: see `OpenDomains::new`.
        unsafe { self.entered().address(member) }
    }

    /// Returns the buffer that contains the address `va` (`doca_urom_worker_domain_seg_lookup`).
    ///
    /// # Errors
    /// As for every look-up.
    pub fn segment(self, member: u64, va: u64) -> Result<Segment> {
        self.entered().segment(member, va)
    }

    /// Returns the packed, exported memory handle of a buffer, for access from a DPU
    /// (`doca_urom_worker_domain_memh_lookup`). Without an RDMA device: `NOT_FOUND` or empty.
    ///
    /// # Errors
    /// As for every look-up.
    pub fn memory_handle(self, member: u64, segment: Segment) -> Result<&'cx [u8]> {
        // SAFETY: the worker only adds data while the plugin is open, and `'cx` ends before.
        unsafe { self.entered().packed(PackedKind::MemoryHandle, member, segment) }
    }

    /// Returns a buffer's packed remote key (`doca_urom_worker_domain_mkey_lookup`).
    ///
    /// # Errors
    /// As for every look-up.
    pub fn key(self, member: u64, segment: Segment) -> Result<&'cx [u8]> {
        // SAFETY: the worker only adds data while the plugin is open, and `'cx` ends before.
        unsafe { self.entered().packed(PackedKind::Key, member, segment) }
    }
}

/// Look-ups at any time, on any thread: see [`OpenContext::domains`](crate::OpenContext::domains).
///
/// It has the methods and errors of [`Domains`], but returns copies. After the plugin was closed,
/// every look-up fails with `BAD_STATE`; closing waits for running look-ups. No member is found
/// while the plugin opens: a domain starts when its workers run.
///
/// ```
/// use urom_pdk::{DomainHandle, Result, Segment};
///
/// /// Runs on a thread that the plugin started, with the handle that its `open` cloned.
/// fn fetch(domains: &DomainHandle, member: u64, remote_va: u64) -> Result<(Vec<u8>, Vec<u8>)> {
///     let segment = match domains.contains(member)? {
///         true => domains.segment(member, remote_va)?,
///         false => Segment::FIRST,
///     };
///     let exported = domains.memory_handle(member, segment);
///     let key = exported.or_else(|_| domains.key(member, segment))?;
///     Ok((domains.address(member)?, key))
/// }
/// ```
#[derive(Clone, Debug)]
pub struct DomainHandle {
    shared: Arc<SharedLookups>,
}

impl DomainHandle {
    /// See [`Domains::contains`].
    pub fn contains(&self, member: u64) -> Result<bool> {
        self.shared.enter()?.contains(member)
    }

    /// See [`Domains::address`].
    pub fn address(&self, member: u64) -> Result<Vec<u8>> {
        let entered = self.shared.enter()?;
        // SAFETY: the answer is copied before it may change: see `OpenDomains::new`.
        unsafe { entered.address(member) }.map(<[u8]>::to_vec)
    }

    /// See [`Domains::segment`].
    pub fn segment(&self, member: u64, va: u64) -> Result<Segment> {
        self.shared.enter()?.segment(member, va)
    }

    /// See [`Domains::memory_handle`].
    pub fn memory_handle(&self, member: u64, segment: Segment) -> Result<Vec<u8>> {
        self.packed(PackedKind::MemoryHandle, member, segment)
    }

    /// See [`Domains::key`].
    pub fn key(&self, member: u64, segment: Segment) -> Result<Vec<u8>> {
        self.packed(PackedKind::Key, member, segment)
    }

    fn packed(&self, what: PackedKind, member: u64, segment: Segment) -> Result<Vec<u8>> {
        let entered = self.shared.enter()?;
        // SAFETY: `entered` keeps the plugin open until the copy, and the worker only adds data.
        unsafe { entered.packed(what, member, segment) }.map(<[u8]>::to_vec)
    }

    /// Only [`Context`](crate::Context) may return these: its borrow limits their lifetime.
    #[inline]
    pub(crate) fn borrowed(&self) -> Domains<'_> {
        Domains { shared: &self.shared }
    }
}

/// The look-ups of one open plugin. Dropping it ends them for every handle.
#[derive(Debug)]
pub(crate) struct OpenDomains {
    handle: DomainHandle,
}

impl OpenDomains {
    /// The look-ups of a worker's context.
    /// # Safety
    /// `ctx` was filled in by a worker and does not move until this is dropped. Its table holds
    /// NULL or functions of the C interface that any thread may call. Their answers stay unchanged
    /// until they are copied and the commands pending meanwhile have ended.
    pub(crate) unsafe fn new(ctx: NonNull<WorkerCtx>) -> OpenDomains {
        // SAFETY: the caller guarantees that the worker filled it in.
        let lookups = unsafe { (*ctx.as_ptr()).domain_iface };
        OpenDomains { handle: DomainHandle { shared: Arc::new(SharedLookups::new(lookups, ctx)) } }
    }

    pub(crate) fn handle(&self) -> DomainHandle {
        self.handle.clone()
    }
}

impl Drop for OpenDomains {
    fn drop(&mut self) {
        self.handle.shared.close();
    }
}

#[cfg(test)]
impl DomainHandle {
    pub(crate) fn for_test() -> DomainHandle {
        let lookups = urom_abi::plugin::DomainLookups {
            addr_lookup: None,
            seg_lookup: None,
            memh_lookup: None,
            mkey_lookup: None,
        };
        let shared = SharedLookups::new(lookups, NonNull::dangling());
        shared.close();
        DomainHandle { shared: Arc::new(shared) }
    }
}
