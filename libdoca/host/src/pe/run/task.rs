//! Tasks: the common head of all kinds, and commands.

pub(crate) mod queue;

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::time::Instant;

use urom_abi::DocaError;
use urom_abi::host::{self, CMD_TASK_AREA as AREA, CmdTaskCallback, CmdTaskEnd, Data};
use urom_wire::envelope::Envelope;
use urom_wire::frame::{CommandStart, DEADLINE_LEN, HEADER_LEN, Header};

use crate::buf::Buffer;
use crate::handle::{Opaque, Tag, borrow, object};
use crate::pe::run::{PluginBit, Run};

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Free for the next allocation.
    Free,
    /// Submitted, without a response.
    InFlight,
    /// Answered, and about to complete.
    Answered,
    /// A graph's instance submits it later.
    Planned,
    /// With the caller, not submitted.
    Held,
    /// With the caller again, completed.
    Done,
}

pub(crate) struct Head {
    pub(crate) stage: Cell<Stage>,
    /// A graph's instance submitted it, and learns of its end in place of the callback.
    pub(crate) in_graph: Cell<bool>,
    pub(crate) status: Cell<DocaError>,
    pub(crate) user_data: Cell<Data>,
}

impl Head {
    pub(crate) fn new() -> Head {
        Head {
            stage: Cell::new(Stage::Free),
            in_graph: Cell::new(false),
            status: Cell::new(DocaError::BAD_STATE),
            user_data: Cell::default(),
        }
    }

    #[inline]
    pub(crate) fn hold(&self) {
        self.stage.set(Stage::Held);
        self.status.set(DocaError::BAD_STATE);
        self.user_data.take();
    }

    /// The status that a host sees: none before completion.
    #[inline]
    pub(crate) fn shown_status(&self) -> DocaError {
        match self.stage.get() {
            Stage::InFlight | Stage::Answered | Stage::Planned => DocaError::IN_PROGRESS,
            _ => self.status.get(),
        }
    }

    #[inline]
    pub(crate) fn is_callers(&self) -> Result<(), DocaError> {
        match self.stage.get() {
            Stage::Held | Stage::Done => Ok(()),
            stage => Err(stage.refusal()),
        }
    }
}

impl Stage {
    #[cold]
    fn refusal(self) -> DocaError {
        if self == Stage::Free { DocaError::INVALID_VALUE } else { DocaError::NOT_PERMITTED }
    }
}

/// The end of a task that has not ended, or has no response.
const NO_END: CmdTaskEnd =
    CmdTaskEnd { status: DocaError::BAD_STATE, given_up: 0, response: ptr::null_mut(), length: 0 };

/// A command: one slot of a connection, which makes it once and frees it.
///
/// The fields that a command uses from its submission to its end are in the first cache lines.
#[repr(C, align(64))]
pub(crate) struct CmdTask {
    tag: Tag,
    pub(crate) head: Head,
    /// Its number on the wire. A command that is given up keeps the number, so the task loses it.
    pub(crate) slot: Cell<Option<u16>>,
    /// UCX reads the payload in place, or a part of the frame waits for room in the ring. With UCX
    /// this stays set if the connection ends meanwhile, and then no host gets the payload.
    pub(crate) sending: Cell<bool>,
    /// Whether somebody said why the command failed.
    is_explained: Cell<bool>,
    /// Its connection ended while UCX read the payload, which is freed when UCX is done.
    orphan: Cell<bool>,
    /// The frame's header without the length; `None` without a plugin that the worker has.
    pub(crate) start: Cell<Option<CommandStart>>,
    pub(crate) callback: Cell<Option<CmdTaskCallback>>,
    /// The connection it is a slot of: null, or a run that still exists. See [`run`](CmdTask::run).
    run: Cell<*const Run>,
    /// How many nanoseconds the command has from its submit on; 0 for ever.
    pub(crate) left: Cell<u64>,
    /// When they are over, if ever.
    pub(crate) deadline: Cell<Option<Instant>>,
    pub(crate) serial: Cell<u64>,
    /// The next one of its [queue](queue::Queue).
    next: Cell<Option<CmdTaskRef>>,
    /// How it ended, for hosts that read it in place. Valid while the task is `Done`; the address
    /// never changes.
    pub(crate) end: Cell<CmdTaskEnd>,
    pub(crate) payload: Buffer,
    pub(crate) response: Buffer,
    /// The host's: DOCA's user data in front, [`AREA`] bytes for a host that knows of it.
    pub(crate) user_area: UserArea,
    /// Why the command failed, if [`is_explained`](CmdTask::is_explained).
    why: RefCell<String>,
}

object!(CmdTask, Command);

/// Memory of the host's in a task.
#[repr(C, align(64))]
pub(crate) struct UserArea(UnsafeCell<[u64; AREA / 8]>);

impl UserArea {
    #[inline]
    pub(crate) fn start(&self) -> *mut c_void {
        self.0.get().cast()
    }
}

