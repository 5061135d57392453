//! Tag matching: messages that wait for a receive with a matching tag.

use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr;

use ucx_sys as sys;

use crate::buffer::{Buffer, BufferMut};
use crate::endpoint::Endpoint;
use crate::features::Features;
use crate::held::Held;
use crate::inner::complete;
use crate::request::sealed::Sealed;
use crate::request::{self, Outcome, Request};
use crate::slot::Completion;
use crate::status::Status;
use crate::worker::Worker;
use crate::zeroed::Zeroed;

/// What came: the tag that the sender gave, and the number of bytes. `ucp_tag_recv_info_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TagInfo {
    /// The sender's tag.
    pub tag: u64,
    /// The length of the message in bytes.
    pub length: usize,
}

impl TagInfo {
    fn of(raw: &sys::ucp_tag_recv_info_t) -> Self {
        TagInfo { tag: raw.sender_tag, length: raw.length }
    }
}

impl Sealed for TagInfo {}

impl Outcome for TagInfo {
    fn from_completion(completion: &Completion) -> Self {
        TagInfo { tag: completion.tag, length: completion.length }
    }
}

impl Endpoint {
    /// Sends a message with a tag: `ucp_tag_send_nbx`. It ends when `data` may be used again, which
    /// can be before it was received. Without [`Features::TAG`] it ends with `UNSUPPORTED`.
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
        let data = Held::new(data);
        let params = request::params_for(worker, data.get());
        let (start, length) = (data.get().start(), data.get().len());
        // SAFETY: the endpoint is live, the mask names what is set, the request owns the data until
        // UCX is done.
        let returned = unsafe { sys::ucp_tag_send_nbx(raw, start.cast(), length, tag, &params) };
        Request::started(worker, returned, Completion::new(Status::OK), data)
    }
}

impl Worker {
    /// Receives the first message whose tag is `tag` in the bits of `mask`, one that waits already
    /// or the next to come: `ucp_tag_recv_nbx`. A message longer than the buffer is lost: the
    /// receive ends with `MESSAGE_TRUNCATED`, and what is in the buffer then means nothing (UCX as
    /// a rule writes none of it). Dropping the request cancels the receive. Without
    /// [`Features::TAG`] it ends with `UNSUPPORTED`.
    #[inline]
    pub fn tag_recv<B: BufferMut>(&self, tag: u64, mask: u64, buffer: B) -> Request<B, TagInfo> {
        if !self.features().contains(Features::TAG) {
            return Request::failed(Status::UNSUPPORTED, buffer);
        }
        receive(self, buffer, |start, length, params| {
            // SAFETY: the worker is live, the mask names what is set, the request owns the buffer
            // until UCX is done.
            unsafe { sys::ucp_tag_recv_nbx(self.raw(), start, length, tag, mask, params) }
        })
        .cancelled_by_drop()
    }

    /// Looks for a message that waits, and leaves it there: `ucp_tag_probe_nb`. Only
    /// [`progress`](Worker::progress) brings messages.
    #[must_use]
    pub fn tag_probe(&self, tag: u64, mask: u64) -> Option<TagInfo> {
        self.probe(tag, mask, false).map(|(_, info)| info)
    }

    /// Takes a message that waits out of the queue, to be received by [`TagMessage::recv`]:
    /// `ucp_tag_probe_nb` with removal. No other receive gets it.
    #[must_use]
    pub fn tag_take(&self, tag: u64, mask: u64) -> Option<TagMessage> {
        let (raw, info) = self.probe(tag, mask, true)?;
        Some(TagMessage { raw, info, worker: self.clone() })
    }

    fn probe(
        &self,
        tag: u64,
        mask: u64,
        remove: bool,
    ) -> Option<(sys::ucp_tag_message_h, TagInfo)> {
        if !self.features().contains(Features::TAG) {
            return None;
        }
        let mut info = sys::ucp_tag_recv_info::zeroed();
        // SAFETY: the worker is live, `info` can be written to.
        let raw = unsafe { sys::ucp_tag_probe_nb(self.raw(), tag, mask, remove.into(), &mut info) };
        (!raw.is_null()).then(|| (raw, TagInfo::of(&info)))
    }
}

