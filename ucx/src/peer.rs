//! The address of a worker that also listens on loopback, and connecting to it.

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
use crate::sealed::{self, Mark};
use crate::status::{Result, Status};

const MARK: Mark = *b"UPA\x04";

/// The size of a [`Machine`]: the kernel's boot id, and device and inode of the network namespace.
const MACHINE: usize = 16 + 8 + 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LoopbackAddress {
    pub(crate) port: NonZeroU16,
    pub(crate) machine: Machine,
}

/// Identifies a loopback device: one network namespace of one run of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Machine([u8; MACHINE]);

impl Machine {
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

/// The address of a worker with a [`Mesh`](crate::Mesh), as bytes to send. Like [`WorkerAddress`],
/// it is checked for damage only: a forged one can make its reader connect to any port.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PeerAddress {
    bytes: Vec<u8>,
    worker: WorkerAddress,
    local: Option<LoopbackAddress>,
}

impl PeerAddress {
    pub(crate) fn new(worker: WorkerAddress, local: Option<LoopbackAddress>) -> PeerAddress {
        let port = local.map_or(0, |local| local.port.get()).to_le_bytes();
        let machine = local.map_or([0; MACHINE], |local| local.machine.0);
        let bytes = sealed::seal(MARK, &[&port, &machine], &[worker.as_bytes()]);
        PeerAddress { bytes, worker, local }
    }

    /// Reads the [`as_bytes`](PeerAddress::as_bytes) of a peer.
    ///
    /// # Safety
    /// Same as [`WorkerAddress::from_bytes`].
    pub unsafe fn from_bytes(bytes: &[u8]) -> Result<PeerAddress> {
        let (fields, worker) = sealed::open::<{ 2 + MACHINE }>(MARK, "a peer's address", bytes)?;
        let (port, machine) = fields.split_at(2);
        let port = NonZeroU16::new(u16::from_le_bytes([port[0], port[1]]));
        let machine = machine.try_into().map(Machine).ok();
        let local = port.zip(machine).map(|(port, machine)| LoopbackAddress { port, machine });
        // SAFETY: the caller's promise is about these bytes too.
        let worker = unsafe { WorkerAddress::from_bytes(worker) }?;
        Ok(PeerAddress { bytes: bytes.to_vec(), worker, local })
    }

    /// Returns the bytes to send to a peer.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the worker's own address.
    #[must_use]
    pub fn worker(&self) -> &WorkerAddress {
        &self.worker
    }

    /// Returns the listening address if the calling thread is in the same network namespace.
    #[must_use]
    pub fn loopback(&self) -> Option<SocketAddr> {
        let local = self.local.filter(|local| Machine::of_this_thread() == Some(local.machine))?;
        Some((Ipv4Addr::LOCALHOST, local.port.get()).into())
    }
}

debug_fields!(PeerAddress, |it| { worker: it.worker, port: it.local.map(|local| local.port) });

impl EndpointBuilder {
    /// Connects to a worker with a [`Mesh`](crate::Mesh), like
    /// [`connect`](EndpointBuilder::connect). In shared memory, a socket to the peer's mesh detects
    /// its end: the endpoint fails with `CONNECTION_RESET`, and pending operations end.
    ///
    /// [`progress`](crate::Worker::progress) polls the socket once in 16 idle or 1024 busy rounds,
    /// at most once a ms, as does [`arm`](crate::Worker::arm). It cannot wake a sleeping worker.
    ///
    /// # Errors
    /// The errors of `connect`, and the system's errors for the socket.
    pub fn connect_peer(self, address: &PeerAddress) -> Result<Endpoint> {
        let watched = self.mode == ErrorMode::Peer;
        let endpoint = self.connect(address.worker())?;
        // If unknown, assume shared memory: without the socket, a sender may wait forever.
        let in_shared_memory = || endpoint.is_in_shared_memory().unwrap_or(true);
        if let Some(listener) = address.loopback().filter(|_| watched && in_shared_memory()) {
            connect_without_waiting(listener).and_then(|socket| endpoint.watch(socket)).map_err(
                |error| {
                    Status::IO_ERROR
                        .during(format!("watching the peer that listens on {listener}: {error}"))
                },
            )?;
        }
        Ok(endpoint)
    }
}

fn connect_without_waiting(listener: SocketAddr) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    match connect(&socket, &listener) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::CONNREFUSED) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}
