//! One peer: its endpoint, and sends of messages.

use std::future::Future;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, select};
use ucx::{AmFlags, Buffer, Endpoint, Request};
use urom_abi::protocol::PeerMessage;

use super::message::{MESSAGE, encode};
use crate::{DocaError, OrCode, Result, bail};

/// Longest data that UCX may send without announcing them.
const LONGEST_SHORT: u64 = 256 << 10;

/// A peer of a [`PeerWorker`](super::PeerWorker). A clone is the same endpoint.
#[derive(Clone, Debug)]
pub struct Peer {
    endpoint: Rc<Endpoint>,
}

impl Peer {
    /// Returns the UCX endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &Rc<Endpoint> {
        &self.endpoint
    }

    /// Sends a message, until UCX has taken the bytes. Messages without data arrive in order.
    ///
    /// # Errors
    /// `CONNECTION_RESET` when the peer is lost, `TOO_BIG` for a message over UCX's longest header
    /// ([`ucx::Worker::max_am_header`]), `INVALID_VALUE` for an inconsistent message.
    pub async fn send(&self, message: &impl PeerMessage) -> Result<()> {
        self.send_with(message, ()).await.0
    }

    /// Sends a message with data of any length, and returns the data when UCX has read them.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_with<B: Buffer>(
        &self,
        message: &impl PeerMessage,
        data: B,
    ) -> (Result<()>, B) {
        let worker = self.endpoint.worker();
        let header = match encode(message, worker.max_am_header()) {
            Ok(header) => header,
            Err(error) => return (Err(error), data),
        };
        let flags = self.flags(data.len() as u64);
        let sent = self.endpoint.am_send_now(MESSAGE, &header, data, flags);
        let (sent, data) = match sent {
            Ok(sent) => sent,
            Err(request) => request.await,
        };
        let code = match self.endpoint.is_failed() {
            true => DocaError::CONNECTION_RESET,
            false => DocaError::IO_FAILED,
        };
        (sent.or_code(code, "sending to a peer"), data)
    }

    /// Begins to send a message with data, and returns UCX's request. A dropped request continues.
    ///
    /// # Errors
    /// `TOO_BIG` and `INVALID_VALUE` as [`send`](Self::send).
    pub fn begin_send<B: Buffer>(
        &self,
        message: &impl PeerMessage,
        data: B,
        flags: AmFlags,
    ) -> Result<Request<B>> {
        let header = encode(message, self.endpoint.worker().max_am_header())?;
        Ok(self.endpoint.am_send_with(MESSAGE, &header, data, flags))
    }

    /// Returns the flags for `len` bytes of data: more than 256 KiB are announced. By default UCX
    /// announces nothing over shared memory and assembles a long message in its own memory.
    #[must_use]
    pub fn flags(&self, len: u64) -> AmFlags {
        match len > LONGEST_SHORT && self.endpoint.worker().context().has_rendezvous() {
            true => AmFlags::RENDEZVOUS,
            false => AmFlags::NONE,
        }
    }

    /// Runs `future` until it ends or the peer is lost.
    ///
    /// # Errors
    /// `CONNECTION_RESET` with UCX's reason.
    pub async fn unless_lost<F: Future>(&self, future: F) -> Result<F::Output> {
        match select(pin!(future), self.endpoint.failed()).await {
            Either::Left((output, _)) => Ok(output),
            Either::Right((status, _)) => {
                bail!(DocaError::CONNECTION_RESET, "the peer is lost: {status}")
            }
        }
    }
}

impl From<Rc<Endpoint>> for Peer {
    fn from(endpoint: Rc<Endpoint>) -> Peer {
        Peer { endpoint }
    }
}
