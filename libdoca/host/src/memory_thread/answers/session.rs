//! The memory thread's state of one stream: its worker, shared memory and send receivers.

use std::collections::HashMap;
use std::rc::Rc;

use ucx::{CloseMode, Endpoint, Worker, WorkerAddress};
use urom_abi::DocaError;

use super::ServedMemory;

/// Maximum remembered receivers per stream. More than this evicts idle receivers.
pub(super) const MOST_RECEIVERS: usize = 256;

#[derive(Default)]
pub(super) struct WorkerSession {
    pub(super) endpoint: Option<Endpoint>,
    /// The worker's UCX address; empty while unknown.
    pub(super) address: Vec<u8>,
    /// Whether it asked since the last [`EVERY`](urom_wire::remote::EVERY).
    pub(super) has_asked: bool,
    /// By share number.
    pub(super) memories: HashMap<u64, Rc<ServedMemory>>,
    /// By UCX address.
    pub(super) receivers: HashMap<Vec<u8>, Receiver>,
}

pub(super) struct Receiver {
    pub(super) endpoint: Endpoint,
    pub(super) claim: Claim,
}

/// Cloned by each send to a receiver.
pub(super) type Claim = Rc<()>;

impl Receiver {
    fn is_idle(&self) -> bool {
        Rc::strong_count(&self.claim) == 1
    }
}

impl WorkerSession {
    pub(super) fn is_connected(&self) -> bool {
        self.endpoint.as_ref().is_some_and(|endpoint| !endpoint.is_failed())
    }

    pub(super) fn receiver(
        &mut self,
        worker: &Worker,
        address: &[u8],
    ) -> Result<&Receiver, DocaError> {
        let known = self.receivers.get(address);
        if known.is_none_or(|known| known.endpoint.is_failed()) {
            // SAFETY: from an attached worker, which this host trusts with its memory.
            let parsed = unsafe { WorkerAddress::from_bytes(address) };
            let endpoint = parsed.and_then(|parsed| worker.endpoint().connect(&parsed));
            let endpoint = endpoint.map_err(|error| {
                log!(debug, "memory is not sent where a worker asks for it: {error}");
                DocaError::DRIVER
            })?;
            if self.receivers.len() >= MOST_RECEIVERS {
                // A pending send would delay the close until its receiver takes it.
                let idle = self.receivers.extract_if(|_, receiver| receiver.is_idle());
                idle.for_each(|(_, receiver)| receiver.endpoint.close(CloseMode::Flush));
            }
            let receiver = Receiver { endpoint, claim: Claim::default() };
            self.receivers.insert(address.to_vec(), receiver);
        }
        self.receivers.get(address).ok_or(DocaError::DRIVER)
    }

    /// Closes the connections. Busy receivers are closed by force: they may never take their data.
    pub(super) fn close(&mut self) {
        for (_, receiver) in self.receivers.drain() {
            let mode = if receiver.is_idle() { CloseMode::Flush } else { CloseMode::Force };
            receiver.endpoint.close(mode);
        }
        if let Some(endpoint) = self.endpoint.take() {
            // Pending messages to the worker are lost.
            endpoint.close(CloseMode::Force);
        }
    }
}
