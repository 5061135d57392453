//! The address of a worker that listens on loopback as well, and which of the two ways to connect
//! by.

use std::fmt;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use crate::address::WorkerAddress;
use crate::endpoint::{Endpoint, EndpointBuilder, ErrorMode};
use crate::status::{Result, Status};
use crate::sum::sum;

/// What the bytes of a peer's address begin with; the last one is the version of the format.
const MARK: [u8; 4] = *b"UPA\x03";

/// Before the worker's address: the mark, the port, the machine, and the sum of all that and what
/// follows.
const HEAD: usize = 4 + 2 + MACHINE + 8;

/// The bytes of a [`Machine`]: the kernel's boot id, the device and the inode of the network
/// namespace.
const MACHINE: usize = 16 + 8 + 8;

/// Where a worker listens for its own machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Local {
    pub(crate) port: NonZeroU16,
    pub(crate) machine: Machine,
}

/// Which loopback device: that of one network namespace of one run of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Machine([u8; MACHINE]);

impl Machine {
    /// That of the calling thread, if the system tells.
    pub(crate) fn of_this_thread() -> Option<Machine> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let boot = u128::from_str_radix(&boot.trim().replace('-', ""), 16).ok()?;
        let namespace = fs::metadata("/proc/thread-self/ns/net").ok()?;
        let mut bytes = [0; MACHINE];
        bytes[..16].copy_from_slice(&boot.to_le_bytes());
        bytes[16..24].copy_from_slice(&namespace.dev().to_le_bytes());
        bytes[24..].copy_from_slice(&namespace.ino().to_le_bytes());
        Some(Machine(bytes))
    }
}

/// The address of a worker with a [`Mesh`](crate::Mesh), as bytes that travel.
///
/// As a [`WorkerAddress`] it is checked for damage, and for nothing else. Whoever makes an address
/// up can have its reader connect to any port of the reader's machine, as the worker's address in
/// it can have it connect anywhere.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PeerAddress {
    bytes: Vec<u8>,
    worker: WorkerAddress,
    local: Option<Local>,
}

impl PeerAddress {
    pub(crate) fn new(worker: WorkerAddress, local: Option<Local>) -> PeerAddress {
        let mut bytes = Vec::with_capacity(HEAD + worker.as_bytes().len());
        bytes.extend_from_slice(&MARK);
        bytes.extend_from_slice(&local.map_or(0, |local| local.port.get()).to_le_bytes());
        bytes.extend_from_slice(&local.map_or([0; MACHINE], |local| local.machine.0));
        bytes.extend_from_slice(&sum(&bytes, worker.as_bytes()).to_le_bytes());
        bytes.extend_from_slice(worker.as_bytes());
        PeerAddress { bytes, worker, local }
    }

    /// The address that a peer's [`as_bytes`](PeerAddress::as_bytes) made these bytes of.
    ///
    /// # Safety
    ///
    /// As [`WorkerAddress::from_bytes`].
    ///
    /// # Errors
    ///
    /// `INVALID_ADDR` for bytes that are no such address or were cut or damaged; `UNREACHABLE` as
    /// [`WorkerAddress::from_bytes`].
    pub unsafe fn from_bytes(bytes: &[u8]) -> Result<PeerAddress> {
        let invalid = |why: &str| {
            Status::INVALID_ADDR
                .during(format!("reading a peer's address of {} bytes: {why}", bytes.len()))
        };
        let (head, worker) =
            bytes.split_first_chunk::<HEAD>().ok_or_else(|| invalid("it is too short"))?;
        if !head.starts_with(&MARK) {
            return Err(invalid("it has not the mark of one"));
        }
        let (head, seal) = head.split_at(HEAD - 8);
        if seal != sum(head, worker).to_le_bytes() {
            return Err(invalid("it was cut or damaged"));
        }
        let (port, machine) = head[MARK.len()..].split_at(2);
        let port = NonZeroU16::new(u16::from_le_bytes([port[0], port[1]]));
        let machine = machine.try_into().map(Machine).ok();
        let local = port.zip(machine).map(|(port, machine)| Local { port, machine });
        // SAFETY: the caller's promise is about these bytes too.
        let worker = unsafe { WorkerAddress::from_bytes(worker) }?;
        Ok(PeerAddress { bytes: bytes.to_vec(), worker, local })
    }

    /// What tells the bytes of an address from most others', without a look at all of them.
    pub(crate) fn seal(bytes: &[u8]) -> u64 {
        let seal = bytes.get(HEAD - 8..).and_then(<[u8]>::first_chunk);
        seal.map_or(0, |seal| u64::from_le_bytes(*seal))
    }

    /// The bytes to send to a peer.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The worker's own address.
    #[must_use]
    pub fn worker(&self) -> &WorkerAddress {
        &self.worker
    }

    /// Where the worker listens, for the calling thread: nothing unless it is on this machine and
    /// in this network namespace.
    #[must_use]
    pub fn loopback(&self) -> Option<SocketAddr> {
        let local = self.local.filter(|local| Machine::of_this_thread() == Some(local.machine))?;
        Some((Ipv4Addr::LOCALHOST, local.port.get()).into())
    }
}

impl fmt::Debug for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.local.map(|local| local.port);
        f.debug_struct("PeerAddress").field("worker", &self.worker).field("port", &port).finish()
    }
}

impl EndpointBuilder {
    /// Connects to a worker with a [`Mesh`](crate::Mesh): by [`connect`](EndpointBuilder::connect),
    /// and where that takes shared memory, and the worker is in this network namespace, by a socket
    /// to its mesh as well. Over the latter the endpoint learns that the worker left: it then fails
    /// with `CONNECTION_RESET`, and what waits ends.
    ///
    /// The socket is looked at once in 16 idle rounds of [`progress`](crate::Worker::progress), or
    /// 1024 busy ones, once a millisecond at most, and by [`arm`](crate::Worker::arm). It wakes
    /// nobody.
    ///
    /// # Errors
    ///
    /// Those of `connect`; what the system says about the socket.
    pub fn connect_peer(self, address: &PeerAddress) -> Result<Endpoint> {
        let watched = self.mode == ErrorMode::Peer;
        let endpoint = self.connect(address.worker())?;
        // Where UCX cannot say, a socket too many does no harm, and one too few has the sender wait
        // for ever.
        let in_shared_memory = || endpoint.is_in_shared_memory().unwrap_or(true);
        if let Some(door) = address.loopback().filter(|_| watched && in_shared_memory()) {
            connect_without_waiting(door).and_then(|socket| endpoint.watch(socket)).map_err(
                |error| {
                    Status::IO_ERROR
                        .during(format!("watching the peer that listens on {door}: {error}"))
                },
            )?;
        }
        Ok(endpoint)
    }
}

/// A connection to the door of a mesh, at the latest when its mesh looks. Nobody waits: that there
/// is no such door is as if it was closed later.
fn connect_without_waiting(door: SocketAddr) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    match connect(&socket, &door) {
        // One who refuses at once is noticed as one who refuses later.
        Ok(()) | Err(Errno::INPROGRESS | Errno::CONNREFUSED) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}
