//! An engine's tasks that wait for a counter. Progress polls the counters. Before the host sleeps,
//! `urom-memory` watches them: another thread or process may change a counter.

use std::rc::Rc;
use std::sync::Arc;
use std::task::{Wake, Waker};

use urom_abi::DocaError;

use super::{Context, Pe};
use crate::event::{EngineEvent, Mailbox};
use crate::pe::local::LocalTask;

/// Not the number of any run.
const NO_RUN: u64 = u64::MAX;

struct CounterWaker(Arc<Mailbox>);

impl Wake for CounterWaker {
    fn wake(self: Arc<Self>) {
        self.0.post((NO_RUN, EngineEvent::Counter));
    }
}

impl Pe {
    pub(super) fn wait_for(&self, task: Rc<LocalTask>) {
        self.bell.ring();
        self.chores.set(true);
        self.waiting.borrow_mut().push(task);
    }

    pub(super) fn look(&self) {
        self.answer_where(|task| task.is_met(), Ok(()));
    }

    pub(super) fn cancel_waits(&self, ctx: &Context, code: DocaError) {
        self.answer_where(|task| std::ptr::eq(&*task.ctx, ctx), Err(code));
    }

    fn answer_where(&self, is_meant: impl Fn(&LocalTask) -> bool, result: Result<(), DocaError>) {
        if self.waiting.borrow().is_empty() {
            return;
        }
        let ended: Vec<_> =
            self.waiting.borrow_mut().extract_if(.., |task| is_meant(task)).collect();
        ended.into_iter().for_each(|task| task.answer(self, result));
    }

    /// Arms all awaited counters to wake the host. False if a condition is already met.
    pub(super) fn watch_all(&self) -> Result<bool, DocaError> {
        self.look();
        let waiting = self.waiting.borrow();
        if waiting.is_empty() {
            return Ok(true);
        }
        let waker = self
            .waker
            .get_or_init(|| Waker::from(Arc::new(CounterWaker(Arc::clone(&self.mailbox)))));
        let mut sleeps = true;
        for task in waiting.iter() {
            sleeps &= !task.watch(waker).map_err(|error| error.code())?;
        }
        Ok(sleeps)
    }
}
