//! Where a task of a worker and the future or callback that waits for it meet.
//!
//! Every task has a slot, whose address is the task's user data. This project's library has room
//! for the slot in the task itself; for another library, slots are boxes. Where the library allows
//! it, a slot keeps its task from one command to the next, so that in steady state a command
//! allocates nothing. Everything belongs to one thread.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::task::Waker;
use std::time::Instant;

use urom_abi::host::{Buf, CMD_TASK_AREA, CmdTask, CmdTaskEnd, Task};
use urom_os::fork::Inherited;

use super::raw_reply::RawReply;

/// The state of a slot, by what waits for its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SlotState {
    /// It is ready for the next command, or the program fills or reads it.
    Idle,
    /// A future waits, and the task is in flight.
    Waiting,
    /// A callback waits, and the task is in flight.
    Calling,
    /// The task is complete, and the future has yet to take it.
    Complete,
    /// The future, or the callback, gets the slot's [`End`]. The task may be in flight.
    GivenUp,
    /// The task is in flight, and its answer will be thrown away.
    Dropped,
}

/// Why a task ended without the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Its deadline passed, so many nanoseconds after the submission.
    TimedOut(u64),
    Cancelled,
    /// Its worker was made before a fork.
    Inherited(Inherited),
}

/// Takes the end of a slot's task, as a future does, and gives it to the slot's callback.
///
/// # Safety
/// The slot's callback was stored together with this function and was not taken yet.
pub(crate) type Deliver<C> = unsafe fn(&C, &Slot<C>);

/// The bytes of a slot that hold a callback: 32 of its own data, and 8 for the name of its command.
pub(crate) const CALLBACK_ROOM: usize = 40;

/// A task's payload: its buffer, and the memory of that.
#[derive(Clone, Copy)]
pub(crate) struct TaskPayload {
    pub(crate) buffer: NonNull<Buf>,
    pub(crate) data: NonNull<u8>,
    pub(crate) capacity: usize,
}

/// The place of one task of a worker, whose context is a `C`. A command without a callback uses
/// the first cache line and the task's.
#[repr(C, align(64))]
pub(crate) struct Slot<C> {
    pub(crate) state: Cell<SlotState>,
    /// Whether the library has the task back.
    pub(crate) is_released: Cell<bool>,
    /// How long the command is that the task holds.
    pub(crate) length: Cell<u32>,
    /// The number of the command in its worker.
    pub(crate) serial: Cell<u64>,
    pub(crate) plugin: Cell<u64>,
    pub(crate) task: NonNull<Task>,
    pub(crate) data: NonNull<u8>,
    /// Where the task's end can be read, if the library shows it.
    pub(crate) end: Option<NonNull<CmdTaskEnd>>,
    pub(crate) waker: Cell<Option<Waker>>,
    next: Cell<Option<NonNull<Slot<C>>>>,
    pub(crate) capacity: usize,
    pub(crate) command: NonNull<CmdTask>,
    pub(crate) payload: NonNull<Buf>,
    /// How many nanoseconds each command of the task has; 0 for ever.
    pub(crate) limit: Cell<u64>,
    /// The deadline, for a library without deadlines.
    pub(crate) deadline: Cell<Option<Instant>>,
    /// Why it ended early, for a library without deadlines.
    pub(crate) given_up: Cell<Option<End>>,
    /// The answer of a task that was released because its worker stopped.
    pub(crate) reply: Cell<Option<Box<RawReply>>>,
    /// In the state `Calling`.
    pub(crate) deliver: Cell<Option<Deliver<C>>>,
    callback: UnsafeCell<[MaybeUninit<u64>; CALLBACK_ROOM / 8]>,
}

const _: () = assert!(size_of::<Slot<()>>() <= CMD_TASK_AREA && align_of::<Slot<()>>() == 64);

