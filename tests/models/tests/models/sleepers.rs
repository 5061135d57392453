//! `urom-host/src/wait/notifier.rs`: from wakers, on any thread, to the sleeping host.

use std::sync::Arc;
use std::task::Waker;

use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use crate::notifier::Notifier;

struct Wait {
    notifier: Arc<Notifier>,
    /// Relaxed: the wake orders the accesses.
    done: Arc<AtomicBool>,
}

impl Wait {
    fn begin() -> Wait {
        let wait =
            Wait { notifier: Arc::new(Notifier::new()), done: Arc::new(AtomicBool::new(false)) };
        wait.notifier.begin();
        wait
    }

    fn waker(&self, work: fn(&AtomicBool)) -> thread::JoinHandle<()> {
        let (waker, done) = (Waker::from(Arc::clone(&self.notifier)), Arc::clone(&self.done));
        thread::spawn(move || {
            work(&done);
            waker.wake();
        })
    }

    /// The loop of `drive` in `urom-host/src/wait.rs`, on an idle thread. loom reports a lost
    /// wake-up as a deadlock, and also an endless series of sleeps that return at once.
    fn to_its_end(&self) {
        while !(self.notifier.take() && self.done.load(Ordering::Relaxed)) {
            self.notifier.sleep(|bell| bell.unwrap().wait());
        }
    }
}

fn finish(done: &AtomicBool) {
    done.store(true, Ordering::Relaxed);
}

#[test]
fn a_sleeper_is_woken_in_whatever_order_things_happen() {
    loom::model(|| {
        let wait = Wait::begin();
        let waker = wait.waker(finish);
        wait.to_its_end();
        waker.join().unwrap();
    });
}

#[test]
fn a_waker_for_nothing_takes_no_wake_up_away() {
    let mut model = loom::model::Builder::new();
    // With three threads all orders would take hours; the test above has two threads and no limit.
    model.preemption_bound = Some(2);
    model.check(|| {
        let wait = Wait::begin();
        let wakers = [wait.waker(finish), wait.waker(|_| {})];
        wait.to_its_end();
        wakers.into_iter().for_each(|waker| waker.join().unwrap());
    });
}

#[test]
fn a_thread_that_was_woken_before_it_sleeps_does_not_sleep() {
    loom::model(|| {
        let wait = Wait::begin();
        assert!(wait.notifier.is_notified());
        wait.notifier.sleep(|_| panic!("it was woken"));
        assert!(wait.notifier.take() && !wait.notifier.is_notified());
    });
}
