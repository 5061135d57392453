//! Memory that a host shares with a worker: the messages, and the hand-over of descriptors on a
//! Unix socket.
//!
//! A worker sends an accepted host the address of its socket, a Unix socket. The host connects
//! once for its [ring] and once for each shared memory, with the token of its control stream. It
//! hands over descriptors, or only its process number, which the kernel reports. A host on another
//! machine or in another container offers its memory over the network.
//!
//! One more connection is the *use guard*, which a host requests before it shares memory. Both ends
//! keep it open: it shows the host when the worker no longer uses its memory, even after the
//! control stream has ended.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::UnixStream;

use super::{bounded, bytes, ring};
use crate::awake::sleep;
use crate::failure::Failure;

pub const MAX_HANDOVER_ADDRESS: usize = 108;

/// The longest UCX worker address, in bytes: longer than `ucx::WorkerAddress` accepts.
pub const MAX_UCX_ADDRESS: usize = 65 << 10;

#[derive(Debug, Serialize, Deserialize)]
pub enum MemoryWord {
    Share(MemoryOffer),
    End {
        memory: u64,
        share: u64,
        /// The number of commands submitted on this connection: the share ends after them.
        after: u64,
    },
    /// The host leaves: later commands must not find its memory. It waits for the use guard.
    Leave,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct MemoryOffer {
    /// Never reused on this stream. Memory may be shared again while commands use an earlier share.
    pub share: u64,
    pub memory: u64,
    pub address: u64,
    pub len: u64,
    /// Bits of `urom_abi::memory::Access`.
    pub access: u32,
    pub location: MemoryLocation,
    /// The UCX worker of the host's memory thread, for requests about this memory; may be empty.
    #[serde(
        serialize_with = "bytes::serialize",
        deserialize_with = "bounded::bytes::<_, MAX_UCX_ADDRESS>"
    )]
    pub ucx_address: Vec<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum MemoryLocation {
    /// A mapping of the handed-over descriptor, from this offset on.
    Handed { offset: u64 },
    /// The address space of the process that connected to the socket.
    Process,
    /// UCX requests.
    Network,
}

/// Where a host hands over descriptors.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct HandoverAddress {
    /// The address of the worker's socket, abstract if it begins with a zero; may be empty.
    #[serde(
        serialize_with = "bytes::serialize",
        deserialize_with = "bounded::bytes::<_, MAX_HANDOVER_ADDRESS>"
    )]
    pub address: Vec<u8>,
    pub machine: u128,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum MemoryAnswer {
    /// Commands may use it; or the failure.
    Shared { share: u64, result: Result<SharedBy, Failure> },
    /// Commands no longer use this share.
    Ended { share: u64 },
}

#[derive(Debug, Serialize, Deserialize)]
pub struct SharedBy {
    /// A `urom_abi::host_memory::MemoryPath`.
    pub path: u32,
    /// The UCX worker that sends requests about the host's memory; may be empty.
    #[serde(
        serialize_with = "bytes::serialize",
        deserialize_with = "bounded::bytes::<_, MAX_UCX_ADDRESS>"
    )]
    pub ucx_address: Vec<u8>,
}

/// A host's message to the socket: its stream's token and the share's number, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slip {
    pub token: u128,
    pub share: u64,
}

const SLIP_LEN: usize = 24;

/// The share number that requests the use guard.
pub const USE_GUARD: u64 = 0;

/// The share number for the descriptors of a [ring].
pub const RING: u64 = u64::MAX;

const MOST_DESCRIPTORS: usize = ring::DESCRIPTORS;

/// A worker's message on the use guard after its last copy from the host's process.
pub const COPIES_END: u8 = 2;

/// The pause before a retry at a socket with a full backlog.
const AGAIN: Duration = Duration::from_millis(1);

const TAKEN: u8 = 1;