impl<C> Slot<C> {
    /// The slot of a task that the program has, which is for a plugin.
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
            given_up: Cell::new(None),
            reply: Cell::new(None),
            deliver: Cell::new(None),
            callback: UnsafeCell::new([MaybeUninit::uninit(); CALLBACK_ROOM / 8]),
        }
    }

    /// The memory for a callback: [`CALLBACK_ROOM`] bytes, 8-aligned.
    #[inline]
    pub(crate) fn callback(&self) -> NonNull<u64> {
        NonNull::from(&self.callback).cast()
    }

    /// Whether a future waits for it and has nothing to take yet.
    #[inline]
    pub(crate) fn is_pending(&self) -> bool {
        self.state.get() == SlotState::Waiting
    }

    /// Whether a callback waits for its end.
    pub(crate) fn is_calling(&self) -> bool {
        self.deliver.get().is_some()
    }

    /// Whether its future left a waker.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        // SAFETY: the slot belongs to this thread, and no other reference to the waker exists.
        unsafe { &*self.waker.as_ptr() }.is_some()
    }

    /// Whether its task is in flight, and the answer will be thrown away.
    pub(crate) fn is_given_up(&self) -> bool {
        !self.is_released.get()
            && matches!(self.state.get(), SlotState::GivenUp | SlotState::Dropped)
    }
}

/// The slots of a worker.
pub(crate) struct Slots<C> {
    /// Those whose task the library does not have back, and all boxes.
    all: RefCell<Vec<NonNull<Slot<C>>>>,
    ready: Cell<Option<NonNull<Slot<C>>>>,
    /// Boxes without a task.
    spare: Cell<Option<NonNull<Slot<C>>>>,
    /// Whether slots are boxes.
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
        // SAFETY: a slot on a list has its task or is a box, so it is where it was.
        list.set(unsafe { slot.as_ref() }.next.get());
        Some(slot)
    }

    #[inline]
    fn push(list: &Cell<Option<NonNull<Slot<C>>>>, slot: &Slot<C>) {
        slot.state.set(SlotState::Idle);
        slot.next.set(list.replace(Some(NonNull::from(slot))));
    }

    /// A slot whose task is ready for the next command.
    #[inline]
    pub(crate) fn take_ready(&self) -> Option<&Slot<C>> {
        // SAFETY: its task is not released while the program has it.
        Slots::pop(&self.ready).map(|slot| unsafe { slot.as_ref() })
    }

    #[inline]
    pub(crate) fn put_ready(&self, slot: &Slot<C>) {
        Slots::push(&self.ready, slot);
    }

    /// Puts the slot of a new task into its area, which the library keeps as long as the worker, or
    /// into a box.
    ///
    /// # Safety
    /// The area is the task's, and has as many bytes as [`CMD_TASK_AREA`].
    pub(crate) unsafe fn add(&self, slot: Slot<C>, area: Option<NonNull<c_void>>) -> &Slot<C> {
        let place = match (area, Slots::pop(&self.spare)) {
            (Some(area), _) => area.cast::<Slot<C>>(),
            (None, Some(spare)) => spare,
            (None, None) => {
                let new = NonNull::from(Box::leak(Box::<Slot<C>>::new_uninit())).cast();
                self.all.borrow_mut().push(new);
                new
            }
        };
        if area.is_some() {
            self.all.borrow_mut().push(place);
        }
        // SAFETY: memory of this size, of the caller or of a box of this. An earlier slot in it has
        // nothing that must be dropped, as its task is released.
        unsafe { place.write(slot) };
        // SAFETY: just written.
        unsafe { place.as_ref() }
    }

    /// Takes a slot out whose task is released.
    pub(crate) fn remove(&self, slot: &Slot<C>) {
        slot.is_released.set(true);
        if self.are_boxes {
            return;
        }
        let place = NonNull::from(slot);
        let mut all = self.all.borrow_mut();
        if let Some(at) = all.iter().position(|known| *known == place) {
            all.swap_remove(at);
        }
    }

    /// Takes back a slot after [`remove`](Slots::remove), with the last reference to it.
    pub(crate) fn put_spare(&self, slot: &Slot<C>) {
        slot.state.set(SlotState::Idle);
        if self.are_boxes {
            Slots::push(&self.spare, slot);
        }
    }

    /// The slots. Callers may add and remove slots meanwhile.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Slot<C>> {
        let all = self.all.borrow().clone();
        // SAFETY: slots stay where they are until this is dropped, with or without a task.
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
