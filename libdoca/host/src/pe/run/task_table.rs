//! The tasks of a connection: owned by the host, in flight, or answered.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Instant;

use urom_abi::host::Cancelled;
use urom_abi::{DocaError, DocaStatus, Quantity, WorkerId};

use crate::pe::run::task::{CmdTask, CmdTaskRef, TaskStage};

/// With this many new answers and this many tasks held by the host, a burst of commands is likely.
const MANY: u64 = 8;

/// A connection's tasks, created on demand and reused. A cancelled command keeps its number, so
/// that its late answer does not reach another; its task ends at once with a new number.
#[derive(Default)]
pub(crate) struct TaskTable {
    slots: Box<[Cell<Option<CmdTaskRef>>]>,
    /// Count of numbers used so far.
    made: Cell<usize>,
    free: RefCell<Vec<CmdTaskRef>>,
    out: Cell<usize>,
    reserve: RefCell<TaskReserve>,
    // Totals. A cancelled command is completed by its late answer or the connection's end.
    submitted: Cell<u64>,
    answered: Cell<u64>,
    completed: Cell<u64>,
    /// `answered` at the last submit.
    answered_before: Cell<u64>,
    reported: Cell<bool>,
}

/// All tasks, and the numbers of cancelled commands.
#[derive(Default)]
struct TaskReserve {
    all: Vec<CmdTaskRef>,
    spares: Vec<CmdTaskRef>,
    numbers: Vec<u16>,
    /// Numbers waiting for a late answer, and whether the host dropped the command.
    cancelled: BTreeMap<u16, bool>,
    late: u64,
    dropped: u64,
}

impl TaskTable {
    pub(crate) fn new(limit: usize) -> TaskTable {
        let mut table = TaskTable::default();
        table.slots = (0..limit).map(|_| Cell::new(None)).collect();
        table
    }

    pub(crate) fn limit(&self) -> usize {
        self.slots.len()
    }

    /// Returns the number of unfinished commands, including cancelled ones.
    pub(crate) fn count(&self) -> usize {
        self.submitted.get().wrapping_sub(self.completed.get()) as usize
    }

    pub(crate) fn cancelled(&self) -> Cancelled {
        let TaskReserve { cancelled, late, dropped, .. } = &*self.reserve.borrow();
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
             of cancelled commands; or there is no memory; release one \
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
        let reserve = &mut *self.reserve.borrow_mut();
        let made = self.made.get();
        let number = reserve.numbers.last().copied().or_else(|| u16::try_from(made).ok())?;
        let slot = self.slots.get(usize::from(number))?;
        // A released task whose payload UCX no longer reads.
        let task = match reserve.spares.iter().position(|task| !task.sending.get()) {
            Some(at) => reserve.spares.swap_remove(at),
            None => {
                let task = make(number)?;
                reserve.all.push(task);
                task
            }
        };
        if reserve.numbers.pop().is_none() {
            self.made.set(made + 1);
        }
        task.slot.set(Some(number));
        slot.set(Some(task));
        Some(task)
    }

    #[inline]
    pub(crate) fn release(&self, task: CmdTaskRef) {
        task.head.stage.set(TaskStage::Free);
        match task.slot.get() {
            Some(_) => self.free.borrow_mut().push(task),
            None => self.reserve.borrow_mut().spares.push(task),
        }
        self.out.set(self.out.get() - 1);
    }

    /// Completes a command in flight with a code, before its answer. The host may have dropped it.
    #[cold]
    pub(crate) fn cancel(&self, task: CmdTaskRef, code: DocaError, is_dropped: bool) {
        if let Some(slot) = task.slot.get() {
            self.slots[usize::from(slot)].set(None);
            self.reserve.borrow_mut().cancelled.insert(slot, is_dropped);
        }
        task.cancel(code);
    }

    /// Records the late answer of a cancelled command. False if the slot does not wait for one.
    #[cold]
    pub(crate) fn answer_late(&self, slot: u16) -> bool {
        let mut reserve = self.reserve.borrow_mut();
        let Some(is_dropped) = reserve.cancelled.remove(&slot) else { return false };
        let counter = if is_dropped { &mut reserve.dropped } else { &mut reserve.late };
        *counter += 1;
        reserve.numbers.push(slot);
        self.answered.set(self.answered.get() + 1);
        self.completed();
        true
    }

    #[cold]
    pub(crate) fn overdue(&self, now: Instant) -> (Vec<CmdTaskRef>, Option<Instant>) {
        let in_flight = |task: &&CmdTaskRef| task.head.stage.get() == TaskStage::InFlight;
        let timed = |task: CmdTaskRef| Some((task.deadline.get()?, task));
        let reserve = self.reserve.borrow();
        let timed = reserve.all.iter().filter(in_flight).copied().filter_map(timed);
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
        status: DocaStatus,
        payload: Option<&[u8]>,
    ) -> Option<CmdTaskRef> {
        let task = self.slots.get(usize::from(slot))?.get();
        let task = task.filter(|task| task.head.stage.get() == TaskStage::InFlight)?;
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
        let mut reserve = self.reserve.borrow_mut();
        let cancelled = std::mem::take(&mut reserve.cancelled).len() as u64;
        self.completed.set(self.completed.get().wrapping_add(cancelled));
        let mut lost = reserve.all.clone();
        lost.retain(|task| task.head.stage.get() == TaskStage::InFlight);
        lost.sort_by_key(|task| task.serial.get());
        for task in &lost {
            task.answer(code.into(), None);
        }
        self.answered.set(self.submitted.get());
        lost
    }

