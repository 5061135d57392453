//! Tasks: the common head of all kinds, and commands.

pub(crate) mod queue;

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::time::Instant;

use urom_abi::host::{self, CMD_TASK_AREA as AREA, CmdTaskCallback, CmdTaskEnd, Data};
use urom_abi::{DocaError, DocaStatus};
use urom_wire::envelope::Envelope;
use urom_wire::frame::{CommandStart, DEADLINE_LEN, HEADER_LEN, Header};

use crate::buf::TaskBuffer;
use crate::handle::{ObjectTag, Opaque, borrow, object};
use crate::pe::run::{PluginBit, WorkerRun};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskStage {
    /// Free for the next allocation.
    Free,
    /// Submitted, without a response.
    InFlight,
    /// Answered but not completed.
    Answered,
    /// Reserved by a graph's instance, which submits it later.
    Planned,
    /// Owned by the caller, not submitted.
    Held,
    /// Owned by the caller, completed.
    Done,
}

pub(crate) struct Head {
    pub(crate) stage: Cell<TaskStage>,
    /// Submitted by a graph's instance, which gets the result instead of the callback.
    pub(crate) in_graph: Cell<bool>,
    pub(crate) status: Cell<DocaStatus>,
    pub(crate) user_data: Cell<Data>,
}

impl Head {
    pub(crate) fn new() -> Head {
        Head {
            stage: Cell::new(TaskStage::Free),
            in_graph: Cell::new(false),
            status: Cell::new(DocaStatus::BAD_STATE),
            user_data: Cell::default(),
        }
    }

    #[inline]
    pub(crate) fn hold(&self) {
        self.stage.set(TaskStage::Held);
        self.status.set(DocaStatus::BAD_STATE);
        self.user_data.take();
    }

    /// Returns the host-visible status: `IN_PROGRESS` before completion.
    #[inline]
    pub(crate) fn shown_status(&self) -> DocaStatus {
        match self.stage.get() {
            TaskStage::InFlight | TaskStage::Answered | TaskStage::Planned => {
                DocaStatus::IN_PROGRESS
            }
            _ => self.status.get(),
        }
    }

    #[inline]
    pub(crate) fn is_callers(&self) -> Result<(), DocaError> {
        match self.stage.get() {
            TaskStage::Held | TaskStage::Done => Ok(()),
            stage => Err(stage.refusal()),
        }
    }
}

impl TaskStage {
    #[cold]
    fn refusal(self) -> DocaError {
        if self == TaskStage::Free { DocaError::INVALID_VALUE } else { DocaError::NOT_PERMITTED }
    }
}

/// The end of an unfinished task or a task without a response.
const NO_END: CmdTaskEnd = CmdTaskEnd {
    status: DocaStatus::BAD_STATE,
    cancelled: 0,
    response: ptr::null_mut(),
    length: 0,
};

/// A command: one slot of a connection, which allocates and frees it. The fields in use from
/// submission to end are in the first cache lines.
#[repr(C, align(64))]
pub(crate) struct CmdTask {
    tag: ObjectTag,
    pub(crate) head: Head,
    /// Its number on the wire. A cancelled command keeps the number, so the task loses it.
    pub(crate) slot: Cell<Option<u16>>,
    /// UCX reads the payload in place, or part of the frame waits for the ring. If the connection
    /// ends during a UCX send, this remains set and the payload is not given to a host.
    pub(crate) sending: Cell<bool>,
    /// Whether `why` is valid.
    is_explained: Cell<bool>,
    /// The connection ended while UCX read the payload; freed when UCX is done.
    orphan: Cell<bool>,
    /// The frame's header without the length; `None` if the worker lacks the plugin.
    pub(crate) start: Cell<Option<CommandStart>>,
    pub(crate) callback: Cell<Option<CmdTaskCallback>>,
    /// The connection: null, or a live run. See [`run`](CmdTask::run).
    run: Cell<*const WorkerRun>,
    /// Timeout in nanoseconds from submit on; 0 for none.
    pub(crate) left: Cell<u64>,
    pub(crate) deadline: Cell<Option<Instant>>,
    pub(crate) serial: Cell<u64>,
    /// Next in its [queue](queue::TaskQueue).
    next: Cell<Option<CmdTaskRef>>,
    /// How it ended, for in-place reads. Valid while `Done`; the address never changes.
    pub(crate) end: Cell<CmdTaskEnd>,
    pub(crate) payload: TaskBuffer,
    pub(crate) response: TaskBuffer,
    /// The host's memory: DOCA's user data in front, [`AREA`] bytes for hosts that use it.
    pub(crate) user_area: UserArea,
    /// Failure text, if [`is_explained`](CmdTask::is_explained).
    why: RefCell<String>,
}

