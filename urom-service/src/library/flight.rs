//! The commands of a connection: which tasks are the host's, which are in flight, and which are answered.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use urom_abi::DocaError;

use super::slots::Slots;
use super::task::{CmdTask, Stage};
use super::task_pool;
use crate::wire::frame::Notification;

/// A connection's tasks.
pub(super) struct Flight {
    slots: RefCell<Slots<CmdTask>>,
    /// Submitted and not answered.
    unanswered: Cell<usize>,
    /// Submitted and not completed.
    in_flight: Cell<usize>,
    submitted: Cell<u64>,
    /// That the host's tasks hold the end back was said.
    reported: Cell<bool>,
}

impl Flight {
    /// Room for `limit` tasks.
    pub(super) fn new(limit: usize) -> Flight {
        Flight {
            slots: RefCell::new(Slots::new(limit)),
            unanswered: Cell::new(0),
            in_flight: Cell::new(0),
            submitted: Cell::new(0),
            reported: Cell::new(false),
        }
    }

    /// How many tasks are submitted and not completed.
    pub(super) fn count(&self) -> usize {
        self.in_flight.get()
    }

    /// How many tasks are the host's or in flight.
    pub(super) fn out(&self) -> usize {
        self.slots.borrow().out()
    }

    /// Whether the worker owes no answer.
    pub(super) fn is_all_answered(&self) -> bool {
        self.unanswered.get() == 0
    }

    /// Whether every task is completed and released.
    pub(super) fn is_over(&self) -> bool {
        self.in_flight.get() == 0 && self.out() == 0
    }

    /// Why there is no task. A host may well wait in this way until one is released.
    pub(super) fn full(&self, worker: u64) -> DocaError {
        tracing::debug!(
            target: "urom_library",
            "no task for worker {worker}: all of {} are allocated, or there is no memory; release one \
             (doca_urom_worker_cmd_task_release), or allow more (doca_urom_worker_set_max_inflight_tasks)",
            self.out()
        );
        DocaError::NO_MEMORY
    }

    /// Says, once, that nothing but tasks in the host's hands keeps a worker's context from going idle.
    pub(super) fn report_unreleased(&self, worker: u64) {
        if self.count() == 0 && !self.reported.replace(true) {
            tracing::warn!(
                target: "urom_library",
                "worker {worker} is stopping and waits for {} tasks that are not released \
                 (doca_urom_worker_cmd_task_release)",
                self.out()
            );
        }
    }

    /// A free task, made by `make` if there is none. `None` when as many as may be are out, or no memory is left.
    pub(super) fn allocate(&self, make: impl FnOnce(u16) -> Option<Rc<CmdTask>>) -> Option<Rc<CmdTask>> {
        self.slots.borrow_mut().allocate(make)
    }

    /// Takes a task back that is its caller's.
    pub(super) fn release(&self, task: &CmdTask) {
        task.withdraw();
        self.slots.borrow_mut().release(task.slot);
    }

    /// The handle of a task of this connection.
    pub(super) fn handle(&self, task: &CmdTask) -> Option<Rc<CmdTask>> {
        self.slots.borrow().get(task.slot).cloned()
    }

    /// Counts a task whose command was sent; its stage is `InFlight` already.
    pub(super) fn submitted(&self, task: &CmdTask) {
        task.has_response.set(false);
        task.head.status.set(DocaError::IN_PROGRESS);
        task.serial.set(self.submitted.replace(self.submitted.get() + 1));
        self.unanswered.set(self.unanswered.get() + 1);
        self.in_flight.set(self.in_flight.get() + 1);
    }

    /// Finds the task a notification answers and notes the answer. `None` when there is no command in flight in that
    /// slot. A payload longer than `limit` makes the task fail.
    pub(super) fn answer(&self, notification: &Notification<'_>, limit: usize) -> Option<Rc<CmdTask>> {
        let slots = self.slots.borrow();
        let task = slots.get(notification.slot).filter(|task| task.head.stage.get() == Stage::InFlight)?;
        match notification.payload {
            Some(payload) if payload.len() > limit => {
                tracing::warn!(
                    target: "urom_library",
                    "a notification of {} bytes came where {limit} are allowed; its task fails",
                    payload.len()
                );
                task.answer(DocaError::TOO_BIG, None);
            }
            payload => task.answer(notification.status, payload),
        }
        self.unanswered.set(self.unanswered.get() - 1);
        Some(Rc::clone(task))
    }

    /// Answers every task in flight with a code; the tasks, in the order of their submission.
    pub(super) fn flush(&self, code: DocaError) -> Vec<Rc<CmdTask>> {
        let slots = self.slots.borrow();
        let lost = slots.iter().filter(|task| task.head.stage.get() == Stage::InFlight);
        let mut lost: Vec<Rc<CmdTask>> = lost.cloned().collect();
        lost.sort_by_key(|task| task.serial.get());
        for task in &lost {
            task.answer(code, None);
        }
        self.unanswered.set(0);
        lost
    }

    /// Counts a task that is about to be the host's again.
    pub(super) fn completed(&self) {
        self.in_flight.set(self.in_flight.get() - 1);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.slots.get_mut().drain().for_each(task_pool::rest);
    }
}