/// A command of a connection.
///
/// Queues, UCX and the host refer to commands while their connection lives, and [`Flight`] frees
/// them at its end: a connection ends only once the host has none of them, and none is in flight.
/// UCX alone may read a payload for longer, and then [`InPlace`] frees the command.
///
/// [`Flight`]: crate::pe::run::flight::Flight
#[derive(Clone, Copy)]
pub(crate) struct CmdTaskRef(NonNull<CmdTask>);

impl Deref for CmdTaskRef {
    type Target = CmdTask;

    #[inline]
    fn deref(&self) -> &CmdTask {
        // SAFETY: the connection keeps the command until nothing refers to it, as described above.
        unsafe { self.0.as_ref() }
    }
}

impl Opaque for host::CmdTask {
    type Found<'a> = CmdTaskRef;

    #[inline]
    unsafe fn find<'a>(pointer: *const Self) -> Result<Self::Found<'a>, DocaError> {
        // SAFETY: the caller's promise.
        let task: &CmdTask = unsafe { borrow(pointer) }?;
        Ok(CmdTaskRef(NonNull::from(task)))
    }
}

impl PartialEq for CmdTaskRef {
    fn eq(&self, other: &CmdTaskRef) -> bool {
        self.0 == other.0
    }
}

impl CmdTaskRef {
    /// A new free task, of no connection, with room for payloads of `capacity` bytes. `None` when
    /// there is no memory left.
    pub(crate) fn new(slot: u16, capacity: usize) -> Option<CmdTaskRef> {
        let task = Box::new(CmdTask {
            tag: Tag::of::<CmdTask>(),
            head: Head::new(),
            slot: Cell::new(Some(slot)),
            sending: Cell::new(false),
            is_explained: Cell::new(false),
            orphan: Cell::new(false),
            start: Cell::new(None),
            callback: Cell::new(None),
            run: Cell::new(ptr::null()),
            left: Cell::new(0),
            deadline: Cell::new(None),
            serial: Cell::new(0),
            next: Cell::new(None),
            end: Cell::new(NO_END),
            payload: Buffer::new(ROOM, capacity)?,
            response: Buffer::new(0, 0)?,
            user_area: UserArea(UnsafeCell::new([0; AREA / 8])),
            why: RefCell::default(),
        });
        Some(CmdTaskRef(NonNull::from(Box::leak(task))))
    }

    /// C's pointer to it.
    #[inline]
    pub(crate) fn as_c<C>(self) -> *mut C {
        self.0.as_ptr().cast()
    }

