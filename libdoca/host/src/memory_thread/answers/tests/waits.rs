//! Questions that wait for a counter.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

const COUNTER: u64 = 16;

fn wait(condition: Condition) -> Ask {
    let (action, operand, compare) = condition.action();
    let (operand, compare) = (operand.into(), compare.into());
    Ask { operand, compare, ..question(action, COUNTER, 8) }
}

fn readable() -> Asked {
    Asked::new(Access::LOCAL_READ_WRITE | Access::PCI_READ_ONLY)
}

impl Asked {
    /// A plain store by the host's program.
    fn store(&self, value: u64) {
        let word = self.memory.as_ptr().wrapping_add(COUNTER as usize / 8).cast_mut();
        // SAFETY: one of its numbers, which only atomics use at this moment.
        unsafe { AtomicU64::from_ptr(word) }.store(value, Ordering::Release);
    }

    fn until_waiting(&mut self, count: usize) {
        self.until(|asked| asked.answers.state.borrow().waits.len() == count);
        assert!(self.received.borrow().is_empty());
    }

    fn next(&mut self) -> u64 {
        self.until(|asked| !asked.received.borrow().is_empty());
        let (answer, data) = self.received.borrow_mut().remove(0);
        assert_eq!((answer.status.get(), data.len()), (DocaStatus::SUCCESS.0, 0));
        answer.result.get()
    }
}

#[test]
fn one_that_is_not_waits_for_a_store_or_an_operation() {
    let mut asked = writable();
    for (condition, met) in [
        (Condition::greater(2), 3),
        (Condition::equal(9), 9),
        (Condition::not_equal(9), 10),
        (Condition::equal(1).masked(1), 11),
    ] {
        asked.send(&wait(condition), b"");
        asked.until_waiting(1);
        asked.store(met);
        assert_eq!(asked.next(), met, "{condition}");
    }
    // The answer to a worker's own operation comes first.
    asked.store(2);
    asked.send(&wait(Condition::greater(2)), b"");
    asked.until_waiting(1);
    let add = question(MemoryAction::FETCH_ADD, COUNTER, 8);
    asked.send(&add, b"");
    assert_eq!([asked.next(), asked.next()], [2, 102]);
}

#[test]
fn a_condition_that_is_not_met_is_answered_after_a_second() {
    let mut asked = readable();
    let start = Instant::now();
    assert_eq!(asked.ask(wait(Condition::greater(2)), b""), Ok((2, Vec::new())));
    assert!(start.elapsed() >= Duration::from_secs(1));
    asked.send(&wait(Condition::greater(2)), b"");
    asked.until_waiting(1);
    assert!(asked.answers.pause().is_some_and(|pause| pause <= Duration::from_secs(1)));
    asked.store(3);
    assert_eq!(asked.next(), 3);
    assert_eq!(asked.answers.pause(), None);
}

#[test]
fn the_thread_is_woken_by_a_counter() {
    struct Bell(std::thread::Thread);
    impl std::task::Wake for Bell {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut asked = readable();
    let bell = std::sync::Arc::new(Bell(std::thread::current()));
    asked.answers.state.borrow_mut().waits = WaitList::new(bell.into());
    asked.send(&wait(Condition::greater(2)), b"");
    asked.until_waiting(1);
    asked.store(3);
    std::thread::park_timeout(LIMIT);
    assert_eq!(asked.next(), 3);
}

#[test]
fn a_wait_ends_with_its_memory_and_its_stream() {
    let mut asked = readable();
    asked.send(&wait(Condition::greater(9)), b"");
    asked.until_waiting(1);
    let (notify, notified) = std::sync::mpsc::channel();
    asked.answers.forget(TOKEN, SHARE, Some(Box::new(move || notify.send(()).unwrap())));
    asked.until(|_| notified.try_recv().is_ok());

    let mut asked = readable();
    asked.send(&wait(Condition::greater(9)), b"");
    asked.until_waiting(1);
    let (done, mut over) = oneshot::channel();
    asked.answers.leave(TOKEN, done);
    asked.until(|_| over.try_recv() != Err(TryRecvError::Empty));
    assert!(asked.received.borrow().is_empty());
}

#[test]
fn a_wait_above_the_limit_is_answered_at_once() {
    let mut asked = readable();
    for _ in 0..MOST_WAITS {
        asked.send(&wait(Condition::greater(9)), b"");
    }
    asked.until_waiting(MOST_WAITS);
    assert_eq!(asked.ask(wait(Condition::greater(9)), b""), Ok((2, Vec::new())));
    asked.store(10);
    for _ in 0..MOST_WAITS {
        assert_eq!(asked.next(), 10);
    }
}
