//! The address of a worker, as bytes that travel to a peer: UCX's own, and sealed so that a damaged
//! one is noticed.

use std::fmt;
use std::ptr;

use ucx_sys as sys;

use crate::queues::Queues;
use crate::status::{Result, Status, check};
use crate::sum::sum;
use crate::version::{Version, version, wire_compatible};

/// The longest address that is taken for one. Real ones have a few hundred bytes.
const LONGEST: usize = 64 * 1024;

/// The shortest: a version, a worker's 64-bit id and an end mark.
const SHORTEST: usize = 10;

/// What a seal begins with; the last byte is the version of its format.
const MARK: [u8; 4] = *b"UWA\x02";

/// The seal: the mark, UCX's version, the length, what the worker's queues are like, and the sum of
/// all that, each little-endian.
const SEAL: usize = QUEUES + 8 + 8;

/// Where in it stands what the queues are like.
const QUEUES: usize = 4 + 3 * 4 + 4;

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
///
/// ```
/// use ucx::{Context, ErrorMode, Features, Status, WorkerAddress};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let worker = Context::builder(Features::TAG).config("TLS", "self").build()?.worker()?;
/// let bytes: Vec<u8> = worker.address()?.as_bytes().to_vec();
///
/// // Whoever got the bytes:
/// // SAFETY: they are a worker's of this program.
/// let address = unsafe { WorkerAddress::from_bytes(&bytes) }?;
/// let endpoint = worker.endpoint().error_mode(ErrorMode::None).connect(&address)?;
/// // SAFETY: they were only cut.
/// let damaged = unsafe { WorkerAddress::from_bytes(&bytes[1..]) }.unwrap_err();
/// assert_eq!(damaged.status(), Status::INVALID_ADDR);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct WorkerAddress {
    /// The seal and UCX's own bytes.
    bytes: Vec<u8>,
}

impl WorkerAddress {
    /// Reads the [`as_bytes`](WorkerAddress::as_bytes) of a peer.
    ///
    /// # Safety
    ///
    /// If an endpoint is made of the address, a peer that is trusted made the bytes. Damage on the
    /// way is found. For a forged address, UCX opens the shared memory or the file that it names
    /// and writes there, or ends the process.
    ///
    /// The environments of both processes set the same sizes for receive queues in shared memory,
    /// or none: the bytes have only what the program set.
    ///
    /// # Errors
    ///
    /// `INVALID_ADDR` for bytes that are no address, or were cut or damaged; `UNREACHABLE` with
    /// both versions if the peer's UCX and this one do not understand each other.
    pub unsafe fn from_bytes(bytes: &[u8]) -> Result<WorkerAddress> {
        let invalid = |why: &str| {
            Status::INVALID_ADDR
                .during(format!("reading a worker address of {} bytes: {why}", bytes.len()))
        };
        let (seal, raw) = bytes.split_at_checked(SEAL).ok_or_else(|| invalid("it is too short"))?;
        if !seal.starts_with(&MARK) {
            return Err(invalid("it has not the mark of what as_bytes makes in this release"));
        }
        let field = |index: usize| {
            let bytes = &seal[4 + 4 * index..][..4];
            u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
        };
        let peer = Version { major: field(0), minor: field(1), patch: field(2) };
        if field(3) as usize != raw.len() || !(SHORTEST..=LONGEST).contains(&raw.len()) {
            return Err(invalid("it was cut, or something was added"));
        }
        if seal[SEAL - 8..] != sum(&seal[..SEAL - 8], raw).to_le_bytes() {
            return Err(invalid("it was damaged"));
        }
        if !wire_compatible(peer, version()) {
            let what = format!(
                "reading the address of a worker of UCX {peer}, which UCX {} here cannot reach",
                version()
            );
            return Err(Status::UNREACHABLE.during(what));
        }
        Ok(WorkerAddress::sealed(raw, peer, queues(bytes)))
    }

    /// The bytes to send to a peer.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The sizes of the worker's queues.
    pub(crate) fn queues(&self) -> Queues {
        queues(&self.bytes)
    }

    /// The address of a live worker with these queues.
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
        self.bytes[SEAL..].as_ptr().cast()
    }

    fn sealed(raw: &[u8], version: Version, queues: Queues) -> WorkerAddress {
        let mut bytes = Vec::with_capacity(SEAL + raw.len());
        bytes.extend_from_slice(&MARK);
        // Addresses are far shorter than 4 GiB.
        for field in [version.major, version.minor, version.patch, raw.len() as u32] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        bytes.extend_from_slice(&queues.0.to_le_bytes());
        let sum = sum(&bytes, raw);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(raw);
        WorkerAddress { bytes }
    }
}

/// The queues in a whole seal.
fn queues(seal: &[u8]) -> Queues {
    let word = seal[QUEUES..].first_chunk();
    word.map_or_else(Queues::default, |word| Queues(u64::from_le_bytes(*word)))
}

impl fmt::Debug for WorkerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkerAddress({} bytes)", self.bytes.len() - SEAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> WorkerAddress {
        let raw: Vec<u8> = (0..200).collect();
        WorkerAddress::sealed(&raw, version(), Queues::default())
    }

    fn read(bytes: &[u8]) -> Result<WorkerAddress> {
        // SAFETY: no endpoint is made of it.
        unsafe { WorkerAddress::from_bytes(bytes) }
    }

    #[test]
    fn an_address_comes_back_as_it_went() {
        let address = address();
        assert_eq!(read(address.as_bytes()).unwrap(), address);
    }

    #[test]
    fn what_the_queues_are_like_travels() {
        let address = WorkerAddress::sealed(&[7; 100], version(), Queues(0x0102_0304_0506_0708));
        let come = read(address.as_bytes()).unwrap();
        assert_eq!((come.queues(), &come.bytes[SEAL..]), (address.queues(), &[7; 100][..]));
    }

    #[test]
    fn a_byte_that_was_changed_added_or_lost_is_noticed() {
        let address = address();
        for index in 0..address.as_bytes().len() {
            let mut bytes = address.as_bytes().to_vec();
            bytes[index] ^= 0x10;
            let error = read(&bytes).unwrap_err();
            assert_eq!(error.status(), Status::INVALID_ADDR, "{index}");
            let error = read(&bytes[..index]).unwrap_err();
            assert_eq!(error.status(), Status::INVALID_ADDR, "{index}");
        }
        let longer = [address.as_bytes(), &[0]].concat();
        assert_eq!(read(&longer).unwrap_err().status(), Status::INVALID_ADDR);
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

    #[test]
    fn lengths_that_no_address_has_are_refused() {
        for length in [0, SHORTEST - 1, LONGEST + 1] {
            let bytes = WorkerAddress::sealed(&vec![1; length], version(), Queues::default());
            let error = read(bytes.as_bytes()).unwrap_err();
            assert_eq!(error.status(), Status::INVALID_ADDR, "{length}");
        }
    }
}
