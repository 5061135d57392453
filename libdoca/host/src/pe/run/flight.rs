//! The tasks of a connection: owned by the host, in flight, or answered.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Instant;

use urom_abi::host::Cancelled;
use urom_abi::{DocaError, Quantity, WorkerId};

use crate::pe::run::task::{CmdTask, CmdTaskRef, Stage};

/// With this many new answers and this many tasks held by the host, a burst of commands is likely.
const MANY: u64 = 8;

/// A connection's tasks, created on demand and reused. Commands and notifications contain the slot.
///
/// A cancelled command keeps its number until the late answer, so that the answer does not reach
/// another command. Its task ends at once and gets a new number.
#[derive(Default)]
pub(crate) struct Flight {
    slots: Box<[Cell<Option<CmdTaskRef>>]>,
    /// Count of numbers used so far.
    made: Cell<usize>,
    free: RefCell<Vec<CmdTaskRef>>,
    out: Cell<usize>,
    rest: RefCell<Rest>,
    // Total commands submitted, answered and completed. A cancelled command is completed by its
    // late answer or by the connection's end.
    submitted: Cell<u64>,
    answered: Cell<u64>,
    completed: Cell<u64>,
    /// `answered` at the last submit.
    answered_before: Cell<u64>,
    reported: Cell<bool>,
}

/// All tasks, and the numbers of cancelled commands.
#[derive(Default)]
struct Rest {
    all: Vec<CmdTaskRef>,
    spares: Vec<CmdTaskRef>,
    numbers: Vec<u16>,
    /// Numbers waiting for a late answer, and whether the host dropped the command.
    cancelled: BTreeMap<u16, bool>,
    late: u64,
    dropped: u64,
}

impl Rest {
    /// Takes a released task whose payload UCX no longer reads.
    fn take_spare(&mut self) -> Option<CmdTaskRef> {
        let at = self.spares.iter().position(|task| !task.sending.get())?;
        Some(self.spares.swap_remove(at))
    }
}

impl Flight {
    pub(crate) fn new(limit: usize) -> Flight {
        let mut flight = Flight::default();
        flight.slots = (0..limit).map(|_| Cell::new(None)).collect();
        flight
    }

    pub(crate) fn limit(&self) -> usize {
        self.slots.len()
    }

    /// Returns the number of unfinished commands, including cancelled ones.
    pub(crate) fn count(&self) -> usize {
        self.submitted.get().wrapping_sub(self.completed.get()) as usize
    }

    pub(crate) fn cancelled(&self) -> Cancelled {
        let Rest { cancelled, late, dropped, .. } = &*self.rest.borrow();
        Cancelled { waiting: cancelled.len() as u64, late: *late, dropped: *dropped }
    }

    pub(crate) fn out(&self) -> usize {
        self.out.get()
    }

    pub(crate) fn submitted_count(&self) -> u64 {
        self.submitted.get()
    }

