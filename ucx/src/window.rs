//! Windows: memory of one process that others read and write, described by one piece of bytes.
//! UCX's exported memory handles need an RDMA device; a window does not: it goes through the
//! owner's worker.

use std::rc::Rc;

use crate::address::WorkerAddress;
use crate::endpoint::ErrorMode;
use crate::features::Features;
use crate::memory::Memory;
use crate::rma::RemoteMemory;
use crate::sealed::{self, Mark};
use crate::status::{Result, Status};
use crate::worker::Worker;

/// What a window's bytes begin with. The remote key and the owner's address are their body.
const MARK: Mark = *b"UWN\x02";

/// The length of the key, the memory's address and its length, each little-endian.
const FIELDS: usize = 4 + 2 * 8;

impl Memory {
    /// Describes this memory for peers, as bytes for [`RemoteMemory::open`].
    ///
    /// `worker` belongs to the owner. Unless a device reaches the memory by itself, nothing moves
    /// while this worker is not progressed. From now on the memory stays registered until the
    /// worker ends, because nobody can tell when its last window is gone. A peer is trusted as
    /// [`Features::RMA`] says.
    ///
    /// # Errors
    ///
    /// `INVALID_PARAM` for a worker of another context; otherwise as
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

impl RemoteMemory {
    /// Opens a window, memory of another worker that [`Memory::window`] described, over an endpoint
    /// of its own. The owner must progress its worker. Reading while others write gives a mixture,
    /// never an error.
    ///
    /// Over transports that notice a lost peer, such as `tcp`, requests then end with an error
    /// ([`ErrorMode::Peer`]). Without one, as with shared memory alone, the window opens all the
    /// same (UCX logs an error), and requests to an owner that is gone never end.
    /// [`open_with`](RemoteMemory::open_with) leaves the choice to the caller.
    ///
    /// ```no_run
    /// # fn example(owner: &ucx::Worker, worker: &ucx::Worker) -> Result<(), ucx::Error> {
    /// use ucx::{Memory, RemoteMemory};
    ///
    /// // The owner:
    /// let described = Memory::allocate(owner.context(), 4096)?.window(owner)?;
    /// // Another process, which received the bytes:
    /// // SAFETY: the bytes came unchanged from the owner, which is part of this program.
    /// let window = unsafe { RemoteMemory::open(worker, &described) }?;
    /// window.put(8, b"hello".to_vec()).detach();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Safety
    ///
    /// [`Memory::window`] made the bytes, and the process that sent them is trusted as this one:
    /// UCX takes the remote key and the address as they are, and forged ones can read and write any
    /// memory of this process. The checksum finds damage only.
    ///
    /// # Errors
    ///
    /// `INVALID_ADDR` for bytes that are no window, or were cut or damaged. `UNREACHABLE` if no
    /// transport leads there, or the owner's UCX does not understand this one. `UNSUPPORTED`
    /// without [`Features::RMA`]; otherwise UCX's error.
    pub unsafe fn open(worker: &Worker, bytes: &[u8]) -> Result<RemoteMemory> {
        // SAFETY: the caller's promise is the same.
        match unsafe { RemoteMemory::open_with(worker, bytes, ErrorMode::Peer) } {
            Err(error) if error.status() == Status::UNREACHABLE && !watches_peers(worker) => {
                // SAFETY: the caller's promise is the same.
                unsafe { RemoteMemory::open_with(worker, bytes, ErrorMode::None) }
            }
            opened => opened,
        }
    }

    /// As [`open`](RemoteMemory::open), with this error mode. [`ErrorMode::None`] takes the fastest
    /// transport: on one machine shared memory, if the contexts have it.
    ///
    /// # Safety
    ///
    /// As [`open`](RemoteMemory::open).
    ///
    /// # Errors
    ///
    /// As [`open`](RemoteMemory::open).
    pub unsafe fn open_with(
        worker: &Worker,
        bytes: &[u8],
        mode: ErrorMode,
    ) -> Result<RemoteMemory> {
        worker.context().require(Features::RMA, "opening a window")?;
        // SAFETY: the caller's promise is the same.
        let Described { address, length, key, owner } = unsafe { Described::read(bytes) }?;
        let endpoint = worker.endpoint().error_mode(mode).connect(&owner)?;
        // SAFETY: the caller promises that `Memory::window` made these bytes: key, address and
        // length belong together, and to the owner's worker, to which the endpoint leads. It keeps
        // the memory registered for as long as it can be reached.
        unsafe { Rc::new(endpoint).remote_memory(key, address, length) }
    }
}

/// Whether any transport of the worker notices a lost peer. Tested by connecting to itself, which
/// is reachable in any case.
fn watches_peers(worker: &Worker) -> bool {
    worker
        .address()
        .and_then(|own| worker.endpoint().error_mode(ErrorMode::Peer).connect(&own))
        .is_ok()
}

fn seal(address: u64, length: u64, key: &[u8], owner: &[u8]) -> Vec<u8> {
    // The key is far shorter than 4 GiB.
    let key_length = (key.len() as u32).to_le_bytes();
    let fields: [&[u8]; 3] = [&key_length, &address.to_le_bytes(), &length.to_le_bytes()];
    sealed::seal(MARK, &fields, &[key, owner])
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
    /// As [`RemoteMemory::open`].
    unsafe fn read(bytes: &[u8]) -> Result<Described<'_>> {
        let what = "a window, which Memory::window describes,";
        let (fields, body) = sealed::open::<FIELDS>(MARK, what, bytes)?;
        let number = |at: usize, len: usize| {
            let mut word = [0; 8];
            word[..len].copy_from_slice(&fields[at..at + len]);
            u64::from_le_bytes(word)
        };
        let (key, owner) = body.split_at_checked(number(0, 4) as usize).ok_or_else(|| {
            Status::INVALID_ADDR.during(format!("reading {what}: its key is cut"))
        })?;
        // SAFETY: the caller's promise is about these bytes too.
        let owner = unsafe { WorkerAddress::from_bytes(owner) }?;
        Ok(Described { address: number(4, 8), length: number(12, 8), key, owner })
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
            let opened = unsafe { RemoteMemory::open(&worker, &bytes) };
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
