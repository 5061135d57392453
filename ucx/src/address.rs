//! The address of a worker, as sealed bytes for a peer.

use std::fmt;
use std::ptr;

use ucx_sys::{self as sys, Zeroed};

use crate::queues::Queues;
use crate::sealed::{self, Mark};
use crate::status::{Result, Status, check};
use crate::version::{Version, version, wire_compatible};

/// What an address begins with.
const MARK: Mark = *b"UWA\x03";

/// Three numbers of UCX's version and the sum of the queues, each little-endian.
const FIELDS: usize = 3 * 4 + 8;

/// The shortest address of UCX's own: a head and the worker's number.
const SHORTEST: usize = 10;

/// The address of a worker: `ucp_address_t`.
///
/// UCX reads an address without a length or a check, and may abort over a damaged one. So
/// [`as_bytes`](WorkerAddress::as_bytes) adds the worker's UCX version and a checksum, by which
/// [`from_bytes`](WorkerAddress::from_bytes) refuses what was damaged, or comes from a UCX that
/// this one does not understand. The checksum is no signature: reading an address is `unsafe`.
///
/// The bytes also carry the sizes that the program set for receive queues in shared memory
/// ([`watched_shared_memory`](crate::ContextBuilder::watched_shared_memory) does). A sender writes
/// into its peer's queue by its own sizes, and UCX checks nothing. So workers of different sizes do
/// not connect.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct WorkerAddress {
    /// The seal and UCX's own bytes.
    bytes: Vec<u8>,
    queues: Queues,
}

impl WorkerAddress {
    /// Reads the [`as_bytes`](WorkerAddress::as_bytes) of a peer.
    ///
    /// # Safety
    /// If an endpoint is made of the address, a peer that is trusted made the bytes. Damage on the
    /// way is found. For a forged address, UCX opens the shared memory or the file that it names
    /// and writes there, or ends the process.
    ///
    /// The environments of both processes set the same sizes for receive queues in shared memory,
    /// or none: the bytes have only what the program set.
    ///
    /// # Errors
    /// `INVALID_ADDR` for bytes that are no address, or were cut or damaged; `UNREACHABLE` with
    /// both versions if the peer's UCX and this one do not understand each other.
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
            .map_or_else(Queues::default, |sum| Queues(u64::from_le_bytes(*sum)));
        Ok(WorkerAddress::sealed(raw, peer, queues))
    }

    /// The bytes to send to a peer.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads an address as UCX makes it, without a seal: what programs in C send to each other.
    ///
    /// # Safety
    /// `ucp_worker_get_address` made the bytes, at a peer that is trusted, and all of them are
    /// here. UCX reads them without a length, and damage on the way is not found. Otherwise as
    /// [`from_bytes`](WorkerAddress::from_bytes); the peer's UCX is one that this one understands,
    /// and its program set no sizes for receive queues in shared memory.
    ///
    /// # Errors
    /// `INVALID_ADDR` for fewer bytes than any address has.
    pub unsafe fn from_raw(bytes: &[u8]) -> Result<WorkerAddress> {
        if bytes.len() < SHORTEST {
            let what = format!("reading the address of a worker of UCX, of {} bytes", bytes.len());
            return Err(Status::INVALID_ADDR.during(what));
        }
        Ok(WorkerAddress::sealed(bytes, version(), Queues::default()))
    }

    /// The address as UCX made it, without a seal: for programs in C, and for
    /// [`from_raw`](WorkerAddress::from_raw).
    #[must_use]
    pub fn raw_bytes(&self) -> &[u8] {
        &self.bytes[sealed::head(FIELDS)..]
    }

    /// The worker's number, which no other worker has: `ucp_worker_address_query`. Addresses of one
    /// worker may differ in their bytes, but not in this.
    pub fn worker_uid(&self) -> Result<u64> {
        let mut attributes = sys::ucp_worker_address_attr_t::zeroed();
        attributes.field_mask = sys::UCP_WORKER_ADDRESS_ATTR_FIELD_UID.into();
        // SAFETY: UCX only reads the address, and the mask names what it may write.
        let status =
            unsafe { sys::ucp_worker_address_query(self.raw().cast_mut(), &mut attributes) };
        check(status, "asking for the number of an address's worker")?;
        Ok(attributes.worker_uid)
    }

    /// The sizes of the worker's queues.
    pub(crate) fn queues(&self) -> Queues {
        self.queues
    }

    pub(crate) fn of(worker: sys::ucp_worker_h, queues: Queues) -> Result<WorkerAddress> {
        let mut raw = ptr::null_mut();
        let mut length = 0;
        // SAFETY: the worker is live, both places can be written to.
        let status = unsafe { sys::ucp_worker_get_address(worker, &mut raw, &mut length) };
        check(status, "asking for a worker's address")?;
        // SAFETY: UCX returned `length` bytes that stay until the release below.
        let bytes = unsafe { std::slice::from_raw_parts(raw.cast::<u8>(), length) };
        let address = WorkerAddress::sealed(bytes, version(), queues);
        // SAFETY: from `ucp_worker_get_address` of this worker, released once.
        unsafe { sys::ucp_worker_release_address(worker, raw) };
        Ok(address)
    }

    pub(crate) fn raw(&self) -> *const sys::ucp_address_t {
        self.raw_bytes().as_ptr().cast()
    }

    fn sealed(raw: &[u8], version: Version, queues: Queues) -> WorkerAddress {
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
        // SAFETY: no endpoint is made of it.
        unsafe { WorkerAddress::from_bytes(bytes) }
    }

    #[test]
    fn an_address_and_its_queues_come_back_as_they_went() {
        let address = WorkerAddress::sealed(&[7; 100], version(), Queues(0x0102_0304_0506_0708));
        let come = read(address.as_bytes()).unwrap();
        assert_eq!((come.queues(), &come), (Queues(0x0102_0304_0506_0708), &address));
        assert_eq!(read(&address.as_bytes()[1..]).unwrap_err().status(), Status::INVALID_ADDR);
    }

    #[test]
    fn an_address_of_another_version_of_ucx_is_refused_by_name() {
        let other = Version { minor: version().minor + 20, ..version() };
        let bytes = WorkerAddress::sealed(&[7; 100], other, Queues::default());
        let error = read(bytes.as_bytes()).unwrap_err();
        assert_eq!(error.status(), Status::UNREACHABLE);
        for version in [other, version()] {
            assert!(error.to_string().contains(&version.to_string()), "{error}");
        }
    }
}
