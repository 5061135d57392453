//! Requests: running operations, as futures that own their buffer until UCX is done with it. UCX's
//! pooled requests have a [`RequestSlot`] each, which keeps the buffer of a dropped request.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::ptr::NonNull;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::{Duration, Instant};

use ucx_sys as sys;

use crate::buffer::Buffer;
use crate::held_buffer::{HeldBuffer, ParkedBuffer};
use crate::slot::{Completion, RequestSlot};
use crate::status::Status;
use crate::worker::Worker;

/// The result of a request: `()` for sends, a length or a tag for receives. Sealed to this crate.
pub trait Outcome {
    #[doc(hidden)]
    fn from_completion(completion: &Completion) -> Self;
}

impl Outcome for () {
    fn from_completion(_: &Completion) {}
}

impl Outcome for usize {
    fn from_completion(completion: &Completion) -> usize {
        completion.length
    }
}

#[inline]
pub(crate) fn params_for(worker: &Worker, buffer: &impl Buffer) -> sys::ucp_request_param_t {
    match buffer.memory().and_then(|memory| memory.within(worker.context())) {
        Some(handle) => params_on(worker, handle),
        None => worker.inner().params(),
    }
}

#[inline]
pub(crate) fn params_on(worker: &Worker, handle: sys::ucp_mem_h) -> sys::ucp_request_param_t {
    let mut params = worker.inner().params();
    params.op_attr_mask |= sys::UCP_OP_ATTR_FIELD_MEMH;
    params.memh = handle;
    params
}

enum Phase {
    Pending { slot: NonNull<RequestSlot>, worker: Worker, cancel: bool },
    Done(Completion),
    Taken,
}

/// A running operation and its buffer: `ucs_status_ptr_t`.
///
/// It ends with a pair of result and buffer. As a future it needs another caller of
/// [`Worker::progress`]; otherwise call [`wait`](Request::wait). Many operations are complete on
/// return: try [`into_done`](Request::into_done) before storing the request.
///
/// Dropping a running request cancels a tag receive only. UCX keeps the buffer while it needs it.
///
/// ```no_run
/// # fn example(worker: &ucx::Worker, endpoint: &ucx::Endpoint) -> Result<(), ucx::Status> {
/// // Most sends are done at once.
/// match endpoint.tag_send(7, b"hello".to_vec()).into_done() {
///     Ok((result, _buffer)) => result?,
///     Err(request) => request.detach(),
/// }
/// let (result, bytes) = worker.tag_recv(7, u64::MAX, vec![0; 16]).wait();
/// println!("{:?}", &bytes[..result?.length]);
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping a request cancels a receive; `detach` lets an operation end by itself"]
pub struct Request<B: 'static, T: Outcome = ()> {
    phase: Phase,
    /// Initialised unless the phase is `Taken`.
    buffer: HeldBuffer<B>,
    /// Objects that must live until UCX is done; `None` unless the phase is `Pending`.
    keep: Option<Rc<dyn Any>>,
    outcome: PhantomData<fn() -> T>,
}

/// Moving a request does not move the bytes of its buffer.
impl<B: 'static, T: Outcome> Unpin for Request<B, T> {}

