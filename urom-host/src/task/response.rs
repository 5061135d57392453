//! What a completed task ended with: a status, and the notification's bytes with the memory they lie in.

use std::ptr::NonNull;
use std::rc::Rc;

use urom_abi::host::CmdTask;
use urom_abi::protocol::Incoming;
use urom_abi::{DocaError, Payload};

use crate::task::Task;
use crate::worker::{Answer, Owner};

/// The end of a task. Dropping it releases the task, unless a payload took that over.
pub(crate) struct Response<'a> {
    status: DocaError,
    memory: Memory<'a>,
}

enum Memory<'a> {
    /// The task's own, if there was a notification.
    Task(Task<'a>, Option<NonNull<[u8]>>),
    /// A copy, because the task had to be released before anybody took its answer.
    Copied(Option<Vec<u8>>),
    /// A payload's.
    Taken,
}

impl<'a> Response<'a> {
    pub(crate) fn of(task: Task<'a>) -> Response<'a> {
        let bytes = task.response();
        Response { status: task.status(), memory: Memory::Task(task, bytes) }
    }

    pub(crate) fn copied(answer: Answer) -> Response<'a> {
        Response { status: answer.status, memory: Memory::Copied(answer.bytes) }
    }

    pub(crate) fn status(&self) -> DocaError {
        self.status
    }

    /// The notification's bytes; `None` when there was no notification.
    pub(crate) fn reply(&self) -> Option<&[u8]> {
        match &self.memory {
            // SAFETY: the response is the task's own memory until it is released, which `self` does not do before the
            // borrow ends; nobody writes to it meanwhile.
            Memory::Task(_, bytes) => bytes.map(|bytes| unsafe { bytes.as_ref() }),
            Memory::Copied(bytes) => bytes.as_deref(),
            Memory::Taken => None,
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
    fn bytes(&self) -> &[u8] {
        self.reply().unwrap_or_default()
    }

    fn into_payload(self, from: usize) -> Payload {
        if from >= self.bytes().len() {
            return Payload::default();
        }
        let mut payload = match std::mem::replace(&mut self.memory, Memory::Taken) {
            Memory::Task(task, Some(bytes)) => match task.context().keeper() {
                Some(owner) => keep(owner, task, bytes),
                // The worker is stopping, and cannot become idle before its tasks are released.
                // SAFETY: as in `reply`; the task is released at the end of this arm.
                None => Payload::from(unsafe { bytes.as_ref() }),
            },
            Memory::Copied(Some(bytes)) => Payload::from(bytes),
            Memory::Task(_, None) | Memory::Copied(None) | Memory::Taken => Payload::default(),
        };
        payload.advance(from);
        payload
    }
}

/// The task's response as a payload that releases the task when it is dropped.
fn keep(owner: Rc<Owner>, task: Task<'_>, bytes: NonNull<[u8]>) -> Payload {
    owner.hold();
    let words = [Rc::into_raw(owner).cast(), task.into_raw().as_ptr().cast_const().cast()];
    // SAFETY: the response is writable memory of the task until that is released, and no borrow of it is left: nobody
    // else knows the task from here on. `release` gets it and its owner back on this thread, as payloads are not `Send`.
    unsafe { Payload::foreign(bytes, words, release) }
}

/// # Safety
/// Once, with the words of [`keep`].
unsafe fn release([owner, task]: [*const (); 2]) {
    // SAFETY: `keep` made the pointer of an `Rc`, and this is its one return.
    let owner = unsafe { Rc::from_raw(owner.cast::<Owner>()) };
    if let Some(task) = NonNull::new(task.cast_mut().cast::<CmdTask>()) {
        // SAFETY: the task is complete, and `keep` gave it up.
        drop(unsafe { Task::from_raw(&owner, task) });
    }
    owner.let_go();
}
