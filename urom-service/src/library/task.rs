//! Tasks: what every kind begins with, and commands.

use std::cell::{Cell, UnsafeCell};
use std::rc::{Rc, Weak};

use urom_abi::DocaError;
use urom_abi::host::{CmdTaskCallback, Data};

use super::buf::Buffer;
use super::ctx::Context;
use super::run::Run;
use super::shell::{Kind, Mark};
use crate::wire::frame::HEADER_LEN;

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// In nobody's hands, waiting to be allocated again.
    Free,
    /// The caller's, not submitted.
    Held,
    /// The library's, without an answer.
    InFlight,
    /// The library's, about to complete.
    Answered,
    /// The caller's again, with a status.
    Done,
}

/// What all tasks have in common.
pub(super) struct Head {
    pub(super) stage: Cell<Stage>,
    pub(super) status: Cell<DocaError>,
    pub(super) user_data: Cell<Data>,
    pub(super) ctx: Weak<Context>,
}

impl Head {
    pub(super) fn new(ctx: Weak<Context>) -> Head {
        Head {
            stage: Cell::new(Stage::Free),
            status: Cell::new(DocaError::BAD_STATE),
            user_data: Cell::new(Data { u64: 0 }),
            ctx,
        }
    }

    /// Hands the task to a caller, as new.
    pub(super) fn hold(&self) {
        self.stage.set(Stage::Held);
        self.status.set(DocaError::BAD_STATE);
        self.user_data.set(Data { u64: 0 });
    }

    /// What a host sees: nothing before completion.
    pub(super) fn shown_status(&self) -> DocaError {
        match self.stage.get() {
            Stage::InFlight | Stage::Answered => DocaError::IN_PROGRESS,
            _ => self.status.get(),
        }
    }

    /// Whether the caller may submit or release it.
    pub(super) fn is_callers(&self) -> Result<(), DocaError> {
        match self.stage.get() {
            Stage::Held | Stage::Done => Ok(()),
            Stage::InFlight | Stage::Answered => Err(DocaError::NOT_PERMITTED),
            Stage::Free => Err(DocaError::INVALID_VALUE),
        }
    }
}

/// A command: one slot of a connection.
#[repr(C)]
pub(super) struct CmdTask {
    mark: Mark,
    pub(super) head: Head,
    pub(super) slot: u16,
    pub(super) run: Weak<Run>,
    pub(super) plugin: Cell<u64>,
    pub(super) callback: Cell<Option<CmdTaskCallback>>,
    /// UCX reads the payload where it lies. It stays so if the connection ends meanwhile; no host gets the payload then.
    pub(super) sending: Cell<bool>,
    /// Orders tasks by their submission.
    pub(super) serial: Cell<u64>,
    pub(super) payload: Buffer,
    pub(super) response: Buffer,
    pub(super) has_response: Cell<bool>,
    user_area: UnsafeCell<[u64; 4]>,
}

impl Drop for CmdTask {
    fn drop(&mut self) {
        self.withdraw();
    }
}

impl CmdTask {
    /// A new free task with room for payloads of `capacity` bytes. `None` when there is no memory left.
    pub(super) fn new(run: Weak<Run>, ctx: Weak<Context>, slot: u16, capacity: usize) -> Option<Rc<CmdTask>> {
        Some(Rc::new(CmdTask {
            mark: Mark::none(),
            head: Head::new(ctx),
            slot,
            run,
            plugin: Cell::new(0),
            callback: Cell::new(None),
            sending: Cell::new(false),
            serial: Cell::new(0),
            payload: Buffer::new(HEADER_LEN, capacity)?,
            response: Buffer::new(0, 0)?,
            has_response: Cell::new(false),
            user_area: UnsafeCell::new([0; 4]),
        }))
    }

    /// Makes a free task one of another connection. False when there is no memory left.
    #[must_use]
    pub(super) fn renew(&mut self, run: Weak<Run>, ctx: Weak<Context>, slot: u16, capacity: usize) -> bool {
        self.run = run;
        self.head.ctx = ctx;
        self.slot = slot;
        self.sending.set(false);
        self.payload.renew(capacity) && self.response.renew(0)
    }

    /// Gives back all that a free task holds.
    pub(super) fn retire(&mut self) {
        self.run = Weak::new();
        self.head.ctx = Weak::new();
        self.payload.retire();
        self.response.retire();
    }

    /// Hands the task to a caller, as new.
    pub(super) fn hold(&self, plugin: u64) {
        self.mark.set(Kind::Command);
        self.payload.mark().set(Kind::Buffer);
        self.response.mark().set(Kind::Buffer);
        self.head.hold();
        self.plugin.set(plugin);
        self.callback.set(None);
        self.payload.reset();
        self.has_response.set(false);
        // SAFETY: the task was free, so no host has the area's address any more.
        unsafe { *self.user_area.get() = [0; 4] };
    }

    /// Takes the task from its caller: no call finds it, or its buffers, by their pointers any more.
    pub(super) fn withdraw(&self) {
        self.head.stage.set(Stage::Free);
        self.mark.clear();
        self.payload.mark().clear();
        self.response.mark().clear();
    }

    /// The caller's 32 bytes.
    pub(super) fn user_area(&self) -> *mut [u64; 4] {
        self.user_area.get()
    }

    /// Notes how the command ended; `response` is the plugin's notification.
    pub(super) fn answer(&self, status: DocaError, response: Option<&[u8]>) {
        let kept = response.is_none_or(|bytes| self.response.fill(bytes));
        self.has_response.set(kept && response.is_some());
        self.head.status.set(if kept { status } else { DocaError::NO_MEMORY });
        self.head.stage.set(Stage::Answered);
    }
}

/// A command's frame in its own memory, lent to UCX.
pub(super) struct InPlace {
    task: Rc<CmdTask>,
    start: *const u8,
    len: usize,
}

impl InPlace {
    /// The header's room and the payload of a task that is in flight.
    pub(super) fn new(task: &Rc<CmdTask>) -> InPlace {
        let (start, len) = task.payload.whole();
        InPlace { task: Rc::clone(task), start, len }
    }

    pub(super) fn task(&self) -> &CmdTask {
        &self.task
    }
}

// SAFETY: the payload's memory belongs to the task, which this value keeps alive, and is never replaced; only UCX and the
// host touch it, both by pointers and on the thread of the engine. The task is completed after UCX is done with it, and
// until then the host may not write to it. The exception is a connection that ends with the send unfinished: the task
// completes, and UCX may go on reading for as long as it keeps this value. The task is then never allocated again, and
// `get_payload` gives no buffer. A host that writes all the same, by a pointer from before, changes bytes that are sent
// on a connection that was closed by force, and nothing else.
unsafe impl ucx::Buffer for InPlace {
    fn start(&self) -> *const u8 {
        self.start
    }

    fn len(&self) -> usize {
        self.len
    }
}
