//! Intrusive lists of tasks: each task has room for one neighbour, and is on at most one list.
//! Tasks are never freed, so a list holds plain references.

use std::cell::Cell;

use crate::pe::run::task::CmdTask;

/// Last in, first out.
#[derive(Default)]
pub(super) struct Stack(Cell<Option<&'static CmdTask>>);

impl Stack {
    /// Adds what is on no list.
    #[inline]
    pub(super) fn push(&self, new: &'static CmdTask) {
        new.next.set(self.0.replace(Some(new)));
    }

    #[inline]
    pub(super) fn pop(&self) -> Option<&'static CmdTask> {
        let top = self.0.get()?;
        self.0.set(top.next.get());
        Some(top)
    }
}

/// First in, first out.
#[derive(Default)]
pub(super) struct Queue {
    first: Cell<Option<&'static CmdTask>>,
    last: Cell<Option<&'static CmdTask>>,
}

impl Queue {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.get().is_none()
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&'static CmdTask> {
        self.first.get()
    }

    /// Adds what is on no list.
    #[inline]
    pub(super) fn push(&self, new: &'static CmdTask) {
        new.next.set(None);
        match self.last.replace(Some(new)) {
            Some(last) if !self.is_empty() => last.next.set(Some(new)),
            _ => self.first.set(Some(new)),
        }
    }

    #[inline]
    pub(super) fn pop(&self) -> Option<&'static CmdTask> {
        let first = self.first.get()?;
        self.first.set(first.next.get());
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pop_all(pop: impl FnMut() -> Option<&'static CmdTask>) -> Vec<u16> {
        std::iter::from_fn(pop).map(CmdTask::slot).collect()
    }

    #[test]
    fn a_stack_gives_back_the_newest_first_and_a_queue_the_oldest() {
        let (stack, queue) = (Stack::default(), Queue::default());
        let all = [0, 1, 2].map(|slot| CmdTask::new(slot, 8).unwrap());
        // The second time it was emptied.
        for _ in 0..2 {
            all.iter().for_each(|task| stack.push(task));
            assert_eq!(pop_all(|| stack.pop()), [2, 1, 0]);
            assert!(queue.is_empty() && queue.pop().is_none());
            queue.push(all[0]);
            queue.push(all[1]);
            assert_eq!(queue.pop().map(CmdTask::slot), Some(0));
            queue.push(all[2]);
            queue.push(all[0]);
            assert_eq!(queue.first().map(CmdTask::slot), Some(1));
            assert_eq!(pop_all(|| queue.pop()), [1, 2, 0]);
        }
    }
}
