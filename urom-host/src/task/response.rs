//! What a task ended with: a status, and the notification's bytes with the memory they lie in.

use std::cell::Cell;
use std::ptr::NonNull;
use std::rc::Rc;

use urom_abi::protocol::Incoming;
use urom_abi::{DocaError, Payload};

use crate::task::Task;
use crate::worker::{Context, End, Owner, RawReply, Slot, SlotState};

pub(crate) enum Response<'a> {
    /// A notification with this status.
    Arrived(DocaError, Arrived<'a>),
    /// One that was copied, because its task had to be released before anybody took it, or none.
    Held(RawReply),
    /// The program gave the task up.
    GivenUp(End),
}

impl<'a> Response<'a> {
    #[inline]
    pub(crate) fn of(task: Task<'a>) -> Response<'a> {
        let (context, (status, bytes)) = (task.context, task.end());
        let given_up = task.given_up();
        let slot = task.into_slot();
        if let Some(bytes) = bytes {
            return Response::Arrived(
                status,
                Arrived { context, slot, bytes, kept: Cell::new(false) },
            );
        }
        let end = match given_up {
            Some(end) => Response::GivenUp(end),
            None => Response::Held(RawReply { status, bytes: None, why: context.why(slot) }),
        };
        // UCX may still read the command of a task that ended with its connection, and the library
        // does not take a cancelled task again.
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
            Response::GivenUp(end) => {
                let why =
                    if let End::Inherited(why) = end { why.to_string() } else { String::new() };
                RawReply { status: end.code(), bytes: None, why }
            }
        }
    }
}

/// A notification in its task's memory. Dropping it gives the task back, unless a payload took that
/// over.
pub(crate) struct Arrived<'a> {
    context: &'a Context,
    slot: &'a Slot,
    bytes: NonNull<[u8]>,
    kept: Cell<bool>,
}

impl<'a> Arrived<'a> {
    /// Takes the task of a slot if it is complete with `SUCCESS`, and the library shows that
    /// without a call: the usual end, for speed. Otherwise nothing changes.
    #[inline]
    pub(crate) fn of(context: &'a Context, slot: &'a Slot) -> Option<Arrived<'a>> {
        if slot.state.get() != SlotState::Complete || slot.is_released.get() {
            return None;
        }
        // SAFETY: the library keeps the place for as long as the task is live, and it is not
        // released.
        let end = unsafe { slot.end?.read() };
        if end.status != DocaError::SUCCESS {
            return None;
        }
        let data = NonNull::new(end.response.cast::<u8>())?;
        slot.state.set(SlotState::Idle);
        let bytes = NonNull::slice_from_raw_parts(data, end.length);
        Some(Arrived { context, slot, bytes, kept: Cell::new(false) })
    }
}

impl Arrived<'_> {
    /// Why the command failed; empty when nobody said so.
    pub(crate) fn why(&self, status: DocaError) -> String {
        if status == DocaError::SUCCESS { String::new() } else { self.context.why(self.slot) }
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

/// The payload keeps the task, and with it the worker. An error leaves everything as it was.
impl Incoming for &Arrived<'_> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        // SAFETY: the task's own memory until that is released, which does not happen before the
        // response is dropped or a payload has the task; nobody writes to it meanwhile.
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
            // The worker is stopping, and cannot become idle before its tasks are released.
            None => Payload::from(self.bytes()),
        };
        payload.advance(from);
        payload
    }
}

/// The task's response as a payload that releases the task when it is dropped.
fn keep(owner: Rc<Owner>, slot: &Slot, bytes: NonNull<[u8]>) -> Payload {
    owner.held.update(|tasks| tasks + 1);
    let words = [Rc::into_raw(owner).cast(), std::ptr::from_ref(slot).cast()];
    // SAFETY: the response is writable memory of the task until that is released, and no borrow of
    // it is left: nobody else knows the task from here on. `release` gets it and its owner back on
    // this thread, as payloads are not `Send`.
    unsafe { Payload::foreign(bytes, words, release) }
}

/// # Safety
/// Once, with the words of [`keep`].
unsafe fn release([owner, slot]: [*const (); 2]) {
    // SAFETY: `keep` made the pointer of an `Rc`, and this is its one return.
    let owner = unsafe { Rc::from_raw(owner.cast::<Owner>()) };
    // SAFETY: the slot is one of this owner's, which is kept.
    let slot = unsafe { &*slot.cast::<Slot>() };
    // `keep` gave the task up, and it is complete.
    owner.give_back(slot);
    owner.held.update(|tasks| tasks - 1);
}
