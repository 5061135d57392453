//! Command tasks that no connection uses.
//!
//! A host may keep a task's pointer after the task's worker is gone, and the calls of a task look into the task itself:
//! so its memory is never given back to the heap, but kept here for the next connection. What a task holds on the heap, its
//! payload and response, is given back.

use std::collections::VecDeque;
use std::mem;
use std::rc::{Rc, Weak};
use std::sync::{Mutex, PoisonError};

use super::ctx::Context;
use super::run::Run;
use super::task::CmdTask;

/// How many tasks rest before the first is used again, so that an old pointer finds nobody rather than somebody else.
const RESTING: usize = 64;

/// A task that is in nobody's hands.
struct Resting(Rc<CmdTask>);

// SAFETY: `rest` makes one of a task's only handle, after it took all that belongs to a thread out of it.
unsafe impl Send for Resting {}

static POOL: Mutex<VecDeque<Resting>> = Mutex::new(VecDeque::new());

/// A free task with room for payloads of `capacity` bytes. `None` when there is no memory left.
pub(super) fn take(run: Weak<Run>, ctx: Weak<Context>, slot: u16, capacity: usize) -> Option<Rc<CmdTask>> {
    let rested = {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.len() > RESTING { pool.pop_front() } else { None }
    };
    match rested {
        Some(Resting(mut task)) => match Rc::get_mut(&mut task)?.renew(run, ctx, slot, capacity) {
            true => Some(task),
            false => {
                rest(task);
                None
            }
        },
        None => CmdTask::new(run, ctx, slot, capacity),
    }
}

/// Takes a task that its connection needs no more. UCX may still read the payload of one whose connection was closed by
/// force; then the task ends with that, and only its memory stays.
pub(super) fn rest(mut task: Rc<CmdTask>) {
    task.withdraw();
    match Rc::get_mut(&mut task) {
        Some(alone) => {
            alone.retire();
            POOL.lock().unwrap_or_else(PoisonError::into_inner).push_back(Resting(task));
        }
        None => mem::forget(Rc::downgrade(&task)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(slot: u16, capacity: usize) -> Rc<CmdTask> {
        take(Weak::new(), Weak::new(), slot, capacity).unwrap()
    }

    #[test]
    fn a_task_is_used_again_as_new_and_not_at_once() {
        // Other tests use the pool as well, so the first one comes back at some time after it has rested.
        let first = task(1, 100);
        first.hold(4);
        let address = Rc::as_ptr(&first);
        rest(first);
        let mut made = 0;
        loop {
            let next = task(2, 200);
            if Rc::as_ptr(&next) == address {
                assert_eq!((next.slot, next.payload.len(), next.plugin.get()), (2, 200, 4));
                next.hold(8);
                assert_eq!((next.payload.len(), next.plugin.get()), (200, 8));
                break;
            }
            rest(next);
            made += 1;
            assert!(made < 10_000);
        }
        assert!(made >= RESTING);
    }

    #[test]
    fn a_task_that_somebody_has_is_not_used_again() {
        let kept = task(1, 100);
        rest(Rc::clone(&kept));
        for _ in 0..=2 * RESTING {
            let next = task(2, 100);
            assert!(!Rc::ptr_eq(&next, &kept));
            rest(next);
        }
    }
}
