//! The commands of a connection: which tasks the host has, which are in flight, and which are
//! answered.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Instant;

use urom_abi::host::GivenUp;
use urom_abi::{DocaError, Quantity, WorkerId};

use crate::pe::run::task::{CmdTask, CmdTaskRef, Stage};

/// After so many answers since the last command, and with so many tasks in the host's hands, more
/// than one command is likely to follow.
const MANY: u64 = 8;

/// A connection's tasks: made when first needed, then used again. A task's slot number travels with
/// its command and comes back with the notification.
///
/// A command that is given up keeps its number until its late answer comes, so that this answer
/// reaches no other command. Its task ends at once, and gets another number for the next command.
#[derive(Default)]
pub(crate) struct Flight {
    /// The task of each number, if it has one.
    slots: Box<[Cell<Option<CmdTaskRef>>]>,
    /// How many numbers were ever used.
    made: Cell<usize>,
    free: RefCell<Vec<CmdTaskRef>>,
    out: Cell<usize>,
    rest: RefCell<Rest>,
    // How many commands were ever submitted, answered and completed: each counts once in each. One
    // that is given up is completed by its late answer, or by the connection's end.
    submitted: Cell<u64>,
    answered: Cell<u64>,
    completed: Cell<u64>,
    /// How many were answered when the last was submitted.
    answered_before: Cell<u64>,
    reported: Cell<bool>,
}

/// What commands that are given up leave behind, and all tasks.
#[derive(Default)]
struct Rest {
    all: Vec<CmdTaskRef>,
    /// Released tasks without a number.
    spares: Vec<CmdTaskRef>,
    /// Numbers without a task.
    numbers: Vec<u16>,
    /// Which numbers wait for a late answer, and whether the host had dropped the command.
    given_up: BTreeMap<u16, bool>,
    late: u64,
    dropped: u64,
}

impl Rest {
    /// A released task whose payload UCX does not read.
    fn take_spare(&mut self) -> Option<CmdTaskRef> {
        let at = self.spares.iter().position(|task| !task.sending.get())?;
        Some(self.spares.swap_remove(at))
    }
}

impl Flight {
    /// Room for `limit` tasks, at most 65536.
    pub(crate) fn new(limit: usize) -> Flight {
        let mut flight = Flight::default();
        flight.slots = (0..limit).map(|_| Cell::new(None)).collect();
        flight
    }

    /// The most tasks at a time.
    pub(crate) fn limit(&self) -> usize {
        self.slots.len()
    }

    /// How many commands have not ended, those included that are given up.
    pub(crate) fn count(&self) -> usize {
        self.submitted.get().wrapping_sub(self.completed.get()) as usize
    }

    /// How many commands are given up now, and how many late answers came.
    pub(crate) fn given_up(&self) -> GivenUp {
        let Rest { given_up, late, dropped, .. } = &*self.rest.borrow();
        GivenUp { waiting: given_up.len() as u64, late: *late, dropped: *dropped }
    }

    pub(crate) fn out(&self) -> usize {
        self.out.get()
    }

    /// How many commands were ever submitted.
    pub(crate) fn submitted_count(&self) -> u64 {
        self.submitted.get()
    }

