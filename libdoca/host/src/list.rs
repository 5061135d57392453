//! Intrusive lists of tasks: each task has room for one neighbour, and is on at most one list.

use std::cell::Cell;

/// What can be on a list. It is never freed, so a list holds plain references.
pub(super) trait Linked: 'static {
    /// The next element of the list that contains this one.
    fn next(&self) -> &Cell<Option<&'static Self>>;
}

/// Last in, first out.
pub(super) struct Stack<T: Linked>(Cell<Option<&'static T>>);

impl<T: Linked> Stack<T> {
    pub(super) const fn new() -> Stack<T> {
        Stack(Cell::new(None))
    }

    /// Adds what is on no list.
    #[inline]
    pub(super) fn push(&self, new: &'static T) {
        new.next().set(self.0.replace(Some(new)));
    }

    #[inline]
    pub(super) fn pop(&self) -> Option<&'static T> {
        let top = self.0.get()?;
        self.0.set(top.next().get());
        Some(top)
    }
}

/// First in, first out.
pub(super) struct Queue<T: Linked> {
    first: Cell<Option<&'static T>>,
    /// Valid while there is a first.
    last: Cell<Option<&'static T>>,
}

impl<T: Linked> Queue<T> {
    pub(super) const fn new() -> Queue<T> {
        Queue { first: Cell::new(None), last: Cell::new(None) }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.get().is_none()
    }

    /// The oldest.
    #[inline]
    pub(super) fn first(&self) -> Option<&'static T> {
        self.first.get()
    }

    /// How many there are; it goes through all of them.
    pub(super) fn len(&self) -> usize {
        std::iter::successors(self.first.get(), |at| at.next().get()).count()
    }

    /// Adds what is on no list.
    #[inline]
    pub(super) fn push(&self, new: &'static T) {
        new.next().set(None);
        match self.last.replace(Some(new)) {
            Some(last) if !self.is_empty() => last.next().set(Some(new)),
            _ => self.first.set(Some(new)),
        }
    }

    #[inline]
    pub(super) fn pop(&self) -> Option<&'static T> {
        let first = self.first.get()?;
        self.first.set(first.next().get());
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Number(u32, Cell<Option<&'static Number>>);

    impl Linked for Number {
        fn next(&self) -> &Cell<Option<&'static Number>> {
            &self.1
        }
    }

    fn numbers(count: u32) -> Vec<&'static Number> {
        (0..count).map(|number| &*Box::leak(Box::new(Number(number, Cell::new(None))))).collect()
    }

    #[test]
    fn a_stack_gives_back_the_newest_first() {
        let (stack, all) = (Stack::<Number>::new(), numbers(3));
        all.iter().for_each(|number| stack.push(*number));
        let popped: Vec<u32> = std::iter::from_fn(|| stack.pop()).map(|number| number.0).collect();
        assert_eq!(popped, [2, 1, 0]);
        stack.push(all[1]);
        assert_eq!(stack.pop().map(|number| number.0), Some(1));
        assert!(stack.pop().is_none());
    }

    #[test]
    fn a_queue_gives_back_the_oldest_first_also_after_it_was_empty() {
        let (queue, all) = (Queue::<Number>::new(), numbers(3));
        for _ in 0..3 {
            assert!(queue.is_empty() && queue.pop().is_none());
            queue.push(all[0]);
            queue.push(all[1]);
            assert_eq!(queue.pop().map(|number| number.0), Some(0));
            queue.push(all[2]);
            queue.push(all[0]);
            assert_eq!(queue.first().map(|number| number.0), Some(1));
            let rest: Vec<u32> =
                std::iter::from_fn(|| queue.pop()).map(|number| number.0).collect();
            assert_eq!(rest, [1, 2, 0]);
        }
    }
}
