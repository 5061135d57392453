//! `doca_urom_domain_*`.

use std::ffi::c_void;
use std::slice;

use urom_abi::host::{self, Ctx, OobColl};
use urom_abi::{DocaError, WorkerId};
use urom_log::{guard, guard_or};
use urom_wire::control::Failure;
use urom_wire::domain::{MAX_MEMBERS, MAX_TABLE};

use crate::exchange::Oob;
use crate::failure::{fail_if, failure};
use crate::handle::{Opaque, present, put};
use crate::pe::ctx::Context;
use crate::pe::ctx::domain::{Domain, MemberBuffer};

/// # Safety
/// `start` is NULL or has `len` readable bytes.
unsafe fn blob(start: *const c_void, len: usize) -> Result<Vec<u8>, Failure> {
    if len == 0 {
        return Ok(Vec::new());
    }
    fail_if!(start.is_null(), INVALID_VALUE, "a memory handle or key of {len} bytes is NULL");
    fail_if!(
        len > MAX_TABLE,
        INVALID_VALUE,
        "a memory handle or key of {len} bytes cannot be: at most {MAX_TABLE} are possible"
    );
    // SAFETY: the caller's promise.
    Ok(unsafe { slice::from_raw_parts(start.cast::<u8>(), len) }.to_vec())
}

functions! {
    fn doca_urom_domain_create[](out: *mut *mut host::Domain) => out {
        Context::publish(Domain::default())
    }

    fn doca_urom_domain_destroy[domain: *mut host::Domain]() {
        domain.destroy(DocaError::NOT_PERMITTED)
    }

    set fn doca_urom_domain_set_buffers_count[domain: *mut host::Domain](count: usize) {
        domain.set_count(count)
    }

    set fn doca_urom_domain_add_buffer[domain: *mut host::Domain](
        buffer: *mut c_void,
        buffer_len: usize,
        memh: *mut c_void,
        memh_len: usize,
        mkey: *mut c_void,
        mkey_len: usize,
    ) {
        // SAFETY: the caller's blob.
        let memh = unsafe { blob(memh, memh_len) }?;
        // SAFETY: the caller's blob.
        let mkey = unsafe { blob(mkey, mkey_len) }?;
        let (va, len) = (buffer.addr() as u64, buffer_len as u64);
        domain.add_buffer(MemberBuffer { va, len, memh, mkey })
    }

    set fn doca_urom_domain_set_oob[domain: *mut host::Domain](oob: *mut OobColl) {
        // SAFETY: the caller's structure, or NULL.
        let oob =
            unsafe { oob.as_ref() }.ok_or_else(|| failure!(INVALID_VALUE, "the out-of-band \
                                                                           functions are NULL"))?;
        domain.oob.set(Some(Oob::new(oob)?));
        Ok(())
    }

    set fn doca_urom_domain_set_workers[domain: *mut host::Domain](
        domain_worker_ids: *mut u64, workers: *mut *mut host::Worker, count: usize,
    ) {
        fail_if!(count == 0 || count > MAX_MEMBERS, INVALID_VALUE,
            "a domain of {count} workers cannot be: from 1 to {MAX_MEMBERS} are possible");
        if domain_worker_ids.is_null() || workers.is_null() {
            let what = if workers.is_null() { "workers" } else { "workers' ids" };
            return Err(failure!(INVALID_VALUE, "the domain's {what} are NULL"));
        }
        // SAFETY: the caller passes `count` ids.
        let ids = unsafe { slice::from_raw_parts(domain_worker_ids, count) };
        // SAFETY: the caller passes `count` workers.
        let workers = unsafe { slice::from_raw_parts(workers, count) };
        let pairs = ids.iter().zip(workers).map(|(id, pointer)| {
            // SAFETY: NULL, or an object that the host keeps alive in this call.
            let worker = unsafe { host::Worker::find(*pointer) };
            let worker = worker.map_err(|_| {
                failure!(INVALID_VALUE, "the domain's worker {} is not a worker object",
                                                    WorkerId(*id))
            })?;
            Ok((*id, worker.ctx.weak()))
        });
        domain.set_workers(pairs.collect::<Result<_, Failure>>()?)
    }

    fn doca_urom_domain_as_ctx[domain: *mut host::Domain]() -> *mut Ctx { domain.ctx.as_ctx() }
}