    #[inline]
    pub(crate) fn completed(&self) {
        self.completed.set(self.completed.get().wrapping_add(1));
    }
}

impl Drop for TaskTable {
    fn drop(&mut self) {
        for task in self.reserve.get_mut().all.drain(..) {
            // SAFETY: `WorkerRun::check_over` waits until the host has released all tasks and none
            // is in flight, so this is the last reference.
            unsafe { task.end() };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn submit(table: &TaskTable) -> CmdTaskRef {
        let task = table.allocate(|slot| CmdTaskRef::new(slot, 8)).unwrap();
        task.head.stage.set(TaskStage::InFlight);
        table.submitted(&task);
        task
    }

    fn answer(table: &TaskTable, task: CmdTaskRef) {
        let (slot, status) = (task.slot.get().unwrap(), DocaStatus::SUCCESS);
        assert!(table.answer(slot, status, None).is_some_and(|found| found == task));
        task.head.stage.set(TaskStage::Done);
        table.completed();
    }

    #[test]
    fn tasks_are_made_up_to_the_limit_and_then_used_again() {
        let table = TaskTable::new(2);
        let allocate = || table.allocate(|slot| CmdTaskRef::new(slot, 8));
        let slot = || allocate().and_then(|task| task.slot.get());
        assert!(table.allocate(|_| None).is_none());
        assert_eq!((table.out(), slot(), slot(), slot()), (0, Some(0), Some(1), None));
        assert_eq!(table.out(), 2);
        table.release(table.slots[0].get().unwrap());
        assert_eq!((slot(), slot()), (Some(0), None));
        for slot in [0, 2, u16::MAX] {
            assert!(table.answer(slot, DocaStatus::SUCCESS, None).is_none(), "{slot}");
        }
    }

    #[test]
    fn a_cancelled_command_keeps_its_number_until_its_answer_comes() {
        let table = TaskTable::new(2);
        let [first, other] = [(); 2].map(|()| submit(&table));
        let now = Instant::now();
        let [soon, later] = [5, 7].map(|seconds| now + Duration::from_secs(seconds));
        first.deadline.set(Some(soon));
        other.deadline.set(Some(later));
        assert!(table.overdue(now).0.is_empty());
        let (overdue, next) = table.overdue(soon);
        assert!(overdue == [first] && next == Some(later));
        table.cancel(first, DocaError::TIME_OUT, false);
        let end = first.end.get();
        assert_eq!((end.status, end.cancelled), (DocaStatus::TIME_OUT, 1));
        assert_eq!(table.count(), 2, "it counts once before the host gets its end, and after it");
        table.release(first);
        let waiting = |waiting| Cancelled { waiting, late: 0, dropped: 0 };
        assert_eq!((table.count(), table.cancelled()), (2, waiting(1)));
        assert!(table.allocate(|_| None).is_none(), "both numbers are in use");
        assert!(table.answer_late(0) && !table.answer_late(0));
        assert_eq!((table.count(), table.cancelled().late), (1, 1));
        let again = submit(&table);
        assert!(again == first && again.slot.get() == Some(0));
        table.cancel(again, DocaError::SKIPPED, true);
        table.release(again);
        assert_eq!((table.count(), table.cancelled().waiting), (2, 1));
        assert!(table.flush(DocaError::SHUTDOWN) == [other]);
        assert_eq!((table.count(), table.cancelled().waiting), (1, 0));
        table.completed();
        table.release(other);
        assert!(table.is_over());
    }

    #[test]
    fn each_of_commands_that_follow_one_another_is_alone() {
        let table = TaskTable::new(4);
        let mut last = None;
        for _ in 0..10 {
            assert!(table.is_alone());
            let task = submit(&table);
            assert!(!table.is_alone(), "there is one in flight");
            // The host may keep a task until after its next submit.
            last.replace(task).into_iter().for_each(|last| table.release(last));
            answer(&table, task);
        }
    }

    #[test]
    fn a_command_that_follows_many_answers_is_not_alone_while_the_host_holds_many_tasks() {
        let table = TaskTable::new(MANY as usize);
        let tasks = [(); MANY as usize].map(|()| submit(&table));
        tasks.iter().for_each(|task| answer(&table, *task));
        // A host that submits while it handles its answers has released the first ..
        table.release(tasks[0]);
        let next = table.allocate(|_| None).unwrap();
        assert!(!table.is_alone());
        // .. and a host that has released more has handled them all.
        table.release(tasks[1]);
        assert!(table.is_alone());
        tasks[2..].iter().for_each(|task| table.release(*task));
        table.release(next);
    }

    #[test]
    fn a_command_that_follows_few_answers_is_alone_however_many_tasks_the_host_holds() {
        let table = TaskTable::new(4 * MANY as usize);
        let held = [(); 2 * MANY as usize].map(|()| submit(&table));
        held.iter().for_each(|task| answer(&table, *task));
        let before = submit(&table);
        answer(&table, before);
        assert!(table.is_alone());
        held.iter().chain([&before]).for_each(|task| table.release(*task));
    }
}
