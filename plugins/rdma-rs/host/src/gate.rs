//! Starts operations in call order, although sharing new memory with the worker takes time.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// The waiting operations, in call order.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    waiting: RefCell<VecDeque<(u64, Option<Waker>)>>,
    last: RefCell<u64>,
}

/// A position in the order. Dropping it admits the next operation.
#[derive(Debug)]
pub(crate) struct Turn {
    gate: Rc<Gate>,
    number: u64,
}

impl Gate {
    pub(crate) fn is_open(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    pub(crate) fn wait(self: &Rc<Self>) -> Turn {
        let mut last = self.last.borrow_mut();
        *last += 1;
        self.waiting.borrow_mut().push_back((*last, None));
        Turn { gate: Rc::clone(self), number: *last }
    }
}

impl Turn {
    /// Ends when all earlier operations are admitted.
    pub(crate) async fn comes(&self) {
        poll_fn(|cx| {
            let mut waiting = self.gate.waiting.borrow_mut();
            if waiting.front().is_some_and(|(number, _)| *number == self.number) {
                return Poll::Ready(());
            }
            let own = waiting.iter_mut().find(|(number, _)| *number == self.number);
            if let Some((_, waker)) = own {
                *waker = Some(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut waiting = self.gate.waiting.borrow_mut();
            waiting.retain(|(number, _)| *number != self.number);
            waiting.front_mut().and_then(|(_, waker)| waker.take())
        };
        // Outside of the borrow: the woken task may take a turn at once.
        next.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Wake};

    use super::*;

    #[test]
    fn turns_come_in_order_and_one_that_is_dropped_is_passed_over() {
        let gate = Rc::new(Gate::default());
        let [first, second, third] = [gate.wait(), gate.wait(), gate.wait()];
        let mut cx = Context::from_waker(Waker::noop());
        assert!(pin!(first.comes()).poll(&mut cx).is_ready());
        assert!(pin!(third.comes()).poll(&mut cx).is_pending());
        drop(second);
        assert!(pin!(third.comes()).poll(&mut cx).is_pending());
        drop(first);
        assert!(pin!(third.comes()).poll(&mut cx).is_ready());
        assert!(!gate.is_open());
        drop(third);
        assert!(gate.is_open());
    }

    #[test]
    fn whoever_is_woken_by_the_end_of_a_turn_may_take_one_at_once() {
        thread_local! {
            static GATE: Rc<Gate> = Rc::default();
        }
        struct TakesATurn;
        impl Wake for TakesATurn {
            fn wake(self: Arc<Self>) {
                GATE.with(|gate| drop(gate.wait()));
            }
        }
        let [first, second] = GATE.with(|gate| [gate.wait(), gate.wait()]);
        let waker = Waker::from(Arc::new(TakesATurn));
        assert!(pin!(second.comes()).poll(&mut Context::from_waker(&waker)).is_pending());
        drop(first);
        assert!(pin!(second.comes()).poll(&mut Context::from_waker(&waker)).is_ready());
    }
}
