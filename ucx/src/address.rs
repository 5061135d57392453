//! The address of a worker, as sealed bytes for a peer.

use std::fmt;
use std::ptr;

use ucx_sys::{self as sys, Zeroed};

use crate::queues::QueueSum;
use crate::sealed::{self, Mark};
use crate::status::{Result, Status, check};
use crate::version::{Version, version, wire_compatible};

const MARK: Mark = *b"UWA\x03";

/// Three numbers of UCX's version and the sum of the queues, each little-endian.
const FIELDS: usize = 3 * 4 + 8;

const SHORTEST: usize = 10;

/// The address of a worker: `ucp_address_t`.
///
/// UCX reads an address without length or check, and may abort on damage.
/// [`as_bytes`](WorkerAddress::as_bytes) adds the worker's UCX version and a checksum, which
/// [`from_bytes`](WorkerAddress::from_bytes) checks. Reading stays `unsafe`: bytes may be forged.
///
/// The bytes also carry the receive queue sizes that the program set, as for
/// [`watched_shared_memory`](crate::ContextBuilder::watched_shared_memory), unchecked by UCX.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct WorkerAddress {
    bytes: Vec<u8>,
    queues: QueueSum,
}

impl WorkerAddress {
    /// Reads the [`as_bytes`](WorkerAddress::as_bytes) of a peer.
    ///
    /// # Safety
    /// If an endpoint is made from the address, a trusted peer must have made the bytes: for a
    /// forged address, UCX writes to the shared memory or file that it names, or ends the process.
    ///
    /// The environments of both processes must set the same receive queue sizes, or none.
    ///
    /// # Errors
    /// `INVALID_ADDR` for malformed or damaged bytes; `UNREACHABLE` for incompatible UCX versions.
    pub unsafe fn from_bytes(bytes: &[u8]) -> Result<WorkerAddress> {
        let (fields, raw) = sealed::open::<FIELDS>(MARK, "a worker address", bytes)?;
        let [major, minor, patch] = [0, 4, 8].map(|at| {
            u32::from_le_bytes([fields[at], fields[at + 1], fields[at + 2], fields[at + 3]])
        });
        let peer = Version { major, minor, patch };
        if !wire_compatible(peer, version()) {
            let what = format!(
                "reading the address of a worker of UCX {peer}, which UCX {} here cannot reach",
                version()
            );
            return Err(Status::UNREACHABLE.during(what));
        }
        let queues = fields
            .last_chunk()
            .map_or_else(QueueSum::default, |sum| QueueSum(u64::from_le_bytes(*sum)));
        Ok(WorkerAddress::sealed(raw, peer, queues))
    }

    /// Returns the bytes to send to a peer.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads an address in UCX's own format, without a seal, as C programs send it.
    ///
    /// # Safety
    /// A trusted peer got the bytes from `ucp_worker_get_address`, and they are complete and
    /// undamaged. The peer's UCX is compatible with this one, and its program set no receive queue
    /// sizes. The other rules of [`from_bytes`](WorkerAddress::from_bytes) apply too.
    ///
    /// # Errors
    /// `INVALID_ADDR` for fewer bytes than the shortest address.
    pub unsafe fn from_raw(bytes: &[u8]) -> Result<WorkerAddress> {
        if bytes.len() < SHORTEST {
            let what = format!("reading the address of a worker of UCX, of {} bytes", bytes.len());
            return Err(Status::INVALID_ADDR.during(what));
        }
        Ok(WorkerAddress::sealed(bytes, version(), QueueSum::default()))
    }

    /// Returns UCX's own bytes, for C programs and [`from_raw`](WorkerAddress::from_raw).
    #[must_use]
    pub fn raw_bytes(&self) -> &[u8] {
        &self.bytes[sealed::head(FIELDS)..]
    }

    /// Returns the worker's unique number in all its addresses: `ucp_worker_address_query`.
    pub fn worker_uid(&self) -> Result<u64> {
        let mut attributes = sys::ucp_worker_address_attr_t::zeroed();
        attributes.field_mask = sys::UCP_WORKER_ADDRESS_ATTR_FIELD_UID.into();
        // SAFETY: UCX only reads the address, and the mask limits what it writes.
        let status =
            unsafe { sys::ucp_worker_address_query(self.raw().cast_mut(), &mut attributes) };
        check(status, "asking for the number of an address's worker")?;
        Ok(attributes.worker_uid)
    }

    pub(crate) fn queues(&self) -> QueueSum {
        self.queues
    }

    pub(crate) fn of(worker: sys::ucp_worker_h, queues: QueueSum) -> Result<WorkerAddress> {
        let mut raw = ptr::null_mut();
        let mut length = 0;
        // SAFETY: the worker is live, and both out pointers are writable.
        let status = unsafe { sys::ucp_worker_get_address(worker, &mut raw, &mut length) };
        check(status, "asking for a worker's address")?;
        // SAFETY: UCX returned `length` bytes that stay valid until the release below.
        let bytes = unsafe { std::slice::from_raw_parts(raw.cast::<u8>(), length) };
        let address = WorkerAddress::sealed(bytes, version(), queues);
        // SAFETY: from `ucp_worker_get_address` of this worker, released once.
        unsafe { sys::ucp_worker_release_address(worker, raw) };
        Ok(address)
    }

    pub(crate) fn raw(&self) -> *const sys::ucp_address_t {
        self.raw_bytes().as_ptr().cast()
    }

    fn sealed(raw: &[u8], version: Version, queues: QueueSum) -> WorkerAddress {
        let Version { major, minor, patch } = version;
        let [major, minor, patch] = [major, minor, patch].map(u32::to_le_bytes);
        let fields: [&[u8]; 4] = [&major, &minor, &patch, &queues.0.to_le_bytes()];
        WorkerAddress { bytes: sealed::seal(MARK, &fields, &[raw]), queues }
    }
}

impl fmt::Debug for WorkerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkerAddress({} bytes)", self.bytes.len() - sealed::head(FIELDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<WorkerAddress> {
        // SAFETY: the test makes no endpoint from it.
        unsafe { WorkerAddress::from_bytes(bytes) }
    }

    #[test]
    fn an_address_and_its_queues_come_back_as_they_went() {
        let address = WorkerAddress::sealed(&[7; 100], version(), QueueSum(0x0102_0304_0506_0708));
        let come = read(address.as_bytes()).unwrap();
        assert_eq!((come.queues(), &come), (QueueSum(0x0102_0304_0506_0708), &address));
        assert_eq!(read(&address.as_bytes()[1..]).unwrap_err().status(), Status::INVALID_ADDR);
    }

    #[test]
    fn an_address_of_another_version_of_ucx_is_refused_by_name() {
        let other = Version { minor: version().minor + 20, ..version() };
        let bytes = WorkerAddress::sealed(&[7; 100], other, QueueSum::default());
        let error = read(bytes.as_bytes()).unwrap_err();
        assert_eq!(error.status(), Status::UNREACHABLE);
        for version in [other, version()] {
            assert!(error.to_string().contains(&version.to_string()), "{error}");
        }
    }
}
