//! Where the futures of one worker and the completions of its tasks meet.
//!
//! A future that is in flight has a slot, and its task carries the slot's number. Slots are used again, so a task costs
//! no memory of its own.

use std::ptr::NonNull;
use std::task::Waker;

use urom_abi::DocaError;
use urom_abi::host::CmdTask;

/// One future's side of its task.
pub(crate) enum Slot {
    /// Nobody's; the next free one follows.
    Free(Option<u32>),
    /// In flight. The waker is there once the future was polled.
    Pending(Option<Waker>),
    /// In flight, and its future is gone.
    Abandoned,
    /// Complete: the task, and with it its response, waits for the future to take it.
    Complete(NonNull<CmdTask>),
    /// Complete, and copied out of a task that had to be released because its worker stopped.
    Copied(Answer),
}

/// What a task ended with, in memory of its own.
///
/// ```
/// use urom_host::{Answer, DocaError};
///
/// fn show(answer: &Answer) {
///     match (&answer.bytes, answer.status) {
///         (Some(bytes), DocaError::SUCCESS) => println!("{} bytes", bytes.len()),
///         (Some(bytes), status) => println!("the plugin refused ({status}), with {} bytes", bytes.len()),
///         (None, status) => println!("no notification came: {status}"),
///     }
/// }
/// show(&Answer { status: DocaError::CONNECTION_RESET, bytes: None });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The notification's status, or why there was none.
    pub status: DocaError,
    /// The notification's bytes; `None` when the task ended without one.
    pub bytes: Option<Vec<u8>>,
}

#[derive(Default)]
pub(crate) struct Slots {
    entries: Vec<Slot>,
    free: Option<u32>,
}

impl Slots {
    pub(crate) fn with_capacity(capacity: usize) -> Slots {
        Slots { entries: Vec::with_capacity(capacity), free: None }
    }

    /// Takes a slot for a task that is about to be submitted.
    pub(crate) fn insert(&mut self) -> u32 {
        match self.free {
            Some(index) => {
                let slot = std::mem::replace(&mut self.entries[index as usize], Slot::Pending(None));
                self.free = if let Slot::Free(next) = slot { next } else { None };
                index
            }
            None => {
                self.entries.push(Slot::Pending(None));
                (self.entries.len() - 1) as u32
            }
        }
    }

    pub(crate) fn get(&mut self, index: u32) -> &mut Slot {
        &mut self.entries[index as usize]
    }

    /// Frees a slot and gives out what was in it.
    pub(crate) fn remove(&mut self, index: u32) -> Slot {
        let next = self.free.replace(index);
        std::mem::replace(&mut self.entries[index as usize], Slot::Free(next))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.entries.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again_before_new_ones_are_made() {
        let mut slots = Slots::with_capacity(2);
        let (a, b) = (slots.insert(), slots.insert());
        assert_eq!((a, b), (0, 1));
        slots.remove(a);
        slots.remove(b);
        assert_eq!((slots.insert(), slots.insert(), slots.insert()), (1, 0, 2));
    }

    #[test]
    fn a_slot_keeps_what_is_put_into_it() {
        let mut slots = Slots::default();
        let index = slots.insert();
        *slots.get(index) = Slot::Abandoned;
        assert!(matches!(slots.remove(index), Slot::Abandoned));
        assert!(matches!(slots.get(index), Slot::Free(None)));
    }
}
