//! Domain look-ups: what a worker knows of the other members of its domains, as safe Rust.
//!
//! A host program joins workers to a *domain*, gives each an id there, and adds buffers of its own.
//! A plugin then asks its worker for the address that the same plugin has in another member, and
//! for the keys of the buffers. [`Domains`] asks for one command and borrows the answers;
//! [`DomainHandle`] asks at any time, from any thread, and copies them.

mod lookups;

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use urom_abi::plugin::WorkerCtx;

use self::lookups::{Entered, Packed, SharedLookups};
use crate::Result;

/// One of a member's buffers, by its place in the order in which they were added to the domain.
///
/// [`Domains::segment`] finds the one that holds an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Segment(u32);

impl Segment {
    /// The buffer that was added first.
    pub const FIRST: Segment = Segment(0);

    /// The buffer at this place, counted from 0. Whether a member has one there shows when it is
    /// looked up.
    #[must_use]
    pub const fn new(index: u32) -> Segment {
        Segment(index)
    }

    /// Its place, counted from 0.
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
/// Members are named by the ids that the application gave its workers in the domain
/// (`doca_urom_domain_set_workers`); several domains of a worker share one name space.
///
/// The answers are the worker's own memory. DOCA has it stay for as long as the domain exists, and
/// a host ends a domain after the commands that use it, so an answer may be borrowed for the rest
/// of the command, across every `await`. A worker of this project keeps it until the plugin is
/// closed. Keep a copy of what is needed for longer.
///
/// # Errors of every look-up
/// - `NOT_FOUND` when no running domain of this worker has such a member, buffer or address;
/// - `NOT_SUPPORTED` when the worker has no such look-up;
/// - `UNEXPECTED` when the worker's answer makes no sense; else the worker's code.
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
    fn entered(self) -> Entered<'cx> {
        // SAFETY: this is borrowed from the context of a command, whose future is gone, with what
        // it lent to other threads, before the instance drops its `OpenDomains`: see the order of
        // its fields. The worker's context lives on until `close` returns.
        unsafe { self.shared.enter_unlocked() }
    }

    /// Whether a running domain of this worker has the member
    /// (`doca_urom_worker_domain_addr_lookup`). A member whose plugin of this name is written in C
    /// and has no address counts as not there.
    ///
    /// # Errors
    /// As for every look-up, without `NOT_FOUND`.
    pub fn contains(self, member: u64) -> Result<bool> {
        self.entered().contains(member)
    }

    /// The address of this plugin in the member's worker: exactly the bytes that the handler's
    /// `address` gave there, and none when that handler has no `address`
    /// (`doca_urom_worker_domain_addr_lookup`).
    ///
    /// # Errors
    /// As for every look-up; `INVALID_VALUE` when the member's plugin was not made with this kit: C
    /// tells no length, so the kit writes its own before the address.
    #[inline]
    pub fn address(self, member: u64) -> Result<&'cx [u8]> {
        // SAFETY: the answer stays until the command ends, by the contract of `OpenDomains::new`.
        unsafe { self.entered().address(member) }
    }

    /// Which of the member's buffers holds the address `va` of its process
    /// (`doca_urom_worker_domain_seg_lookup`).
    ///
    /// # Errors
    /// As for every look-up.
    pub fn segment(self, member: u64, va: u64) -> Result<Segment> {
        self.entered().segment(member, va)
    }

    /// The packed, exported memory handle of a buffer, with which a DPU reaches the memory itself
    /// (`doca_urom_worker_domain_memh_lookup`). Without an RDMA device nothing can be exported:
    /// then there is none, and it is `NOT_FOUND`, or empty, as the worker likes.
    ///
    /// # Errors
    /// As for every look-up.
    pub fn memory_handle(self, member: u64, segment: Segment) -> Result<&'cx [u8]> {
        // SAFETY: the worker's store of look-ups only grows while the plugin is open, and `'cx`
        // ends before.
        unsafe { self.entered().packed(Packed::MemoryHandle, member, segment) }
    }

    /// The packed remote key of a buffer, to be used on an endpoint to the process that owns it
    /// (`doca_urom_worker_domain_mkey_lookup`).
    ///
    /// # Errors
    /// As for every look-up.
    pub fn key(self, member: u64, segment: Segment) -> Result<&'cx [u8]> {
        // SAFETY: the worker's store of look-ups only grows while the plugin is open, and `'cx`
        // ends before.
        unsafe { self.entered().packed(Packed::Key, member, segment) }
    }
}

/// The look-ups for any time and any thread: see
/// [`OpenContext::domains`](crate::OpenContext::domains).
///
/// What it gives are copies: another thread cannot know when the plugin is closed. From then on
/// every look-up is a `BAD_STATE`, and closing waits for look-ups that are under way. Otherwise the
/// methods are those of [`Domains`], with the same errors.
///
/// Nothing is found while the plugin opens: a domain starts when its workers run.
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
        // SAFETY: the answer is copied before the look-up ends, and stays until then by the
        // contract of `OpenDomains::new`.
        unsafe { entered.address(member) }.map(<[u8]>::to_vec)
    }

    /// See [`Domains::segment`].
    pub fn segment(&self, member: u64, va: u64) -> Result<Segment> {
        self.shared.enter()?.segment(member, va)
    }

    /// See [`Domains::memory_handle`].
    pub fn memory_handle(&self, member: u64, segment: Segment) -> Result<Vec<u8>> {
        self.packed(Packed::MemoryHandle, member, segment)
    }

    /// See [`Domains::key`].
    pub fn key(&self, member: u64, segment: Segment) -> Result<Vec<u8>> {
        self.packed(Packed::Key, member, segment)
    }

    fn packed(&self, what: Packed, member: u64, segment: Segment) -> Result<Vec<u8>> {
        let entered = self.shared.enter()?;
        // SAFETY: `entered` keeps the plugin open until the bytes are copied, and the store only
        // grows.
        unsafe { entered.packed(what, member, segment) }.map(<[u8]>::to_vec)
    }

    /// The look-ups for a command. Only a [`Context`](crate::Context) may give them away: its
    /// borrow is what ends them.
    #[inline]
    pub(crate) fn borrowed(&self) -> Domains<'_> {
        Domains { shared: &self.shared }
    }
}

/// The look-ups of one plugin while it is open. Dropping it ends them, for every handle.
#[derive(Debug)]
pub(crate) struct OpenDomains {
    handle: DomainHandle,
}

impl OpenDomains {
    /// The look-ups of a worker's context.
    ///
    /// # Safety
    /// `ctx` was filled in by a worker and stays where it is until this is dropped. Its table holds
    /// functions of the C interface, or NULL, which may be called from any thread. What they give
    /// stays, unchanged, until the look-up was copied and until every command that is pending
    /// meanwhile has ended: DOCA's contract is that an answer stays while its domain exists.
    pub(crate) unsafe fn new(ctx: NonNull<WorkerCtx>) -> OpenDomains {
        // SAFETY: the caller says that the worker filled it in.
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
