//! Flush and fence: what has arrived, and in which order.

use ucx_sys as sys;

use crate::endpoint::Endpoint;
use crate::held::Held;
use crate::request::Request;
use crate::slot::Completion;
use crate::status::{Result, Status, check};
use crate::worker::Worker;

impl Endpoint {
    /// Ends when everything sent, put or done on remote memory before on this endpoint has arrived:
    /// `ucp_ep_flush_nbx`.
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
    /// Ends when everything that was sent, put or done on remote memory before, on any endpoint,
    /// has arrived: `ucp_worker_flush_nbx`.
    pub fn flush(&self) -> Request<()> {
        let params = self.inner().params();
        // SAFETY: the worker is live, the mask names what is set.
        let returned = unsafe { sys::ucp_worker_flush_nbx(self.raw(), &params) };
        Request::started(self, returned, Completion::new(Status::OK), Held::new(()))
    }

    /// Orders remote memory operations: those after it happen after those before it:
    /// `ucp_worker_fence`.
    ///
    /// UCX may wait here until the peers have done what came before, and calls handlers meanwhile.
    /// So the peers must be progressed by other threads or processes.
    ///
    /// # Errors
    ///
    /// `BUSY` inside a handler, else what UCX says.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let context = ucx::Context::builder(ucx::Features::RMA | ucx::Features::AMO64).config("TLS", "self").build()?;
    /// # let worker = context.worker()?;
    /// # let endpoint = worker.endpoint().error_mode(ucx::ErrorMode::None).connect(&worker.address()?)?;
    /// # let memory = ucx::Memory::allocate(&context, 4096)?;
    /// # let key = memory.remote_key()?;
    /// # // SAFETY: as the owner of the memory gave them.
    /// # let remote = unsafe { endpoint.remote_memory(&key, memory.address(), 4096) }?;
    /// remote.put(&endpoint, 0, b"the data".to_vec()).detach();
    /// worker.fence()?;
    /// // Whoever sees the flag sees the data.
    /// remote.put(&endpoint, 4088, vec![1; 8]).detach();
    /// # Ok(())
    /// # }
    /// ```
    pub fn fence(&self) -> Result<()> {
        // SAFETY: the worker is live, and this is not inside one of its callbacks.
        let status = self.inner().progressing(|| unsafe { sys::ucp_worker_fence(self.raw()) });
        check(status.unwrap_or(sys::UCS_ERR_BUSY), "fencing a worker")
    }
}
