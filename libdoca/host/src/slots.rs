//! The task slots of a connection: made when first needed, then reused.

use std::cell::Cell;

use crate::list::{Linked, Stack};

/// Slots by number. A slot's number travels with the command and comes back with the notification.
pub(super) struct Slots<T: Linked> {
    all: Box<[Cell<Option<&'static T>>]>,
    /// How many there are.
    made: Cell<usize>,
    free: Stack<T>,
    out: Cell<usize>,
}

impl<T: Linked> Slots<T> {
    /// No slots yet, and room for `limit` (at most 65536).
    pub(super) fn new(limit: usize) -> Slots<T> {
        Slots {
            all: (0..limit).map(|_| Cell::new(None)).collect(),
            made: Cell::new(0),
            free: Stack::new(),
            out: Cell::new(0),
        }
    }

    /// A slot for the caller: the one that was given back last, or a new one. `None` at the limit.
    #[inline]
    pub(super) fn allocate(
        &self,
        make: impl FnOnce(u16) -> Option<&'static T>,
    ) -> Option<&'static T> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => self.add(make)?,
        };
        self.out.set(self.out.get() + 1);
        Some(slot)
    }

    #[cold]
    fn add(&self, make: impl FnOnce(u16) -> Option<&'static T>) -> Option<&'static T> {
        let made = self.made.get();
        let place = self.all.get(made)?;
        let slot = make(u16::try_from(made).ok()?)?;
        place.set(Some(slot));
        self.made.set(made + 1);
        Some(slot)
    }

    /// Gives a slot back. It must be one of these, and out.
    #[inline]
    pub(super) fn release(&self, slot: &'static T) {
        self.free.push(slot);
        self.out.set(self.out.get() - 1);
    }

    /// The slot with this number.
    #[inline]
    pub(super) fn get(&self, number: u16) -> Option<&'static T> {
        self.all.get(usize::from(number))?.get()
    }

    /// How many slots are out.
    #[inline]
    pub(super) fn out(&self) -> usize {
        self.out.get()
    }

    /// Every slot that was ever made.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'static T> {
        self.all.iter().map_while(Cell::get)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Slot(u16, Cell<Option<&'static Slot>>);

    impl Linked for Slot {
        fn next(&self) -> &Cell<Option<&'static Slot>> {
            &self.1
        }
    }

    fn allocate(slots: &Slots<Slot>) -> Option<&'static Slot> {
        slots.allocate(|number| Some(Box::leak(Box::new(Slot(number, Cell::new(None))))))
    }

    fn number(slots: &Slots<Slot>) -> Option<u16> {
        allocate(slots).map(|slot| slot.0)
    }

    #[test]
    fn slots_are_made_up_to_the_limit_and_then_used_again() {
        let slots = Slots::new(3);
        assert_eq!([number(&slots), number(&slots), number(&slots)], [Some(0), Some(1), Some(2)]);
        assert_eq!((number(&slots), slots.out()), (None, 3));
        slots.release(slots.get(1).unwrap());
        assert_eq!((number(&slots), number(&slots)), (Some(1), None));
    }

    #[test]
    fn the_largest_limit_gives_65536_slots() {
        let slots = Slots::new(1 << 16);
        for expected in 0..=u16::MAX {
            assert_eq!(number(&slots), Some(expected));
        }
        assert_eq!(number(&slots), None);
        assert_eq!(slots.iter().count(), 1 << 16);
    }

    #[test]
    fn a_number_that_was_never_made_is_nobody() {
        let slots = Slots::new(4);
        assert!(slots.get(0).is_none());
        number(&slots);
        assert!(slots.get(0).is_some() && slots.get(1).is_none() && slots.get(u16::MAX).is_none());
    }

    #[test]
    fn a_slot_that_cannot_be_made_takes_no_place() {
        let slots: Slots<Slot> = Slots::new(1);
        assert!(slots.allocate(|_| None).is_none());
        assert_eq!(slots.out(), 0);
        assert_eq!(number(&slots), Some(0));
    }
}
