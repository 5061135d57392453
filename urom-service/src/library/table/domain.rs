//! `doca_urom_domain_*`.

use std::ffi::c_void;
use std::ptr;
use std::slice;

use urom_abi::host::{self, Ctx, OobColl};
use urom_abi::{DocaError, WorkerId};
use urom_log::{guard, guard_or};

use crate::library::ctx::{Context, Kind};
use crate::library::domain::{Buffer, Domain};
use crate::library::exchange::Oob;
use crate::library::failure::invalid;
use crate::library::handle::{domain, present, publish, put, withdraw, worker};
use crate::wire::control::Failure;
use crate::wire::domain::{MAX_MEMBERS, MAX_TABLE};

pub(super) unsafe extern "C" fn create(out: *mut *mut host::Domain) -> DocaError {
    guard(|| {
        present(out)?;
        let pointer = publish(Context::new(Kind::Domain(Domain::default())));
        // SAFETY: the caller's place.
        unsafe { put(out, pointer) }
    })
}

pub(super) unsafe extern "C" fn destroy(pointer: *mut host::Domain) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let (ctx, _) = unsafe { domain(pointer) }?;
        ctx.require_idle().map_err(|_| DocaError::NOT_PERMITTED)?;
        // SAFETY: the caller\'s object.
        unsafe { withdraw::<Context, _>(pointer) }.map(drop)
    })
}

/// Runs `set` on an idle domain, which keeps what it refused and why.
///
/// # Safety
///
/// `pointer` is the caller's object.
unsafe fn configure(
    pointer: *mut host::Domain,
    set: impl FnOnce(&Domain) -> Result<(), Failure>,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's promise.
        let (ctx, own) = unsafe { domain(pointer) }?;
        ctx.require_idle()?;
        set(own).map_err(|failure| ctx.fail(&failure))
    })
}

pub(super) unsafe extern "C" fn set_buffers_count(
    pointer: *mut host::Domain,
    count: usize,
) -> DocaError {
    // SAFETY: the caller's object.
    unsafe { configure(pointer, |own| own.set_count(count)) }
}

pub(super) unsafe extern "C" fn add_buffer(
    pointer: *mut host::Domain,
    buffer: *mut c_void,
    buffer_len: usize,
    memh: *mut c_void,
    memh_len: usize,
    mkey: *mut c_void,
    mkey_len: usize,
) -> DocaError {
    let add = |own: &Domain| {
        // SAFETY: the caller's blob.
        let memh = unsafe { blob(memh, memh_len) }?;
        // SAFETY: the caller's blob.
        let mkey = unsafe { blob(mkey, mkey_len) }?;
        own.add_buffer(Buffer { va: buffer.addr() as u64, len: buffer_len as u64, memh, mkey })
    };
    // SAFETY: the caller's object.
    unsafe { configure(pointer, add) }
}

/// A copy of a handle or key; one of no length may be NULL.
///
/// # Safety
///
/// `len` bytes can be read at `start`, unless it is NULL.
unsafe fn blob(start: *const c_void, len: usize) -> Result<Vec<u8>, Failure> {
    if len == 0 {
        return Ok(Vec::new());
    }
    if start.is_null() || len > MAX_TABLE {
        let text = format!(
            "a memory handle or key of {len} bytes cannot be, or is NULL: {MAX_TABLE} are possible"
        );
        return Err(invalid(text));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { slice::from_raw_parts(start.cast::<u8>(), len) }.to_vec())
}

pub(super) unsafe extern "C" fn set_oob(
    pointer: *mut host::Domain,
    oob: *mut OobColl,
) -> DocaError {
    let set = |own: &Domain| {
        // SAFETY: the caller's structure, or NULL.
        let oob =
            unsafe { oob.as_ref() }.ok_or_else(|| invalid("the out-of-band functions are NULL"))?;
        own.set_oob(Oob::new(oob)?);
        Ok(())
    };
    // SAFETY: the caller's object.
    unsafe { configure(pointer, set) }
}

pub(super) unsafe extern "C" fn set_workers(
    pointer: *mut host::Domain,
    domain_worker_ids: *mut u64,
    workers: *mut *mut host::Worker,
    count: usize,
) -> DocaError {
    let set = |own: &Domain| {
        if domain_worker_ids.is_null() || workers.is_null() || count == 0 || count > MAX_MEMBERS {
            let text = format!(
                "a domain needs 1 to {MAX_MEMBERS} workers and their ids: it was given {count}, or NULL"
            );
            return Err(invalid(text));
        }
        // SAFETY: the caller gives `count` ids.
        let ids = unsafe { slice::from_raw_parts(domain_worker_ids, count) };
        // SAFETY: the caller gives as many workers.
        let workers = unsafe { slice::from_raw_parts(workers, count) };
        let pairs = ids.iter().zip(workers).map(|(id, pointer)| {
            // SAFETY: the caller's object.
            let worker = unsafe { worker(*pointer) };
            let (ctx, _) = worker.map_err(|_| {
                invalid(format!("the domain's worker {} is no worker", WorkerId(*id)))
            })?;
            Ok((*id, ctx.weak()))
        });
        own.set_workers(pairs.collect::<Result<_, Failure>>()?)
    };
    // SAFETY: the caller's object.
    unsafe { configure(pointer, set) }
}

pub(super) unsafe extern "C" fn as_ctx(pointer: *mut host::Domain) -> *mut Ctx {
    guard_or(ptr::null_mut(), || {
        // SAFETY: the caller's object.
        unsafe { domain(pointer) }.map_or(ptr::null_mut(), |(ctx, _)| ctx.as_ctx())
    })
}
