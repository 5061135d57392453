//! The address of a worker, as bytes that travel to a peer: UCX's own, and sealed so that a damaged
//! one is noticed.

pub(crate) mod layout;

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

/// UCX reads an address without knowing its length: the layout is looked at first, but an address
/// in it may be shorter than its transport reads, and in UCX's unified mode nothing is known of it.
/// So bytes behind the end must be readable and must end it: a byte of ones has the mark of the
/// last entry in every place where UCX looks for one. Behind them is a zero, because a name in
/// shared memory is read up to one.
const SLACK: usize = 4096;

/// What a seal begins with; the last byte is the version of its format.
const MARK: [u8; 4] = *b"UWA\x02";

/// The seal: the mark, UCX's version, the length, what the worker's queues are like, and the sum of
/// all that, each little-endian.
const SEAL: usize = QUEUES + 8 + 8;

/// Where in it stands what the queues are like.
const QUEUES: usize = 4 + 3 * 4 + 4;

/// The address of a worker: `ucp_address_t`.
///
/// UCX takes an address at its word, without its length, and garbage makes it abort or worse. So
/// the bytes of [`as_bytes`](WorkerAddress::as_bytes) carry the UCX version of their worker and a
/// sum, by which [`from_bytes`](WorkerAddress::from_bytes) refuses what was damaged or would not
/// understand this UCX. Whoever connects refuses what is not laid out as UCX's addresses are,
/// whatever its sum. A peer that makes up one that is has UCX go where it says: reading one is
/// unsafe.
///
/// The bytes also carry the sizes that the program set for the queues of shared memory
/// ([`watched_shared_memory`](crate::ContextBuilder::watched_shared_memory) does): a sender writes
/// into its peer's queue by its own idea of them, and UCX checks nothing. So a worker whose context
/// has others does not connect.
///
/// Programs that are not made with this crate exchange UCX's own bytes:
/// [`as_raw_bytes`](WorkerAddress::as_raw_bytes) and
/// [`from_raw_bytes`](WorkerAddress::from_raw_bytes).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct WorkerAddress {
    /// The seal, the address, and `SLACK` bytes: ones, and a zero.
    padded: Vec<u8>,
}

impl WorkerAddress {
    /// The address that a peer's [`as_bytes`](WorkerAddress::as_bytes) made these bytes of.
    ///
    /// # Safety
    ///
    /// If an endpoint is made of the address, nobody made the bytes up: they are an address's
    /// [`as_bytes`](WorkerAddress::as_bytes), or what an accident on the way left of them. UCX
    /// opens the shared memory that an address names, or a file that a process of this user has
    /// open, and writes there, or ends the process over what it finds; and the sum is no signature.
    /// So whoever the bytes came from is trusted as a peer is that may send UCX messages to this
    /// process: UCX has no defence against that one either.
    ///
    /// The environments of both processes set the same sizes for the queues of shared memory, or
    /// none: the bytes tell only what their program set.
    ///
    /// # Errors
    ///
    /// `INVALID_ADDR` for bytes that are no such address or were cut or damaged; `UNREACHABLE` when
    /// the peer's UCX and this one do not understand each other, naming both.
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

    /// The bytes to send to a peer that is made with this crate too.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.padded[..self.padded.len() - SLACK]
    }

    /// The address in bytes of UCX's own, as [`as_raw_bytes`](WorkerAddress::as_raw_bytes) or
    /// `ucp_worker_get_address` gives them.
    ///
    /// # Errors
    ///
    /// `INVALID_ADDR` when the length cannot be that of an address.
    ///
    /// # Safety
    ///
    /// A worker of a UCX that understands this one (see [`wire_compatible`]) made these bytes. They
    /// may have been cut at the end, but not changed, as with
    /// [`from_bytes`](WorkerAddress::from_bytes). The queues of that worker in shared memory have
    /// the sizes that UCX and the environment give them here: its program sets none, and neither
    /// does whoever connects, who would be refused.
    pub unsafe fn from_raw_bytes(bytes: &[u8]) -> Result<WorkerAddress> {
        if !(SHORTEST..=LONGEST).contains(&bytes.len()) {
            let length = bytes.len();
            let what = format!(
                "reading a worker address of {length} bytes (they have {SHORTEST} to {LONGEST})"
            );
            return Err(Status::INVALID_ADDR.during(what));
        }
        Ok(WorkerAddress::sealed(bytes, version(), Queues::default()))
    }

    /// UCX's own bytes, for peers that are not made with this crate. Over shared memory, such a
    /// peer must have the sizes that this worker's context has: see
    /// [`ContextBuilder::WATCHED_QUEUE`](crate::ContextBuilder::WATCHED_QUEUE).
    #[must_use]
    pub fn as_raw_bytes(&self) -> &[u8] {
        &self.as_bytes()[SEAL..]
    }

    /// What the worker's queues are like.
    pub(crate) fn queues(&self) -> Queues {
        queues(&self.padded)
    }

    /// Asks a live worker, whose queues are like this, for its address.
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
        self.padded[SEAL..].as_ptr().cast()
    }

    fn sealed(raw: &[u8], version: Version, queues: Queues) -> WorkerAddress {
        let mut padded = Vec::with_capacity(SEAL + raw.len() + SLACK);
        padded.extend_from_slice(&MARK);
        // Addresses are far shorter than 4 GiB.
        for field in [version.major, version.minor, version.patch, raw.len() as u32] {
            padded.extend_from_slice(&field.to_le_bytes());
        }
        padded.extend_from_slice(&queues.0.to_le_bytes());
        let sum = sum(&padded, raw);
        padded.extend_from_slice(&sum.to_le_bytes());
        padded.extend_from_slice(raw);
        padded.resize(SEAL + raw.len() + SLACK - 1, u8::MAX);
        padded.push(0);
        WorkerAddress { padded }
    }
}

/// What stands in a seal, which is whole, about the queues.
fn queues(seal: &[u8]) -> Queues {
    let word = seal[QUEUES..].first_chunk();
    word.map_or_else(Queues::default, |word| Queues(u64::from_le_bytes(*word)))
}

impl fmt::Debug for WorkerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkerAddress({} bytes)", self.as_raw_bytes().len())
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
        assert_eq!(address.as_raw_bytes().len(), 200);
        // SAFETY: UCX never sees this address.
        let again = unsafe { WorkerAddress::from_raw_bytes(address.as_raw_bytes()) };
        assert_eq!(again.unwrap(), address);
    }

    #[test]
    fn what_the_queues_are_like_travels() {
        let address = WorkerAddress::sealed(&[7; 100], version(), Queues(0x0102_0304_0506_0708));
        let come = read(address.as_bytes()).unwrap();
        assert_eq!(
            (come.queues(), come.as_raw_bytes()),
            (Queues(0x0102_0304_0506_0708), &[7; 100][..])
        );
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
            // SAFETY: UCX never sees this address.
            let error = unsafe { WorkerAddress::from_raw_bytes(&vec![1; length]) }.unwrap_err();
            assert_eq!(error.status(), Status::INVALID_ADDR, "{length}");
            let bytes = WorkerAddress::sealed(&vec![1; length], version(), Queues::default());
            let error = read(bytes.as_bytes()).unwrap_err();
            assert_eq!(error.status(), Status::INVALID_ADDR, "{length}");
        }
    }
}
