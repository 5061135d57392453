//! Windows: memory of one process that others read and write, described by one piece of bytes.
//!
//! UCX's exported memory handles need an RDMA device. A window needs none: its bytes name the
//! owner's worker, the memory and its remote key, and whoever opens it reaches the memory through
//! that worker.

use std::fmt;

use crate::address::WorkerAddress;
use crate::buffer::{Buffer, BufferMut};
use crate::endpoint::{Close, CloseMode, Endpoint, ErrorMode};
use crate::features::Features;
use crate::memory::Memory;
use crate::request::Request;
use crate::rma::RemoteMemory;
use crate::status::{Error, Result, Status};
use crate::sum::sum;
use crate::worker::Worker;

/// What a window's bytes begin with; the last byte is the version of their format.
const MARK: [u8; 4] = *b"UWN\x01";

/// The mark, two lengths of 32 bits, the memory's address and length, and the sum of all that, each
/// little-endian. The remote key and the owner's address follow.
const SEAL: usize = 4 + 2 * 4 + 2 * 8 + 8;

impl Memory {
    /// Describes this memory for peers, as bytes from which [`Window::open`] makes a window on it.
    ///
    /// `worker` is the owner's: unless a device reaches the memory by itself, it moves what peers
    /// read and write, so nothing moves while it is not progressed. From now on the memory stays
    /// registered until this worker ends, because nobody can tell when the last window on it is
    /// gone. What is said of [`Features::RMA`] and trust holds here.
    ///
    /// # Errors
    ///
    /// `INVALID_PARAM` for a worker of another context than the memory's; otherwise as
    /// [`remote_key`](Memory::remote_key) and [`Worker::address`].
    pub fn window(&self, worker: &Worker) -> Result<Vec<u8>> {
        if worker.context().raw() != self.context().raw() {
            let what = "making a window with a worker of another context than the memory's";
            return Err(Status::INVALID_PARAM.during(what));
        }
        worker.context().require(Features::RMA, "making a window")?;
        let (key, address) = (self.remote_key()?, worker.address()?);
        worker.inner().keep_window(self);
        Ok(seal(self.address(), self.len() as u64, &key, address.as_bytes()))
    }
}

/// Memory of another process, or of another worker, that was described by [`Memory::window`]: to be
/// read and written, with an endpoint of its own.
///
/// The owner must progress its worker, or nothing moves. Its bytes are UCX's own business on both
/// sides, so reading while others write gives a mixture, never an error.
///
/// ```no_run
/// # fn example(owner: &ucx::Worker, worker: &ucx::Worker) -> ucx::Result<()> {
/// use ucx::{Memory, Window};
///
/// // The owner:
/// let memory = Memory::allocate(owner.context(), 4096)?;
/// let described = memory.window(owner)?;
/// // Somebody else, to whom the bytes were sent:
/// // SAFETY: the bytes came unchanged from the owner, which is another part of this program.
/// let window = unsafe { Window::open(worker, &described) }?;
/// assert!(window.len() == 4096 && !window.is_empty());
/// window.put(8, b"hello".to_vec()).wait().0.map_err(|status| eprintln!("{status}")).ok();
/// window.flush().wait().0.map_err(|status| eprintln!("{status}")).ok();
/// let (read, bytes) = window.get(8, vec![0; 5]).wait();
/// if window.endpoint().is_failed() {
///     println!("the owner is gone");
/// }
/// window.close(ucx::CloseMode::Flush).wait().map_err(|status| eprintln!("{status}")).ok();
/// # Ok(())
/// # }
/// ```
pub struct Window {
    // Before the endpoint that its key was unpacked on.
    memory: RemoteMemory,
    endpoint: Endpoint,
}

impl Window {
    /// Opens the window that [`Memory::window`] described.
    ///
    /// # Safety
    ///
    /// The bytes were made by [`Memory::window`], and whoever they came from is trusted as much as
    /// this process. UCX takes the remote key and the address in them at their word: bytes that
    /// somebody made up can have it read and write any memory of this process. The seal finds
    /// accidents, it is no signature.
    ///
    /// Over transports that notice when a peer is gone, such as `tcp`, requests end with an error
    /// then ([`ErrorMode::Peer`]). Where the worker has none, as with shared memory alone, the
    /// window opens all the same (UCX logs an error on the way), and requests to an owner that is
    /// gone never end. [`open_with`](Window::open_with) leaves the choice to the caller.
    ///
    /// # Errors
    ///
    /// `INVALID_ADDR` for bytes that are no window or were cut or damaged. `UNREACHABLE` when no
    /// transport leads there or the owner's UCX has a version that this one does not understand,
    /// `UNSUPPORTED` without [`Features::RMA`], else what UCX says.
    pub unsafe fn open(worker: &Worker, bytes: &[u8]) -> Result<Window> {
        // SAFETY: the caller's promise is the same.
        match unsafe { Window::open_with(worker, bytes, ErrorMode::Peer) } {
            Err(error) if error.status() == Status::UNREACHABLE && !watches_peers(worker) => {
                // SAFETY: the caller's promise is the same.
                unsafe { Window::open_with(worker, bytes, ErrorMode::None) }
            }
            opened => opened,
        }
    }

    /// As [`open`](Window::open), with this error mode only. [`ErrorMode::None`] takes the fastest
    /// transport, which on one machine is shared memory if the contexts have it.
    ///
    /// # Safety
    ///
    /// As [`open`](Window::open).
    ///
    /// # Errors
    ///
    /// As [`open`](Window::open).
    pub unsafe fn open_with(worker: &Worker, bytes: &[u8], mode: ErrorMode) -> Result<Window> {
        worker.context().require(Features::RMA, "opening a window")?;
        // SAFETY: the caller's promise is the same.
        let Described { address, length, key, owner } = unsafe { Described::read(bytes) }?;
        let endpoint = worker.endpoint().error_mode(mode).connect(&owner)?;
        // SAFETY: the caller promises that `Memory::window` made these bytes: key, address and
        // length belong together, and to the owner's worker, to which the endpoint leads. It keeps
        // the memory registered for as long as it can be reached.
        let memory = unsafe { endpoint.remote_memory(key, address, length) }?;
        Ok(Window { memory, endpoint })
    }

