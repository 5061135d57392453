//! UCX's structures and codes, copied from its headers.

use std::ffi::{c_uint, c_void};

/// UCX's status, a packed enumeration of one byte.
pub(crate) type Status = i8;

pub(crate) const NO_MEMORY: Status = -4;
pub(crate) const UNREACHABLE: Status = -6;
pub(crate) const UNSUPPORTED: Status = -22;
pub(crate) const OK: Status = 0;

/// `ucp_mem_map_params_t`.
#[repr(C)]
pub(crate) struct MapParams {
    pub(crate) field_mask: u64,
    pub(crate) address: *mut c_void,
    pub(crate) length: usize,
    pub(crate) flags: c_uint,
    pub(crate) prot: c_uint,
    pub(crate) memory_type: c_uint,
    pub(crate) exported_memh_buffer: *const c_void,
}

pub(crate) const MAP_ADDRESS: u64 = 1;
pub(crate) const MAP_LENGTH: u64 = 1 << 1;
pub(crate) const MAP_EXPORTED: u64 = 1 << 5;

/// `ucp_memh_pack_params_t`.
#[repr(C)]
pub(crate) struct PackParams {
    pub(crate) field_mask: u64,
    pub(crate) flags: u64,
}

pub(crate) const PACK_FLAGS: u64 = 1;
pub(crate) const PACK_EXPORT: u64 = 1;

/// `ucp_mem_attr_t`.
#[repr(C)]
pub(crate) struct Attributes {
    pub(crate) field_mask: u64,
    pub(crate) address: *mut c_void,
    pub(crate) length: usize,
    pub(crate) mem_type: c_uint,
}

pub(crate) const ATTRIBUTE_ADDRESS: u64 = 1;
pub(crate) const ATTRIBUTE_LENGTH: u64 = 1 << 1;
