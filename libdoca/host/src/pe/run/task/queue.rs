//! An intrusive queue of commands: each task is in one queue at most.

use std::cell::Cell;

use super::CmdTaskRef;

#[derive(Default)]
pub(crate) struct TaskQueue {
    first: Cell<Option<CmdTaskRef>>,
    /// Invalid while `first` is `None`.
    last: Cell<Option<CmdTaskRef>>,
}

impl TaskQueue {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.get().is_none()
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<CmdTaskRef> {
        self.first.get()
    }

    pub(crate) fn len(&self) -> usize {
        std::iter::successors(self.first.get(), |task| task.next.get()).count()
    }

    #[inline]
    pub(crate) fn push(&self, task: CmdTaskRef) {
        task.next.set(None);
        let last = self.last.replace(Some(task));
        match last.filter(|_| !self.is_empty()) {
            Some(last) => last.next.set(Some(task)),
            None => self.first.set(Some(task)),
        }
    }

    pub(crate) fn push_first(&self, task: CmdTaskRef) {
        task.next.set(self.first.replace(Some(task)));
        if task.next.get().is_none() {
            self.last.set(Some(task));
        }
    }

    #[inline]
    pub(crate) fn pop(&self) -> Option<CmdTaskRef> {
        let task = self.first.get()?;
        self.first.set(task.next.get());
        Some(task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_come_out_in_the_order_in_which_they_went_in() {
        let (queue, tasks) =
            (TaskQueue::default(), [1, 2, 3].map(|at| CmdTaskRef::new(at, 8).unwrap()));
        for _ in 0..2 {
            assert!(queue.is_empty() && queue.pop().is_none());
            queue.push(tasks[0]);
            queue.push(tasks[1]);
            assert_eq!((queue.len(), queue.pop().and_then(|task| task.slot.get())), (2, Some(1)));
            queue.push(tasks[2]);
            let slot = |task: Option<CmdTaskRef>| task.and_then(|task| task.slot.get());
            assert_eq!(slot(queue.first()), Some(2));
            assert_eq!([queue.pop(), queue.pop()].map(slot), [Some(2), Some(3)]);
            queue.push_first(tasks[1]);
            queue.push(tasks[2]);
            queue.push_first(tasks[0]);
            assert_eq!([(); 3].map(|()| slot(queue.pop())), [Some(1), Some(2), Some(3)]);
        }
        // SAFETY: the queue is empty.
        tasks.into_iter().for_each(|task| unsafe { task.end() });
    }
}
