//! The result of a task: its status, and the notification in its memory.

use std::cell::Cell;
use std::ptr::NonNull;
use std::rc::Rc;

use urom_abi::protocol::Incoming;
use urom_abi::{DocaStatus, Payload};

use crate::task::Task;
use crate::worker::{Context, Owner, RawReply, Slot, SlotState, TaskEnd};

pub(crate) enum Response<'a> {
    Arrived(DocaStatus, Arrived<'a>),
    /// A copied notification, or none: the task was released before a future took it.
    Held(RawReply),
    /// The program cancelled the task or its deadline passed.
    Cancelled(TaskEnd),
}

impl<'a> Response<'a> {
    #[inline]
    pub(crate) fn of(task: Task<'a>) -> Response<'a> {
        let (context, (status, bytes)) = (task.context, task.end());
        let cancelled = task.cancelled();
        let slot = task.into_slot();
        if let Some(bytes) = bytes {
            return Response::Arrived(
                status,
                Arrived { context, slot, bytes, kept: Cell::new(false) },
            );
        }
        let end = match cancelled {
            Some(end) => Response::Cancelled(end),
            None => Response::Held(RawReply { status, bytes: None, why: context.why(slot) }),
        };
        // UCX may still read the command of a task that ended with its connection.
        context.release(slot);
        context.give_back(slot);
        end
    }

    pub(crate) fn into_reply(self) -> RawReply {
        match self {
            Response::Arrived(status, arrived) => {
                let why = arrived.why(status);
                RawReply { status, bytes: Some((&arrived).bytes().to_vec()), why }
            }
            Response::Held(reply) => reply,
            Response::Cancelled(end) => {
                let why =
                    if let TaskEnd::Inherited(why) = end { why.to_string() } else { String::new() };
                RawReply { status: end.code().into(), bytes: None, why }
            }
        }
    }
}

/// A notification in its task's memory. Dropping it returns the task unless a payload keeps that.
pub(crate) struct Arrived<'a> {
    context: &'a Context,
    slot: &'a Slot,
    bytes: NonNull<[u8]>,
    kept: Cell<bool>,
}

impl<'a> Arrived<'a> {
    /// The fast path for a task with `SUCCESS` in a library that shows it without a call.
    #[inline]
    pub(crate) fn of(context: &'a Context, slot: &'a Slot) -> Option<Arrived<'a>> {
        if slot.state.get() != SlotState::Complete || slot.is_released.get() {
            return None;
        }
        // SAFETY: the task is not released, so the library keeps this memory.
        let end = unsafe { slot.end?.read() };
        if end.status != DocaStatus::SUCCESS {
            return None;
        }
        let data = NonNull::new(end.response.cast::<u8>())?;
        slot.state.set(SlotState::Idle);
        let bytes = NonNull::slice_from_raw_parts(data, end.length);
        Some(Arrived { context, slot, bytes, kept: Cell::new(false) })
    }
}

impl Arrived<'_> {
    pub(crate) fn why(&self, status: DocaStatus) -> String {
        if status == DocaStatus::SUCCESS { String::new() } else { self.context.why(self.slot) }
    }
}

impl Drop for Arrived<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.kept.get() {
            self.context.give_back(self.slot);
        }
    }
}

/// The payload keeps the task and its worker. An error changes nothing.
impl Incoming for &Arrived<'_> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        // SAFETY: the task's memory lives until the task's release, which follows the drop of this
        // response or of a payload that keeps the task; it is not written meanwhile.
        unsafe { self.bytes.as_ref() }
    }

    fn into_payload(self, from: usize) -> Payload {
        if from >= self.bytes().len() {
            return Payload::default();
        }
        let mut payload = match self.context.keeper() {
            Some(owner) => {
                self.kept.set(true);
                keep(owner, self.slot, self.bytes)
            }
            // The worker is stopping and must release its tasks, so the bytes are copied.
            None => Payload::from(self.bytes()),
        };
        payload.advance(from);
        payload
    }
}

fn keep(owner: Rc<Owner>, slot: &Slot, bytes: NonNull<[u8]>) -> Payload {
    owner.held.update(|tasks| tasks + 1);
    let words = [Rc::into_raw(owner).cast(), std::ptr::from_ref(slot).cast()];
    // SAFETY: the response is writable memory of the task until its release, without other borrows:
    // only the payload has the task now. `release` gets the task and its owner on this thread, as
    // payloads are not `Send`.
    unsafe { Payload::foreign(bytes, words, release) }
}

/// # Safety
/// Only once, with the words of [`keep`].
unsafe fn release([owner, slot]: [*const (); 2]) {
    // SAFETY: `keep` made the pointer from an `Rc`, which is restored once, here.
    let owner = unsafe { Rc::from_raw(owner.cast::<Owner>()) };
    // SAFETY: the slot belongs to this owner, which is kept.
    let slot = unsafe { &*slot.cast::<Slot>() };
    // `keep` took over the task, which is complete.
    owner.give_back(slot);
    owner.held.update(|tasks| tasks - 1);
}
