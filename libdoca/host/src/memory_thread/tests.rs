//! A memory thread that ends before its handles.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::*;

fn fail(thread: &MemoryThread) {
    thread.forget(1, 2, Some(Box::new(|| panic!("as a test wants"))));
}

fn until_ended(thread: &MemoryThread) {
    let start = Instant::now();
    while !thread.mailbox.is_closed() {
        thread::yield_now();
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn a_panic_of_the_thread_wakes_its_waiters() {
    let thread = MemoryThread::start().unwrap();
    let orders = || {
        let (notify, notified) = mpsc::channel::<()>();
        let (done, over) = oneshot::channel();
        let notifiers = [notify.clone(), notify];
        let [connected, forgotten] =
            notifiers.map(|notify| -> DoneCallback { Box::new(move || drop(notify)) });
        thread.connect(1, Vec::new(), connected);
        thread.forget(1, 3, Some(forgotten));
        thread.leave(1, done);
        (notified, over)
    };
    fail(&thread);
    for _ in 0..2 {
        let (notified, over) = orders();
        over.blocking_recv().unwrap_err();
        assert_eq!(notified.recv(), Err(mpsc::RecvError));
        until_ended(&thread);
    }
}

#[test]
fn a_thread_that_has_ended_is_replaced() {
    let slot = Mutex::new(Weak::new());
    let first = MemoryThread::shared_at(&slot).unwrap();
    assert!(Arc::ptr_eq(&first, &MemoryThread::shared_at(&slot).unwrap()));
    fail(&first);
    until_ended(&first);
    let second = MemoryThread::shared_at(&slot).unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    let (done, over) = oneshot::channel();
    second.leave(1, done);
    over.blocking_recv().unwrap();
}
