//! The address of a worker, as bytes that travel to a peer.

use std::fmt;
use std::ptr;

use ucx_sys as sys;

use crate::status::{Result, Status, check};

/// The longest address that is taken for one. Real ones have a few hundred bytes.
const LONGEST: usize = 64 * 1024;

/// The shortest: a version, a worker's 64-bit id and an end mark.
const SHORTEST: usize = 10;

/// UCX reads an address without knowing its length, so bytes behind the end must be readable and must end it: a byte
/// of ones has the mark of the last entry in every place where UCX looks for one.
const SLACK: usize = 4096;

/// The address of a worker: `ucp_address_t`.
///
/// The bytes are UCX's own format and may be sent anywhere. UCX has no way to check them: it reads them as they come,
/// and what they make of it depends on its version. [`from_bytes`](WorkerAddress::from_bytes) refuses lengths that no
/// address has and keeps a truncated address from being read past its end; beyond that only take addresses from peers
/// that you would also let send you UCX messages.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct WorkerAddress {
    /// The address, and `SLACK` bytes of ones.
    padded: Vec<u8>,
}

impl WorkerAddress {
    /// The address in bytes that a peer sent.
    ///
    /// # Errors
    ///
    /// `INVALID_ADDR` when the length cannot be that of an address, or when all bytes are zero.
    pub fn from_bytes(bytes: &[u8]) -> Result<WorkerAddress> {
        if !(SHORTEST..=LONGEST).contains(&bytes.len()) {
            let what = format!(
                "reading a worker address of {} bytes (they have {SHORTEST} to {LONGEST}); was it cut?",
                bytes.len()
            );
            return Err(Status::INVALID_ADDR.during(what));
        }
        if bytes.iter().all(|&byte| byte == 0) {
            return Err(Status::INVALID_ADDR.during("reading a worker address of zeros"));
        }
        Ok(WorkerAddress::padded(bytes))
    }

    /// The bytes to send to a peer.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.padded[..self.padded.len() - SLACK]
    }

    /// Asks a live worker for its address.
    pub(crate) fn of(worker: sys::ucp_worker_h) -> Result<WorkerAddress> {
        let mut raw = ptr::null_mut();
        let mut length = 0;
        // SAFETY: the worker is live, both places can be written to.
        let status = unsafe { sys::ucp_worker_get_address(worker, &mut raw, &mut length) };
        check(status, "asking for a worker's address")?;
        // SAFETY: UCX returned `length` bytes that stay until the release below.
        let address = WorkerAddress::padded(unsafe { std::slice::from_raw_parts(raw.cast::<u8>(), length) });
        // SAFETY: from `ucp_worker_get_address` of this worker, released once.
        unsafe { sys::ucp_worker_release_address(worker, raw) };
        Ok(address)
    }

    pub(crate) fn raw(&self) -> *const sys::ucp_address_t {
        self.padded.as_ptr().cast()
    }

    fn padded(bytes: &[u8]) -> WorkerAddress {
        let mut padded = Vec::with_capacity(bytes.len() + SLACK);
        padded.extend_from_slice(bytes);
        padded.resize(bytes.len() + SLACK, u8::MAX);
        WorkerAddress { padded }
    }
}

impl fmt::Debug for WorkerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkerAddress({} bytes)", self.as_bytes().len())
    }
}
