//! What a completed task ended with: a status, and the notification's bytes with the memory they
//! lie in.

use std::cell::Cell;
use std::ptr::NonNull;
use std::rc::Rc;

use urom_abi::protocol::Incoming;
use urom_abi::{DocaError, Payload};

use crate::task::{Held, Task};
use crate::worker::{Answer, Context, End, Owner, Slot, State};

/// The end of a task. Dropping it gives the task back, unless a payload took that over.
pub(crate) struct Response<'a> {
    status: DocaError,
    memory: Memory<'a>,
}

enum Memory<'a> {
    /// The task's own, if there was a notification.
    Task(Held<'a>, Option<NonNull<[u8]>>),
    /// A copy, because the task had to be released before anybody took its answer.
    Copied(Option<Vec<u8>>),
    Taken,
    /// None, because the program gave the task up.
    Ended(End),
}

impl<'a> Response<'a> {
    #[inline]
    pub(crate) fn of(task: Task<'a>) -> Response<'a> {
        let (status, bytes) = task.end();
        if bytes.is_none() {
            // UCX may still read the command of a task that ended with its connection, so the task
            // is not used again.
            task.held.context.release(task.held.slot);
        }
        Response { status, memory: Memory::Task(task.held, bytes) }
    }

    pub(crate) fn copied(answer: Option<Answer>) -> Response<'a> {
        let (status, bytes) =
            answer.map_or((DocaError::UNEXPECTED, None), |answer| (answer.status, answer.bytes));
        Response { status, memory: Memory::Copied(bytes) }
    }

    /// The end of a task that was given up. Its answer may still come.
    pub(crate) fn ended(end: End) -> Response<'a> {
        Response { status: end.code(), memory: Memory::Ended(end) }
    }

    pub(crate) fn end(&self) -> Option<End> {
        match self.memory {
            Memory::Ended(end) => Some(end),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn status(&self) -> DocaError {
        self.status
    }

    /// The notification's bytes; `None` when there was no notification.
    #[inline]
    pub(crate) fn reply(&self) -> Option<&[u8]> {
        match &self.memory {
            // SAFETY: the response is the task's own memory until it is released, which `self` does
            // not do before the borrow ends; nobody writes to it meanwhile.
            Memory::Task(_, bytes) => bytes.map(|bytes| unsafe { bytes.as_ref() }),
            Memory::Copied(bytes) => bytes.as_deref(),
            Memory::Taken | Memory::Ended(_) => None,
        }
    }

    /// Both, with bytes of their own.
    pub(crate) fn into_answer(self) -> Answer {
        match self.memory {
            Memory::Copied(bytes) => Answer { status: self.status, bytes },
            _ => Answer { status: self.status, bytes: self.reply().map(<[u8]>::to_vec) },
        }
    }
}

/// The payload keeps the task, and with it the worker. An error leaves everything as it was.
impl Incoming for &mut Response<'_> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.reply().unwrap_or_default()
    }

    fn into_payload(self, from: usize) -> Payload {
        if from >= self.bytes().len() {
            return Payload::default();
        }
        let mut payload = match std::mem::replace(&mut self.memory, Memory::Taken) {
            Memory::Task(task, Some(bytes)) => match task.context.keeper() {
                Some(owner) => keep(owner, task, bytes),
                // The worker is stopping, and cannot become idle before its tasks are released.
                // SAFETY: as in `reply`; the task is released at the end of this arm.
                None => Payload::from(unsafe { bytes.as_ref() }),
            },
            Memory::Copied(Some(bytes)) => Payload::from(bytes),
            Memory::Task(_, None) | Memory::Copied(None) | Memory::Taken | Memory::Ended(_) => {
                Payload::default()
            }
        };
        payload.advance(from);
        payload
    }
}

/// The usual end of a task, a notification with `SUCCESS`: a [`Response`] without its other cases,
/// for speed. Dropping it gives the task back, unless a payload took that over.
pub(crate) struct Arrived<'a> {
    context: &'a Context,
    slot: &'a Slot,
    bytes: NonNull<[u8]>,
    /// A payload has the task.
    kept: Cell<bool>,
}

impl<'a> Arrived<'a> {
    /// Takes the task of a slot if it is complete with `SUCCESS`, and the library shows that
    /// without a call. Otherwise nothing changes.
    #[inline]
    pub(crate) fn of(context: &'a Context, slot: &'a Slot) -> Option<Arrived<'a>> {
        if slot.state.get() != State::Complete {
            return None;
        }
        let end = slot.doca.get()?.end?;
        // SAFETY: the library keeps the place for as long as the task is live, which it is while
        // the slot has it.
        let end = unsafe { end.read() };
        if end.status != DocaError::SUCCESS {
            return None;
        }
        let data = NonNull::new(end.response.cast::<u8>())?;
        slot.state.set(State::Held);
        let bytes = NonNull::slice_from_raw_parts(data, end.length);
        Some(Arrived { context, slot, bytes, kept: Cell::new(false) })
    }

    #[inline]
    pub(crate) fn reply(&self) -> &[u8] {
        // SAFETY: the task's own memory until that is released, which does not happen before `self`
        // is dropped or a payload has the task; nobody writes to it meanwhile.
        unsafe { self.bytes.as_ref() }
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

/// As for `&mut Response`.
impl Incoming for &Arrived<'_> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.reply()
    }

    fn into_payload(self, from: usize) -> Payload {
        if from >= self.reply().len() {
            return Payload::default();
        }
        let mut payload = match self.context.keeper() {
            Some(owner) => {
                self.kept.set(true);
                keep(owner, Held { context: self.context, slot: self.slot }, self.bytes)
            }
            None => Payload::from(self.reply()),
        };
        payload.advance(from);
        payload
    }
}

/// The task's response as a payload that releases the task when it is dropped.
fn keep(owner: Rc<Owner>, task: Held<'_>, bytes: NonNull<[u8]>) -> Payload {
    owner.held.update(|tasks| tasks + 1);
    let slot: *const Slot = task.into_slot();
    let words = [Rc::into_raw(owner).cast(), slot.cast()];
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
    drop(Task::of(&owner, slot));
    owner.held.update(|tasks| tasks - 1);
}
