//! `doca_urom_domain_*`.

use std::ffi::c_void;
use std::ptr;
use std::slice;

use urom_abi::host::{self, Ctx, OobColl};
use urom_abi::{DocaError, WorkerId};
use urom_log::{guard, guard_or};
use urom_wire::control::Failure;
use urom_wire::domain::{MAX_MEMBERS, MAX_TABLE};

use crate::exchange::Oob;
use crate::failure::failure;
use crate::handle::{domain, present, publish, put, withdraw, worker};
use crate::pe::ctx::domain::{Buffer, Domain};
use crate::pe::ctx::{Context, Kind};

functions! {
    fn create(out: *mut *mut host::Domain) [] => out {
        publish(Context::new(Kind::Domain(Domain::default())))
    }

    fn destroy(pointer: *mut host::Domain) [(ctx, _) = domain, pointer] {
        ctx.require_idle().map_err(|_| DocaError::NOT_PERMITTED)?;
        // SAFETY: the caller's object.
        unsafe { withdraw::<Context, _>(pointer) }.map(drop)
    }
}

settings! {
    fn set_buffers_count(pointer: *mut host::Domain, count: usize) [own = domain] {
        own.set_count(count)
    }

    fn add_buffer(
        pointer: *mut host::Domain,
        buffer: *mut c_void,
        buffer_len: usize,
        memh: *mut c_void,
        memh_len: usize,
        mkey: *mut c_void,
        mkey_len: usize,
    ) [own = domain] {
        // SAFETY: the caller's blob.
        let memh = unsafe { blob(memh, memh_len) }?;
        // SAFETY: the caller's blob.
        let mkey = unsafe { blob(mkey, mkey_len) }?;
        own.add_buffer(Buffer { va: buffer.addr() as u64, len: buffer_len as u64, memh, mkey })
    }
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
        return Err(failure!(
            INVALID_VALUE,
            "a memory handle or key of {len} bytes cannot be, or is NULL: {MAX_TABLE} are possible"
        ));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { slice::from_raw_parts(start.cast::<u8>(), len) }.to_vec())
}

settings! {
    fn set_oob(pointer: *mut host::Domain, oob: *mut OobColl) [own = domain] {
        // SAFETY: the caller's structure, or NULL.
        let oob =
            unsafe { oob.as_ref() }.ok_or_else(|| failure!(INVALID_VALUE, "the out-of-band \
                                                                           functions are NULL"))?;
        own.set_oob(Oob::new(oob)?);
        Ok(())
    }

    fn set_workers(
        pointer: *mut host::Domain,
        domain_worker_ids: *mut u64,
        workers: *mut *mut host::Worker,
        count: usize,
    ) [own = domain] {
        if domain_worker_ids.is_null() || workers.is_null() || count == 0 || count > MAX_MEMBERS {
            return Err(failure!(INVALID_VALUE, "a domain needs 1 to {MAX_MEMBERS} workers and \
                                                their ids: it was given {count}, or NULL"));
        }
        // SAFETY: the caller gives `count` ids.
        let ids = unsafe { slice::from_raw_parts(domain_worker_ids, count) };
        // SAFETY: the caller gives as many workers.
        let workers = unsafe { slice::from_raw_parts(workers, count) };
        let pairs = ids.iter().zip(workers).map(|(id, pointer)| {
            // SAFETY: the caller's object.
            let worker = unsafe { worker(*pointer) };
            let (ctx, _) = worker.map_err(|_| {
                failure!(INVALID_VALUE, "the domain's worker {} is no worker",
                                                    WorkerId(*id))
            })?;
            Ok((*id, ctx.weak()))
        });
        own.set_workers(pairs.collect::<Result<_, Failure>>()?)
    }
}

answers! {
    fn as_ctx(pointer: *mut host::Domain)
        -> *mut Ctx, otherwise ptr::null_mut(); [(ctx, _) = domain, pointer] {
        ctx.as_ctx()
    }
}
