//! Active messages: bytes for a handler of the peer.

use ucx_sys as sys;

use crate::buffer::Buffer;
use crate::endpoint::{Endpoint, EndpointId};
use crate::features::Features;
use crate::held_buffer::HeldBuffer;
use crate::rendezvous::Rendezvous;
use crate::request::{self, Request};
use crate::slot::Completion;
use crate::status::Status;
use crate::worker::Worker;

bitflags::bitflags! {
    /// How UCX sends an active message: `enum ucp_send_am_flags`. Combine with `|`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct AmFlags: u32 {
        /// UCX chooses.
        const NONE = 0;
        /// The handler can answer, and gets the endpoint of the sender.
        const REPLY = sys::UCP_AM_SEND_FLAG_REPLY;
        /// UCX sends the data with the message, whatever its length.
        const EAGER = sys::UCP_AM_SEND_FLAG_EAGER;
        /// The handler gets an announcement and fetches the data. `UNSUPPORTED` before UCX 1.22
        /// with `UCX_MEM_EVENTS=n` in the environment: UCX could crash when a peer leaves.
        const RENDEZVOUS = sys::UCP_AM_SEND_FLAG_RNDV;
    }
}

impl Endpoint {
    /// Sends an active message to handler `id` of the peer: `ucp_am_send_nbx`.
    ///
    /// UCX copies the header, of at most [`Worker::max_am_header`] bytes (`INVALID_PARAM`
    /// otherwise). With `()` as data, it sends a header only. The request owns `data` until UCX has
    /// read it. A short message is usually done on return: see [`Request::into_done`].
    ///
    /// UCX preserves the order only among messages that it sends in one piece.
    #[inline]
    pub fn am_send<B: Buffer>(&self, id: u16, header: &[u8], data: B) -> Request<B> {
        self.am_send_with(id, header, data, AmFlags::NONE)
    }

    /// [`am_send`](Endpoint::am_send) with flags.
    #[inline]
    pub fn am_send_with<B: Buffer>(
        &self,
        id: u16,
        header: &[u8],
        data: B,
        flags: AmFlags,
    ) -> Request<B> {
        match self.open() {
            // SAFETY: the endpoint is live and belongs to this worker.
            Ok(raw) => unsafe { send(self.worker(), raw, id, header, data, flags) },
            Err(status) => Request::failed(status, data),
        }
    }

    /// Sends a message, for the hot path: no request is made if it is done on return.
    ///
    /// # Errors
    /// The request, when UCX is not done with the message yet.
    #[allow(clippy::type_complexity, reason = "the pair that the future resolves to")]
    #[inline]
    pub fn am_send_now<B: Buffer>(
        &self,
        id: u16,
        header: &[u8],
        data: B,
        flags: AmFlags,
    ) -> Result<(Result<(), Status>, B), Request<B>> {
        let raw = match self.open() {
            Ok(raw) => raw,
            Err(status) => return Ok((Err(status), data)),
        };
        // SAFETY: a live endpoint of this worker; the request below keeps the buffer.
        match unsafe { start(self.worker(), raw, id, header, data, flags) } {
            Ok((returned, mut data)) if returned.is_null() => {
                // SAFETY: UCX is done with the buffer, and this is the only take.
                Ok((Ok(()), unsafe { data.take() }))
            }
            Ok((returned, data)) => sent_later(self.worker(), returned, data),
            Err((status, data)) => Ok((Err(status), data)),
        }
    }
}

#[inline]
pub(crate) fn flagged(
    mut params: sys::ucp_request_param_t,
    header: &[u8],
    flags: AmFlags,
) -> sys::ucp_request_param_t {
    params.op_attr_mask |= sys::UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = flags.bits();
    if !header.is_empty() {
        params.flags |= sys::UCP_AM_SEND_FLAG_COPY_HEADER;
    }
    params
}

/// Returns UCX's answer and the buffer, or only the buffer if UCX was not called.
///
/// # Safety
/// `endpoint` is a live endpoint of `worker`. The caller keeps the buffer until the request ends.
#[inline]
unsafe fn start<B: Buffer>(
    worker: &Worker,
    endpoint: sys::ucp_ep_h,
    id: u16,
    header: &[u8],
    data: B,
    flags: AmFlags,
) -> Result<(sys::ucs_status_ptr_t, HeldBuffer<B>), (Status, B)> {
    if !worker.features().contains(Features::AM) {
        return Err((Status::UNSUPPORTED, data));
    }
    if header.len() > worker.max_am_header() {
        return Err((Status::INVALID_PARAM, data));
    }
    if flags.contains(AmFlags::RENDEZVOUS) && !worker.context().has_rendezvous() {
        return Err((Status::UNSUPPORTED, data));
    }
    let data = HeldBuffer::new(data);
    let own;
    let params = match data.get().memory() {
        None if header.is_empty() && flags == AmFlags::EAGER => {
            worker.inner().eager.as_ptr().cast_const()
        }
        _ => {
            own = flagged(request::params_for(worker, data.get()), header, flags);
            &raw const own
        }
    };
    // SAFETY: the endpoint is live, UCX copies the header, and the caller keeps the data.
    let returned = unsafe {
        sys::ucp_am_send_nbx(
            endpoint,
            id.into(),
            header.as_ptr().cast(),
            header.len(),
            data.get().start().cast(),
            data.get().len(),
            params,
        )
    };
    Ok((returned, data))
}

