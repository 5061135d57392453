//! Calls of the worker's four look-ups.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr::{NonNull, null_mut};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use urom_abi::plugin::{DomainLookups, WorkerCtx};
use urom_abi::{DocaError, DocaStatus, address};

use super::Segment;
use crate::{Error, Result, ensure};

#[derive(Debug)]
pub(crate) struct SharedLookups {
    lookups: DomainLookups,
    ctx: SharedCtx,
    /// Whether the context is valid. Look-ups of other threads hold a read lock: closing waits.
    open: RwLock<bool>,
}

#[derive(Clone, Copy, Debug)]
struct SharedCtx(NonNull<WorkerCtx>);

// SAFETY: the pointer is not dereferenced, and look-ups accept it on any thread.
unsafe impl Send for SharedCtx {}
// SAFETY: as above.
unsafe impl Sync for SharedCtx {}

pub(crate) struct OpenLookups<'s> {
    shared: &'s SharedLookups,
    /// `None` if the plugin stays open for another reason.
    _open: Option<RwLockReadGuard<'s, bool>>,
}

impl SharedLookups {
    pub(crate) fn new(lookups: DomainLookups, ctx: NonNull<WorkerCtx>) -> SharedLookups {
        SharedLookups { lookups, ctx: SharedCtx(ctx), open: RwLock::new(true) }
    }

    /// Rejects later look-ups, and waits for the look-ups of other threads.
    pub(crate) fn close(&self) {
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = false;
    }

    pub(crate) fn enter(&self) -> Result<OpenLookups<'_>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        ensure!(*open, DocaError::BAD_STATE, "the plugin was closed: end its threads before that");
        Ok(OpenLookups { shared: self, _open: Some(open) })
    }

    /// For the look-ups of a command, without a lock.
    /// # Safety
    /// The result is dropped before the plugin is closed.
    pub(crate) unsafe fn enter_unlocked(&self) -> OpenLookups<'_> {
        OpenLookups { shared: self, _open: None }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum PackedKind {
    MemoryHandle,
    Key,
}

impl OpenLookups<'_> {
    fn ctx(&self) -> *mut WorkerCtx {
        self.shared.ctx.0.as_ptr()
    }

    fn look(&self, member: u64) -> Result<(DocaStatus, *mut c_void)> {
        let lookup = self.shared.lookups.addr_lookup.ok_or_else(|| missing("addresses"))?;
        let ctx = self.ctx();
        let mut start = null_mut();
        // SAFETY: the plugin is open, so the context is valid; `start` is writable.
        let status = unsafe { lookup(ctx, member, &mut start) };
        Ok((status, start))
    }

    pub(crate) fn contains(&self, member: u64) -> Result<bool> {
        match self.look(member)?.0.check() {
            Ok(()) => Ok(true),
            Err(DocaError::NOT_FOUND) => Ok(false),
            Err(code) => Err(failed(code, member, "address")),
        }
    }

    /// # Safety
    /// `'a` ends before the worker may change the answer.
    pub(crate) unsafe fn address<'a>(&self, member: u64) -> Result<&'a [u8]> {
        let (status, start) = self.look(member)?;
        status.check().map_err(|code| failed(code, member, "address"))?;
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(|| senseless(member, "address"))?;
        // SAFETY: the worker returns the bytes of an address; the caller guarantees their lifetime.
        unsafe { address::open(start) }.ok_or_else(|| {
            let text = format!(
                "the address of worker {member} was not made by this kit: its plugin of this name must be \
                 made with the same kit"
            );
            Error::new(DocaError::INVALID_VALUE, text)
        })
    }

    pub(crate) fn segment(&self, member: u64, va: u64) -> Result<Segment> {
        let lookup = self.shared.lookups.seg_lookup.ok_or_else(|| missing("segments"))?;
        let ctx = self.ctx();
        let mut index: c_int = -1;
        // SAFETY: the plugin is open, so the context is valid; `index` is writable.
        let status = unsafe { lookup(ctx, member, va, &mut index) };
        status
            .check()
            .map_err(|code| failed(code, member, format_args!("buffer with address {va:#x}")))?;
        let index =
            u32::try_from(index).map_err(|_| senseless(member, format_args!("segment {index}")))?;
        Ok(Segment::new(index))
    }

    /// # Safety
    /// As for [`address`](OpenLookups::address).
    pub(crate) unsafe fn packed<'a>(
        &self,
        what: PackedKind,
        member: u64,
        segment: Segment,
    ) -> Result<&'a [u8]> {
        let lookups = &self.shared.lookups;
        let (lookup, what) = match what {
            PackedKind::MemoryHandle => (lookups.memh_lookup, "memory handle"),
            PackedKind::Key => (lookups.mkey_lookup, "key"),
        };
        let lookup = lookup.ok_or_else(|| missing(&format!("{what}s")))?;
        let not_found = |code| failed(code, member, format_args!("{what} of {segment}"));
        let index =
            c_int::try_from(segment.index()).map_err(|_| not_found(DocaError::NOT_FOUND))?;
        let ctx = self.ctx();
        let (mut len, mut start) = (0, null_mut::<c_void>());
        // SAFETY: the plugin is open, so the context is valid; `len` and `start` are writable.
        let status = unsafe { lookup(ctx, member, index, &mut len, &mut start) };
        status.check().map_err(not_found)?;
        if len == 0 {
            return Ok(&[]);
        }
        if start.is_null() || isize::try_from(len).is_err() {
            return Err(senseless(member, what));
        }
        // SAFETY: the worker returns `len` bytes; the caller guarantees their lifetime.
        Ok(unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) })
    }
}

fn missing(what: &str) -> Error {
    let text =
        format!("this worker lacks the look-up of {what}: domains need a worker with all four");
    Error::new(DocaError::NOT_SUPPORTED, text)
}

fn failed(code: DocaError, member: u64, what: impl fmt::Display) -> Error {
    if code != DocaError::NOT_FOUND {
        return Error::new(
            code,
            format!("the worker failed to look up the {what} of worker {member}"),
        );
    }
    let text = format!(
        "no {what} of worker {member} in a running domain of this worker: the host starts a domain with that id among \
         its workers, and with its buffers, before it sends commands that need them"
    );
    Error::new(code, text)
}

fn senseless(member: u64, what: impl fmt::Display) -> Error {
    let text = format!("the worker found the {what} of worker {member}, and then gave none");
    Error::new(DocaError::UNEXPECTED, text)
}
