//! The sending side of a connection: frames out of task memory or out of the outbox, and what UCX still works on.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use ucx::{AmFlags, Buffer, CloseMode, Endpoint, Request, Status};

use super::outbox::{Outbox, travels_alone};
use super::task::{CmdTask, InPlace};
use crate::wire::frame::{AM_COMMANDS, AM_GREET, HEADER_LEN};

/// The sending side.
#[derive(Default)]
pub(super) struct Sender {
    endpoint: RefCell<Option<Endpoint>>,
    outbox: RefCell<Outbox>,
    under_way: RefCell<VecDeque<UnderWay>>,
}

/// A send that UCX has not finished.
enum UnderWay {
    Message(Request<Vec<u8>>),
    Command(Request<InPlace>),
}

/// Sends commands; gives the buffer back if it is done at once.
fn send<B: Buffer>(endpoint: &Endpoint, data: B) -> Result<Result<B, Request<B>>, Status> {
    match endpoint.am_send_with(AM_COMMANDS, &[], data, AmFlags::EAGER).into_done() {
        Ok((result, data)) => result.map(|()| Ok(data)),
        Err(request) => Ok(Err(request)),
    }
}

impl Sender {
    /// Takes the endpoint over and greets the worker with its own channel number.
    pub(super) fn open(&self, endpoint: Endpoint, their_channel: u16) {
        // If it cannot be sent the endpoint is broken, and says so itself.
        endpoint.am_send_with(AM_GREET, &their_channel.to_le_bytes(), (), AmFlags::EAGER).detach();
        *self.endpoint.borrow_mut() = Some(endpoint);
    }

    /// Whether [`flush`](Sender::flush) and [`collect`](Sender::collect) have something to do.
    pub(super) fn is_busy(&self) -> bool {
        !self.outbox.borrow().is_empty() || !self.under_way.borrow().is_empty()
    }

    /// Sends a task's frame: at once from its own memory when `now` or when it is long, else with others, later. Returns
    /// whether something is left to do.
    pub(super) fn submit(
        &self,
        task: &Rc<CmdTask>,
        header: &[u8; HEADER_LEN],
        now: bool,
    ) -> Result<bool, Status> {
        let len = task.payload.len();
        let alone = travels_alone(len);
        if task.payload.is_at_head() && (alone || (now && self.outbox.borrow().is_empty())) {
            self.flush()?;
            self.send_in_place(task, header)?;
        } else {
            if !self.outbox.borrow().has_room(len) {
                self.flush()?;
            }
            // SAFETY: this is the host's call to submit, so it does not write to the payload.
            unsafe { task.payload.with_data(|payload| self.outbox.borrow_mut().append(header, payload)) };
        }
        Ok(self.is_busy())
    }

    fn send_in_place(&self, task: &Rc<CmdTask>, header: &[u8; HEADER_LEN]) -> Result<(), Status> {
        let endpoint = self.endpoint.borrow();
        let endpoint = endpoint.as_ref().ok_or(Status::NOT_CONNECTED)?;
        task.payload.write_room(header);
        if let Err(request) = send(endpoint, InPlace::new(task))? {
            task.sending.set(true);
            self.under_way.borrow_mut().push_back(UnderWay::Command(request));
        }
        Ok(())
    }

    /// Sends the frames that wait.
    pub(super) fn flush(&self) -> Result<(), Status> {
        let Some(message) = self.outbox.borrow_mut().take() else { return Ok(()) };
        let endpoint = self.endpoint.borrow();
        let endpoint = endpoint.as_ref().ok_or(Status::NOT_CONNECTED)?;
        match send(endpoint, message)? {
            Ok(buffer) => self.outbox.borrow_mut().recycle(buffer),
            Err(request) => self.under_way.borrow_mut().push_back(UnderWay::Message(request)),
        }
        Ok(())
    }

    /// Takes back what UCX is done with. How a send ended does not matter here: a failed one breaks the endpoint.
    pub(super) fn collect(&self) {
        let mut under_way = self.under_way.borrow_mut();
        while let Some(send) = under_way.pop_front() {
            let unfinished = match send {
                UnderWay::Message(request) => match request.into_done() {
                    Ok((_, buffer)) => {
                        self.outbox.borrow_mut().recycle(buffer);
                        continue;
                    }
                    Err(request) => UnderWay::Message(request),
                },
                UnderWay::Command(request) => match request.into_done() {
                    Ok((_, in_place)) => {
                        in_place.task().sending.set(false);
                        continue;
                    }
                    Err(request) => UnderWay::Command(request),
                },
            };
            under_way.push_front(unfinished);
            break;
        }
    }

    /// Closes the endpoint. What waits is dropped; what is under way still arrives if `gracefully`. UCX keeps the memory
    /// of what is under way, for ever if the peer is gone.
    pub(super) fn close(&self, gracefully: bool) {
        self.outbox.borrow_mut().take();
        self.under_way.borrow_mut().clear();
        if let Some(endpoint) = self.endpoint.borrow_mut().take() {
            let mode = if gracefully { CloseMode::Flush } else { CloseMode::Force };
            // It goes on by itself; nobody waits for it.
            drop(endpoint.close(mode));
        }
    }
}