object!(CmdTask, Command);

#[repr(C, align(64))]
pub(crate) struct UserArea(UnsafeCell<[u64; AREA / 8]>);

impl UserArea {
    #[inline]
    pub(crate) fn start(&self) -> *mut c_void {
        self.0.get().cast()
    }
}

/// A command of a connection. Queues, UCX and the host refer to commands while their connection
/// lives. The task table frees them at its end, after the host has released all and none is in
/// flight. Only UCX may read a payload for longer; then [`InPlace`] frees the command.
#[derive(Clone, Copy)]
pub(crate) struct CmdTaskRef(NonNull<CmdTask>);

impl Deref for CmdTaskRef {
    type Target = CmdTask;

    #[inline]
    fn deref(&self) -> &CmdTask {
        // SAFETY: the connection keeps the command until its last reference is dropped, as above.
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
    pub(crate) fn new(slot: u16, capacity: usize) -> Option<CmdTaskRef> {
        let task = Box::new(CmdTask {
            tag: ObjectTag::of::<CmdTask>(),
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
            payload: TaskBuffer::new(HEADROOM, capacity)?,
            response: TaskBuffer::new(0, 0)?,
            user_area: UserArea(UnsafeCell::new([0; AREA / 8])),
            why: RefCell::default(),
        });
        Some(CmdTaskRef(NonNull::from(Box::leak(task))))
    }

    #[inline]
    pub(crate) fn as_c<C>(self) -> *mut C {
        self.0.as_ptr().cast()
    }

    /// Frees the command at its connection's end, or when UCX no longer reads its payload.
    ///
    /// # Safety
    /// Neither the host nor a queue uses it again.
    pub(crate) unsafe fn end(self) {
        self.run.set(ptr::null());
        if self.sending.get() {
            self.orphan.set(true);
            return;
        }
        // SAFETY: from a box in `new`; unreferenced by the caller's promise.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl CmdTask {
    /// # Safety
    /// The run ends the task before it is dropped.
    pub(crate) unsafe fn join(&self, run: *const WorkerRun) {
        self.run.set(run);
    }

    /// Returns the task's connection, or `None` after its end.
    #[inline]
    pub(crate) fn run(&self) -> Option<&WorkerRun> {
        // SAFETY: `join` demands that the run ends its tasks before it is dropped. It also outlives
        // this reference: a worker drops its run at the next start or its destruction, while it is
        // idle and the host has released all its tasks.
        unsafe { self.run.get().as_ref() }
    }

    #[inline]
    pub(crate) fn hold(&self, start: Option<CommandStart>) {
        self.head.hold();
        self.start.set(start);
        self.callback.set(None);
        self.set_limit(0);
        self.is_explained.set(false);
        self.payload.reset();
        self.end.set(NO_END);
        // SAFETY: the task was free, so hosts do not have the area's address.
        unsafe { *self.user_area.0.get() = [0; AREA / 8] };
    }

    /// Sets the timeout of the task's next commands in nanoseconds; 0 for none.
    #[inline]
    pub(crate) fn set_limit(&self, left: u64) {
        self.left.set(left);
        self.deadline.set(None);
    }

    pub(crate) fn set_plugin(&self, plugin: u64) {
        let start = |run: &WorkerRun| {
            let start = |(PluginBit(bit), slot)| CommandStart::new(slot, bit);
            run.plugin(plugin).zip(self.slot.get()).map(start)
        };
        self.start.set(self.run().and_then(start));
    }

    /// Cancels the command. The task then lacks a number and can only be released.
    #[cold]
    pub(crate) fn cancel(&self, code: DocaError) {
        self.slot.set(None);
        self.start.set(None);
        self.answer(code.into(), None);
        self.end.set(CmdTaskEnd { cancelled: 1, ..self.end.get() });
    }

    #[inline]
    pub(crate) fn header(&self, start: CommandStart) -> Header {
        match self.left.get() {
            0 => start.header(self.payload.len()),
            _ => start.header_with_deadline(self.payload.len()),
        }
    }

    /// Records the end of the command; `response` is the plugin's notification.
    #[inline]
    pub(crate) fn answer(&self, status: DocaStatus, response: Option<&[u8]>) {
        let end = match response {
            Some(payload) if self.response.fill(payload) => CmdTaskEnd {
                status,
                cancelled: 0,
                response: self.response.data().cast(),
                length: payload.len(),
            },
            Some(_) => CmdTaskEnd { status: DocaStatus::NO_MEMORY, ..NO_END },
            None => CmdTaskEnd { status, ..NO_END },
        };
        self.head.status.set(end.status);
        self.end.set(end);
        self.head.stage.set(TaskStage::Answered);
    }

    #[cold]
    pub(crate) fn explain(&self, why: &[u8]) {
        *self.why.borrow_mut() = String::from_utf8_lossy(why).replace(char::is_control, " ");
        self.is_explained.set(true);
    }

    #[inline]
    pub(crate) fn begin(&self) {
        self.is_explained.set(false);
    }

    /// Runs `f` with the failure text, which is empty unless the task has completed with one.
    pub(crate) fn with_failure<R>(&self, f: impl FnOnce(&str) -> R) -> R {
        match self.is_explained.get() && self.head.stage.get() == TaskStage::Done {
            true => f(&self.why.borrow()),
            false => f(""),
        }
    }

    #[inline]
    pub(crate) fn has_response(&self) -> bool {
        self.head.stage.get() == TaskStage::Done && !self.end.get().response.is_null()
    }
}

/// Bytes before a payload, for envelope, frame header and deadline.
const HEADROOM: usize = Envelope::LEN + HEADER_LEN + DEADLINE_LEN;

/// A command's frame in the task's memory, lent to UCX.
pub(crate) struct InPlace {
    task: CmdTaskRef,
    start: *const u8,
    len: usize,
}

impl InPlace {
    /// A payload in flight, preceded by envelope, frame header and, unless 0, the remaining time.
    #[inline]
    pub(crate) fn new(task: CmdTaskRef, header: Header, left: u64, envelope: Envelope) -> InPlace {
        let mut ahead = 0;
        if left != 0 {
            task.payload.write_headroom(&left.to_le_bytes(), 0);
            ahead = DEADLINE_LEN;
        }
        task.payload.write_headroom(&header.word().to_le_bytes(), ahead);
        task.payload.write_headroom(&envelope.to_bytes(), ahead + HEADER_LEN);
        let (start, len) = task.payload.whole(Envelope::LEN + HEADER_LEN + ahead);
        InPlace { task, start, len }
    }
}

impl Drop for InPlace {
    #[inline]
    fn drop(&mut self) {
        if self.task.sending.replace(false) && self.task.orphan.get() {
            // SAFETY: its connection ended it, so this value was the last reference.
            unsafe { self.task.end() };
        }
    }
}

// SAFETY: the payload's memory belongs to the task, and is never replaced while UCX has this value:
// a connection that ends meanwhile leaves it to `drop`. Only UCX and the host access it, both by
// pointers and on the engine's thread, so never at the same time. The task completes after UCX is
// done with it, and until then the host may not write to it. In two exceptions the task completes
// while UCX may still read: a connection that ends with the send unfinished, whose task is never
// allocated again, and a cancelled command, whose task is not allocated before UCX is done.
// `get_payload` returns no buffer in either case. A host that still writes, by an older pointer,
// writes to live memory between two reads of UCX: the worker may get newer bytes, or a part of them
// if a device reads meanwhile.
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
        // SAFETY: the task is not in a queue.
        unsafe { task.end() };
        assert_eq!((in_place.task.payload.len(), in_place.task.orphan.get()), (100, true));
        // The address sanitizer and valgrind check that this frees it.
        drop(in_place);
    }

    #[test]
    fn a_task_without_a_connection_has_no_plugin() {
        let task = CmdTaskRef::new(1, 100).unwrap();
        task.set_plugin(1);
        assert!(task.start.get().is_none() && task.run().is_none());
        // SAFETY: the task is not in a queue.
        unsafe { task.end() };
    }
}
