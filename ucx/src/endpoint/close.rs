//! Closing endpoints by force or after a flush.

use std::mem;
use std::rc::Rc;

use ucx_sys as sys;

use super::EndpointState;
use crate::held_buffer::HeldBuffer;
use crate::inner::WorkerState;
use crate::request::Request;
use crate::slot::Completion;
use crate::status::Status;
use crate::worker::Worker;

/// How to close an [`Endpoint`](crate::Endpoint).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseMode {
    /// Delivers all sent data first. From then on the endpoint does not detect that its peer leaves
    /// a [`Mesh`](crate::Mesh): in a mesh, wait for [`flush`](crate::Endpoint::flush) first.
    Flush,
    /// Closes at once: pending requests end with `CANCELED`, unsent data is lost, and the peer's
    /// endpoint fails with `CONNECTION_RESET`. `UCP_EP_CLOSE_FLAG_FORCE`.
    Force,
}

/// Closes an endpoint; inside a callback, after its return. In a mesh, a forced close waits until
/// UCX has read the peers' data: UCX 1.22 crashes otherwise on a dead process's connection request.
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
    // SAFETY: the endpoint is live and closed once, and the mask names the set fields.
    let returned = unsafe { sys::ucp_ep_close_nbx(raw, &params) };
    if sys::UCS_PTR_IS_ERR(returned) {
        // The endpoint may still exist, so UCX may yet call its error handler: leak the state.
        mem::forget(Rc::clone(&shared));
    }
    let immediate = Completion::new(Status::OK);
    Request::<_, ()>::started(worker, returned, immediate, HeldBuffer::new(shared)).detach();
}
