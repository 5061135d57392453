//! UCX transfers between regions and peers, and atomic operations.

use ucx::{Endpoint, Status, TagInfo, Worker};
use urom_abi::protocol::PeerMessage;

use super::{Region, RegionMemory, zeroed};
use crate::peers::{Peer, PeerData};
use crate::{DocaError, OrCode, Result};

impl Region {
    /// Writes the data of a peer's message at `offset`, if possible without a copy. Returns whether
    /// a [`flush`](Self::flush) must complete it.
    ///
    /// # Errors
    /// As [`write`](Self::write), and `IO_FAILED` when the sender is lost.
    pub async fn receive(&self, offset: u64, data: PeerData) -> Result<bool> {
        let len = data.len();
        let start = self.here(offset, len as u64)?.start as u64;
        let announced = match data {
            PeerData::Here(bytes) => return self.put(offset, bytes).await,
            PeerData::Announced(announced) => announced,
        };
        let announced = match (&self.memory, self.imported()) {
            (RegionMemory::Host(memory), _) => {
                match memory.slice(offset..offset + len as u64).am_recv(announced) {
                    Ok(request) => {
                        request.await.0.or_code(DocaError::IO_FAILED, "receiving from a peer")?;
                        return Ok(false);
                    }
                    Err(announced) => announced,
                }
            }
            (_, Some(imported)) => {
                let (came, ()) = announced.recv_imported(imported, start).await;
                came.or_code(DocaError::DRIVER, "receiving into imported memory")?;
                return Ok(false);
            }
            _ => announced,
        };
        let bytes = PeerData::Announced(announced).into_bytes(len).await?;
        self.put(offset, bytes).await
    }

    /// Returns whether a device writes announced data to the memory, past this process.
    #[must_use]
    pub fn has_device(&self) -> bool {
        self.imported().is_some()
    }

    /// Sends all bytes as the data of a typed message, without a copy if UCX can.
    ///
    /// # Errors
    /// Those of [`Peer::send`] and [`read`](Self::read).
    pub async fn send(&self, peer: &Peer, message: &impl PeerMessage) -> Result<()> {
        if let RegionMemory::Host(memory) = &self.memory
            && let Some(bytes) = memory.buffer()
        {
            return peer.send_with(message, bytes).await.0;
        }
        peer.send_with(message, self.to_bytes().await?).await.0
    }

    /// Returns a copy of all bytes.
    ///
    /// # Errors
    /// `NO_MEMORY`, and the errors of [`read`](Self::read).
    pub async fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = zeroed(self.len)?;
        self.read(0, &mut bytes).await?;
        Ok(bytes)
    }

    /// Sends all bytes with a tag (`ucp_tag_send_nbx`).
    ///
    /// # Errors
    /// `BUSY` while this plugin receives into some of these bytes, the errors of
    /// [`HostMemory::tag_send`](crate::memory::HostMemory::tag_send), and UCX's status.
    pub async fn tag_send(&self, peer: &Endpoint, tag: u64) -> Result<(), Status> {
        let range = self.start..self.start + self.len;
        match &self.memory {
            RegionMemory::Here(memory) => {
                let range = range.start as usize..range.end as usize;
                peer.tag_send(tag, memory.try_borrow(range).ok_or(Status::BUSY)?).await.0
            }
            RegionMemory::Host(memory) => memory.tag_send(peer, tag).await,
            RegionMemory::Imported(memory) => peer.tag_send_imported(tag, memory, range).await.0,
            RegionMemory::Remote { .. } => Err(Status::UNSUPPORTED),
        }
    }

    /// Receives a message whose tag matches in the bits of `mask` (`ucp_tag_recv_nbx`). Dropping
    /// the future before a message arrives cancels the receive.
    ///
    /// # Errors
    /// `BUSY` while this plugin sends or receives some of these bytes, the errors of
    /// [`HostMemory::tag_recv`](crate::memory::HostMemory::tag_recv), and UCX's status.
    pub async fn tag_recv(&self, worker: &Worker, tag: u64, mask: u64) -> Result<TagInfo, Status> {
        let range = self.start..self.start + self.len;
        match &self.memory {
            RegionMemory::Here(memory) => {
                let range = range.start as usize..range.end as usize;
                worker
                    .tag_recv(tag, mask, memory.try_borrow_mut(range).ok_or(Status::BUSY)?)
                    .await
                    .0
            }
            RegionMemory::Host(memory) => memory.tag_recv(worker, tag, mask).await,
            RegionMemory::Imported(memory) => {
                worker.tag_recv_imported(tag, mask, memory, range).await.0
            }
            RegionMemory::Remote { .. } => Err(Status::UNSUPPORTED),
        }
    }

    /// Adds to the 8 bytes at `offset` and returns the previous number: as
    /// [`HostMemory::fetch_add`](crate::memory::HostMemory::fetch_add).
    ///
    /// # Errors
    /// Those of [`HostMemory::fetch_add`](crate::memory::HostMemory::fetch_add), `DRIVER` with
    /// UCX's error, and `NOT_SUPPORTED` for memory of this worker and imported memory.
    pub async fn fetch_add(&self, offset: u64, value: u64) -> Result<u64> {
        match &self.memory {
            RegionMemory::Host(memory) => memory.fetch_add(offset, value).await,
            RegionMemory::Remote { memory, .. } => {
                let start = self.here(offset, 8)?.start as u64;
                memory.fetch_add(start, value).await.or_code(DocaError::DRIVER, "adding")
            }
            _ => Err(self.no_bytes()),
        }
    }

    /// Replaces the 8 bytes at `offset` if they equal `expected`, and returns the previous number:
    /// as [`HostMemory::compare_swap`](crate::memory::HostMemory::compare_swap).
    ///
    /// # Errors
    /// As [`fetch_add`](Self::fetch_add).
    pub async fn compare_swap(&self, offset: u64, expected: u64, new: u64) -> Result<u64> {
        match &self.memory {
            RegionMemory::Host(memory) => memory.compare_swap(offset, expected, new).await,
            RegionMemory::Remote { memory, .. } => {
                let start = self.here(offset, 8)?.start as u64;
                let before = memory.compare_swap(start, expected, new).await;
                before.or_code(DocaError::DRIVER, "comparing and swapping")
            }
            _ => Err(self.no_bytes()),
        }
    }
}
