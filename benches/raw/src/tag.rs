//! Tag messages, as a plugin in C that forwards them would send and receive them.

use anyhow::Result;
use ucx_sys as sys;

use crate::{Peer, check};

/// Any tag does: nobody else sends any.
const TAG: u64 = 7;

/// A request that UCX has not finished.
struct Pending<'a> {
    peer: &'a Peer,
    request: sys::ucs_status_ptr_t,
}

impl Peer {
    /// Sends to the second endpoint, and waits until the bytes may be changed again.
    pub(crate) fn tag_send(&self, bytes: &[u8]) -> Result<()> {
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let param: sys::ucp_request_param_t = unsafe { std::mem::zeroed() };
        let (endpoint, data) = (self.endpoints[1], bytes.as_ptr().cast());
        // SAFETY: the endpoint is live, and this waits until UCX has done with the bytes.
        let request = unsafe { sys::ucp_tag_send_nbx(endpoint, data, bytes.len(), TAG, &param) };
        let pending = Pending { peer: self, request };
        while !pending.is_done()? {
            self.progress();
        }
        Ok(())
    }

    /// Receives into `room`. False when the stop came instead of a message. Yields while nothing
    /// comes, because it may share its core with the host.
    pub(crate) fn tag_receive(&self, room: &mut [u8]) -> Result<bool> {
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let param: sys::ucp_request_param_t = unsafe { std::mem::zeroed() };
        let (worker, data, any) = (self.worker, room.as_mut_ptr().cast(), u64::MAX);
        // SAFETY: the worker is live. This waits until UCX has done with the room, by cancelling
        // if need be.
        let request = unsafe { sys::ucp_tag_recv_nbx(worker, data, room.len(), TAG, any, &param) };
        let pending = Pending { peer: self, request };
        while !pending.is_done()? {
            if self.counters[0].stopped.take() {
                pending.cancel();
                return Ok(false);
            }
            if !self.progress() {
                std::thread::yield_now();
            }
        }
        Ok(true)
    }
}

impl Pending<'_> {
    fn is_done(&self) -> Result<bool> {
        if self.request.is_null() {
            return Ok(true);
        }
        if sys::UCS_PTR_IS_ERR(self.request) {
            check("a tag message", sys::UCS_PTR_STATUS(self.request))?;
        }
        // SAFETY: a request of UCX that nobody freed.
        match unsafe { sys::ucp_request_check_status(self.request) } {
            sys::UCS_INPROGRESS => Ok(false),
            status => check("a tag message", status).map(|()| true),
        }
    }

    fn cancel(self) {
        // SAFETY: a request of this worker that is not done.
        unsafe { sys::ucp_request_cancel(self.peer.worker, self.request) };
        // SAFETY: as in `is_done`.
        while unsafe { sys::ucp_request_check_status(self.request) } == sys::UCS_INPROGRESS {
            self.peer.progress();
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.request.is_null() && !sys::UCS_PTR_IS_ERR(self.request) {
            // SAFETY: a request of UCX, freed once.
            unsafe { sys::ucp_request_free(self.request) };
        }
    }
}
