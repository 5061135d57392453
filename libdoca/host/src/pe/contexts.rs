//! The contexts of an engine: state changes and events of the control thread.

use std::ptr;
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use urom_abi::DocaError;
use urom_abi::host::CtxState;

use crate::pe::ctx::Context;
use crate::pe::{Other, Pe};

/// Timeout of an engine's destruction for abandoned workers. Dead peers are detected in half of it.
const LEAVE_LIMIT: Duration = Duration::from_secs(10);

impl Pe {
    pub(super) fn connect(&self, ctx: Weak<Context>) {
        self.contexts.borrow_mut().push(ctx);
    }

    pub(super) fn disconnect(&self, ctx: &Context) {
        self.contexts.borrow_mut().retain(|known| !ptr::eq(known.as_ptr(), ctx));
    }

    /// `IN_USE` while contexts or graphs exist, and inside a callback.
    pub(crate) fn may_go(&self) -> Result<(), DocaError> {
        let is_left = self.contexts.borrow().is_empty() && self.graphs.get() == 0;
        let is_idle = is_left && !self.busy.get();
        is_idle.then_some(()).ok_or(DocaError::IN_USE)
    }

    /// Waits for abandoned contexts to end, if others do not exist.
    pub(crate) fn see_out(&self) {
        let until = Instant::now() + LEAVE_LIMIT;
        while !self.busy.get() && self.has_left_alone() {
            let Some(rest) = until.checked_duration_since(Instant::now()) else {
                return log!(
                    warn,
                    "workers that the host left did not stop within {LEAVE_LIMIT:?} and stay behind"
                );
            };
            if self.progress() != 0 {
                continue;
            }
            if self.request_notification().is_ok() {
                let rest =
                    Timespec { tv_sec: rest.as_secs() as i64, tv_nsec: rest.subsec_nanos().into() };
                // Ignores the result: the loop checks again.
                let _ = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&rest));
                self.clear_notification();
            } else {
                // Out of descriptors, or UCX's descriptor cannot be armed.
                std::thread::sleep(rest.min(Duration::from_millis(1)));
            }
        }
    }

    fn has_left_alone(&self) -> bool {
        let contexts = self.contexts.borrow();
        let is_left = |ctx: &Weak<Context>| ctx.upgrade().is_some_and(|ctx| ctx.left.get());
        !contexts.is_empty() && contexts.iter().all(is_left)
    }

    pub(crate) fn in_flight(&self) -> usize {
        let contexts = self.contexts.borrow();
        contexts.iter().filter_map(Weak::upgrade).map(|ctx| ctx.in_flight()).sum()
    }

    pub(super) fn announce(&self, ctx: &Context, next: CtxState) {
        if let Ok(ctx) = ctx.handle() {
            self.push(Other::State(ctx, next));
        }
    }

    pub(super) fn forget(&self, ctx: &Context) {
        let is_its = |other: &Other| matches!(other, Other::State(of, _) if ptr::eq(&**of, ctx));
        self.ready.retain(|other| !is_its(other));
        self.exchanging.borrow_mut().retain(|of| !ptr::eq(&**of, ctx));
    }

    #[cold]
    pub(super) fn read_mail(&self) {
        // The message may start UCX work after UCX was armed.
        self.bell.ring();
        for (run, event) in self.mailbox.take() {
            let is_meant = |ctx: &Rc<Context>| ctx.run() == run;
            let ctx = self.contexts.borrow().iter().filter_map(Weak::upgrade).find(is_meant);
            if let Some(ctx) = ctx {
                ctx.on_event(self, event);
            }
        }
    }
}