    /// Whether the worker owes no answer and the next command is probably not the first of many. It
    /// is the first of many when many answers came since the last command and the host still holds
    /// many tasks.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        let answered = self.answered.get();
        self.submitted.get() == answered
            && (answered - self.answered_before.get() < MANY || self.out.get() < MANY as usize)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.count() == 0 && self.out() == 0
    }

    /// The code for a host that gets no task. Logged for debugging only: hosts may wait in this way
    /// until a task is released.
    #[cold]
    pub(crate) fn full(&self, worker: WorkerId) -> DocaError {
        log!(
            debug,
            "no task for worker {worker}: of {} the host has {}, and {} wait for the late answers \
             of commands that were given up; or there is no memory; release one \
             (doca_urom_worker_cmd_task_release), or allow more (doca_urom_worker_set_max_inflight_tasks)",
            Quantity(self.slots.len(), "task"),
            self.out(),
            self.given_up().waiting
        );
        DocaError::NO_MEMORY
    }

    /// Logs once that only tasks in the host's hands keep a worker's context from going idle.
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

    /// A free task, made by `make` if there is none. `None` when as many as may be are out, or no
    /// memory is left.
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

    /// Ends a command in flight with a code, before its answer. The host may have dropped it.
    #[cold]
    pub(crate) fn give_up(&self, task: CmdTaskRef, code: DocaError, is_dropped: bool) {
        if let Some(slot) = task.slot.get() {
            self.slots[usize::from(slot)].set(None);
            self.rest.borrow_mut().given_up.insert(slot, is_dropped);
        }
        task.give_up(code);
    }

    /// Takes the late answer to a command that was given up. False when there is none in the slot.
    #[cold]
    pub(crate) fn answer_late(&self, slot: u16) -> bool {
        let mut rest = self.rest.borrow_mut();
        let Some(is_dropped) = rest.given_up.remove(&slot) else { return false };
        let counter = if is_dropped { &mut rest.dropped } else { &mut rest.late };
        *counter += 1;
        rest.numbers.push(slot);
        self.answered.set(self.answered.get() + 1);
        self.completed();
        true
    }

    /// The commands in flight whose time is over, and when that of the next one is.
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

    /// Counts a task whose command was sent; its stage is `InFlight` already.
    #[inline]
    pub(crate) fn submitted(&self, task: &CmdTask) {
        let serial = self.submitted.get();
        task.serial.set(serial);
        self.submitted.set(serial + 1);
        self.answered_before.set(self.answered.get());
    }

    /// Finds the task of a slot and notes its answer. `None` when there is no command in flight in
    /// that slot.
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

    /// Whether a part of the frame in a slot is not written yet.
    #[cold]
    pub(crate) fn is_sending(&self, slot: u16) -> bool {
        let task = self.slots.get(usize::from(slot)).and_then(Cell::get);
        task.is_some_and(|task| task.sending.get())
    }

    /// Answers every task in flight with a code; the tasks, in the order of their submission.
    pub(crate) fn flush(&self, code: DocaError) -> Vec<CmdTaskRef> {
        let mut rest = self.rest.borrow_mut();
        let given_up = std::mem::take(&mut rest.given_up).len() as u64;
        self.completed.set(self.completed.get().wrapping_add(given_up));
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
            // SAFETY: `Run::check_over` waits until the host has no task and none is in flight, so
            // this is the last reference.
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
    fn a_command_that_is_given_up_keeps_its_number_until_its_answer_comes() {
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
        assert_eq!((end.status, end.given_up), (DocaError::TIME_OUT, 1));
        assert_eq!(flight.count(), 2, "it counts once before the host gets its end, and after it");
        // The host gets the end, and gives the task back.
        flight.release(first);
        let waiting = |waiting| GivenUp { waiting, late: 0, dropped: 0 };
        assert_eq!((flight.count(), flight.given_up()), (2, waiting(1)));
        assert!(flight.allocate(|_| None).is_none(), "both numbers are in use");
        assert!(flight.answer_late(0) && !flight.answer_late(0));
        assert_eq!((flight.count(), flight.given_up().late), (1, 1));
        let again = submit(&flight);
        assert!(again == first && again.slot.get() == Some(0));
        // The host drops this one, and the connection ends before the answer comes.
        flight.give_up(again, DocaError::SKIPPED, true);
        flight.release(again);
        assert_eq!((flight.count(), flight.given_up().waiting), (2, 1));
        assert!(flight.flush(DocaError::SHUTDOWN) == [other]);
        assert_eq!((flight.count(), flight.given_up().waiting), (1, 0));
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
            // The host may keep a task until it has submitted the next.
            last.replace(task).into_iter().for_each(|last| flight.release(last));
            answer(&flight, task);
        }
    }

    #[test]
    fn a_command_that_follows_many_answers_is_not_alone_while_the_host_holds_many_tasks() {
        let flight = Flight::new(MANY as usize);
        let tasks = [(); MANY as usize].map(|()| submit(&flight));
        tasks.iter().for_each(|task| answer(&flight, *task));
        // A host that submits as it goes through its answers has released the first, ...
        flight.release(tasks[0]);
        let next = flight.allocate(|_| None).unwrap();
        assert!(!flight.is_alone());
        // ... and one that has released more has gone through them.
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
