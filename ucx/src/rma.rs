//! Put and get on the registered memory of a peer.

use std::ptr;
use std::rc::Rc;

use ucx_sys as sys;

use crate::buffer::{Buffer, BufferMut};
use crate::endpoint::Endpoint;
use crate::features::Features;
use crate::held_buffer::HeldBuffer;
use crate::request::{self, Request};
use crate::slot::Completion;
use crate::status::{Result, Status, check};

const LONGEST: usize = 4096;

const SHORTEST: usize = 9;

/// Padding: for a truncated key, UCX reads up to 64 parts of 255 bytes behind it.
const SLACK: usize = 64 * 256 + 4096;

/// An unpacked remote key: `ucp_rkey_h`. Requests hold it too, so it does not hold the worker.
struct Rkey(sys::ucp_rkey_h);

impl Drop for Rkey {
    fn drop(&mut self) {
        // SAFETY: destroyed once; each owner of a key holds the worker or is a request of it.
        unsafe { sys::ucp_rkey_destroy(self.0) };
    }
}

/// A range of a peer's registered memory, accessed over one endpoint, which it keeps open.
///
/// ```no_run
/// # type Any = Box<dyn std::error::Error>;
/// # type Endpoint = std::rc::Rc<ucx::Endpoint>;
/// # fn example(endpoint: &Endpoint, key: &[u8], address: u64) -> Result<(), Any> {
/// // SAFETY: the owner sent key and address of 4096 bytes, and keeps them registered.
/// let remote = unsafe { endpoint.remote_memory(key, address, 4096) }?;
/// remote.put(8, b"hello".to_vec()).wait().0?;
/// endpoint.flush().wait().0?;
/// let (read, bytes) = remote.get(8, vec![0; 5]).wait();
/// read?;
/// assert_eq!(bytes, b"hello");
/// let before = remote.fetch_add(0, 3).wait()?;
/// # Ok(())
/// # }
/// ```
pub struct RemoteMemory {
    // Declared first: must be dropped before the endpoint that it was unpacked on.
    key: Rc<Rkey>,
    address: u64,
    length: u64,
    endpoint: Rc<Endpoint>,
}

impl Endpoint {
    /// Opens the memory described by a [`Memory::remote_key`](crate::Memory::remote_key), an
    /// address and a length: `ucp_ep_rkey_unpack`.
    ///
    /// # Errors
    /// `INVALID_PARAM` for a malformed key or a wrapping address range, `UNSUPPORTED` without
    /// [`Features::RMA`] or [`Features::AMO64`], `UNREACHABLE` without a transport.
    ///
    /// # Safety
    /// The key is unchanged and from the peer of this endpoint. The peer keeps that many bytes
    /// registered at that address, and does not use them as its own, until this value and its
    /// requests are dropped. If the peer is this process, a wrong address is a wild pointer.
    pub unsafe fn remote_memory(
        self: &Rc<Self>,
        key: &[u8],
        address: u64,
        length: u64,
    ) -> Result<RemoteMemory> {
        let what = || format!("unpacking a remote key of {} bytes", key.len());
        let context = self.worker().context();
        if !context.features().contains(Features::AMO64) {
            context.require(Features::RMA, "unpacking a remote key")?;
        }
        if !(SHORTEST..=LONGEST).contains(&key.len()) || address.checked_add(length).is_none() {
            return Err(Status::INVALID_PARAM.during(what()));
        }
        let endpoint = self.open().map_err(|status| status.during(what()))?;
        let mut padded = Vec::with_capacity(key.len() + SLACK);
        padded.extend_from_slice(key);
        padded.resize(key.len() + SLACK, 0);
        let mut raw = ptr::null_mut();
        // SAFETY: the endpoint is live, the caller vouches for the key, and `raw` is writable.
        let status = unsafe { sys::ucp_ep_rkey_unpack(endpoint, padded.as_ptr().cast(), &mut raw) };
        check(status, what())?;
        Ok(RemoteMemory { key: Rc::new(Rkey(raw)), address, length, endpoint: Rc::clone(self) })
    }
}

impl RemoteMemory {
    /// Returns the length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Returns whether the length is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the endpoint that the memory is accessed over.
    #[must_use]
    pub fn endpoint(&self) -> &Rc<Endpoint> {
        &self.endpoint
    }

    /// Writes `data` at `offset`: `ucp_put_nbx`. The request ends when the data may be reused; a
    /// later [`Endpoint::flush`] ends when the bytes have arrived.
    ///
    /// `OUT_OF_RANGE` when the bytes are not all inside, `UNSUPPORTED` without [`Features::RMA`].
    pub fn put<B: Buffer>(&self, offset: u64, data: B) -> Request<B> {
        let (raw, address) = match self.reach(Features::RMA, offset, data.len() as u64) {
            Ok(reached) => reached,
            Err(status) => return Request::failed(status, data),
        };
        let data = HeldBuffer::new(data);
        let params = request::params_for(self.endpoint.worker(), data.get());
        let (start, length) = (data.get().start(), data.get().len());
        // SAFETY: the endpoint is live and the key was unpacked on it, the remote bytes are inside,
        // the mask names the set fields, and the request owns data and key until UCX is done.
        let returned =
            unsafe { sys::ucp_put_nbx(raw, start.cast(), length, address, self.key.0, &params) };
        self.started(returned, data)
    }

    /// Fills `buffer` from `offset`: `ucp_get_nbx`. Errors as for [`put`](RemoteMemory::put).
    pub fn get<B: BufferMut>(&self, offset: u64, buffer: B) -> Request<B> {
        let (raw, address) = match self.reach(Features::RMA, offset, buffer.len() as u64) {
            Ok(reached) => reached,
            Err(status) => return Request::failed(status, buffer),
        };
        let mut buffer = HeldBuffer::new(buffer);
        let params = request::params_for(self.endpoint.worker(), buffer.get());
        let length = buffer.get().len();
        let start = buffer.get_mut().start_mut();
        // SAFETY: as in `put`, with a buffer that UCX may write.
        let returned =
            unsafe { sys::ucp_get_nbx(raw, start.cast(), length, address, self.key.0, &params) };
        self.started(returned, buffer)
    }

    /// Returns the endpoint for UCX and the address of `length` bytes at `offset`, after checks.
    pub(crate) fn reach(
        &self,
        features: Features,
        offset: u64,
        length: u64,
    ) -> std::result::Result<(sys::ucp_ep_h, u64), Status> {
        if !self.endpoint.worker().features().contains(features) {
            return Err(Status::UNSUPPORTED);
        }
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(Status::OUT_OF_RANGE);
        }
        Ok((self.endpoint.open()?, self.address + offset))
    }

    pub(crate) fn key(&self) -> sys::ucp_rkey_h {
        self.key.0
    }

    pub(crate) fn started<B>(&self, raw: sys::ucs_status_ptr_t, data: HeldBuffer<B>) -> Request<B> {
        let immediate = Completion::new(Status::OK);
        let request = Request::started(self.endpoint.worker(), raw, immediate, data);
        request.keeping(self.key.clone())
    }
}

debug_fields!(RemoteMemory, |it| { address: it.address, len: it.length });
