//! Command tasks that no connection uses.
//!
//! A host may keep a task's pointer after the task's worker is gone, and calls read the task
//! itself. So a task is never freed, but kept here for the next connection. Its payload and
//! response are freed.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use urom_os::fork::PerProcess;

use crate::pe::run::task::CmdTask;

/// How many tasks rest before the first is reused, so that an old pointer finds no task rather than
/// a wrong one.
const RESTING: usize = 64;

struct Resting(&'static CmdTask);

// SAFETY: `rest` makes one of a task that its connection lets go, after it took all that belongs to
// a thread out of it. One that UCX still reads goes to `KEPT`, where nobody looks at it before the
// thread whose UCX that is says that it is done.
unsafe impl Send for Resting {}

type Pool = PerProcess<Mutex<VecDeque<Resting>>>;

static POOL: Pool = PerProcess::new(Mutex::default);

/// Tasks that UCX still reads. Leak checkers find them here.
static KEPT: Pool = PerProcess::new(Mutex::default);

/// A free task of no connection, with room for payloads of `capacity` bytes. `None` when there is
/// no memory left.
pub(crate) fn take(slot: u16, capacity: usize) -> Option<&'static CmdTask> {
    take_from(&POOL, slot, capacity)
}

fn take_from(pool: &Pool, slot: u16, capacity: usize) -> Option<&'static CmdTask> {
    let rested = {
        let mut pool = pool.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.len() > RESTING { pool.pop_front() } else { None }
    };
    let Some(Resting(task)) = rested else { return CmdTask::new(slot, capacity) };
    if task.renew(slot, capacity) {
        return Some(task);
    }
    rest_in(pool, task);
    None
}

/// Takes a task that its connection no longer needs. One whose payload UCX still reads rests [when
/// UCX is done](rest_at_last).
pub(crate) fn rest(task: &'static CmdTask) {
    rest_in(&POOL, task);
}

fn rest_in(pool: &Pool, task: &'static CmdTask) {
    let is_free = task.leave();
    if is_free {
        task.payload.retire();
        task.response.retire();
    }
    let list = if is_free { pool } else { &KEPT };
    list.lock().unwrap_or_else(PoisonError::into_inner).push_back(Resting(task));
}

/// Takes a task whose connection is gone and whose payload UCX has read.
pub(crate) fn rest_at_last(task: &'static CmdTask) {
    KEPT.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .retain(|Resting(kept)| !std::ptr::eq(*kept, task));
    rest(task);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pe::run::task::InPlace;
    use urom_wire::frame::HEADER_LEN;
    use urom_wire::pass::Pass;

    fn task(slot: u16, capacity: usize) -> &'static CmdTask {
        take(slot, capacity).unwrap()
    }

    #[test]
    fn a_task_is_used_again_as_new_and_not_at_once() {
        // Of its own: other tests use the other one.
        static POOL: Pool = PerProcess::new(Mutex::default);
        let first = take_from(&POOL, 1, 100).unwrap();
        first.hold(None);
        first.payload.set_data(first.payload.data(), 7).unwrap();
        rest_in(&POOL, first);
        for _ in 0..RESTING {
            let next = take_from(&POOL, 2, 100).unwrap();
            assert!(!std::ptr::eq(next, first));
            rest_in(&POOL, next);
        }
        let next = take_from(&POOL, 2, 200).unwrap();
        assert!(std::ptr::eq(next, first));
        assert_eq!((next.slot(), next.payload.len()), (2, 200));
    }

    #[test]
    fn a_task_that_ucx_reads_is_not_used_again_before_it_is_done() {
        let kept = task(1, 100);
        let in_place = InPlace::new(kept, [0; HEADER_LEN], 0, Pass::default());
        kept.sending.set(true);
        rest(kept);
        let is_in = |list: &Mutex<VecDeque<Resting>>| {
            list.lock().unwrap().iter().any(|Resting(task)| std::ptr::eq(*task, kept))
        };
        assert!(is_in(&KEPT));
        for _ in 0..=2 * RESTING {
            let next = task(2, 100);
            assert!(!std::ptr::eq(next, kept));
            rest(next);
        }
        drop(in_place);
        assert!(!is_in(&KEPT) && is_in(&POOL));
        assert_eq!(kept.payload.len(), 0);
    }
}
