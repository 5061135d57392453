//! The transports of an endpoint.

use std::ffi::CStr;
use std::ptr;

use ucx_sys::{self as sys, Zeroed};

use crate::endpoint::Endpoint;
use crate::status::{Result, check};

/// UCX has at most one for each way of using an endpoint.
const MOST: usize = 64;

/// Those with a receive queue in memory. Others use memory of both processes for long messages
/// only.
const SHARED_MEMORY: [&str; 3] = ["posix", "sysv", "xpmem"];

/// Beginnings of names whose devices carry out atomic operations: InfiniBand's and RoCE's.
const WITH_ATOMICS: [&str; 2] = ["rc", "dc"];

impl Endpoint {
    /// The names of its transports, such as `posix` or `tcp`, each as often as the endpoint uses
    /// it: `ucp_ep_query`. Until the connection is made they are those that make it.
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
        // SAFETY: the endpoint is live, the mask names what UCX may write, and there is room for
        // `MOST` entries.
        let status = unsafe { sys::ucp_ep_query(raw, &mut attributes) };
        check(status, "asking for an endpoint's transports")?;
        let count = MOST.min(attributes.transports.num_entries as usize);
        let names =
            entries[..count].iter().filter(|entry| !entry.transport_name.is_null()).map(|entry| {
                // SAFETY: UCX's name of a transport, a C string that lives as long as the endpoint.
                unsafe { CStr::from_ptr(entry.transport_name) }.to_string_lossy().into_owned()
            });
        Ok(names.collect())
    }

    /// Whether its messages go through shared memory, into a receive queue that a worker has for
    /// all such peers: whether `posix`, `sysv` or `xpmem` is among its
    /// [`transports`](Endpoint::transports).
    pub fn is_in_shared_memory(&self) -> Result<bool> {
        Ok(self.transports()?.iter().any(|name| SHARED_MEMORY.contains(&name.as_str())))
    }

    /// Whether it uses a device that carries out atomic operations. The answer may become true as
    /// the connection is made.
    pub(crate) fn has_device_with_atomics(&self) -> bool {
        let is_one = |name: &String| WITH_ATOMICS.iter().any(|begin| name.starts_with(begin));
        self.transports().is_ok_and(|names| names.iter().any(is_one))
    }
}
