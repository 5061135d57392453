//! Active messages whose data stays at the sender until the receiver fetches it.

use std::ffi::c_void;
use std::mem::ManuallyDrop;

use ucx_sys as sys;

use crate::buffer::BufferMut;
use crate::held_buffer::HeldBuffer;
use crate::imported::Imported;
use crate::inner::complete;
use crate::request::{self, Request};
use crate::slot::Completion;
use crate::status::Status;
use crate::worker::Worker;

/// The announcement of an active message's data, which [`recv`](Rendezvous::recv) fetches. It may
/// outlive the handler. Dropping it drops the message, but the sender's request ends with success.
///
/// ```no_run
/// # fn example(worker: &ucx::Worker) -> ucx::Result<()> {
/// use ucx::AmData;
///
/// worker.set_am_handler(1, |message| {
///     if let AmData::Rendezvous(announced) = message.data {
///         let buffer = vec![0; announced.len()];
///         announced.recv(buffer).detach();
///     }
/// })?;
/// # Ok(())
/// # }
/// ```
pub struct Rendezvous {
    /// Dropped by [`Drop::drop`], so that dropping a [`Message`] without one costs one check.
    worker: ManuallyDrop<Worker>,
    descriptor: *mut c_void,
    length: usize,
}

impl Rendezvous {
    pub(crate) fn new(worker: &Worker, descriptor: *mut c_void, length: usize) -> Rendezvous {
        Rendezvous { worker: ManuallyDrop::new(worker.clone()), descriptor, length }
    }

    /// Returns the number of bytes at the sender.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether the data is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Fetches the data into `buffer` and yields its length: `ucp_am_recv_data_nbx`. If the buffer
    /// is too small, the request ends with `BUFFER_TOO_SMALL`, and the message is dropped.
    pub fn recv<B: BufferMut>(self, buffer: B) -> Request<B, usize> {
        if buffer.len() < self.length {
            return Request::failed(Status::BUFFER_TOO_SMALL, buffer);
        }
        let mut buffer = HeldBuffer::new(buffer);
        let params = request::params_for(&self.worker, buffer.get());
        let start = buffer.get_mut().start_mut();
        // SAFETY: the request owns the buffer, which is long enough, until UCX is done with it.
        unsafe { self.fetch(start.cast(), params, buffer) }
    }

    /// Fetches the data to another process's memory, written by a device. Drops the message with
    /// `OUT_OF_RANGE` when the bytes are not inside, `INVALID_PARAM` for memory of another context.
    pub fn recv_imported(self, memory: &Imported, offset: u64) -> Request<(), usize> {
        let (start, handle) = match memory.at(self.worker.context(), offset, self.length) {
            Ok(range) => range,
            Err(status) => return Request::failed(status, ()),
        };
        let params = request::params_on(&self.worker, handle);
        // SAFETY: the bytes are inside the imported memory, and the request keeps its handle.
        unsafe { self.fetch(start, params, HeldBuffer::new(())) }.keeping(memory.keep())
    }

    /// Starts to receive to `start`.
    ///
    /// # Safety
    /// The announced length is writable at `start` until the request ends, which keeps the memory.
    unsafe fn fetch<B>(
        self,
        start: *mut c_void,
        mut params: sys::ucp_request_param_t,
        buffer: HeldBuffer<B>,
    ) -> Request<B, usize> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is never used or dropped again, so the worker keeps one owner.
        let worker = unsafe { ManuallyDrop::take(&mut this.worker) };
        let mut length = 0_usize;
        params.op_attr_mask |= sys::UCP_OP_ATTR_FIELD_RECV_INFO;
        params.cb.recv_am = Some(on_data);
        params.recv_info.length = &raw mut length;
        // SAFETY: the descriptor is live and not used again; UCX writes the length before it
        // returns, and the caller keeps the memory until the request ends.
        let returned = unsafe {
            sys::ucp_am_recv_data_nbx(worker.raw(), this.descriptor, start, this.length, &params)
        };
        let immediate = Completion { length, ..Completion::new(Status::OK) };
        Request::started(&worker, returned, immediate, buffer)
    }
}

unsafe extern "C" fn on_data(
    request: *mut c_void,
    status: sys::ucs_status_t,
    length: usize,
    user_data: *mut c_void,
) {
    let completion = Completion { length, ..Completion::new(Status::from_raw(status)) };
    // SAFETY: this is the completion callback of a request made with `params`.
    unsafe { complete(request, user_data, completion) };
}

impl Drop for Rendezvous {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: this is the only take, and the value is dropped here.
        let worker = unsafe { ManuallyDrop::take(&mut self.worker) };
        if worker.inner().handlers.take_announcement(self.descriptor) {
            // The callback has not returned; its return value makes UCX drop the message.
            return;
        }
        // SAFETY: the callback made UCX keep the descriptor, and it is released once.
        unsafe { sys::ucp_am_data_release(worker.raw(), self.descriptor) };
    }
}

debug_fields!(Rendezvous, |it| { len: it.length });
