//! A slot, the user data of a worker's task, connects it with its future or callback.
//!
//! This project's library has memory for the slot in the task; else slots are boxes. If the library
//! allows it, a slot keeps its task, so that commands allocate nothing in steady state. Everything
//! belongs to one thread.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::task::Waker;
use std::time::Instant;

use urom_abi::host::{Buf, CMD_TASK_AREA, CmdTask, CmdTaskEnd, Task};
use urom_os::fork::Inherited;

use super::raw_reply::RawReply;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SlotState {
    /// Ready for the next command, or used by the program.
    Idle,
    /// A future waits for the task in flight.
    Waiting,
    /// A callback waits for the task in flight.
    Calling,
    /// The task is complete; its future has not taken it.
    Complete,
    /// The future or callback gets the slot's [`TaskEnd`]. The task may be in flight.
    Cancelled,
    /// The task is in flight, and its answer will be discarded.
    Dropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskEnd {
    /// The deadline passed, this many nanoseconds after the submission.
    TimedOut(u64),
    Cancelled,
    Inherited(Inherited),
}

/// # Safety
/// The callback was stored together with this function and has not been taken.
pub(crate) type Deliver<C> = unsafe fn(&C, &Slot<C>);

/// The bytes of a slot for a callback: 32 of its own data, and 8 for its command's name.
pub(crate) const CALLBACK_ROOM: usize = 40;

#[derive(Clone, Copy)]
pub(crate) struct TaskPayload {
    pub(crate) buffer: NonNull<Buf>,
    pub(crate) data: NonNull<u8>,
    pub(crate) capacity: usize,
}

/// A command without a callback uses only the first cache line of its slot.
#[repr(C, align(64))]
pub(crate) struct Slot<C> {
    pub(crate) state: Cell<SlotState>,
    pub(crate) is_released: Cell<bool>,
    pub(crate) length: Cell<u32>,
    pub(crate) serial: Cell<u64>,
    pub(crate) plugin: Cell<u64>,
    pub(crate) task: NonNull<Task>,
    pub(crate) data: NonNull<u8>,
    /// The memory of the task's result, if the library shows it.
    pub(crate) end: Option<NonNull<CmdTaskEnd>>,
    pub(crate) waker: Cell<Option<Waker>>,
    next: Cell<Option<NonNull<Slot<C>>>>,
    pub(crate) capacity: usize,
    pub(crate) command: NonNull<CmdTask>,
    pub(crate) payload: NonNull<Buf>,
    /// The limit of each command in nanoseconds; 0 means none.
    pub(crate) limit: Cell<u64>,
    /// The deadline, for a library without deadlines.
    pub(crate) deadline: Cell<Option<Instant>>,
    /// The reason of an early end, for a library without deadlines.
    pub(crate) cancelled: Cell<Option<TaskEnd>>,
    /// The answer of a task released because its worker stopped.
    pub(crate) reply: Cell<Option<Box<RawReply>>>,
    /// Set in the state `Calling`.
    pub(crate) deliver: Cell<Option<Deliver<C>>>,
    callback: UnsafeCell<[MaybeUninit<u64>; CALLBACK_ROOM / 8]>,
}

const _: () = assert!(size_of::<Slot<()>>() <= CMD_TASK_AREA && align_of::<Slot<()>>() == 64);

impl<C> Slot<C> {
    pub(crate) fn new(
        command: NonNull<CmdTask>,
        task: NonNull<Task>,
        TaskPayload { buffer, data, capacity }: TaskPayload,
        end: Option<NonNull<CmdTaskEnd>>,
        plugin: u64,
    ) -> Slot<C> {
        Slot {
            state: Cell::new(SlotState::Idle),
            is_released: Cell::new(false),
            length: Cell::new(u32::MAX),
            serial: Cell::new(0),
            plugin: Cell::new(plugin),
            task,
            data,
            end,
            waker: Cell::new(None),
            next: Cell::new(None),
            capacity,
            command,
            payload: buffer,
            limit: Cell::new(0),
            deadline: Cell::new(None),
            cancelled: Cell::new(None),
            reply: Cell::new(None),
            deliver: Cell::new(None),
            callback: UnsafeCell::new([MaybeUninit::uninit(); CALLBACK_ROOM / 8]),
        }
    }

    #[inline]
    pub(crate) fn callback(&self) -> NonNull<u64> {
        NonNull::from(&self.callback).cast()
    }

    #[inline]
    pub(crate) fn is_pending(&self) -> bool {
        self.state.get() == SlotState::Waiting
    }

    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        // SAFETY: the slot belongs to this thread, and no other reference to the waker exists.
        unsafe { &*self.waker.as_ptr() }.is_some()
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        !self.is_released.get()
            && matches!(self.state.get(), SlotState::Cancelled | SlotState::Dropped)
    }
}

