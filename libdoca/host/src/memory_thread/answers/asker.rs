//! What the memory thread has of one stream: the worker that asks, what it may ask about, and where
//! it has memory sent to.

use std::collections::HashMap;
use std::rc::Rc;

use ucx::{CloseMode, Endpoint, Worker, WorkerAddress};
use urom_abi::DocaError;

use super::Served;

/// How many receivers of sends are remembered for a stream. Those that no send goes to are
/// forgotten when there are more.
pub(super) const MOST_RECEIVERS: usize = 256;

#[derive(Default)]
pub(super) struct Asker {
    pub(super) endpoint: Option<Endpoint>,
    /// Where the worker is; empty as long as that is not known.
    pub(super) address: Vec<u8>,
    /// Whether it asked since the last [`EVERY`](urom_wire::remote::EVERY).
    pub(super) has_asked: bool,
    /// By the numbers of their shares.
    pub(super) memories: HashMap<u64, Rc<Served>>,
    /// Receivers of sends, by their addresses.
    pub(super) receivers: HashMap<Vec<u8>, Receiver>,
}

/// Where a worker has memory sent to.
pub(super) struct Receiver {
    pub(super) endpoint: Endpoint,
    pub(super) claim: Claim,
}

/// Each send to a receiver has a copy of its claim.
pub(super) type Claim = Rc<()>;

impl Receiver {
    fn is_idle(&self) -> bool {
        Rc::strong_count(&self.claim) == 1
    }
}

impl Asker {
    /// Whether the worker can be answered.
    pub(super) fn is_connected(&self) -> bool {
        self.endpoint.as_ref().is_some_and(|endpoint| !endpoint.is_failed())
    }

    /// The receiver of a send.
    pub(super) fn receiver(
        &mut self,
        worker: &Worker,
        address: &[u8],
    ) -> Result<&Receiver, DocaError> {
        let known = self.receivers.get(address);
        if known.is_none_or(|known| known.endpoint.is_failed()) {
            // SAFETY: from a worker that this host uses, which it trusts with its memory.
            let parsed = unsafe { WorkerAddress::from_bytes(address) };
            let endpoint = parsed.and_then(|parsed| worker.endpoint().connect(&parsed));
            let endpoint = endpoint.map_err(|error| {
                log!(debug, "memory is not sent where a worker asks for it: {error}");
                DocaError::DRIVER
            })?;
            if self.receivers.len() >= MOST_RECEIVERS {
                // A send that is under way would hold up the close until its receiver takes it.
                let idle = self.receivers.extract_if(|_, receiver| receiver.is_idle());
                idle.for_each(|(_, receiver)| receiver.endpoint.close(CloseMode::Flush));
            }
            let receiver = Receiver { endpoint, claim: Claim::default() };
            self.receivers.insert(address.to_vec(), receiver);
        }
        self.receivers.get(address).ok_or(DocaError::DRIVER)
    }

    /// Ends the connections. A receiver may never take what is announced to it, and nobody waits
    /// for that any more.
    pub(super) fn close(&mut self) {
        for (_, receiver) in self.receivers.drain() {
            let mode = if receiver.is_idle() { CloseMode::Flush } else { CloseMode::Force };
            receiver.endpoint.close(mode);
        }
        if let Some(endpoint) = self.endpoint.take() {
            // What is on the way to the worker ends with it.
            endpoint.close(CloseMode::Force);
        }
    }
}
