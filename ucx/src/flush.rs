//! Flush and fence.

use ucx_sys as sys;

use crate::endpoint::Endpoint;
use crate::held::Held;
use crate::request::Request;
use crate::slot::Completion;
use crate::status::{Result, Status, check};
use crate::worker::Worker;

impl Endpoint {
    /// Ends when everything that was sent, put or done on remote memory on this endpoint before has
    /// arrived: `ucp_ep_flush_nbx`.
    pub fn flush(&self) -> Request<()> {
        let raw = match self.open() {
            Ok(raw) => raw,
            Err(status) => return Request::failed(status, ()),
        };
        let params = self.worker().inner().params();
        // SAFETY: the endpoint is live, the mask names what is set.
        let returned = unsafe { sys::ucp_ep_flush_nbx(raw, &params) };
        Request::started(self.worker(), returned, Completion::new(Status::OK), Held::new(()))
    }
}

impl Worker {
    /// As [`Endpoint::flush`], for all endpoints: `ucp_worker_flush_nbx`.
    pub fn flush(&self) -> Request<()> {
        let params = self.inner().params();
        // SAFETY: the worker is live, the mask names what is set.
        let returned = unsafe { sys::ucp_worker_flush_nbx(self.raw(), &params) };
        Request::started(self, returned, Completion::new(Status::OK), Held::new(()))
    }

    /// Orders operations on remote memory: those after it happen after those before it:
    /// `ucp_worker_fence`.
    ///
    /// UCX may wait here for the peers, and calls handlers meanwhile. So other threads or processes
    /// must progress the peers.
    ///
    /// # Errors
    /// `BUSY` inside a handler; otherwise UCX's error.
    pub fn fence(&self) -> Result<()> {
        // SAFETY: the worker is live, and this is not inside one of its callbacks.
        let status = self.inner().progressing(|| unsafe { sys::ucp_worker_fence(self.raw()) });
        check(status.unwrap_or(sys::UCS_ERR_BUSY), "fencing a worker")
    }
}
