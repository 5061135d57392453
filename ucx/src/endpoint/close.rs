//! Closing endpoints: at once, or after everything has arrived.

use std::mem;
use std::pin::Pin;
use std::ptr;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};

use ucx_sys as sys;

use super::Shared;
use crate::held::Held;
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

/// The close of an endpoint. Dropping it does not stop it.
#[must_use = "the close goes on by itself; wait for it to know that everything has arrived"]
pub struct Close {
    phase: Phase,
}

enum Phase {
    /// Not begun yet, because a callback is running.
    Waiting(Waiting),
    /// The request keeps what the error handler reaches alive.
    Begun(Request<Rc<Shared>>),
    Over,
}

struct Waiting {
    raw: sys::ucp_ep_h,
    shared: Rc<Shared>,
    worker: Worker,
    mode: CloseMode,
}

impl Close {
    /// Closes an endpoint of which this is the last trace.
    pub(crate) fn new(
        raw: sys::ucp_ep_h,
        shared: Rc<Shared>,
        worker: Worker,
        mode: CloseMode,
    ) -> Close {
        shared.forget(&worker);
        let mut close = Close { phase: Phase::Waiting(Waiting { raw, shared, worker, mode }) };
        close.begin();
        close
    }

    /// The close of an endpoint that is closed already.
    pub(crate) fn over(worker: &Worker, shared: Rc<Shared>) -> Close {
        let nothing = Completion::new(Status::OK);
        Close {
            phase: Phase::Begun(Request::started(
                worker,
                ptr::null_mut(),
                nothing,
                Held::new(shared),
            )),
        }
    }

    /// The request, begun if it can be.
    fn begin(&mut self) -> Option<&mut Request<Rc<Shared>>> {
        if let Phase::Waiting(waiting) = &self.phase
            && !waiting.worker.is_progressing()
        {
            let begun = begin(waiting.raw, &waiting.shared, &waiting.worker, waiting.mode);
            self.phase = Phase::Begun(begun);
        }
        match &mut self.phase {
            Phase::Begun(request) => Some(request),
            Phase::Waiting(_) | Phase::Over => None,
        }
    }

    /// Progresses the worker until the endpoint is closed.
    ///
    /// # Errors
    ///
    /// When the peer went away first, so that what was sent last may be lost. An endpoint that had
    /// [failed](crate::Endpoint::error) before has none.
    ///
    /// # Panics
    ///
    /// As [`Request::wait`].
    pub fn wait(mut self) -> Result<(), Status> {
        assert!(self.begin().is_some(), "Close::wait inside a callback of the same worker");
        match mem::replace(&mut self.phase, Phase::Over) {
            Phase::Begun(request) => request.wait().0,
            Phase::Waiting(_) | Phase::Over => Ok(()),
        }
    }

    /// Whether the endpoint is closed.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(&self.phase, Phase::Begun(request) if request.is_done())
    }
}

fn begin(
    raw: sys::ucp_ep_h,
    shared: &Rc<Shared>,
    worker: &Worker,
    mode: CloseMode,
) -> Request<Rc<Shared>> {
    let mut params = worker.inner().params();
    if mode == CloseMode::Force {
        params.op_attr_mask |= sys::UCP_OP_ATTR_FIELD_FLAGS;
        params.flags = sys::UCP_EP_CLOSE_FLAG_FORCE;
    }
    // SAFETY: the endpoint is live and closed once, the mask names what is set.
    let returned = unsafe { sys::ucp_ep_close_nbx(raw, &params) };
    if sys::UCS_PTR_IS_ERR(returned) {
        // Whether the endpoint still exists is not known, so its error handler may yet be called.
        mem::forget(Rc::clone(shared));
    }
    Request::started(worker, returned, Completion::new(Status::OK), Held::new(Rc::clone(shared)))
}

impl Future for Close {
    type Output = Result<(), Status>;

    /// # Panics
    ///
    /// When polled again after it has ended.
    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match self.begin() {
            Some(request) => Pin::new(request).poll(cx).map(|(result, _)| result),
            None => {
                // Inside a callback: it can begin when that has returned.
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

impl Drop for Close {
    fn drop(&mut self) {
        if self.begin().is_some() {
            return;
        }
        let Phase::Waiting(waiting) = mem::replace(&mut self.phase, Phase::Over) else { return };
        let Waiting { raw, shared, worker, mode } = waiting;
        let inner = worker.as_ptr();
        worker.inner().later(move |_| {
            // SAFETY: the worker whose jobs run has a handle.
            let worker = unsafe { Worker::borrowed(inner) };
            begin(raw, &shared, &worker, mode).detach();
        });
    }
}

debug_fields!(Close, |it| { done: it.is_done() });
