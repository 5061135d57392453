//! The transports of an endpoint.

use std::ffi::CStr;
use std::ptr;

use ucx_sys::{self as sys, Zeroed};

use crate::endpoint::Endpoint;
use crate::status::{Result, check};

/// UCX uses at most one transport for each purpose of an endpoint.
const MOST: usize = 64;

/// Transports with a receive queue in shared memory; others use it for long messages only.
const SHARED_MEMORY: [&str; 3] = ["posix", "sysv", "xpmem"];

/// Name prefixes of transports whose devices execute atomic operations: InfiniBand and RoCE.
const WITH_ATOMICS: [&str; 2] = ["rc", "dc"];

impl Endpoint {
    /// Returns the endpoint's transports, such as `posix` or `tcp`, one entry for each use:
    /// `ucp_ep_query`. Before the connection is made, returns the transports that make it.
    pub fn transports(&self) -> Result<Vec<String>> {
        let none =
            sys::ucp_transport_entry_t { transport_name: ptr::null(), device_name: ptr::null() };
        let mut entries = [none; MOST];
        let mut attributes = sys::ucp_ep_attr_t::zeroed();
        attributes.field_mask = sys::UCP_EP_ATTR_FIELD_TRANSPORTS.into();
        attributes.transports.entries = entries.as_mut_ptr();
        attributes.transports.num_entries = MOST as u32;
        attributes.transports.entry_size = size_of::<sys::ucp_transport_entry_t>();
        let raw =
            self.open().map_err(|status| status.during("asking for an endpoint's transports"))?;
        // SAFETY: the endpoint is live, the mask limits UCX's writes, the array has `MOST` entries.
        let status = unsafe { sys::ucp_ep_query(raw, &mut attributes) };
        check(status, "asking for an endpoint's transports")?;
        let count = MOST.min(attributes.transports.num_entries as usize);
        let names =
            entries[..count].iter().filter(|entry| !entry.transport_name.is_null()).map(|entry| {
                // SAFETY: a C string of UCX that lives as long as the endpoint.
                unsafe { CStr::from_ptr(entry.transport_name) }.to_string_lossy().into_owned()
            });
        Ok(names.collect())
    }

    /// Returns whether messages go through the worker's receive queue in shared memory: whether
    /// [`transports`](Endpoint::transports) contains `posix`, `sysv` or `xpmem`.
    pub fn is_in_shared_memory(&self) -> Result<bool> {
        Ok(self.transports()?.iter().any(|name| SHARED_MEMORY.contains(&name.as_str())))
    }

    /// Returns whether a device executes atomic operations; may turn true during connection setup.
    pub(crate) fn has_device_with_atomics(&self) -> bool {
        let is_one = |name: &String| WITH_ATOMICS.iter().any(|begin| name.starts_with(begin));
        self.transports().is_ok_and(|names| names.iter().any(is_one))
    }
}