    /// Ends the command with its connection. One whose payload UCX reads is freed when UCX is done.
    ///
    /// # Safety
    /// Neither the host nor a queue uses it again.
    pub(crate) unsafe fn end(self) {
        self.run.set(ptr::null());
        if self.sending.get() {
            self.orphan.set(true);
            return;
        }
        // SAFETY: from a box in `new`; the caller promises that nothing refers to it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl CmdTask {
    /// Makes it a slot of a connection.
    ///
    /// # Safety
    /// The run ends the task before it goes away.
    pub(crate) unsafe fn join(&self, run: *const Run) {
        self.run.set(run);
    }

    /// The connection it is a slot of; `None` once that is gone.
    #[inline]
    pub(crate) fn run(&self) -> Option<&Run> {
        // SAFETY: `join` asks of a run that it ends its tasks before it goes away.
        // It does not go away under this reference either: a worker lets go of its run when it is
        // started again or destroyed, and it is idle then: the host has released all its tasks.
        unsafe { self.run.get().as_ref() }
    }

    /// Hands the task to a caller, as new.
    #[inline]
    pub(crate) fn hold(&self, start: Option<CommandStart>) {
        self.head.hold();
        self.start.set(start);
        self.callback.set(None);
        self.set_limit(0);
        self.is_explained.set(false);
        self.payload.reset();
        self.end.set(NO_END);
        // SAFETY: the task was free, so no host has the area's address any more.
        unsafe { *self.user_area.0.get() = [0; AREA / 8] };
    }

    /// The time that each later command of this task has, in nanoseconds; 0 for ever.
    #[inline]
    pub(crate) fn set_limit(&self, left: u64) {
        self.left.set(left);
        self.deadline.set(None);
    }

    pub(crate) fn set_plugin(&self, plugin: u64) {
        let start = |run: &Run| {
            let start = |(PluginBit(bit), slot)| CommandStart::new(slot, bit);
            run.plugin(plugin).zip(self.slot.get()).map(start)
        };
        self.start.set(self.run().and_then(start));
    }

    /// Notes that the host does not wait for the answer. The task has no number any more, so it
    /// can only be released.
    #[cold]
    pub(crate) fn give_up(&self, code: DocaError) {
        self.slot.set(None);
        self.start.set(None);
        self.answer(code, None);
        self.end.set(CmdTaskEnd { given_up: 1, ..self.end.get() });
    }

    /// The header of its frame.
    #[inline]
    pub(crate) fn header(&self, start: CommandStart) -> Header {
        match self.left.get() {
            0 => start.header(self.payload.len()),
            _ => start.header_with_deadline(self.payload.len()),
        }
    }

    /// Notes how the command ended; `response` is the plugin's notification.
    #[inline]
    pub(crate) fn answer(&self, status: DocaError, response: Option<&[u8]>) {
        let end = match response {
            Some(payload) if self.response.fill(payload) => CmdTaskEnd {
                status,
                given_up: 0,
                response: self.response.data().cast(),
                length: payload.len(),
            },
            Some(_) => CmdTaskEnd { status: DocaError::NO_MEMORY, ..NO_END },
            None => CmdTaskEnd { status, ..NO_END },
        };
        self.head.status.set(end.status);
        self.end.set(end);
        self.head.stage.set(Stage::Answered);
    }

    /// Notes why the command failed.
    #[cold]
    pub(crate) fn explain(&self, why: &[u8]) {
        *self.why.borrow_mut() = String::from_utf8_lossy(why).replace(char::is_control, " ");
        self.is_explained.set(true);
    }

    /// Forgets what an earlier command of this task failed with.
    #[inline]
    pub(crate) fn begin(&self) {
        self.is_explained.set(false);
    }

    /// Runs `f` with the reason why the command failed; empty unless somebody said so and the host
    /// has the task again.
    pub(crate) fn with_failure<R>(&self, f: impl FnOnce(&str) -> R) -> R {
        match self.is_explained.get() && self.head.stage.get() == Stage::Done {
            true => f(&self.why.borrow()),
            false => f(""),
        }
    }

    /// Whether the host has it again with a notification in [`response`](CmdTask::response).
    #[inline]
    pub(crate) fn has_response(&self) -> bool {
        self.head.stage.get() == Stage::Done && !self.end.get().response.is_null()
    }
}

/// Bytes in front of a payload, for the connection's envelope, the frame's header and a deadline.
const ROOM: usize = Envelope::LEN + HEADER_LEN + DEADLINE_LEN;

/// A command's frame in its own memory, lent to UCX.
pub(crate) struct InPlace {
    task: CmdTaskRef,
    start: *const u8,
    len: usize,
}

impl InPlace {
    /// The payload of a task that is in flight, behind the connection's envelope, the frame's
    /// header and the time that is left, unless that is 0.
    #[inline]
    pub(crate) fn new(task: CmdTaskRef, header: Header, left: u64, envelope: Envelope) -> InPlace {
        let mut ahead = 0;
        if left != 0 {
            task.payload.write_room(&left.to_le_bytes(), 0);
            ahead = DEADLINE_LEN;
        }
        task.payload.write_room(&header.word().to_le_bytes(), ahead);
        task.payload.write_room(&envelope.to_bytes(), ahead + HEADER_LEN);
        let (start, len) = task.payload.whole(Envelope::LEN + HEADER_LEN + ahead);
        InPlace { task, start, len }
    }
}

impl Drop for InPlace {
    #[inline]
    fn drop(&mut self) {
        if self.task.sending.replace(false) && self.task.orphan.get() {
            // SAFETY: its connection ended it, so only UCX referred to it, by this value.
            unsafe { self.task.end() };
        }
    }
}

// SAFETY: the payload's memory belongs to the task, and is never replaced while UCX has this value:
// a connection that goes meanwhile leaves it to `drop`. Only UCX and the host touch it, both by
// pointers and on the thread of the engine, so never at the same time. The task is completed after
// UCX is done with it, and until then the host may not write to it. There are two exceptions, in
// which the task completes and UCX may go on reading for as long as it keeps this value: a
// connection that ends with the send unfinished, whose task is never allocated again, and a command
// that is given up, whose task is not allocated before UCX is done. `get_payload` gives no buffer
// in either. A host that writes all the same, by a pointer from before, writes to memory that is
// still there, between two reads of UCX's: the worker may be sent a command with bytes that were
// written later, or with a part of them where a device reads meanwhile.
unsafe impl ucx::Buffer for InPlace {
    #[inline]
    fn start(&self) -> *const u8 {
        self.start
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_whose_connection_ends_stays_until_ucx_is_done() {
        let task = CmdTaskRef::new(1, 100).unwrap();
        task.hold(None);
        let in_place = InPlace::new(task, Header::from_word(0), 0, Envelope::default());
        task.sending.set(true);
        // SAFETY: no queue has it.
        unsafe { task.end() };
        assert_eq!((in_place.task.payload.len(), in_place.task.orphan.get()), (100, true));
        // The address sanitizer and valgrind see whether this frees it.
        drop(in_place);
    }

    #[test]
    fn a_task_without_a_connection_has_no_plugin() {
        let task = CmdTaskRef::new(1, 100).unwrap();
        task.set_plugin(1);
        assert!(task.start.get().is_none() && task.run().is_none());
        // SAFETY: no queue has it.
        unsafe { task.end() };
    }
}
