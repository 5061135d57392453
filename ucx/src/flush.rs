//! Flush and fence.

use ucx_sys as sys;

use crate::endpoint::Endpoint;
use crate::held_buffer::HeldBuffer;
use crate::request::Request;
use crate::slot::Completion;
use crate::status::{Result, Status, check};
use crate::worker::Worker;

impl Endpoint {
    /// Ends when all earlier operations of this endpoint have arrived: `ucp_ep_flush_nbx`.
    pub fn flush(&self) -> Request<()> {
        let raw = match self.open() {
            Ok(raw) => raw,
            Err(status) => return Request::failed(status, ()),
        };
        let params = self.worker().inner().params();
        // SAFETY: the endpoint is live, and the mask names the set fields.
        let returned = unsafe { sys::ucp_ep_flush_nbx(raw, &params) };
        Request::started(self.worker(), returned, Completion::new(Status::OK), HeldBuffer::new(()))
    }
}

impl Worker {
    /// Like [`Endpoint::flush`], for all endpoints: `ucp_worker_flush_nbx`.
    pub fn flush(&self) -> Request<()> {
        let params = self.inner().params();
        // SAFETY: the worker is live, and the mask names the set fields.
        let returned = unsafe { sys::ucp_worker_flush_nbx(self.raw(), &params) };
        Request::started(self, returned, Completion::new(Status::OK), HeldBuffer::new(()))
    }

    /// Orders remote memory operations before and after the fence: `ucp_worker_fence`.
    ///
    /// UCX may wait for the peers, which other threads must progress, and calls handlers meanwhile.
    ///
    /// # Errors
    /// `BUSY` inside a handler; otherwise UCX's error.
    pub fn fence(&self) -> Result<()> {
        // SAFETY: the worker is live, and `progressing` excludes calls inside its callbacks.
        let status = self.inner().progressing(|| unsafe { sys::ucp_worker_fence(self.raw()) });
        check(status.unwrap_or(sys::UCS_ERR_BUSY), "fencing a worker")
    }
}
