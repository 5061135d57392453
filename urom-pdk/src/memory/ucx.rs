//! Sends from a host's memory and receives into it, by a plugin's own UCX.

use std::ops::Range;

use ucx::{Endpoint, Outside, OutsideMut, Rendezvous, Request, Status, TagInfo, Worker};
use urom_abi::DocaError;
use urom_abi::host_memory::{MemoryAction, MemoryOperation, MemoryPath};

use super::services::MemoryLease;
use super::{HostMemory, room};
use crate::time::yield_now;

/// The most bytes that are copied without a pause.
const PIECE: usize = 1 << 20;

/// What a request keeps: the memory, and its claim on it.
type Holder = (HostMemory, MemoryLease);

impl HostMemory {
    /// These bytes as a buffer that UCX sends from where they are. `None` unless the path is
    /// [`MAPPED`](MemoryPath::MAPPED).
    ///
    /// Bytes that others change meanwhile are sent as any mixture of old and new. The buffer keeps
    /// the memory open.
    pub fn buffer(&self) -> Option<Outside<HostMemory>> {
        let view = self.mapped()?;
        let (start, len) = (view.as_ptr(), view.len() as usize);
        // SAFETY: the clone keeps the bytes mapped, and no reference to them exists.
        Some(unsafe { Outside::new(start, len, self.clone()) })
    }

    /// Receives the data of an active message into these bytes (`ucp_am_recv_data_nbx`): as
    /// [`Rendezvous::recv`]. The request keeps the memory open.
    ///
    /// Two requests that receive into the same bytes leave any mixture there.
    ///
    /// # Errors
    /// The announcement, unless the path is [`MAPPED`](MemoryPath::MAPPED) and plugins may write.
    pub fn am_recv(
        &self,
        announced: Rendezvous,
    ) -> Result<Request<OutsideMut<HostMemory>, usize>, Rendezvous> {
        let Some(view) = self.mapped().filter(|_| self.access().others_write()) else {
            return Err(announced);
        };
        let (start, len) = (view.as_ptr(), view.len() as usize);
        // SAFETY: the clone keeps the bytes mapped, they are writable, and nobody has a reference
        // to them.
        Ok(announced.recv(unsafe { OutsideMut::new(start, len, self.clone()) }))
    }

    /// Sends all of these bytes with a tag (`ucp_tag_send_nbx`). On the path
    /// [`MAPPED`](MemoryPath::MAPPED) UCX sends them from where they are. On the path
    /// [`NETWORK`](MemoryPath::NETWORK) the host's library sends them straight to the peer, if UCX
    /// reaches the peer from there. In all other cases they are copied to this process first.
    ///
    /// Bytes that the host changes meanwhile are sent as any mixture of old and new. A message that
    /// the host's library sends may overtake other messages of this process, or be overtaken.
    ///
    /// # Errors
    /// `BUSY` while this plugin receives into some of these bytes; `NO_MEMORY` when there is no
    /// room for a copy; `IO_ERROR` when the host has unmapped the memory, `CONNECTION_RESET` when
    /// the host is gone; otherwise UCX's status.
    pub async fn tag_send(&self, peer: &Endpoint, tag: u64) -> Result<(), Status> {
        let mut lease = match self.place(self.lease(true)?) {
            Ok((start, len, kept)) => {
                // SAFETY: what is kept keeps the bytes mapped, and nobody has a reference to them.
                let bytes = unsafe { Outside::new(start, len, kept) };
                return peer.tag_send(tag, bytes).await.0;
            }
            Err(lease) => lease,
        };
        // A message without bytes takes nothing of the host.
        if self.path() == MemoryPath::NETWORK && !self.is_empty() {
            match self.push(peer, tag, lease).await {
                // The host's library does not reach the peer.
                Err(DocaError::DRIVER) => lease = self.lease(true)?,
                ended => return ended.map_err(status),
            }
        }
        let bytes = self.copied().await.map_err(status)?;
        drop(lease);
        peer.tag_send(tag, bytes).await.0
    }

