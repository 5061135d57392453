//! Where the tasks of one worker and those who wait for them meet.
//!
//! Every task has a slot, whose address is the task's user data. Where the library allows it, a
//! slot keeps its task from one command to the next, so that in steady state a command allocates
//! nothing. Everything belongs to one thread.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::task::Waker;
use std::time::{Duration, Instant};

use urom_abi::host::{Buf, CmdTask, CmdTaskEnd, Task};
use urom_os::fork::Inherited;

use super::raw_reply::RawReply;

/// Who has a slot's task, and who waits for it. The states that a wait polls for come first, so
/// that one comparison finds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotState {
    Waiting,
    /// The same, and the future left its waker.
    Watched,
    /// On one of the lists.
    Unused,
    /// The program has it: it is filled, read, or kept by a payload.
    Held,
    Calling,
    /// In flight, and its callback is to be told that it was cancelled.
    CallCancelled,
    /// In flight, and nobody waits: its future was dropped.
    Dropped,
    /// In flight, and nobody waits: it passed its deadline or was cancelled.
    Late,
    /// In flight, and its future is to be told that it passed its deadline or was cancelled.
    Ended,
    /// The same, but the library has given the task back meanwhile.
    EndedAndBack,
    /// Complete: the task, and with it its response, waits for the future to take it.
    Complete,
    /// Complete, and copied out of a task that had to be released because its worker stopped.
    Copied,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Its deadline passed, this long after the submission.
    TimedOut(Duration),
    Cancelled,
    /// Its future was awaited where nothing progresses the engine.
    Undriven,
    /// Its worker was made before a fork.
    Inherited(Inherited),
}

#[derive(Clone, Copy)]
pub(crate) struct Doca {
    pub(crate) command: NonNull<CmdTask>,
    pub(crate) task: NonNull<Task>,
    pub(crate) payload: NonNull<Buf>,
    pub(crate) data: NonNull<u8>,
    pub(crate) capacity: usize,
    /// Where the task's end can be read, if the library shows it.
    pub(crate) end: Option<NonNull<CmdTaskEnd>>,
}

/// Takes the end of a slot's task, as a future does, and gives it to the slot's callback.
///
/// # Safety
/// The slot's callback was stored together with this function and was not taken yet.
pub(crate) type Deliver<C> = unsafe fn(&C, &Slot<C>);

/// The bytes of a slot that hold a callback: 32 of its own data, and 8 for the name of its command.
pub(crate) const CALLBACK_ROOM: usize = 40;

/// The place of one task of a worker, whose context is a `C`.
pub(crate) struct Slot<C> {
    pub(crate) state: Cell<SlotState>,
    next: Cell<Option<NonNull<Slot<C>>>>,
    pub(crate) doca: Cell<Option<Doca>>,
    pub(crate) length: Cell<usize>,
    pub(crate) plugin: Cell<u64>,
    /// The number of the command, among those that used the slot.
    pub(crate) serial: Cell<u64>,
    /// When the command is given up. Meaningless once it has ended.
    pub(crate) deadline: Cell<Option<Instant>>,
    /// How long after the submission that is.
    pub(crate) limit: Cell<Duration>,
    pub(crate) announced: Cell<Option<Duration>>,
    /// In the states `Ended`, `EndedAndBack` and `CallCancelled`.
    pub(crate) end: Cell<End>,
    /// In the state `Watched`.
    pub(crate) waker: Cell<Option<Waker>>,
    /// In the state `Copied`.
    pub(crate) reply: Cell<Option<RawReply>>,
    /// In the states `Calling` and `CallCancelled`.
    pub(crate) deliver: Cell<Option<Deliver<C>>>,
    callback: UnsafeCell<[MaybeUninit<u64>; CALLBACK_ROOM / 8]>,
}