impl<B: 'static, T: Outcome> Request<B, T> {
    /// Makes a request of UCX's return value: null (for `immediate`), an error, or a request.
    #[inline]
    pub(crate) fn started(
        worker: &Worker,
        returned: sys::ucs_status_ptr_t,
        immediate: Completion,
        buffer: HeldBuffer<B>,
    ) -> Self {
        let phase = if sys::UCS_PTR_IS_ERR(returned) {
            Phase::Done(Completion::new(Status::from_raw(sys::UCS_PTR_STATUS(returned))))
        } else if let Some(slot) = NonNull::new(returned.cast::<RequestSlot>()) {
            Phase::Pending { slot, worker: worker.clone(), cancel: false }
        } else {
            Phase::Done(immediate)
        };
        Request { phase, buffer, keep: None, outcome: PhantomData }
    }

    /// Makes a drop cancel the operation. UCX can cancel tag receives only.
    #[inline]
    pub(crate) fn cancelled_by_drop(mut self) -> Self {
        if let Phase::Pending { slot, worker, cancel } = &mut self.phase {
            worker.inner().receives.borrow_mut().insert(*slot);
            *cancel = true;
        }
        self
    }

    /// Keeps an object alive until UCX is done; dropped then, while the worker is certainly alive.
    pub(crate) fn keeping(mut self, keep: Rc<dyn Any>) -> Self {
        if let Phase::Pending { .. } = self.phase {
            self.keep = Some(keep);
        }
        self
    }

    pub(crate) fn failed(status: Status, buffer: B) -> Self {
        let phase = Phase::Done(Completion::new(status));
        Request { phase, buffer: HeldBuffer::new(buffer), keep: None, outcome: PhantomData }
    }

    /// Returns whether the operation has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match &self.phase {
            // SAFETY: only the code that ends this phase frees the request.
            Phase::Pending { slot, .. } => unsafe { slot.as_ref() }.completion.get().is_some(),
            Phase::Done(_) | Phase::Taken => true,
        }
    }

    /// Returns the result and the buffer if the operation has ended, otherwise the request.
    #[allow(clippy::type_complexity, reason = "the pair that the future resolves to")]
    #[inline]
    pub fn into_done(mut self) -> Result<(Result<T, Status>, B), Self> {
        let Some(done) = self.take() else { return Err(self) };
        mem::forget(self);
        Ok(done)
    }

    /// Lets the operation end by itself, and discards the result.
    pub fn detach(mut self) {
        if let Phase::Pending { cancel, .. } = &mut self.phase {
            *cancel = false;
        }
    }

    /// Progresses the worker until the operation has ended.
    ///
    /// # Panics
    /// Inside a callback of the same worker, where waiting would never end.
    pub fn wait(self) -> (Result<T, Status>, B) {
        match self.wait_for(Duration::MAX) {
            Ok(done) => done,
            Err(_) => unreachable!("the limit is missing"),
        }
    }

    /// Waits like [`wait`](Request::wait), for `limit` or a little longer.
    ///
    /// # Errors
    /// The request itself, if it is still running.
    ///
    /// # Panics
    /// Same as [`wait`](Request::wait).
    #[allow(clippy::type_complexity, reason = "the pair that the future resolves to")]
    pub fn wait_for(self, limit: Duration) -> Result<(Result<T, Status>, B), Self> {
        if let Phase::Pending { worker, .. } = &self.phase
            && !self.is_done()
        {
            let (worker, deadline) = (worker.clone(), Instant::now().checked_add(limit));
            let mut turns = 0_u32;
            worker.progress_until(|| {
                turns = turns.wrapping_add(1);
                let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
                self.is_done() || (turns.is_multiple_of(16) && late())
            });
        }
        self.into_done()
    }

    #[inline]
    fn settle(&mut self) {
        let Phase::Pending { slot, .. } = self.phase else { return };
        // SAFETY: the request is live during this phase.
        let completion = unsafe { slot.as_ref() }.completion.get();
        let Some(completion) = completion else { return };
        // SAFETY: the request is complete, and the phase ends below.
        unsafe { RequestSlot::free(slot) };
        // Drop it before the phase, which may hold the last handle of the worker.
        drop(self.keep.take());
        self.phase = Phase::Done(completion);
    }

    #[inline]
    fn take(&mut self) -> Option<(Result<T, Status>, B)> {
        self.settle();
        let Phase::Done(completion) = self.phase else { return None };
        self.phase = Phase::Taken;
        // SAFETY: the buffer is there in that phase; the phase `Taken` records its removal.
        let buffer = unsafe { self.buffer.take() };
        Some((completion.status.ok().map(|()| T::from_completion(&completion)), buffer))
    }

    #[inline(never)]
    fn wake_later(&self, cx: &TaskContext<'_>) {
        let Phase::Pending { slot, .. } = &self.phase else {
            panic!("a request was polled after its end")
        };
        // SAFETY: the request is live during this phase.
        let slot = unsafe { slot.as_ref() };
        let waker = slot.waker.take().filter(|waker| waker.will_wake(cx.waker()));
        slot.waker.set(Some(waker.unwrap_or_else(|| cx.waker().clone())));
        // Cloning the waker may have progressed the worker.
        if slot.completion.get().is_some() {
            slot.waker.take().into_iter().for_each(Waker::wake);
        }
    }

    #[inline(never)]
    fn abandon(&mut self) {
        if let Phase::Pending { slot, worker, cancel: true } = &self.phase {
            // SAFETY: a live request of this worker. If UCX calls back at once, the slot has it.
            unsafe { sys::ucp_request_cancel(worker.raw(), slot.as_ptr().cast()) };
        }
        if let Some(done) = self.take() {
            return drop(done);
        }
        let Phase::Pending { slot, worker, .. } = mem::replace(&mut self.phase, Phase::Taken)
        else {
            return;
        };
        // SAFETY: the buffer is there in phase `Pending`, which ends here.
        let parked = unsafe { ParkedBuffer::new(&mut self.buffer, self.keep.take()) };
        // SAFETY: the request is live until it completes, which frees it from now on.
        let slot = unsafe { slot.as_ref() };
        slot.waker.set(None);
        slot.parked.set(Some(Box::new(parked)));
        worker.inner().park();
    }
}

impl<B: 'static, T: Outcome> Future for Request<B, T> {
    type Output = (Result<T, Status>, B);

    /// # Panics
    /// When polled again after it has ended.
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match this.take() {
            Some(done) => Poll::Ready(done),
            None => {
                this.wake_later(cx);
                Poll::Pending
            }
        }
    }
}

impl<B: 'static, T: Outcome> Drop for Request<B, T> {
    #[inline]
    fn drop(&mut self) {
        if !matches!(self.phase, Phase::Taken) {
            self.abandon();
        }
    }
}

impl<B: 'static, T: Outcome> fmt::Debug for Request<B, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("done", &self.is_done()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_over_keeps_nothing_that_may_need_its_worker() {
        let kept = Rc::new(());
        let request =
            Request::<Vec<u8>>::failed(Status::CANCELED, Vec::new()).keeping(kept.clone());
        assert!(request.is_done() && Rc::strong_count(&kept) == 1);
        assert_eq!(request.wait().0, Err(Status::CANCELED));
    }
}
