//! The task slots of a connection: made when first needed, used again for ever.

use std::rc::Rc;

/// Slots by number. A slot's number travels with the command and comes back with the notification.
pub(super) struct Slots<T> {
    all: Vec<Rc<T>>,
    free: Vec<u16>,
    limit: usize,
}

impl<T> Slots<T> {
    /// No slots yet, and room for `limit` (at most 65536).
    pub(super) fn new(limit: usize) -> Slots<T> {
        Slots { all: Vec::new(), free: Vec::new(), limit }
    }

    /// A slot for the caller: the one that was given back last, or a new one. `None` when as many as may be are out.
    pub(super) fn allocate(&mut self, make: impl FnOnce(u16) -> Option<Rc<T>>) -> Option<Rc<T>> {
        if let Some(number) = self.free.pop() {
            return self.get(number).cloned();
        }
        if self.all.len() >= self.limit {
            return None;
        }
        let slot = make(u16::try_from(self.all.len()).ok()?)?;
        // Room for every slot's return now, so that returning one never allocates.
        self.free.reserve(self.all.len() + 1);
        self.all.push(Rc::clone(&slot));
        Some(slot)
    }

    /// Gives a slot back. It must be out.
    pub(super) fn release(&mut self, number: u16) {
        debug_assert!(!self.free.contains(&number));
        self.free.push(number);
    }

    /// The slot of a number that came back.
    pub(super) fn get(&self, number: u16) -> Option<&Rc<T>> {
        self.all.get(usize::from(number))
    }

    /// How many slots are out.
    pub(super) fn out(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Gives up all slots.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Rc<T>> {
        self.free.clear();
        self.all.drain(..)
    }

    /// Every slot that was ever made.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Rc<T>> {
        self.all.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(slots: &mut Slots<u16>) -> Option<u16> {
        slots.allocate(|number| Some(Rc::new(number))).map(|slot| *slot)
    }

    #[test]
    fn slots_are_made_up_to_the_limit_and_then_used_again() {
        let mut slots = Slots::new(3);
        assert_eq!([number(&mut slots), number(&mut slots), number(&mut slots)], [Some(0), Some(1), Some(2)]);
        assert_eq!((number(&mut slots), slots.out()), (None, 3));
        slots.release(1);
        assert_eq!((number(&mut slots), number(&mut slots)), (Some(1), None));
    }

    #[test]
    fn the_largest_limit_gives_65536_slots() {
        let mut slots = Slots::new(1 << 16);
        for expected in 0..=u16::MAX {
            assert_eq!(number(&mut slots), Some(expected));
        }
        assert_eq!(number(&mut slots), None);
    }

    #[test]
    fn a_number_that_was_never_made_is_nobody() {
        let mut slots = Slots::new(4);
        assert!(slots.get(0).is_none());
        number(&mut slots);
        assert!(slots.get(0).is_some() && slots.get(1).is_none() && slots.get(u16::MAX).is_none());
    }

    #[test]
    fn a_slot_that_cannot_be_made_takes_no_place() {
        let mut slots: Slots<u16> = Slots::new(1);
        assert!(slots.allocate(|_| None).is_none());
        assert_eq!(slots.out(), 0);
        assert_eq!(number(&mut slots), Some(0));
    }
}
