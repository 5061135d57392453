//! UCX transfers between a host's memory and a plugin's peers.

use std::ops::Range;

use ucx::{Endpoint, Outside, OutsideMut, Rendezvous, Request, Status, TagInfo, Worker};
use urom_abi::DocaError;
use urom_abi::host_memory::{MemoryAction, MemoryOperation, MemoryPath};

use super::services::RangeBorrow;
use super::{HostMemory, zeroed_bytes};
use crate::time::yield_now;

/// Most bytes copied without a pause.
const PIECE: usize = 1 << 20;

/// The owner of a request's bytes: the memory and the borrow.
type Holder = (HostMemory, RangeBorrow);

impl HostMemory {
    /// Returns these bytes as a buffer that UCX sends without a copy; `None` unless the path is
    /// [`MAPPED`](MemoryPath::MAPPED). Bytes that are written concurrently are sent as any mixture
    /// of old and new. The buffer keeps the memory open.
    pub fn buffer(&self) -> Option<Outside<HostMemory>> {
        let view = self.mapped()?;
        let (start, len) = (view.as_ptr(), view.len() as usize);
        // SAFETY: the clone keeps the bytes mapped, and they are never referenced.
        Some(unsafe { Outside::new(start, len, self.clone()) })
    }

    /// Receives the data of an active message into these bytes (`ucp_am_recv_data_nbx`): as
    /// [`Rendezvous::recv`]. Concurrent requests for the same bytes leave any mixture there.
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
        // SAFETY: the clone keeps the bytes mapped; they are writable and never referenced.
        Ok(announced.recv(unsafe { OutsideMut::new(start, len, self.clone()) }))
    }

    /// Sends all of these bytes with a tag (`ucp_tag_send_nbx`). On the path
    /// [`MAPPED`](MemoryPath::MAPPED) UCX sends them without a copy. On the path
    /// [`NETWORK`](MemoryPath::NETWORK) the host's library sends them if UCX reaches the peer from
    /// there; its messages may be reordered with others. Otherwise they are first copied here.
    /// Bytes that are written concurrently are sent as any mixture of old and new.
    ///
    /// # Errors
    /// `BUSY` while this plugin receives into some of these bytes; `NO_MEMORY` for the copy;
    /// `IO_ERROR` for unmapped memory, `CONNECTION_RESET` for a lost host; or UCX's status.
    pub async fn tag_send(&self, peer: &Endpoint, tag: u64) -> Result<(), Status> {
        let mut borrow = match self.mapped_bytes(self.borrow_range(true)?) {
            Ok((start, len, kept)) => {
                // SAFETY: `kept` keeps the bytes mapped, and they are never referenced.
                let bytes = unsafe { Outside::new(start, len, kept) };
                return peer.tag_send(tag, bytes).await.0;
            }
            Err(borrow) => borrow,
        };
        // A message without bytes does not involve the host.
        if self.path() == MemoryPath::NETWORK && !self.is_empty() {
            match self.push(peer, tag, borrow).await {
                // The host's library does not reach the peer.
                Err(DocaError::DRIVER) => borrow = self.borrow_range(true)?,
                ended => return ended.map_err(status),
            }
        }
        let bytes = self.copied().await.map_err(status)?;
        drop(borrow);
        peer.tag_send(tag, bytes).await.0
    }

    /// Copies the bytes. Other commands run between its pieces: the kernel copies each in the call.
    async fn copied(&self) -> Result<Vec<u8>, DocaError> {
        let mut bytes = zeroed_bytes(self.len)?;
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

    async fn push(&self, peer: &Endpoint, tag: u64, borrow: RangeBorrow) -> Result<(), DocaError> {
        let address = peer.address().as_bytes().to_vec();
        let operation = MemoryOperation {
            operand: tag,
            result: address.len() as u64,
            ..MemoryOperation::new(MemoryAction::TAG_SEND, self.offset, self.len)
        };
        // The borrow prevents receives into the bytes until the host has sent them.
        let sent = self.transfer(operation, address, Some(Box::new(borrow))).await;
        sent.map(drop).map_err(|error| error.code())
    }

    /// Receives a message whose tag matches in the bits of `mask` into these bytes
    /// (`ucp_tag_recv_nbx`), from the start. Dropping the future cancels the receive, but a message
    /// that arrived before is still written, and the bytes are in use until then.
    ///
    /// # Errors
    /// `REJECTED` for read-only memory; `BUSY` while this plugin sends or receives some of these
    /// bytes; `NO_MEMORY` for the copy; `MESSAGE_TRUNCATED` for a longer message; `IO_ERROR` when
    /// the host unmapped the memory, `CONNECTION_RESET` when it left; or UCX's status.
    pub async fn tag_recv(&self, worker: &Worker, tag: u64, mask: u64) -> Result<TagInfo, Status> {
        if !self.access().others_write() {
            return Err(Status::REJECTED);
        }
        let borrow = self.borrow_range(false)?;
        match self.mapped_bytes(borrow) {
            Ok((start, len, kept)) => {
                // SAFETY: `kept` keeps the bytes mapped; they are writable and never referenced.
                let bytes = unsafe { OutsideMut::new(start, len, kept) };
                worker.tag_recv(tag, mask, bytes).await.0
            }
            Err(borrow) => {
                let buffer = zeroed_bytes(self.len).map_err(status)?;
                let (came, mut bytes) = worker.tag_recv(tag, mask, buffer).await;
                let came = came?;
                bytes.truncate(came.length);
                self.put(bytes, borrow).await.map_err(status)?;
                Ok(came)
            }
        }
    }

    async fn put(&self, bytes: Vec<u8>, borrow: RangeBorrow) -> Result<(), DocaError> {
        let written = match self.path() {
            MemoryPath::NETWORK => {
                let len = bytes.len() as u64;
                let operation = MemoryOperation::new(MemoryAction::WRITE, self.offset, len);
                self.transfer(operation, bytes, Some(Box::new(borrow))).await.map(drop)
            }
            _ => self.write(0, &bytes).await,
        };
        written.map_err(|error| error.code())
    }

    fn mapped_bytes(&self, borrow: RangeBorrow) -> Result<(*mut u8, usize, Holder), RangeBorrow> {
        match self.mapped() {
            Some(view) => Ok((view.as_ptr(), view.len() as usize, (self.clone(), borrow))),
            None => Err(borrow),
        }
    }

    fn borrow_range(&self, shared: bool) -> Result<RangeBorrow, Status> {
        let range: Range<u64> = self.address()..self.address() + self.len;
        self.services.borrow_range(self.dest_id, range, shared).ok_or(Status::BUSY)
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