/// # Safety
/// `endpoint` is a live endpoint of `worker`.
#[inline]
unsafe fn send<B: Buffer>(
    worker: &Worker,
    endpoint: sys::ucp_ep_h,
    id: u16,
    header: &[u8],
    data: B,
    flags: AmFlags,
) -> Request<B> {
    // SAFETY: the endpoint is live, and the request below keeps the buffer.
    match unsafe { start(worker, endpoint, id, header, data, flags) } {
        Ok((returned, data)) => {
            Request::started(worker, returned, Completion::new(Status::OK), data)
        }
        Err((status, data)) => Request::failed(status, data),
    }
}

#[cold]
#[inline(never)]
#[allow(clippy::type_complexity, reason = "the pair that the future resolves to")]
fn sent_later<B: Buffer>(
    worker: &Worker,
    returned: sys::ucs_status_ptr_t,
    data: HeldBuffer<B>,
) -> Result<(Result<(), Status>, B), Request<B>> {
    Request::started(worker, returned, Completion::new(Status::OK), data).into_done()
}

/// An active message; valid during its handler.
///
/// ```no_run
/// # fn example(worker: &ucx::Worker) -> ucx::Result<()> {
/// use ucx::{AmData, Message};
///
/// worker.set_am_handler(1, |message: Message<'_>| {
///     let AmData::Eager(bytes) = message.data else { return };
///     // There is a way back if the sender asked for one.
///     if let Some(reply) = message.reply() {
///         reply.am_send(2, message.header, bytes.to_vec()).detach();
///     }
/// })?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Message<'a> {
    /// The sender's header.
    pub header: &'a [u8],
    /// The sender's data.
    pub data: AmData<'a>,
    pub(crate) reply: Option<Reply<'a>>,
}

impl<'a> Message<'a> {
    /// Returns the sender's endpoint, if the sender set [`AmFlags::REPLY`].
    #[must_use]
    pub fn reply(&self) -> Option<Reply<'a>> {
        self.reply
    }
}

/// The data of an active message.
#[derive(Debug)]
pub enum AmData<'a> {
    /// The bytes in UCX's receive buffer, without a copy.
    Eager(&'a [u8]),
    /// An announcement; the bytes are still at the sender.
    Rendezvous(Rendezvous),
}

/// The former name of [`AmData`].
#[deprecated(note = "renamed to `AmData`")]
pub type Data<'a> = AmData<'a>;

impl AmData<'_> {
    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            AmData::Eager(bytes) => <[u8]>::len(bytes),
            AmData::Rendezvous(announced) => announced.len(),
        }
    }

    /// Whether the length is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The sender's endpoint during the handler. Requests made with it may outlive the handler.
#[derive(Clone, Copy)]
pub struct Reply<'a> {
    pub(crate) worker: &'a Worker,
    pub(crate) endpoint: sys::ucp_ep_h,
}

impl Reply<'_> {
    /// The [`Endpoint::id`] of the worker's (first) endpoint to this peer.
    #[must_use]
    pub fn endpoint(&self) -> EndpointId {
        EndpointId(self.endpoint.addr())
    }

    /// Like [`Endpoint::am_send`].
    #[inline]
    pub fn am_send<B: Buffer>(&self, id: u16, header: &[u8], data: B) -> Request<B> {
        self.am_send_with(id, header, data, AmFlags::NONE)
    }

    /// Like [`Endpoint::am_send_with`].
    #[inline]
    pub fn am_send_with<B: Buffer>(
        &self,
        id: u16,
        header: &[u8],
        data: B,
        flags: AmFlags,
    ) -> Request<B> {
        // SAFETY: UCX keeps the reply endpoint, even a closed one, until the handler has returned.
        unsafe { send(self.worker, self.endpoint, id, header, data, flags) }
    }
}

debug_fields!(Reply<'_>, |it| { endpoint: it.endpoint });
