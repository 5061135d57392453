//! The data of a peer's message: received, or still at the peer.

use std::fmt;

use ucx::{AmData, Rendezvous};
use zerocopy::FromZeros;

use crate::{DocaError, Error, OrCode, Result, ensure};

/// The data of a peer's message. Dropping announced data refuses it: the sender's request ends.
pub enum PeerData {
    /// Bytes received with the message.
    Here(Vec<u8>),
    /// Bytes that are still at the sender (UCX's rendezvous).
    Announced(Rendezvous),
}

impl PeerData {
    /// Copies the data of an active message, which UCX keeps only during its handler.
    ///
    /// # Errors
    /// `NO_MEMORY`.
    pub fn copied(data: AmData<'_>) -> Result<PeerData> {
        Ok(match data {
            AmData::Eager(bytes) => {
                let mut copy = Vec::new();
                let reserved = copy.try_reserve_exact(bytes.len());
                reserved.or_code(DocaError::NO_MEMORY, "keeping a message of a peer")?;
                copy.extend_from_slice(bytes);
                PeerData::Here(copy)
            }
            AmData::Rendezvous(announced) => PeerData::Announced(announced),
        })
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            PeerData::Here(bytes) => bytes.len(),
            PeerData::Announced(announced) => announced.len(),
        }
    }

    /// Returns whether the length is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes, and first receives them if they are still at the sender.
    ///
    /// # Errors
    /// `TOO_BIG` for more than `most` bytes, `NO_MEMORY`, and `IO_FAILED` when the sender is lost.
    pub async fn into_bytes(self, most: usize) -> Result<Vec<u8>> {
        self.into_bytes_in(Vec::new(), most).await
    }

    /// As [`into_bytes`](Self::into_bytes). Announced bytes use the memory of `buffer` if they fit.
    ///
    /// # Errors
    /// As [`into_bytes`](Self::into_bytes).
    pub async fn into_bytes_in(self, mut buffer: Vec<u8>, most: usize) -> Result<Vec<u8>> {
        let len = self.len();
        ensure!(
            len <= most,
            DocaError::TOO_BIG,
            "a peer sent {len} bytes where {most} are the most"
        );
        match self {
            PeerData::Here(bytes) => Ok(bytes),
            PeerData::Announced(announced) => {
                if buffer.len() < len {
                    buffer = u8::new_vec_zeroed(len).map_err(|_| {
                        let text = format!("no memory for {len} bytes of a peer");
                        Error::new(DocaError::NO_MEMORY, text)
                    })?;
                }
                buffer.truncate(len);
                let (came, bytes) = announced.recv(buffer).await;
                came.or_code(DocaError::IO_FAILED, "receiving from a peer")?;
                Ok(bytes)
            }
        }
    }
}

impl fmt::Debug for PeerData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            PeerData::Here(_) => "Here",
            PeerData::Announced(_) => "Announced",
        };
        write!(f, "{kind}({} bytes)", self.len())
    }
}
