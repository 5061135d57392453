//! Active messages: bytes for a handler of the peer.

use ucx_sys as sys;

use crate::buffer::Buffer;
use crate::endpoint::{Endpoint, EndpointId};
use crate::features::Features;
use crate::held::Held;
use crate::rendezvous::Rendezvous;
use crate::request::{self, Request};
use crate::slot::Completion;
use crate::status::Status;
use crate::worker::Worker;

bitflags::bitflags! {
    /// How an active message travels: `enum ucp_send_am_flags`. Combine with `|`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct AmFlags: u32 {
        /// UCX chooses.
        const NONE = 0;
        /// The handler can answer, and knows the endpoint that the message came by.
        const REPLY = sys::UCP_AM_SEND_FLAG_REPLY;
        /// The bytes come along with the message however many they are.
        const EAGER = sys::UCP_AM_SEND_FLAG_EAGER;
        /// The handler gets an announcement and fetches the bytes. `UNSUPPORTED` before UCX 1.22
        /// with `UCX_MEM_EVENTS=n` in the environment: UCX crashes then as a peer goes away
        /// meanwhile.
        const RENDEZVOUS = sys::UCP_AM_SEND_FLAG_RNDV;
    }
}

impl Endpoint {
    /// Sends an active message to handler `id` of the peer: `ucp_am_send_nbx`.
    ///
    /// The header is only borrowed; it may have up to [`Worker::max_am_header`] bytes
    /// (`INVALID_PARAM` otherwise). With `()` as data there is a header only. The request owns
    /// `data` until UCX has read it. A short message is usually done on return:
    /// [`Request::into_done`] gives the buffer back for the next one.
    ///
    /// UCX keeps the order only among messages that it sends in one piece.
    #[inline]
    pub fn am_send<B: Buffer>(&self, id: u16, header: &[u8], data: B) -> Request<B> {
        self.am_send_with(id, header, data, AmFlags::NONE)
    }

    /// As [`am_send`](Endpoint::am_send), with flags.
    #[inline]
    pub fn am_send_with<B: Buffer>(
        &self,
        id: u16,
        header: &[u8],
        data: B,
        flags: AmFlags,
    ) -> Request<B> {
        match self.open() {
            // SAFETY: the endpoint is live, and of this worker.
            Ok(raw) => unsafe { send(self.worker(), raw, id, header, data, flags) },
            Err(status) => Request::failed(status, data),
        }
    }

    /// [`am_send_with`](Endpoint::am_send_with) and [`Request::into_done`] in one, for the hot
    /// path: no request is made for a message that is done on return.
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
        // SAFETY: the endpoint is live, and of this worker; the request below keeps the buffer.
        match unsafe { start(self.worker(), raw, id, header, data, flags) } {
            Ok((returned, mut data)) if returned.is_null() => {
                // SAFETY: UCX is done with it, and it is taken once.
                Ok((Ok(()), unsafe { data.take() }))
            }
            Ok((returned, data)) => sent_later(self.worker(), returned, data),
            Err((status, data)) => Ok((Err(status), data)),
        }
    }
}

/// Makes parameters those of an active message.
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

/// Hands a message to UCX. Returns UCX's answer and the buffer, or the buffer when UCX does not get
/// it.
///
/// # Safety
/// `endpoint` is a live endpoint of `worker`. The buffer is not dropped before the request that UCX
/// may have returned has ended.
#[inline]
unsafe fn start<B: Buffer>(
    worker: &Worker,
    endpoint: sys::ucp_ep_h,
    id: u16,
    header: &[u8],
    data: B,
    flags: AmFlags,
) -> Result<(sys::ucs_status_ptr_t, Held<B>), (Status, B)> {
    if !worker.features().contains(Features::AM) {
        return Err((Status::UNSUPPORTED, data));
    }
    if header.len() > worker.max_am_header() {
        return Err((Status::INVALID_PARAM, data));
    }
    if flags.contains(AmFlags::RENDEZVOUS) && !worker.context().has_rendezvous() {
        return Err((Status::UNSUPPORTED, data));
    }
    let data = Held::new(data);
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
    // SAFETY: the endpoint is live, UCX copies the header, the mask names what is set, and the
    // caller keeps the data until UCX is done with it.
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

/// As [`start`], for the request.
///
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

/// The rest of [`Endpoint::am_send_now`] for a message that is not done, or that failed.
#[cold]
#[inline(never)]
#[allow(clippy::type_complexity, reason = "the pair that the future resolves to")]
fn sent_later<B: Buffer>(
    worker: &Worker,
    returned: sys::ucs_status_ptr_t,
    data: Held<B>,
) -> Result<(Result<(), Status>, B), Request<B>> {
    Request::started(worker, returned, Completion::new(Status::OK), data).into_done()
}

/// An active message, for the time of its handler.
///
/// ```no_run
/// # fn example(worker: &ucx::Worker) -> ucx::Result<()> {
/// use ucx::{Data, Message};
///
/// worker.set_am_handler(1, |message: Message<'_>| {
///     let Data::Eager(bytes) = message.data else { return };
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
    /// What the sender gave as header.
    pub header: &'a [u8],
    /// What the sender gave as data.
    pub data: Data<'a>,
    pub(crate) reply: Option<Reply<'a>>,
}

impl<'a> Message<'a> {
    /// The way back, when the sender gave [`AmFlags::REPLY`].
    #[must_use]
    pub fn reply(&self) -> Option<Reply<'a>> {
        self.reply
    }
}

/// The data of an active message.
#[derive(Debug)]
pub enum Data<'a> {
    /// The bytes, where UCX received them: no copy was made for this call.
    Eager(&'a [u8]),
    /// The announcement of bytes that are still at the sender.
    Rendezvous(Rendezvous),
}

impl Data<'_> {
    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Data::Eager(bytes) => <[u8]>::len(bytes),
            Data::Rendezvous(announced) => announced.len(),
        }
    }

    /// Whether the length is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The way back to the sender, for the time of the handler. Requests made with it may last longer.
#[derive(Clone, Copy)]
pub struct Reply<'a> {
    pub(crate) worker: &'a Worker,
    pub(crate) endpoint: sys::ucp_ep_h,
}

impl Reply<'_> {
    /// Which endpoint the answer takes: that of [`Endpoint::id`], if the worker made one for this
    /// peer; the first, if it made several.
    #[must_use]
    pub fn endpoint(&self) -> EndpointId {
        EndpointId(self.endpoint.addr())
    }

    /// As [`Endpoint::am_send`].
    #[inline]
    pub fn am_send<B: Buffer>(&self, id: u16, header: &[u8], data: B) -> Request<B> {
        self.am_send_with(id, header, data, AmFlags::NONE)
    }

    /// As [`Endpoint::am_send_with`].
    #[inline]
    pub fn am_send_with<B: Buffer>(
        &self,
        id: u16,
        header: &[u8],
        data: B,
        flags: AmFlags,
    ) -> Request<B> {
        // SAFETY: UCX keeps the reply endpoint for the time of the handler, which this value cannot
        // outlive, and endpoints that are closed in a handler stay until it has returned.
        unsafe { send(self.worker, self.endpoint, id, header, data, flags) }
    }
}

debug_fields!(Reply<'_>, |it| { endpoint: it.endpoint });
