//! Tag matching: messages that wait for a receive with a matching tag.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr::NonNull;

use ucx_sys::{self as sys, Zeroed};

use crate::buffer::{Buffer, BufferMut};
use crate::endpoint::Endpoint;
use crate::features::Features;
use crate::held_buffer::HeldBuffer;
use crate::imported::Imported;
use crate::inner::{WorkerState, complete};
use crate::request::{self, Outcome, Request};
use crate::slot::Completion;
use crate::status::Status;
use crate::worker::Worker;

/// A received message: `ucp_tag_recv_info_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TagInfo {
    /// The sender's tag.
    pub tag: u64,
    /// The length of the message in bytes.
    pub length: usize,
}

impl Outcome for TagInfo {
    fn from_completion(completion: &Completion) -> Self {
        TagInfo { tag: completion.tag, length: completion.length }
    }
}

impl Endpoint {
    /// Sends a message with a tag: `ucp_tag_send_nbx`. The request ends when `data` may be reused,
    /// possibly before the message is received. `UNSUPPORTED` without [`Features::TAG`].
    #[inline]
    pub fn tag_send<B: Buffer>(&self, tag: u64, data: B) -> Request<B> {
        let worker = self.worker();
        if !worker.features().contains(Features::TAG) {
            return Request::failed(Status::UNSUPPORTED, data);
        }
        let raw = match self.open() {
            Ok(raw) => raw,
            Err(status) => return Request::failed(status, data),
        };
        let data = HeldBuffer::new(data);
        let params = request::params_for(worker, data.get());
        let (start, length) = (data.get().start(), data.get().len());
        // SAFETY: the endpoint is live, the mask names the set fields, the request owns the data.
        let returned = unsafe { sys::ucp_tag_send_nbx(raw, start.cast(), length, tag, &params) };
        Request::started(worker, returned, Completion::new(Status::OK), data)
    }

    /// Sends from another process's memory, read by a device. `OUT_OF_RANGE` when the bytes are not
    /// inside, `INVALID_PARAM` for memory of another context, `BUSY` during a receive into them.
    pub fn tag_send_imported(&self, tag: u64, memory: &Imported, part: Range<u64>) -> Request<()> {
        let worker = self.worker();
        if !worker.features().contains(Features::TAG) {
            return Request::failed(Status::UNSUPPORTED, ());
        }
        let length = part.end.saturating_sub(part.start) as usize;
        let started = self.open().and_then(|raw| {
            let (start, handle, keep) = memory.take(worker.context(), part, true)?;
            let params = request::params_on(worker, handle);
            // SAFETY: the endpoint is live, the mask names the set fields, the handle is kept.
            Ok((unsafe { sys::ucp_tag_send_nbx(raw, start, length, tag, &params) }, keep))
        });
        match started {
            Ok((returned, keep)) => {
                let done = Completion::new(Status::OK);
                Request::started(worker, returned, done, HeldBuffer::new(())).keeping(keep)
            }
            Err(status) => Request::failed(status, ()),
        }
    }
}

impl Worker {
    /// Receives the first message whose tag equals `tag` in the bits of `mask`: `ucp_tag_recv_nbx`.
    /// A message longer than the buffer is lost, with `MESSAGE_TRUNCATED` and undefined buffer
    /// content. Dropping the request cancels the receive. `UNSUPPORTED` without [`Features::TAG`].
    #[inline]
    pub fn tag_recv<B: BufferMut>(&self, tag: u64, mask: u64, buffer: B) -> Request<B, TagInfo> {
        if !self.features().contains(Features::TAG) {
            return Request::failed(Status::UNSUPPORTED, buffer);
        }
        let mut buffer = HeldBuffer::new(buffer);
        let params = request::params_for(self, buffer.get());
        let (length, start) = (buffer.get().len(), buffer.get_mut().start_mut().cast());
        // SAFETY: the request owns the buffer until UCX is done.
        unsafe { self.receive((start, length), tag, mask, params, buffer) }
    }

