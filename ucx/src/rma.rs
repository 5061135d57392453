//! Put and get on the registered memory of a peer.

use std::ptr;
use std::rc::Rc;

use ucx_sys as sys;

use crate::buffer::{Buffer, BufferMut};
use crate::endpoint::Endpoint;
use crate::features::Features;
use crate::held::Held;
use crate::request::{self, Request};
use crate::slot::Completion;
use crate::status::{Result, Status, check};

/// The longest key that is accepted. Real ones have about ten bytes for each kind of device.
const LONGEST: usize = 4096;

/// The shortest key: a map of devices and a kind of memory.
const SHORTEST: usize = 9;

/// UCX reads a key without its length: a map of 64 devices says how many parts of up to 255 bytes
/// follow. So many readable bytes follow the key that UCX stays inside if it was cut.
const SLACK: usize = 64 * 256 + 4096;

/// An unpacked remote key: `ucp_rkey_h`. Requests hold it too, so it has no handle of the worker.
struct Key(sys::ucp_rkey_h);

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: from `ucp_ep_rkey_unpack`, destroyed once; the worker is live, as whoever holds a
        // key either holds the worker too or is a request that UCX has not given back.
        unsafe { sys::ucp_rkey_destroy(self.0) };
    }
}

/// A part of a peer's registered memory, reached over one endpoint, which it keeps open.
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
    // Goes before the endpoint that it was unpacked on.
    key: Rc<Key>,
    address: u64,
    length: u64,
    endpoint: Rc<Endpoint>,
}

impl Endpoint {
    /// The memory that a peer describes by [`Memory::remote_key`](crate::Memory::remote_key),
    /// address and length: `ucp_ep_rkey_unpack`.
    ///
    /// # Errors
    /// `INVALID_PARAM` for bytes that cannot be a key, or an address range that wraps around.
    /// `UNSUPPORTED` without [`Features::RMA`] or [`Features::AMO64`]. `UNREACHABLE` when no
    /// transport reaches the memory.
    ///
    /// # Safety
    /// The key comes unchanged from the peer of this endpoint; UCX cannot check it. The peer keeps
    /// that many bytes registered at that address until this value and its requests are gone, and
    /// does not treat them as its own meanwhile. If the peer is this process, a wrong address is a
    /// wild pointer.
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
        // SAFETY: the endpoint is live, the key is the peer's as the caller promises, `raw` can be
        // written to.
        let status = unsafe { sys::ucp_ep_rkey_unpack(endpoint, padded.as_ptr().cast(), &mut raw) };
        check(status, what())?;
        Ok(RemoteMemory { key: Rc::new(Key(raw)), address, length, endpoint: Rc::clone(self) })
    }
}

impl RemoteMemory {
    /// How many bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The endpoint it is reached over.
    #[must_use]
    pub fn endpoint(&self) -> &Rc<Endpoint> {
        &self.endpoint
    }

    /// Writes `data` at `offset`: `ucp_put_nbx`. The request ends when the data may be used again;
    /// a later [`Endpoint::flush`] ends when the bytes have arrived.
    ///
    /// `OUT_OF_RANGE` when the bytes are not all inside, `UNSUPPORTED` without [`Features::RMA`].
    pub fn put<B: Buffer>(&self, offset: u64, data: B) -> Request<B> {
        let (raw, address) = match self.reach(Features::RMA, offset, data.len() as u64) {
            Ok(reached) => reached,
            Err(status) => return Request::failed(status, data),
        };
        let data = Held::new(data);
        let params = request::params_for(self.endpoint.worker(), data.get());
        let (start, length) = (data.get().start(), data.get().len());
        // SAFETY: the endpoint is live and the key was unpacked on it, the remote bytes are inside,
        // the mask names what is set, and the request owns the data and the key until UCX is done
        // with them.
        let returned =
            unsafe { sys::ucp_put_nbx(raw, start.cast(), length, address, self.key.0, &params) };
        self.started(returned, data)
    }

    /// Reads the bytes at `offset` into `buffer`, as many as it has: `ucp_get_nbx`. Errors as for
    /// [`put`](RemoteMemory::put).
    pub fn get<B: BufferMut>(&self, offset: u64, buffer: B) -> Request<B> {
        let (raw, address) = match self.reach(Features::RMA, offset, buffer.len() as u64) {
            Ok(reached) => reached,
            Err(status) => return Request::failed(status, buffer),
        };
        let mut buffer = Held::new(buffer);
        let params = request::params_for(self.endpoint.worker(), buffer.get());
        let length = buffer.get().len();
        let start = buffer.get_mut().start_mut();
        // SAFETY: as in `put`, with a buffer that UCX may write.
        let returned =
            unsafe { sys::ucp_get_nbx(raw, start.cast(), length, address, self.key.0, &params) };
        self.started(returned, buffer)
    }

    /// The endpoint for UCX and the address of `length` bytes at `offset`, if they may be reached.
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

    /// The request for what UCX returned, which keeps the key alive.
    pub(crate) fn started<B>(&self, returned: sys::ucs_status_ptr_t, data: Held<B>) -> Request<B> {
        let immediate = Completion::new(Status::OK);
        let request = Request::started(self.endpoint.worker(), returned, immediate, data);
        request.keeping(self.key.clone())
    }
}

debug_fields!(RemoteMemory, |it| { address: it.address, len: it.length });
