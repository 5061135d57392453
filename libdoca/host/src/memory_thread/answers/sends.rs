//! Memory that UCX is sending, to and for workers.

use std::cell::OnceCell;
use std::rc::Rc;

use ucx::{Context, Features, Outside, Request, Status, Worker};
use urom_abi::DocaError;

use super::session::Claim;
use super::{ServedMemory, ServerState};

pub(super) struct PendingSend {
    pub(super) token: u128,
    pub(super) number: u64,
    pub(super) sent: Request<Outside<Rc<ServedMemory>>>,
    /// The receiver's; `None` for the answer to a read.
    pub(super) claim: Option<Claim>,
}

pub(super) fn sender(slot: &OnceCell<Worker>) -> Result<&Worker, DocaError> {
    if let Some(sender) = slot.get() {
        return Ok(sender);
    }
    let builder = Context::builder(Features::TAG | Features::WAKEUP).name("urom-memory-sender");
    // Shared memory's queues differ in size. Longer TCP segments overflow UCX's default of 64 KiB.
    let builder = builder.without_shared_memory().config("TCP_TX_SEG_SIZE", "64K");
    let context = builder.config("TCP_RX_SEG_SIZE", "512K").build();
    let sender = context.and_then(|context| context.worker()).map_err(|error| {
        log!(warn, "memory cannot be sent for workers: {error}");
        DocaError::DRIVER
    })?;
    Ok(slot.get_or_init(|| sender))
}

impl ServerState {
    /// Answers completed sends. Returns whether anything completed.
    pub(super) fn finish(&mut self) -> bool {
        let in_flight = self.in_flight.extract_if(.., |(_, answer)| answer.is_done());
        let in_flight: Vec<(u128, Request<()>)> = in_flight.collect();
        let done: Vec<PendingSend> =
            self.sends.extract_if(.., |send| send.sent.is_done()).collect();
        let any = !done.is_empty() || !in_flight.is_empty();
        for (token, answer) in in_flight {
            if let Ok((Err(_), ())) = answer.into_done() {
                self.owe(token);
            }
        }
        for PendingSend { token, number, sent, claim } in done {
            let result = match sent.into_done() {
                Ok((Ok(()), _)) if claim.is_none() => continue,
                Ok((Ok(()), _)) => Ok(0),
                Ok((Err(Status::CANCELED), _)) => Err(DocaError::CONNECTION_RESET),
                Ok((Err(_), _)) | Err(_) => Err(DocaError::IO_FAILED),
            };
            self.answer(token, number, result);
        }
        any
    }
}