impl Slip {
    fn to_bytes(self) -> [u8; SLIP_LEN] {
        let mut bytes = [0; SLIP_LEN];
        bytes[..16].copy_from_slice(&self.token.to_le_bytes());
        bytes[16..].copy_from_slice(&self.share.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: [u8; SLIP_LEN]) -> Slip {
        let (token, share) = bytes.split_at(16);
        let mut slip = ([0; 16], [0; 8]);
        slip.0.copy_from_slice(token);
        slip.1.copy_from_slice(share);
        Slip { token: u128::from_le_bytes(slip.0), share: u64::from_le_bytes(slip.1) }
    }
}

/// The id of this machine, equal in all its containers: the kernel's boot id, or 0.
pub fn machine() -> u128 {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    u128::from_str_radix(&boot.trim().replace('-', ""), 16).unwrap_or_default()
}

/// Hands over descriptors, or only this process, at a worker's socket. Waits without limit for
/// backlog capacity. Returns the accepted connection, or `PermissionDenied` if refused.
pub async fn hand_over(
    socket: &Path,
    slip: Slip,
    fds: &[BorrowedFd<'_>],
) -> io::Result<UnixStream> {
    let mut stream = loop {
        match UnixStream::connect(socket).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(AGAIN).await,
            connected => break connected?,
        }
    };
    let bytes = slip.to_bytes();
    let sent = stream
        .async_io(Interest::WRITABLE, || {
            let mut space =
                [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if !fds.is_empty() {
                control.push(SendAncillaryMessage::ScmRights(fds));
            }
            Ok(sendmsg(&stream, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL)?)
        })
        .await?;
    // A new socket has enough capacity.
    if sent != SLIP_LEN {
        return Err(io::ErrorKind::WriteZero.into());
    }
    match stream.read_u8().await {
        Ok(TAKEN) => Ok(stream),
        Ok(_) => Err(io::ErrorKind::PermissionDenied.into()),
        // The worker closed the connection.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(io::ErrorKind::PermissionDenied.into())
        }
        Err(error) => Err(error),
    }
}

#[derive(Debug)]
pub struct Handed {
    pub slip: Slip,
    pub fds: Vec<OwnedFd>,
    /// The process at the other end, in this process's PID namespace. `None` without a number here
    /// or for another user: this user's rights would allow access even if the number is later
    /// reused for a process that the host may not access.
    pub process: Option<i32>,
}

/// Receives a hand-over on a connection to the socket: `InvalidData` for anything but one slip.
pub async fn receive_handed(stream: &UnixStream) -> io::Result<Handed> {
    let peer = stream.peer_cred()?;
    let is_own = peer.uid() == rustix::process::geteuid().as_raw();
    let process = peer.pid().filter(|pid| *pid > 0 && is_own);
    let mut bytes = [0; SLIP_LEN];
    let (len, fds) = stream
        .async_io(Interest::READABLE, || {
            let mut space =
                [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut parts = [IoSliceMut::new(&mut bytes)];
            let flags = RecvFlags::CMSG_CLOEXEC;
            let message = recvmsg(stream.as_fd(), &mut parts, &mut control, flags)?;
            let fds = control.drain().filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(fds) => Some(fds),
                _ => None,
            });
            // The kernel may deliver more.
            let mut fds: Vec<OwnedFd> = fds.flatten().collect();
            fds.truncate(MOST_DESCRIPTORS);
            Ok((message.bytes, fds))
        })
        .await?;
    if len != SLIP_LEN {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(Handed { slip: Slip::from_bytes(bytes), fds, process })
}

pub fn confirm_taken(stream: &UnixStream) -> io::Result<()> {
    // A new socket has enough capacity.
    stream.try_write(&[TAKEN]).map(drop)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    use tokio::io::AsyncWriteExt;
    use tokio::net::UnixListener;

    use super::*;

    const SLIP: Slip = Slip { token: 0x1122 << 100 | 7, share: 0x99 };

    async fn socket() -> (tempfile::TempDir, std::path::PathBuf, UnixListener) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        (directory, path, listener)
    }

    #[tokio::test]
    async fn a_descriptor_and_the_process_arrive_with_the_slip() {
        let (_directory, path, listener) = socket().await;
        let file = tempfile::tempfile().unwrap();
        let worker = async {
            let (stream, _) = listener.accept().await.unwrap();
            let handed = receive_handed(&stream).await.unwrap();
            confirm_taken(&stream).unwrap();
            handed
        };
        let fds = [file.as_fd()];
        let (given, handed) = tokio::join!(hand_over(&path, SLIP, &fds), worker);
        given.unwrap();
        assert_eq!((handed.slip, handed.process), (SLIP, Some(std::process::id() as i32)));
        let mut theirs = std::fs::File::from(handed.fds.into_iter().next().unwrap());
        theirs.write_all(b"same file").unwrap();
        let mut text = String::new();
        let mut file = file;
        std::io::Seek::rewind(&mut file).unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "same file");
        let flags = rustix::io::fcntl_getfd(&theirs).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
    }

    #[tokio::test]
    async fn a_closed_socket_is_an_error_at_the_host() {
        let (_directory, path, listener) = socket().await;
        let worker = async {
            let (stream, _) = listener.accept().await.unwrap();
            let handed = receive_handed(&stream).await.unwrap();
            assert!(handed.fds.is_empty());
        };
        let (given, ()) = tokio::join!(hand_over(&path, SLIP, &[]), worker);
        assert_eq!(given.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        drop(listener);
        let error = hand_over(&path, SLIP, &[]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[tokio::test]
    async fn an_invalid_slip_is_an_error_at_the_worker() {
        for bytes in [&b""[..], b"short", &[7; SLIP_LEN - 1]] {
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            ours.write_all(bytes).await.unwrap();
            drop(ours);
            let error = receive_handed(&theirs).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{bytes:?}");
        }
    }
}
