//! The tasks of an engine that wait for a counter.
//!
//! Progress looks at the counters. Before the host sleeps, the watcher of `urom-memory` is asked to
//! wake it: the counter may be changed by another thread or another process.

use std::rc::Rc;
use std::sync::Arc;
use std::task::{Wake, Waker};

use urom_abi::DocaError;

use super::{Context, Pe};
use crate::event::{Event, Mailbox};
use crate::pe::local::LocalTask;

/// No run of a context has this number.
const NO_RUN: u64 = u64::MAX;

struct Caller(Arc<Mailbox>);

impl Wake for Caller {
    fn wake(self: Arc<Self>) {
        self.0.post((NO_RUN, Event::Counter));
    }
}

impl Pe {
    pub(super) fn wait_for(&self, task: Rc<LocalTask>) {
        self.bell.ring();
        self.chores.set(true);
        self.waiting.borrow_mut().push(task);
    }

    /// Answers the tasks whose counters are what they wait for.
    pub(super) fn look(&self) {
        self.answer_where(|task| task.is_met(), DocaError::SUCCESS);
    }

    pub(super) fn give_up_waits(&self, ctx: &Context, code: DocaError) {
        self.answer_where(|task| std::ptr::eq(&*task.ctx, ctx), code);
    }

    fn answer_where(&self, is_meant: impl Fn(&LocalTask) -> bool, code: DocaError) {
        if self.waiting.borrow().is_empty() {
            return;
        }
        let ended: Vec<_> =
            self.waiting.borrow_mut().extract_if(.., |task| is_meant(task)).collect();
        ended.into_iter().for_each(|task| task.answer(self, code));
    }

    /// Has every counter that is waited for wake the host; whether none is there already.
    pub(super) fn watch_all(&self) -> Result<bool, DocaError> {
        self.look();
        let waiting = self.waiting.borrow();
        if waiting.is_empty() {
            return Ok(true);
        }
        let waker =
            self.waker.get_or_init(|| Waker::from(Arc::new(Caller(Arc::clone(&self.mailbox)))));
        let mut sleeps = true;
        for task in waiting.iter() {
            sleeps &= !task.watch(waker).map_err(|error| error.code())?;
        }
        Ok(sleeps)
    }
}