    /// Returns whether the worker is idle and a burst of commands is unlikely. It is likely after
    /// many answers while the host still holds many tasks.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        let answered = self.answered.get();
        self.submitted.get() == answered
            && (answered - self.answered_before.get() < MANY || self.out.get() < MANY as usize)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.count() == 0 && self.out() == 0
    }

    /// Returns the code at the limit. Debug level, because hosts may poll for a released task.
    #[cold]
    pub(crate) fn full(&self, worker: WorkerId) -> DocaError {
        log!(
            debug,
            "no task for worker {worker}: of {} the host has {}, and {} wait for the late answers \
             of commands that were given up; or there is no memory; release one \
             (doca_urom_worker_cmd_task_release), or allow more (doca_urom_worker_set_max_inflight_tasks)",
            Quantity(self.slots.len(), "task"),
            self.out(),
            self.cancelled().waiting
        );
        DocaError::NO_MEMORY
    }

    /// Logs once that only unreleased tasks keep a worker's context from going idle.
    pub(crate) fn report_unreleased(&self, worker: WorkerId) {
        if self.count() == 0 && !self.reported.replace(true) {
            log!(
                warn,
                "worker {worker} is stopping and waits for {} to be released \
                 (doca_urom_worker_cmd_task_release)",
                Quantity(self.out(), "task")
            );
        }
    }

    /// Returns a free task, or a new task by `make`. `None` at the limit or out of memory.
    #[inline]
    pub(crate) fn allocate(
        &self,
        make: impl FnOnce(u16) -> Option<CmdTaskRef>,
    ) -> Option<CmdTaskRef> {
        let task = match self.free.borrow_mut().pop() {
            Some(task) => task,
            None => self.add(make)?,
        };
        self.out.set(self.out.get() + 1);
        Some(task)
    }

    #[cold]
    fn add(&self, make: impl FnOnce(u16) -> Option<CmdTaskRef>) -> Option<CmdTaskRef> {
        let rest = &mut *self.rest.borrow_mut();
        let made = self.made.get();
        let number = rest.numbers.last().copied().or_else(|| u16::try_from(made).ok())?;
        let place = self.slots.get(usize::from(number))?;
        let task = match rest.take_spare() {
            Some(task) => task,
            None => {
                let task = make(number)?;
                rest.all.push(task);
                task
            }
        };
        if rest.numbers.pop().is_none() {
            self.made.set(made + 1);
        }
        task.slot.set(Some(number));
        place.set(Some(task));
        Some(task)
    }

    #[inline]
    pub(crate) fn release(&self, task: CmdTaskRef) {
        task.head.stage.set(Stage::Free);
        match task.slot.get() {
            Some(_) => self.free.borrow_mut().push(task),
            None => self.rest.borrow_mut().spares.push(task),
        }
        self.out.set(self.out.get() - 1);
    }

    /// Completes a command in flight with a code, before its answer. The host may have dropped it.
    #[cold]
    pub(crate) fn give_up(&self, task: CmdTaskRef, code: DocaError, is_dropped: bool) {
        if let Some(slot) = task.slot.get() {
            self.slots[usize::from(slot)].set(None);
            self.rest.borrow_mut().cancelled.insert(slot, is_dropped);
        }
        task.give_up(code);
    }

    /// Records the late answer of a cancelled command. False if the slot does not wait for one.
    #[cold]
    pub(crate) fn answer_late(&self, slot: u16) -> bool {
        let mut rest = self.rest.borrow_mut();
        let Some(is_dropped) = rest.cancelled.remove(&slot) else { return false };
        let counter = if is_dropped { &mut rest.dropped } else { &mut rest.late };
        *counter += 1;
        rest.numbers.push(slot);
        self.answered.set(self.answered.get() + 1);
        self.completed();
        true
    }

    #[cold]
    pub(crate) fn overdue(&self, now: Instant) -> (Vec<CmdTaskRef>, Option<Instant>) {
        let in_flight = |task: &&CmdTaskRef| task.head.stage.get() == Stage::InFlight;
        let timed = |task: CmdTaskRef| Some((task.deadline.get()?, task));
        let rest = self.rest.borrow();
        let timed = rest.all.iter().filter(in_flight).copied().filter_map(timed);
        let (overdue, rest): (Vec<_>, Vec<_>) = timed.partition(|(at, _)| *at <= now);
        let next = rest.into_iter().map(|(at, _)| at).min();
        (overdue.into_iter().map(|(_, task)| task).collect(), next)
    }

    /// Counts a sent command; its stage is `InFlight` already.
    #[inline]
    pub(crate) fn submitted(&self, task: &CmdTask) {
        let serial = self.submitted.get();
        task.serial.set(serial);
        self.submitted.set(serial + 1);
        self.answered_before.set(self.answered.get());
    }

    /// Finds a slot's task and records its answer. `None` if the slot is not in flight.
    #[inline]
    pub(crate) fn answer(
        &self,
        slot: u16,
        status: DocaError,
        payload: Option<&[u8]>,
    ) -> Option<CmdTaskRef> {
        let task = self.slots.get(usize::from(slot))?.get();
        let task = task.filter(|task| task.head.stage.get() == Stage::InFlight)?;
        task.answer(status, payload);
        self.answered.set(self.answered.get() + 1);
        Some(task)
    }

    #[cold]
    pub(crate) fn is_sending(&self, slot: u16) -> bool {
        let task = self.slots.get(usize::from(slot)).and_then(Cell::get);
        task.is_some_and(|task| task.sending.get())
    }

    /// Answers all tasks in flight with a code. Returns them in order of submission.
    pub(crate) fn flush(&self, code: DocaError) -> Vec<CmdTaskRef> {
        let mut rest = self.rest.borrow_mut();
        let cancelled = std::mem::take(&mut rest.cancelled).len() as u64;
        self.completed.set(self.completed.get().wrapping_add(cancelled));
        let mut lost = rest.all.clone();
        lost.retain(|task| task.head.stage.get() == Stage::InFlight);
        lost.sort_by_key(|task| task.serial.get());
        for task in &lost {
            task.answer(code, None);
        }
        self.answered.set(self.submitted.get());
        lost
    }

    #[inline]
    pub(crate) fn completed(&self) {
        self.completed.set(self.completed.get().wrapping_add(1));
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        for task in self.rest.get_mut().all.drain(..) {
            // SAFETY: `Run::check_over` waits until the host has released all tasks and none is in
            // flight, so this is the last reference.
            unsafe { task.end() };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn submit(flight: &Flight) -> CmdTaskRef {
        let task = flight.allocate(|slot| CmdTaskRef::new(slot, 8)).unwrap();
        task.head.stage.set(Stage::InFlight);
        flight.submitted(&task);
        task
    }

    fn answer(flight: &Flight, task: CmdTaskRef) {
        let (slot, status) = (task.slot.get().unwrap(), DocaError::SUCCESS);
        assert!(flight.answer(slot, status, None).is_some_and(|found| found == task));
        task.head.stage.set(Stage::Done);
        flight.completed();
    }

    #[test]
    fn tasks_are_made_up_to_the_limit_and_then_used_again() {
        let flight = Flight::new(2);
        let allocate = || flight.allocate(|slot| CmdTaskRef::new(slot, 8));
        let slot = || allocate().and_then(|task| task.slot.get());
        assert!(flight.allocate(|_| None).is_none());
        assert_eq!((flight.out(), slot(), slot(), slot()), (0, Some(0), Some(1), None));
        assert_eq!(flight.out(), 2);
        flight.release(flight.slots[0].get().unwrap());
        assert_eq!((slot(), slot()), (Some(0), None));
        for slot in [0, 2, u16::MAX] {
            assert!(flight.answer(slot, DocaError::SUCCESS, None).is_none(), "{slot}");
        }
    }

    #[test]
    fn a_cancelled_command_keeps_its_number_until_its_answer_comes() {
        let flight = Flight::new(2);
        let [first, other] = [(); 2].map(|()| submit(&flight));
        let now = Instant::now();
        let [soon, later] = [5, 7].map(|seconds| now + Duration::from_secs(seconds));
        first.deadline.set(Some(soon));
        other.deadline.set(Some(later));
        assert!(flight.overdue(now).0.is_empty());
        let (overdue, next) = flight.overdue(soon);
        assert!(overdue == [first] && next == Some(later));
        flight.give_up(first, DocaError::TIME_OUT, false);
        let end = first.end.get();
        assert_eq!((end.status, end.cancelled), (DocaError::TIME_OUT, 1));
        assert_eq!(flight.count(), 2, "it counts once before the host gets its end, and after it");
        flight.release(first);
        let waiting = |waiting| Cancelled { waiting, late: 0, dropped: 0 };
        assert_eq!((flight.count(), flight.cancelled()), (2, waiting(1)));
        assert!(flight.allocate(|_| None).is_none(), "both numbers are in use");
        assert!(flight.answer_late(0) && !flight.answer_late(0));
        assert_eq!((flight.count(), flight.cancelled().late), (1, 1));
        let again = submit(&flight);
        assert!(again == first && again.slot.get() == Some(0));
        flight.give_up(again, DocaError::SKIPPED, true);
        flight.release(again);
        assert_eq!((flight.count(), flight.cancelled().waiting), (2, 1));
        assert!(flight.flush(DocaError::SHUTDOWN) == [other]);
        assert_eq!((flight.count(), flight.cancelled().waiting), (1, 0));
        flight.completed();
        flight.release(other);
        assert!(flight.is_over());
    }

    #[test]
    fn each_of_commands_that_follow_one_another_is_alone() {
        let flight = Flight::new(4);
        let mut last = None;
        for _ in 0..10 {
            assert!(flight.is_alone());
            let task = submit(&flight);
            assert!(!flight.is_alone(), "there is one in flight");
            // The host may keep a task until after its next submit.
            last.replace(task).into_iter().for_each(|last| flight.release(last));
            answer(&flight, task);
        }
    }

    #[test]
    fn a_command_that_follows_many_answers_is_not_alone_while_the_host_holds_many_tasks() {
        let flight = Flight::new(MANY as usize);
        let tasks = [(); MANY as usize].map(|()| submit(&flight));
        tasks.iter().for_each(|task| answer(&flight, *task));
        // A host that submits while it handles its answers has released the first ..
        flight.release(tasks[0]);
        let next = flight.allocate(|_| None).unwrap();
        assert!(!flight.is_alone());
        // .. and a host that has released more has handled them all.
        flight.release(tasks[1]);
        assert!(flight.is_alone());
        tasks[2..].iter().for_each(|task| flight.release(*task));
        flight.release(next);
    }

    #[test]
    fn a_command_that_follows_few_answers_is_alone_however_many_tasks_the_host_holds() {
        let flight = Flight::new(4 * MANY as usize);
        let held = [(); 2 * MANY as usize].map(|()| submit(&flight));
        held.iter().for_each(|task| answer(&flight, *task));
        let before = submit(&flight);
        answer(&flight, before);
        assert!(flight.is_alone());
        held.iter().chain([&before]).for_each(|task| flight.release(*task));
    }
}