    /// Receives like [`tag_recv`](Worker::tag_recv), into another process's memory, written by a
    /// device. `OUT_OF_RANGE` when the bytes are not all inside, `INVALID_PARAM` for memory
    /// imported in another context, `BUSY` while another request uses some of these bytes.
    pub fn tag_recv_imported(
        &self,
        tag: u64,
        mask: u64,
        memory: &Imported,
        part: Range<u64>,
    ) -> Request<(), TagInfo> {
        if !self.features().contains(Features::TAG) {
            return Request::failed(Status::UNSUPPORTED, ());
        }
        let length = part.end.saturating_sub(part.start) as usize;
        let (start, handle, keep) = match memory.take(self.context(), part, false) {
            Ok(taken) => taken,
            Err(status) => return Request::failed(status, ()),
        };
        let params = request::params_on(self, handle);
        // SAFETY: the bytes are inside the imported memory, and the request keeps its handle.
        let recv = unsafe { self.receive((start, length), tag, mask, params, HeldBuffer::new(())) };
        recv.keeping(keep)
    }

    /// # Safety
    /// The bytes may be written until the request ends; the request owns or keeps the memory.
    #[inline]
    unsafe fn receive<B>(
        &self,
        (start, length): (*mut c_void, usize),
        tag: u64,
        mask: u64,
        mut params: sys::ucp_request_param_t,
        buffer: HeldBuffer<B>,
    ) -> Request<B, TagInfo> {
        let mut info = sys::ucp_tag_recv_info::zeroed();
        params.op_attr_mask |= sys::UCP_OP_ATTR_FIELD_RECV_INFO;
        params.cb.recv = Some(on_receive);
        // Written only when the message is complete on return.
        params.recv_info.tag_info = &raw mut info;
        // SAFETY: the worker is live, the mask names the set fields, the bytes are the caller's.
        let returned =
            unsafe { sys::ucp_tag_recv_nbx(self.raw(), start, length, tag, mask, &params) };
        let (length, tag) = (info.length, info.sender_tag);
        let immediate = Completion { length, tag, ..Completion::new(Status::OK) };
        Request::started(self, returned, immediate, buffer).cancelled_by_drop()
    }

    /// Returns a waiting message without receiving it, or progress: `ucp_tag_probe_nb`.
    #[must_use]
    pub fn tag_probe(&self, tag: u64, mask: u64) -> Option<TagInfo> {
        if !self.features().contains(Features::TAG) {
            return None;
        }
        let mut info = sys::ucp_tag_recv_info::zeroed();
        // SAFETY: the worker is live, and `info` is writable.
        let message = unsafe { sys::ucp_tag_probe_nb(self.raw(), tag, mask, 0, &mut info) };
        (!message.is_null()).then_some(TagInfo { tag: info.sender_tag, length: info.length })
    }
}

unsafe extern "C" fn on_receive(
    request: *mut c_void,
    status: sys::ucs_status_t,
    info: *const sys::ucp_tag_recv_info_t,
    user_data: *mut c_void,
) {
    // SAFETY: null, or valid during the callback.
    let info = unsafe { info.as_ref() };
    let (length, tag) = info.map_or((0, 0), |info| (info.length, info.sender_tag));
    // SAFETY: `params` set a worker's `WorkerState`, which outlives the worker's requests.
    let inner = unsafe { &*user_data.cast::<WorkerState>() };
    let slot = NonNull::new(request.cast());
    let is_cancelled = !slot.is_some_and(|slot| inner.receives.borrow_mut().remove(&slot));
    let status = match Status::from_raw(status) {
        Status::CANCELED if is_cancelled => Status::CONNECTION_RESET,
        status => status,
    };
    let completion = Completion { status, length, tag };
    // SAFETY: this is the completion callback of a request made with `params`.
    unsafe { complete(request, user_data, completion) };
}
