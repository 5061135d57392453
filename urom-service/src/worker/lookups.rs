//! The domain look-ups a plugin may call, from any of its threads. No domain can be started yet, so every look-up gives
//! `NOT_FOUND`: what it gives for a member of no running domain.

use std::ffi::{c_int, c_void};

use urom_abi::DocaError;
use urom_abi::plugin::{DomainLookups, WorkerCtx};

/// All four, as every plugin gets them.
pub(crate) const LOOKUPS: DomainLookups = DomainLookups {
    addr_lookup: Some(addr),
    seg_lookup: Some(seg),
    memh_lookup: Some(handle),
    mkey_lookup: Some(handle),
};

fn answer(arguments_are_there: bool) -> DocaError {
    if arguments_are_there { DocaError::NOT_FOUND } else { DocaError::INVALID_VALUE }
}

unsafe extern "C" fn addr(ctx: *mut WorkerCtx, _domain_id: u64, addr: *mut *mut c_void) -> DocaError {
    answer(!ctx.is_null() && !addr.is_null())
}

unsafe extern "C" fn seg(ctx: *mut WorkerCtx, _domain_id: u64, _va: u64, seg: *mut c_int) -> DocaError {
    answer(!ctx.is_null() && !seg.is_null())
}

unsafe extern "C" fn handle(
    ctx: *mut WorkerCtx,
    _domain_id: u64,
    _seg: c_int,
    len: *mut usize,
    handle: *mut *mut c_void,
) -> DocaError {
    answer(!ctx.is_null() && !len.is_null() && !handle.is_null())
}
