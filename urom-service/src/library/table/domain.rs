//! `doca_urom_domain_*`.

use std::ffi::c_void;
use std::ptr;

use urom_abi::DocaError;
use urom_abi::host::{Ctx, Domain, OobColl, Worker};

pub(super) unsafe extern "C" fn create(_domain: *mut *mut Domain) -> DocaError {
    DocaError::NOT_SUPPORTED
}

pub(super) unsafe extern "C" fn destroy(_domain: *mut Domain) -> DocaError {
    DocaError::INVALID_VALUE
}

pub(super) unsafe extern "C" fn set_buffers_count(_domain: *mut Domain, _count: usize) -> DocaError {
    DocaError::INVALID_VALUE
}

pub(super) unsafe extern "C" fn add_buffer(
    _domain: *mut Domain,
    _buffer: *mut c_void,
    _buffer_len: usize,
    _memh: *mut c_void,
    _memh_len: usize,
    _mkey: *mut c_void,
    _mkey_len: usize,
) -> DocaError {
    DocaError::INVALID_VALUE
}

pub(super) unsafe extern "C" fn set_oob(_domain: *mut Domain, _oob: *mut OobColl) -> DocaError {
    DocaError::INVALID_VALUE
}

pub(super) unsafe extern "C" fn set_workers(
    _domain: *mut Domain,
    _domain_worker_ids: *mut u64,
    _workers: *mut *mut Worker,
    _count: usize,
) -> DocaError {
    DocaError::INVALID_VALUE
}

pub(super) unsafe extern "C" fn as_ctx(_domain: *mut Domain) -> *mut Ctx {
    ptr::null_mut()
}
