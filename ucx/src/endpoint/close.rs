//! Closing endpoints: at once, or after everything has arrived.

use std::mem;
use std::rc::Rc;

use ucx_sys as sys;

use super::EndpointState;
use crate::held::Held;
use crate::inner::WorkerState;
use crate::request::Request;
use crate::slot::Completion;
use crate::status::Status;
use crate::worker::Worker;

/// How to close an [`Endpoint`](crate::Endpoint).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseMode {
    /// Everything that was sent arrives first. From then on it is not noticed that a peer leaves
    /// its [`Mesh`](crate::Mesh): where that may happen, wait for [`flush`](crate::Endpoint::flush)
    /// first.
    Flush,
    /// At once: pending requests end with `CANCELED`, what is not on the wire yet is lost, and the
    /// peer's endpoint fails with `CONNECTION_RESET`. `UCP_EP_CLOSE_FLAG_FORCE`.
    Force,
}

/// Closes an endpoint that is used no more; inside a callback, once that has returned.
///
/// By force, and in a mesh, that is once UCX has read what peers had sent: UCX 1.22 crashes on the
/// request to connect of a process that is gone if the endpoint to it is closed.
pub(super) fn close(
    raw: sys::ucp_ep_h,
    shared: Rc<EndpointState>,
    worker: &Worker,
    mode: CloseMode,
) {
    shared.forget(worker);
    let reads_first = mode == CloseMode::Force && shared.in_mesh.get();
    if !reads_first && !worker.is_progressing() {
        return begin(raw, shared, worker, mode);
    }
    let inner = worker.as_ptr();
    let job = move |_: &WorkerState| {
        // SAFETY: the worker whose jobs run has a handle.
        let worker = unsafe { Worker::borrowed(inner) };
        begin(raw, shared, &worker, mode);
    };
    if reads_first { worker.inner().once_idle(job) } else { worker.inner().later(job) }
}

fn begin(raw: sys::ucp_ep_h, shared: Rc<EndpointState>, worker: &Worker, mode: CloseMode) {
    let mut params = worker.inner().params();
    if mode == CloseMode::Force {
        params.op_attr_mask |= sys::UCP_OP_ATTR_FIELD_FLAGS;
        params.flags = sys::UCP_EP_CLOSE_FLAG_FORCE;
    }
    // SAFETY: the endpoint is live and closed once, the mask names what is set.
    let returned = unsafe { sys::ucp_ep_close_nbx(raw, &params) };
    if sys::UCS_PTR_IS_ERR(returned) {
        // Whether the endpoint still exists is not known, so its error handler may yet be called.
        mem::forget(Rc::clone(&shared));
    }
    // The request keeps what the error handler reaches alive.
    let immediate = Completion::new(Status::OK);
    Request::<_, ()>::started(worker, returned, immediate, Held::new(shared)).detach();
}