    /// How many bytes the memory has.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.memory.len()
    }

    /// Never true: memory of no bytes cannot be registered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    /// Writes `data` at `offset`. It ends when the data may be used again; that the bytes have
    /// arrived is what the end of a later [`flush`](Window::flush) says.
    ///
    /// `OUT_OF_RANGE` when the bytes are not all inside; what UCX says when the owner is gone.
    pub fn put<B: Buffer>(&self, offset: u64, data: B) -> Request<B> {
        self.memory.put(&self.endpoint, offset, data)
    }

    /// Reads the bytes at `offset` into `buffer`, as many as it has. Errors as for
    /// [`put`](Window::put).
    pub fn get<B: BufferMut>(&self, offset: u64, buffer: B) -> Request<B> {
        self.memory.get(&self.endpoint, offset, buffer)
    }

    /// Ends when everything that was put before has arrived in the owner's memory.
    pub fn flush(&self) -> Request<()> {
        self.endpoint.flush()
    }

    /// The window's endpoint, to see whether it failed.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Closes the window, as [`Endpoint::close`]. One that is only dropped may lose what was put
    /// and not flushed.
    pub fn close(self, mode: CloseMode) -> Close {
        drop(self.memory);
        self.endpoint.close(mode)
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window")
            .field("memory", &self.memory)
            .field("endpoint", &self.endpoint)
            .finish()
    }
}

/// Whether any transport of the worker notices when a peer is gone. It can reach itself in any
/// case, so this tells a peer that is gone from transports that cannot tell.
fn watches_peers(worker: &Worker) -> bool {
    worker
        .address()
        .and_then(|own| worker.endpoint().error_mode(ErrorMode::Peer).connect(&own))
        .is_ok()
}

fn seal(address: u64, length: u64, key: &[u8], owner: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SEAL + key.len() + owner.len());
    bytes.extend_from_slice(&MARK);
    // Both are far shorter than 4 GiB.
    for part in [key, owner] {
        bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
    }
    for word in [address, length] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    let body = [key, owner].concat();
    let sum = sum(&bytes, &body);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

/// What a window's bytes say.
struct Described<'a> {
    address: u64,
    length: u64,
    key: &'a [u8],
    owner: WorkerAddress,
}

impl Described<'_> {
    /// # Safety
    ///
    /// As [`Window::open`].
    unsafe fn read(bytes: &[u8]) -> Result<Described<'_>> {
        let invalid = |why: &str| -> Error {
            Status::INVALID_ADDR.during(format!("reading a window of {} bytes: {why}", bytes.len()))
        };
        let (seal, body) =
            bytes.split_at_checked(SEAL).ok_or_else(|| invalid("they are too few"))?;
        if !seal.starts_with(&MARK) {
            return Err(invalid("they have not the mark of one; Memory::window makes them"));
        }
        let number = |at: usize, len: usize| {
            let mut word = [0; 8];
            word[..len].copy_from_slice(&seal[at..at + len]);
            u64::from_le_bytes(word)
        };
        let (key, owner) = (number(4, 4), number(8, 4));
        if key + owner != body.len() as u64 {
            return Err(invalid("they were cut, or something was added"));
        }
        if number(SEAL - 8, 8) != sum(&seal[..SEAL - 8], body) {
            return Err(invalid("they were damaged"));
        }
        let (key, owner) = body.split_at(key as usize);
        // SAFETY: the caller's promise is about these bytes too.
        let owner = unsafe { WorkerAddress::from_bytes(owner) }?;
        Ok(Described { address: number(12, 8), length: number(20, 8), key, owner })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Context;

    fn worker() -> Worker {
        Context::builder(Features::RMA).config("TLS", "shm,self").build().unwrap().worker().unwrap()
    }

    #[test]
    fn a_seal_around_nonsense_is_an_error_too() {
        let worker = worker();
        let owner = worker.address().unwrap();
        let memory = Memory::allocate(worker.context(), 64).unwrap();
        let key = memory.remote_key().unwrap();
        let cases = [
            (seal(1, 1, &key, b"no address"), Status::INVALID_ADDR),
            (seal(1, 1, &[], owner.as_bytes()), Status::INVALID_PARAM),
            (seal(1, 1, &[0; 8], owner.as_bytes()), Status::INVALID_PARAM),
            (seal(1, 1, &[0; 5000], owner.as_bytes()), Status::INVALID_PARAM),
            (seal(u64::MAX, 2, &key, owner.as_bytes()), Status::INVALID_PARAM),
        ];
        for (index, (bytes, status)) in cases.into_iter().enumerate() {
            // SAFETY: no window at all comes of these bytes, which is what the test is about.
            let opened = unsafe { Window::open(&worker, &bytes) };
            assert_eq!(opened.unwrap_err().status(), status, "case {index}");
        }
    }

    #[test]
    fn memory_is_kept_once_for_all_its_windows() {
        let worker = worker();
        let memory = Memory::allocate(worker.context(), 64).unwrap();
        let first = memory.window(&worker).unwrap();
        assert_eq!(memory.window(&worker).unwrap(), first);
        let other = Memory::allocate(worker.context(), 64).unwrap();
        assert_ne!(other.window(&worker).unwrap(), first);
        assert!(worker.inner().keeps_window(&memory) && worker.inner().keeps_window(&other));
    }
}