pub(crate) struct Slots<C> {
    /// Slots with an unreleased task, and all boxes.
    all: RefCell<Vec<NonNull<Slot<C>>>>,
    ready: Cell<Option<NonNull<Slot<C>>>>,
    spare: Cell<Option<NonNull<Slot<C>>>>,
    are_boxes: bool,
}

impl<C> Slots<C> {
    pub(crate) fn new(are_boxes: bool) -> Slots<C> {
        let (ready, spare) = (Cell::new(None), Cell::new(None));
        Slots { all: RefCell::default(), ready, spare, are_boxes }
    }

    #[inline]
    fn pop(list: &Cell<Option<NonNull<Slot<C>>>>) -> Option<NonNull<Slot<C>>> {
        let slot = list.get()?;
        // SAFETY: a slot on a list has its task or is a box, so it has not moved.
        list.set(unsafe { slot.as_ref() }.next.get());
        Some(slot)
    }

    #[inline]
    fn push(list: &Cell<Option<NonNull<Slot<C>>>>, slot: &Slot<C>) {
        slot.state.set(SlotState::Idle);
        slot.next.set(list.replace(Some(NonNull::from(slot))));
    }

    #[inline]
    pub(crate) fn take_ready(&self) -> Option<&Slot<C>> {
        // SAFETY: the task is not released while the program has it.
        Slots::pop(&self.ready).map(|slot| unsafe { slot.as_ref() })
    }

    #[inline]
    pub(crate) fn put_ready(&self, slot: &Slot<C>) {
        Slots::push(&self.ready, slot);
    }

    /// The library keeps the area as long as the worker.
    /// # Safety
    /// The area belongs to the task, and has [`CMD_TASK_AREA`] bytes.
    pub(crate) unsafe fn add(&self, slot: Slot<C>, area: Option<NonNull<c_void>>) -> &Slot<C> {
        let slot_pointer = match (area, Slots::pop(&self.spare)) {
            (Some(area), _) => area.cast::<Slot<C>>(),
            (None, Some(spare)) => spare,
            (None, None) => {
                let new = NonNull::from(Box::leak(Box::<Slot<C>>::new_uninit())).cast();
                self.all.borrow_mut().push(new);
                new
            }
        };
        if area.is_some() {
            self.all.borrow_mut().push(slot_pointer);
        }
        // SAFETY: memory of this size, the caller's or a box. An earlier slot in it has nothing to
        // drop, as its task is released.
        unsafe { slot_pointer.write(slot) };
        // SAFETY: just written.
        unsafe { slot_pointer.as_ref() }
    }

    pub(crate) fn remove(&self, slot: &Slot<C>) {
        slot.is_released.set(true);
        if self.are_boxes {
            return;
        }
        let slot_pointer = NonNull::from(slot);
        let mut all = self.all.borrow_mut();
        if let Some(at) = all.iter().position(|known| *known == slot_pointer) {
            all.swap_remove(at);
        }
    }

    /// Takes a slot after [`remove`](Slots::remove), with the last reference to it.
    pub(crate) fn put_spare(&self, slot: &Slot<C>) {
        slot.state.set(SlotState::Idle);
        if self.are_boxes {
            Slots::push(&self.spare, slot);
        }
    }

    /// The slots. Callers may add and remove slots during the iteration.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Slot<C>> {
        let all = self.all.borrow().clone();
        // SAFETY: slots do not move until this is dropped, with or without a task.
        all.into_iter().map(|slot| unsafe { slot.as_ref() })
    }
}

impl<C> Drop for Slots<C> {
    fn drop(&mut self) {
        for slot in self.all.get_mut().drain(..).filter(|_| self.are_boxes) {
            // SAFETY: it came from a box. The worker and all futures have ended, so this is the
            // last reference.
            drop(unsafe { Box::from_raw(slot.as_ptr()) });
        }
    }
}
