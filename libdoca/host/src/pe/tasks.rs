//! Task kinds of contexts without a worker, and their limits.

use std::cell::Cell;

use urom_abi::host::{
    self, MmapAdviseTaskInvalidateCache, SyncEventTaskGet, SyncEventTaskNotifyAdd,
    SyncEventTaskNotifySet, SyncEventTaskWaitEq, SyncEventTaskWaitNeq, TaskCallback,
};
use urom_abi::{DocaError, DocaStatus};
use urom_wire::control::Failure;

use crate::failure::failure;

pub(crate) trait OfKind {
    const KIND: LocalTaskKind;
}

/// Defines the kinds: operation, C type and prefix of function names.
macro_rules! kinds {
    ($($kind:ident: $object:ident = $prefix:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum LocalTaskKind {
            $($kind,)*
        }

        const KINDS: usize = [$($prefix),*].len();

        impl LocalTaskKind {
            fn prefix(self) -> &'static str {
                match self {
                    $(LocalTaskKind::$kind => $prefix,)*
                }
            }
        }

        $(
            impl OfKind for $object {
                const KIND: LocalTaskKind = LocalTaskKind::$kind;
            }
        )*
    };
}

kinds! {
    Get: SyncEventTaskGet = "doca_sync_event_task_get";
    NotifySet: SyncEventTaskNotifySet = "doca_sync_event_task_notify_set";
    NotifyAdd: SyncEventTaskNotifyAdd = "doca_sync_event_task_notify_add";
    WaitEq: SyncEventTaskWaitEq = "doca_sync_event_task_wait_eq";
    WaitNeq: SyncEventTaskWaitNeq = "doca_sync_event_task_wait_neq";
    InvalidateCache: MmapAdviseTaskInvalidateCache = "doca_mmap_advise_task_invalidate_cache";
}

pub(crate) type TaskEnded = TaskCallback<host::Task>;

fn erased<T: OfKind>(callback: TaskCallback<T>) -> TaskEnded {
    // SAFETY: the types differ only in a pointer's target, so their ABI is the same.
    // `LocalTask::complete` calls it with a task of this kind.
    unsafe { std::mem::transmute::<TaskCallback<T>, TaskEnded>(callback) }
}

#[derive(Clone, Copy, Default)]
struct KindState {
    callbacks: Option<(TaskEnded, TaskEnded)>,
    most: u32,
    out: u32,
}

#[derive(Default)]
pub(crate) struct LocalTasks {
    states: [Cell<KindState>; KINDS],
    pub(crate) in_flight: Cell<usize>,
}

impl LocalTasks {
    fn state(&self, kind: LocalTaskKind) -> &Cell<KindState> {
        &self.states[kind as usize]
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
        self.state(T::KIND).set(KindState { callbacks, most, out: 0 });
        Ok(())
    }

    pub(crate) fn are_configured(&self) -> bool {
        self.states.iter().any(|state| state.get().most != 0)
    }

    /// `BAD_CONFIG` for a kind without a limit, `NO_MEMORY` at the limit.
    pub(crate) fn require_capacity(&self, kind: LocalTaskKind) -> Result<(), DocaError> {
        let (state, name) = (self.state(kind).get(), kind.prefix());
        if state.most == 0 {
            log!(warn, "{name}_alloc_init: call {name}_set_conf before the context is started");
            return Err(DocaError::BAD_CONFIG);
        }
        if state.out == state.most {
            log!(debug, "{name}_alloc_init: all of {} are allocated; free one", state.most);
            return Err(DocaError::NO_MEMORY);
        }
        Ok(())
    }

    pub(crate) fn callback(&self, kind: LocalTaskKind, status: DocaStatus) -> Option<TaskEnded> {
        let (completed, failed) = self.state(kind).get().callbacks?;
        Some(if status == DocaStatus::SUCCESS { completed } else { failed })
    }

    pub(crate) fn count(&self, kind: LocalTaskKind, change: impl FnOnce(u32) -> u32) {
        let state = self.state(kind);
        state.update(|now| KindState { out: change(now.out), ..now });
    }

    pub(crate) fn are_released(&self) -> bool {
        self.states.iter().all(|state| state.get().out == 0)
    }
}