    /// A copy of the bytes. Other commands run between its pieces: the kernel copies each in the
    /// call.
    async fn copied(&self) -> Result<Vec<u8>, DocaError> {
        let mut bytes = room(self.len)?;
        let mut at = 0;
        for piece in bytes.chunks_mut(PIECE) {
            if at > 0 {
                yield_now().await;
            }
            self.read(at, piece).await.map_err(|error| error.code())?;
            at += piece.len() as u64;
        }
        Ok(bytes)
    }

    async fn push(&self, peer: &Endpoint, tag: u64, lease: MemoryLease) -> Result<(), DocaError> {
        let address = peer.address().as_bytes().to_vec();
        let operation = MemoryOperation {
            operand: tag,
            result: address.len() as u64,
            ..MemoryOperation::new(MemoryAction::TAG_SEND, self.offset, self.len)
        };
        // Until the host has sent, nobody receives into the bytes.
        let sent = self.transfer(operation, address, Some(Box::new(lease))).await;
        sent.map(drop).map_err(|error| error.code())
    }

    /// Receives a message whose tag matches in the bits of `mask` into these bytes
    /// (`ucp_tag_recv_nbx`). The message is written from the beginning on; its length is in the
    /// result.
    ///
    /// Dropping the future cancels the receive. A message that had arrived before is still written,
    /// and the bytes are in use until then.
    ///
    /// # Errors
    /// `REJECTED` when plugins may only read the memory; `BUSY` while this plugin sends or receives
    /// some of these bytes; `NO_MEMORY` when there is no room for a copy; `MESSAGE_TRUNCATED` when
    /// the message is longer; `IO_ERROR` when the host has unmapped the memory, `CONNECTION_RESET`
    /// when the host is gone; otherwise UCX's status.
    pub async fn tag_recv(&self, worker: &Worker, tag: u64, mask: u64) -> Result<TagInfo, Status> {
        if !self.access().others_write() {
            return Err(Status::REJECTED);
        }
        let lease = self.lease(false)?;
        match self.place(lease) {
            Ok((start, len, kept)) => {
                // SAFETY: what is kept keeps the bytes mapped, they are writable, and nobody has a
                // reference to them.
                let bytes = unsafe { OutsideMut::new(start, len, kept) };
                worker.tag_recv(tag, mask, bytes).await.0
            }
            Err(lease) => {
                let room = room(self.len).map_err(status)?;
                let (came, mut bytes) = worker.tag_recv(tag, mask, room).await;
                let came = came?;
                bytes.truncate(came.length);
                self.put(bytes, lease).await.map_err(status)?;
                Ok(came)
            }
        }
    }

    async fn put(&self, bytes: Vec<u8>, lease: MemoryLease) -> Result<(), DocaError> {
        let written = match self.path() {
            MemoryPath::NETWORK => {
                let len = bytes.len() as u64;
                let operation = MemoryOperation::new(MemoryAction::WRITE, self.offset, len);
                self.transfer(operation, bytes, Some(Box::new(lease))).await.map(drop)
            }
            _ => self.write(0, &bytes).await,
        };
        written.map_err(|error| error.code())
    }

    /// Where the bytes are, if they are mapped, and what keeps them there; otherwise the lease.
    fn place(&self, lease: MemoryLease) -> Result<(*mut u8, usize, Holder), MemoryLease> {
        match self.mapped() {
            Some(view) => Ok((view.as_ptr(), view.len() as usize, (self.clone(), lease))),
            None => Err(lease),
        }
    }

    fn lease(&self, shared: bool) -> Result<MemoryLease, Status> {
        let range: Range<u64> = self.address()..self.address() + self.len;
        self.services.lease(self.dest_id, range, shared).ok_or(Status::BUSY)
    }
}

fn status(code: DocaError) -> Status {
    match code {
        DocaError::CONNECTION_RESET => Status::CONNECTION_RESET,
        DocaError::NOT_PERMITTED => Status::REJECTED,
        DocaError::INVALID_VALUE => Status::INVALID_PARAM,
        DocaError::NO_MEMORY => Status::NO_MEMORY,
        _ => Status::IO_ERROR,
    }
}
