//! The sending side of a connection: frames from task memory or from the outbox, and sends that UCX
//! has not finished.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use ucx::{AmFlags, CloseMode, Endpoint, Request, Status};
use urom_wire::frame::{AM_COMMANDS, AM_GREET, HEADER_LEN};
use urom_wire::pass::Pass;

use crate::outbox::{Message, Outbox, travels_alone};
use crate::pe::run::task::{CmdTask, InPlace};

/// The most commands that share a message: more gain nothing.
const MOST_TOGETHER: usize = 32;

/// How many commands share a message. Through shared memory, where a message costs little, half of
/// the host's tasks: the worker handles one half while the host prepares the other. Elsewhere a
/// message costs more than the commands in it.
#[inline]
fn share(is_near: bool, tasks: usize) -> usize {
    if is_near { (tasks / 2).clamp(1, MOST_TOGETHER) } else { MOST_TOGETHER }
}

#[derive(Default)]
pub(crate) struct Sender {
    endpoint: RefCell<Option<Endpoint>>,
    pass: Cell<Pass>,
    outbox: Outbox,
    is_near: Cell<bool>,
    under_way: RefCell<VecDeque<UnderWay>>,
    busy: Cell<bool>,
}

/// A send that UCX has not finished.
enum UnderWay {
    Message(Request<Message>),
    Command(Request<InPlace>),
}

impl Sender {
    /// Takes the endpoint over and greets the worker with its own channel number.
    pub(crate) fn open(&self, endpoint: Endpoint, their_channel: u16, pass: Pass) {
        self.pass.set(pass);
        self.outbox.begin_with(pass);
        self.is_near.set(endpoint.is_in_shared_memory().unwrap_or(false));
        // If it cannot be sent, the endpoint is broken and reports it.
        endpoint.am_send_with(AM_GREET, &their_channel.to_le_bytes(), (), AmFlags::EAGER).detach();
        *self.endpoint.borrow_mut() = Some(endpoint);
    }

    /// Whether [`tend`](Sender::tend) has something to do.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.get()
    }

    /// Sends a task's frame: at once from the task's memory when `now` or when it is long, else
    /// together with others, as soon as enough share a message or later. `tasks` counts those that
    /// the host has and those in flight.
    #[inline]
    pub(crate) fn submit(
        &self,
        task: &'static CmdTask,
        header: [u8; HEADER_LEN],
        now: bool,
        tasks: usize,
    ) -> Result<(), Status> {
        let (at_head, now) = (task.payload.is_at_head(), now && self.outbox.is_empty());
        if now && at_head {
            return self.send_in_place(task, header);
        }
        if at_head && travels_alone(task.payload.len()) || !self.append(task, header) {
            return self.submit_behind(task, header, at_head);
        }
        if self.outbox.frames() >= share(self.is_near.get(), tasks) {
            return self.flush();
        }
        self.busy.set(true);
        Ok(())
    }

    /// The same for a frame that does not fit behind those that wait.
    #[cold]
    fn submit_behind(
        &self,
        task: &'static CmdTask,
        header: [u8; HEADER_LEN],
        at_head: bool,
    ) -> Result<(), Status> {
        self.flush()?;
        if at_head && travels_alone(task.payload.len()) {
            return self.send_in_place(task, header);
        }
        let appended = self.append(task, header);
        debug_assert!(appended, "an empty message takes any frame");
        self.busy.set(true);
        Ok(())
    }

    #[inline]
    fn append(&self, task: &CmdTask, header: [u8; HEADER_LEN]) -> bool {
        // SAFETY: this is the host's call to submit, so it does not write to the payload.
        unsafe { task.payload.with_data(|payload| self.outbox.append(header, payload)) }
    }

    #[inline(always)]
    fn send_in_place(
        &self,
        task: &'static CmdTask,
        header: [u8; HEADER_LEN],
    ) -> Result<(), Status> {
        let endpoint = self.endpoint.borrow();
        let endpoint = endpoint.as_ref().ok_or(Status::NOT_CONNECTED)?;
        let pass = self.pass.get();
        match endpoint.am_send_now(
            AM_COMMANDS,
            &[],
            InPlace::new(task, header, pass),
            AmFlags::EAGER,
        ) {
            Ok((result, in_place)) => {
                // It holds nothing, and the task was not marked as being read.
                std::mem::forget(in_place);
                result
            }
            Err(request) => {
                task.sending.set(true);
                self.goes_on(UnderWay::Command(request));
                Ok(())
            }
        }
    }

    #[inline(never)]
    fn flush(&self) -> Result<(), Status> {
        let Some(message) = self.outbox.take() else { return Ok(()) };
        let endpoint = self.endpoint.borrow();
        let endpoint = endpoint.as_ref().ok_or(Status::NOT_CONNECTED)?;
        match endpoint.am_send_now(AM_COMMANDS, &[], message, AmFlags::EAGER) {
            Ok((result, buffer)) => {
                self.outbox.recycle(buffer);
                result
            }
            Err(request) => {
                self.goes_on(UnderWay::Message(request));
                Ok(())
            }
        }
    }

    #[cold]
    fn goes_on(&self, send: UnderWay) {
        self.busy.set(true);
        self.under_way.borrow_mut().push_back(send);
    }

    pub(crate) fn tend(&self) -> Result<(), Status> {
        self.collect();
        let flushed = self.flush();
        self.busy.set(!self.outbox.is_empty() || !self.under_way.borrow().is_empty());
        flushed
    }

    /// Takes back finished sends. Their status does not matter: a failed send breaks the endpoint.
    fn collect(&self) {
        let mut under_way = self.under_way.borrow_mut();
        while let Some(send) = under_way.pop_front() {
            let unfinished = match send {
                UnderWay::Message(request) => match request.into_done() {
                    Ok((_, buffer)) => {
                        self.outbox.recycle(buffer);
                        continue;
                    }
                    Err(request) => UnderWay::Message(request),
                },
                UnderWay::Command(request) => match request.into_done() {
                    // Dropping it marks the task as sent.
                    Ok(_) => continue,
                    Err(request) => UnderWay::Command(request),
                },
            };
            under_way.push_front(unfinished);
            break;
        }
    }

    /// Closes the endpoint and drops what waits. If something waited, or without `gracefully`,
    /// sends under way may be lost, too. Through shared memory the worker already has what was
    /// sent, and UCX detaches the worker's memory only if forced.
    pub(crate) fn close(&self, gracefully: bool) {
        let unfinished = self.outbox.take().is_some() | !self.under_way.take().is_empty();
        let gracefully = gracefully && !unfinished;
        self.busy.set(false);
        if let Some(endpoint) = self.endpoint.borrow_mut().take() {
            // If UCX cannot tell, holding memory for longer is better than losing a command on
            // another transport.
            let in_shared_memory = endpoint.is_in_shared_memory().unwrap_or(false);
            let mode = match gracefully && !in_shared_memory {
                true => CloseMode::Flush,
                false => CloseMode::Force,
            };
            // It goes on by itself; nobody waits for it.
            endpoint.close(mode);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_tasks_share_a_message_through_shared_memory() {
        for (tasks, expected) in [(0, 1), (1, 1), (3, 1), (4, 2), (8, 4), (64, 32), (1000, 32)] {
            assert_eq!(share(true, tasks), expected, "of {tasks}");
            assert_eq!(share(false, tasks), MOST_TOGETHER, "of {tasks}");
        }
    }
}