impl<C> Slot<C> {
    fn new() -> Slot<C> {
        Slot {
            state: Cell::new(SlotState::Unused),
            next: Cell::new(None),
            doca: Cell::new(None),
            length: Cell::new(0),
            plugin: Cell::new(0),
            serial: Cell::new(0),
            deadline: Cell::new(None),
            limit: Cell::new(Duration::ZERO),
            announced: Cell::new(None),
            end: Cell::new(End::Cancelled),
            waker: Cell::new(None),
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
        matches!(self.state.get(), SlotState::Waiting | SlotState::Watched)
    }

    pub(crate) fn is_given_up(&self) -> bool {
        matches!(
            self.state.get(),
            SlotState::Dropped | SlotState::Late | SlotState::Ended | SlotState::CallCancelled
        )
    }
}

/// All slots of a worker. They stay where they are until this is dropped.
pub(crate) struct Slots<C> {
    all: RefCell<Vec<NonNull<Slot<C>>>>,
    ready: Cell<Option<NonNull<Slot<C>>>>,
    empty: Cell<Option<NonNull<Slot<C>>>>,
}

impl<C> Slots<C> {
    pub(crate) fn new() -> Slots<C> {
        Slots { all: RefCell::default(), ready: Cell::new(None), empty: Cell::new(None) }
    }

    #[inline]
    fn pop<'a>(&'a self, list: &Cell<Option<NonNull<Slot<C>>>>) -> Option<&'a Slot<C>> {
        let slot = list.get()?;
        // SAFETY: slots live as long as this, which the borrow keeps.
        let slot = unsafe { slot.as_ref() };
        list.set(slot.next.get());
        slot.state.set(SlotState::Held);
        Some(slot)
    }

    #[inline]
    fn push(list: &Cell<Option<NonNull<Slot<C>>>>, slot: &Slot<C>) {
        slot.state.set(SlotState::Unused);
        slot.next.set(list.replace(Some(NonNull::from(slot))));
    }

    #[inline]
    pub(crate) fn take_ready(&self) -> Option<&Slot<C>> {
        self.pop(&self.ready)
    }

    pub(crate) fn take_empty(&self) -> &Slot<C> {
        if let Some(slot) = self.pop(&self.empty) {
            return slot;
        }
        let new = NonNull::from(Box::leak(Box::new(Slot::new())));
        self.all.borrow_mut().push(new);
        // SAFETY: slots live as long as this, which the borrow keeps.
        let slot = unsafe { new.as_ref() };
        slot.state.set(SlotState::Held);
        slot
    }

    #[inline]
    pub(crate) fn put_ready(&self, slot: &Slot<C>) {
        Slots::push(&self.ready, slot);
    }

    pub(crate) fn put_empty(&self, slot: &Slot<C>) {
        Slots::push(&self.empty, slot);
    }

    /// The slot made as number `index`. Slots may be made while somebody goes through them.
    pub(crate) fn get(&self, index: usize) -> Option<&Slot<C>> {
        let slot = self.all.borrow().get(index).copied()?;
        // SAFETY: slots live as long as this, which the borrow keeps.
        Some(unsafe { slot.as_ref() })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Slot<C>> {
        (0..).map_while(|index| self.get(index))
    }
}

impl<C> Drop for Slots<C> {
    fn drop(&mut self) {
        for slot in self.all.get_mut().drain(..) {
            // SAFETY: it came from a box, and nobody has it any more: the worker and all who wait
            // for it are gone.
            drop(unsafe { Box::from_raw(slot.as_ptr()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    fn take(slots: &Slots<()>) -> &Slot<()> {
        slots.take_empty()
    }

    #[test]
    fn slots_are_used_again_before_new_ones_are_made() {
        let slots = Slots::new();
        let (a, b) = (take(&slots), take(&slots));
        slots.put_empty(a);
        slots.put_empty(b);
        assert!(ptr::eq(take(&slots), b) && ptr::eq(take(&slots), a));
        take(&slots);
        assert_eq!(slots.iter().count(), 3);
    }

    #[test]
    fn a_slot_with_a_task_is_not_taken_for_an_empty_one() {
        let slots = Slots::new();
        let slot = take(&slots);
        assert!(slots.take_ready().is_none());
        slots.put_ready(slot);
        assert!(!ptr::eq(take(&slots), slot));
        assert!(slots.take_ready().is_some_and(|ready| ptr::eq(ready, slot)));
        assert_eq!(slot.state.get(), SlotState::Held);
    }
}
