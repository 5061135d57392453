//! The kinds of tasks of contexts without a worker, and their limits.

use std::cell::Cell;

use urom_abi::DocaError;
use urom_abi::host::{
    self, MmapAdviseTaskInvalidateCache, SyncEventTaskGet, SyncEventTaskNotifyAdd,
    SyncEventTaskNotifySet, SyncEventTaskWaitEq, SyncEventTaskWaitNeq, TaskCallback,
};
use urom_wire::control::Failure;

use crate::failure::failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalTaskKind {
    Get,
    NotifySet,
    NotifyAdd,
    WaitEq,
    WaitNeq,
    InvalidateCache,
}

const KINDS: usize = 6;

impl LocalTaskKind {
    /// The beginning of the names of its C functions.
    fn prefix(self) -> &'static str {
        match self {
            LocalTaskKind::Get => "doca_sync_event_task_get",
            LocalTaskKind::NotifySet => "doca_sync_event_task_notify_set",
            LocalTaskKind::NotifyAdd => "doca_sync_event_task_notify_add",
            LocalTaskKind::WaitEq => "doca_sync_event_task_wait_eq",
            LocalTaskKind::WaitNeq => "doca_sync_event_task_wait_neq",
            LocalTaskKind::InvalidateCache => "doca_mmap_advise_task_invalidate_cache",
        }
    }
}

/// A structure of C that stands for tasks of one kind.
pub(crate) trait OfKind {
    const KIND: LocalTaskKind;
}

macro_rules! of_kind {
    ($($object:ident: $kind:ident;)*) => {$(
        impl OfKind for $object {
            const KIND: LocalTaskKind = LocalTaskKind::$kind;
        }
    )*};
}

of_kind! {
    SyncEventTaskGet: Get;
    SyncEventTaskNotifySet: NotifySet;
    SyncEventTaskNotifyAdd: NotifyAdd;
    SyncEventTaskWaitEq: WaitEq;
    SyncEventTaskWaitNeq: WaitNeq;
    MmapAdviseTaskInvalidateCache: InvalidateCache;
}

pub(crate) type TaskEnded = TaskCallback<host::Task>;

fn erased<T: OfKind>(callback: TaskCallback<T>) -> TaskEnded {
    // SAFETY: the two differ in the type behind one pointer, so they are called alike. `LocalTask::complete`
    // calls it with a task of this kind.
    unsafe { std::mem::transmute::<TaskCallback<T>, TaskEnded>(callback) }
}

/// The limit of one kind of tasks, and how many are allocated.
#[derive(Clone, Copy, Default)]
struct Room {
    callbacks: Option<(TaskEnded, TaskEnded)>,
    most: u32,
    out: u32,
}

/// The tasks of a context: how many of each kind there may be, and are.
#[derive(Default)]
pub(crate) struct Tasks {
    rooms: [Cell<Room>; KINDS],
    pub(crate) in_flight: Cell<usize>,
}

impl Tasks {
    fn room(&self, kind: LocalTaskKind) -> &Cell<Room> {
        &self.rooms[kind as usize]
    }

    pub(crate) fn configure<T: OfKind>(
        &self,
        completed: Option<TaskCallback<T>>,
        failed: Option<TaskCallback<T>>,
        most: u32,
    ) -> Result<(), Failure> {
        let (Some(completed), Some(failed), 1..) = (completed, failed, most) else {
            let name = T::KIND.prefix();
            return Err(failure!(
                INVALID_VALUE,
                "{name}_set_conf needs two callbacks and a number of at least 1"
            ));
        };
        let callbacks = Some((erased(completed), erased(failed)));
        self.room(T::KIND).set(Room { callbacks, most, out: 0 });
        Ok(())
    }

    /// Whether the context has tasks, and so needs an engine.
    pub(crate) fn are_configured(&self) -> bool {
        self.rooms.iter().any(|room| room.get().most != 0)
    }

    /// `BAD_CONFIG` for a kind without a limit, `NO_MEMORY` at the limit.
    pub(crate) fn require_room(&self, kind: LocalTaskKind) -> Result<(), DocaError> {
        let (room, name) = (self.room(kind).get(), kind.prefix());
        if room.most == 0 {
            log!(warn, "{name}_alloc_init: call {name}_set_conf before the context is started");
            return Err(DocaError::BAD_CONFIG);
        }
        if room.out == room.most {
            log!(debug, "{name}_alloc_init: all of {} are allocated; free one", room.most);
            return Err(DocaError::NO_MEMORY);
        }
        Ok(())
    }

    pub(crate) fn callback(&self, kind: LocalTaskKind, status: DocaError) -> Option<TaskEnded> {
        let (completed, failed) = self.room(kind).get().callbacks?;
        Some(if status == DocaError::SUCCESS { completed } else { failed })
    }

    pub(crate) fn count(&self, kind: LocalTaskKind, change: impl FnOnce(u32) -> u32) {
        let room = self.room(kind);
        room.update(|now| Room { out: change(now.out), ..now });
    }

    pub(crate) fn are_released(&self) -> bool {
        self.rooms.iter().all(|room| room.get().out == 0)
    }
}
