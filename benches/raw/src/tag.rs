//! Tag messages, as in a plugin in C that forwards them.

use anyhow::Result;
use ucx_sys::{self as sys, Zeroed};

use crate::{Kind, Peer, check};

/// Arbitrary: all tag messages have this tag.
const TAG: u64 = 7;

impl Peer {
    /// Sends to the second endpoint, and waits until the bytes can be changed.
    pub(crate) fn tag_send(&self, bytes: &[u8]) -> Result<()> {
        let param = sys::ucp_request_param_t::zeroed();
        let (endpoint, data) = (self.endpoints[1], bytes.as_ptr().cast());
        // SAFETY: the endpoint is live, and this waits until UCX has done with the bytes.
        let request = unsafe { sys::ucp_tag_send_nbx(endpoint, data, bytes.len(), TAG, &param) };
        self.finish(request, false).map(drop)
    }

    /// Receives into `bytes`; returns false if the stop came instead. Yields while idle, because it
    /// may share its core with the host.
    pub(crate) fn tag_receive(&self, bytes: &mut [u8]) -> Result<bool> {
        let param = sys::ucp_request_param_t::zeroed();
        let (worker, data, any) = (self.worker, bytes.as_mut_ptr().cast(), u64::MAX);
        // SAFETY: the worker is live, and this waits until UCX has done with `bytes`, after a
        // cancel if needed.
        let request = unsafe { sys::ucp_tag_recv_nbx(worker, data, bytes.len(), TAG, any, &param) };
        self.finish(request, true)
    }

    /// Waits until UCX has done with a request, and frees it. Returns false if it `receives` and
    /// the stop came first, which cancels it.
    pub(crate) fn finish(&self, request: sys::ucs_status_ptr_t, receives: bool) -> Result<bool> {
        if !sys::UCS_PTR_IS_PTR(request) {
            return check("a tag message", sys::UCS_PTR_STATUS(request)).map(|()| true);
        }
        let (mut stopped, mut idle) = (false, None);
        let status = loop {
            // SAFETY: a request of UCX that is not freed yet.
            match unsafe { sys::ucp_request_check_status(request) } {
                sys::UCS_INPROGRESS => {}
                status => break status,
            }
            if receives && !stopped && self.counters[0].stopped.take() {
                stopped = true;
                // SAFETY: an unfinished request of this worker.
                unsafe { sys::ucp_request_cancel(self.worker, request) };
            }
            if receives && self.kind == Kind::Asleep {
                // UCX uses `bytes` until the request is done, so an error must not return early.
                let _ = self.look(&mut idle);
            } else if !self.progress() && receives {
                std::thread::yield_now();
            }
        };
        // SAFETY: a request of UCX, freed once.
        unsafe { sys::ucp_request_free(request) };
        if stopped { Ok(false) } else { check("a tag message", status).map(|()| true) }
    }
}