/// Starts one of the two kinds of receive.
#[inline]
fn receive<B: BufferMut>(
    worker: &Worker,
    buffer: B,
    start: impl FnOnce(*mut c_void, usize, &sys::ucp_request_param_t) -> sys::ucs_status_ptr_t,
) -> Request<B, TagInfo> {
    let mut buffer = Held::new(buffer);
    let mut info = sys::ucp_tag_recv_info::zeroed();
    let mut params = request::params_for(worker, buffer.get());
    params.op_attr_mask |= sys::UCP_OP_ATTR_FIELD_RECV_INFO;
    params.cb.recv = Some(on_receive);
    // Written only when the message is complete on return.
    params.recv_info.tag_info = &raw mut info;
    let length = buffer.get().len();
    let returned = start(buffer.get_mut().start_mut().cast(), length, &params);
    let immediate = Completion { status: Status::OK, length: info.length, tag: info.sender_tag };
    Request::started(worker, returned, immediate, buffer)
}

unsafe extern "C" fn on_receive(
    request: *mut c_void,
    status: sys::ucs_status_t,
    info: *const sys::ucp_tag_recv_info_t,
    user_data: *mut c_void,
) {
    // SAFETY: null, or UCX's for the time of the callback.
    let info = unsafe { info.as_ref() };
    let (length, tag) = info.map_or((0, 0), |info| (info.length, info.sender_tag));
    let completion = Completion { status: Status::from_raw(status), length, tag };
    // SAFETY: this is the completion callback of a request made with `params`.
    unsafe { complete(request, user_data, completion) };
}

/// A message that was taken out of the queue: `ucp_tag_message_h`. Dropping it drops the message; a
/// sender that waits for it to be received then ends with `MESSAGE_TRUNCATED` or as if it had been.
///
/// ```
/// use ucx::TagMessage;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let context = ucx::Context::builder(ucx::Features::TAG).config("TLS", "self").build()?;
/// # let worker = context.worker()?;
/// # let endpoint = worker.endpoint().error_mode(ucx::ErrorMode::None).connect(&worker.address()?)?;
/// endpoint.tag_send(7, vec![1; 1000]).detach();
/// let mut waiting = None;
/// worker.progress_until(|| {
///     waiting = worker.tag_take(7, u64::MAX);
///     waiting.is_some()
/// });
/// let Some(message): Option<TagMessage> = waiting else { unreachable!() };
/// // A buffer that is just as long.
/// let buffer = vec![0; message.info().length];
/// let (received, buffer) = message.recv(buffer).wait();
/// assert_eq!((received?.length, buffer), (1000, vec![1; 1000]));
/// # Ok(())
/// # }
/// ```
pub struct TagMessage {
    raw: sys::ucp_tag_message_h,
    info: TagInfo,
    worker: Worker,
}

impl TagMessage {
    /// Its tag and length.
    #[must_use]
    pub fn info(&self) -> TagInfo {
        self.info
    }

    /// Receives it: `ucp_tag_msg_recv_nbx`. A message longer than the buffer ends with
    /// `MESSAGE_TRUNCATED`, and nothing of it can be used.
    pub fn recv<B: BufferMut>(self, buffer: B) -> Request<B, TagInfo> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never used or dropped again, so there is one owner as before.
        let worker = unsafe { ptr::read(&this.worker) };
        let raw = this.raw;
        receive(&worker, buffer, |start, length, params| {
            // SAFETY: the worker and the message are live, the message is given up here, the mask
            // names what is set, and the request owns the buffer until UCX is done with it.
            unsafe { sys::ucp_tag_msg_recv_nbx(worker.raw(), start, length, raw, params) }
        })
    }
}

impl Drop for TagMessage {
    fn drop(&mut self) {
        // UCX has no way to release a message but to receive it. It is cut to nothing, because what
        // the sender announces must not decide how much is allocated here.
        let message = TagMessage { raw: self.raw, info: self.info, worker: self.worker.clone() };
        message.recv(Vec::new()).detach();
    }
}

impl fmt::Debug for TagMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TagMessage").field("info", &self.info).finish_non_exhaustive()
    }
}
