//! A worker that sends to itself over the `self` transport: UCX calls its handlers inside the send.

mod common;

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Context as TaskContext, Wake, Waker};

use common::{announced, connect, finish, log, pattern, until};
use ucx::{AmData, AmFlags, CloseMode, Context, Endpoint, Features, Status, WeakWorker, Worker};

/// A worker with a no-op handler 0 and an endpoint to itself, weak in handlers to avoid a cycle.
fn loopback() -> (Rc<Endpoint>, Worker) {
    // This transport does not support wakeups.
    let context =
        Context::builder(Features::AM | Features::TAG).config("TLS", "self").build().unwrap();
    let worker = context.worker().unwrap();
    let endpoint = connect(&worker, &worker, "self");
    worker.set_am_handler(0, |_| ()).unwrap();
    assert_eq!(finish(&[&worker], endpoint.am_send(0, b"connect", ())).0, Ok(()));
    assert_eq!(finish(&[&worker], endpoint.flush()).0, Ok(()));
    (Rc::new(endpoint), worker)
}

#[test]
fn a_handler_called_inside_a_send_is_inside_a_callback() {
    let (endpoint, worker) = loopback();
    let (seen, log) = log();
    let weak = worker.downgrade();
    worker
        .set_am_handler(1, move |_| {
            let worker = weak.upgrade().unwrap();
            let refused = worker.set_am_handler(2, |_| ()).unwrap_err().status();
            let fenced = worker.fence().unwrap_err().status();
            log.borrow_mut().push((worker.is_progressing(), worker.progress(), refused, fenced));
        })
        .unwrap();
    endpoint.am_send(1, b"", ()).detach();
    assert_eq!(seen.take(), [(true, false, Status::BUSY, Status::BUSY)], "called inside the send");
    assert!(!worker.is_progressing());
}

#[test]
fn waiting_inside_such_a_handler_panics_in_the_next_progress() {
    let (endpoint, worker) = loopback();
    let weak = worker.downgrade();
    worker.set_am_handler(1, move |_| weak.upgrade().unwrap().progress_until(|| true)).unwrap();
    assert_eq!(endpoint.am_send(1, b"", ()).wait().0, Ok(()));
    assert!(!worker.is_progressing());
    let caught = catch_unwind(AssertUnwindSafe(|| worker.progress())).unwrap_err();
    assert!(caught.downcast_ref::<&str>().unwrap().contains("inside a callback"));
    assert!(!worker.is_progressing());
}

#[test]
fn an_endpoint_closed_in_such_a_handler_stays_until_it_has_returned() {
    let (endpoint, worker) = loopback();
    let other = connect(&worker, &worker, "self");
    assert_eq!(finish(&[&worker], other.am_send(0, b"connect", ())).0, Ok(()));
    let other = Cell::new(Some(other));
    let answers = common::headers(&worker, 0);
    worker
        .set_am_handler(1, move |message| {
            other.take().unwrap().close(CloseMode::Flush);
            message.reply().unwrap().am_send(0, b"reply", ()).detach();
        })
        .unwrap();
    endpoint.am_send_with(1, b"", (), AmFlags::REPLY).detach();
    assert_eq!(finish(&[&worker], endpoint.flush()).0, Ok(()));
    assert_eq!(answers.take(), [b"reply"]);
}

#[test]
fn a_message_sent_inside_a_handler_is_handled_after_it() {
    for flags in [AmFlags::EAGER, AmFlags::RENDEZVOUS] {
        let (endpoint, worker) = loopback();
        let (seen, log) = log();
        let received = Rc::new(RefCell::new(Vec::new()));
        for id in [1, 2] {
            let (log, received) = (Rc::clone(&log), Rc::clone(&received));
            let weak = Rc::downgrade(&endpoint);
            worker
                .set_am_handler(id, move |message| {
                    let left = message.header[0];
                    log.borrow_mut().push((id, left, "begins"));
                    if left > 0 {
                        let endpoint = Weak::upgrade(&weak).unwrap();
                        for next in [1, 2] {
                            let data = pattern(usize::from(left) * 100);
                            endpoint.am_send_with(next, &[left - 1], data, flags).detach();
                        }
                    }
                    match message.data {
                        AmData::Eager(bytes) => {
                            assert_eq!(bytes, pattern((usize::from(left) + 1) * 100))
                        }
                        AmData::Rendezvous(rendezvous) => {
                            let buffer = vec![0; rendezvous.len()];
                            received.borrow_mut().push((left, rendezvous.recv(buffer)));
                        }
                    }
                    log.borrow_mut().push((id, left, "ends"));
                })
                .unwrap();
        }
        let send = endpoint.am_send_with(1, &[2], pattern(300), flags);
        assert_eq!(finish(&[&worker], send).0, Ok(()));
        until(&[&worker], "the messages", || seen.borrow().len() == 14);
        let order = [(1, 2), (1, 1), (2, 1), (1, 0), (2, 0), (1, 0), (2, 0)];
        let expected: Vec<_> = order
            .iter()
            .flat_map(|&(id, left)| [(id, left, "begins"), (id, left, "ends")])
            .collect();
        assert_eq!(seen.take(), expected);
        let received = received.take();
        assert_eq!(received.len(), if flags == AmFlags::EAGER { 0 } else { 7 });
        for (left, request) in received {
            let (length, bytes) = finish(&[&worker], request);
            assert_eq!(length, Ok((usize::from(left) + 1) * 100));
            assert_eq!(bytes, pattern(bytes.len()));
        }
    }
}

#[test]
fn announcements_made_inside_an_announcements_handler_are_kept_or_dropped_each_for_itself() {
    for (keep_outer, keep_inner) in [(true, true), (true, false), (false, true), (false, false)] {
        let (endpoint, worker) = loopback();
        let (kept, log) = log();
        let weak = Rc::downgrade(&endpoint);
        let outer = Rc::clone(&log);
        let sends = Rc::new(Cell::new(None));
        let sent = Rc::clone(&sends);
        worker
            .set_am_handler(1, move |message| {
                let endpoint = Weak::upgrade(&weak).unwrap();
                let send = endpoint.am_send_with(2, b"", pattern(2000), AmFlags::RENDEZVOUS);
                sent.set(Some(send));
                outer.borrow_mut().extend(keep_outer.then_some(announced(message)));
            })
            .unwrap();
        worker
            .set_am_handler(2, move |message| {
                log.borrow_mut().extend(keep_inner.then_some(announced(message)));
            })
            .unwrap();
        let outer_send = endpoint.am_send_with(1, b"", pattern(1000), AmFlags::RENDEZVOUS);
        until(&[&worker], "the announcements", || {
            kept.borrow().len() == usize::from(keep_outer) + usize::from(keep_inner)
        });
        let inner_send = sends.take().unwrap();
        assert!(!(keep_outer && outer_send.is_done()), "what is kept has not arrived yet");
        assert!(!(keep_inner && inner_send.is_done()), "what is kept has not arrived yet");
        for rendezvous in kept.take() {
            let length = rendezvous.len();
            let (received, bytes) = finish(&[&worker], rendezvous.recv(vec![0; length]));
            assert_eq!((received, bytes), (Ok(length), pattern(length)));
        }
        assert_eq!(finish(&[&worker], outer_send).0, Ok(()));
        assert_eq!(finish(&[&worker], inner_send).0, Ok(()));
    }
}

#[test]
fn an_announcement_is_dropped_by_a_handler_that_waited_for_its_own() {
    let (endpoint, worker) = loopback();
    let (kept, log) = log();
    let weak = Rc::downgrade(&endpoint);
    worker
        .set_am_handler(1, move |message| {
            log.borrow_mut().push(announced(message));
            Weak::upgrade(&weak).unwrap().am_send(2, b"drop it", ()).detach();
        })
        .unwrap();
    let (dropped, count) = (Rc::clone(&kept), Rc::new(Cell::new(0)));
    let counter = Rc::clone(&count);
    worker
        .set_am_handler(2, move |_| {
            counter.set(counter.get() + dropped.borrow_mut().drain(..).count())
        })
        .unwrap();
    for round in 1..=100 {
        let send = endpoint.am_send_with(1, b"", pattern(1000), AmFlags::RENDEZVOUS);
        assert_eq!(finish(&[&worker], send).0, Ok(()));
        assert_eq!(count.get(), round);
    }
}

#[test]
fn a_message_that_waited_can_be_replied_to() {
    let (endpoint, worker) = loopback();
    let (seen, log) = log();
    let weak = Rc::downgrade(&endpoint);
    worker
        .set_am_handler(1, move |_| {
            Weak::upgrade(&weak).unwrap().am_send_with(2, b"", (), AmFlags::REPLY).detach();
        })
        .unwrap();
    worker
        .set_am_handler(2, move |message| {
            message.reply().unwrap().am_send(3, b"", b"answer".to_vec()).detach();
        })
        .unwrap();
    worker
        .set_am_handler(3, move |message| {
            assert!(message.reply().is_none());
            let AmData::Eager(bytes) = message.data else { panic!("short") };
            log.borrow_mut().push(bytes.to_vec());
        })
        .unwrap();
    endpoint.am_send_with(1, b"", (), AmFlags::REPLY).detach();
    until(&[&worker], "the answer", || !seen.borrow().is_empty());
    assert_eq!(seen.take(), [b"answer"]);
    worker.progress();
}

#[test]
fn a_panic_inside_a_send_loses_no_message_and_goes_on_in_progress() {
    for flags in [AmFlags::EAGER, AmFlags::RENDEZVOUS] {
        let (endpoint, worker) = loopback();
        let (seen, log) = log();
        let weak = Rc::downgrade(&endpoint);
        worker
            .set_am_handler(1, move |message| {
                log.borrow_mut().push(message.header.to_vec());
                if message.header == b"bad" {
                    let endpoint = Weak::upgrade(&weak).unwrap();
                    endpoint.am_send_with(1, b"inner", pattern(100), flags).detach();
                    panic!("a handler's panic");
                }
            })
            .unwrap();
        let send = endpoint.am_send_with(1, b"bad", pattern(100), flags);
        let mut caught = None;
        until(&[], "the panic", || {
            caught = catch_unwind(AssertUnwindSafe(|| worker.progress())).err();
            caught.is_some()
        });
        assert_eq!(caught.unwrap().downcast_ref::<&str>(), Some(&"a handler's panic"));
        assert!(!worker.is_progressing());
        assert_eq!(finish(&[&worker], send).0, Ok(()));
        assert_eq!(
            finish(&[&worker], endpoint.am_send_with(1, b"good", pattern(100), flags)).0,
            Ok(())
        );
        until(&[&worker], "all messages", || seen.borrow().len() == 3);
        assert_eq!(seen.take(), [&b"bad"[..], b"inner", b"good"]);
    }
}

#[test]
fn a_waker_woken_inside_a_send_is_inside_a_callback() {
    /// A waker that records whether this thread's worker progresses.
    struct Asks;
    thread_local! {
        static WORKER: RefCell<Option<WeakWorker>> = const { RefCell::new(None) };
        static ANSWERS: RefCell<Vec<(bool, bool)>> = const { RefCell::new(Vec::new()) };
    }
    impl Wake for Asks {
        fn wake(self: Arc<Self>) {
            let worker =
                WORKER.with_borrow(|worker| worker.as_ref().and_then(WeakWorker::upgrade)).unwrap();
            ANSWERS.with_borrow_mut(|answers| {
                answers.push((worker.is_progressing(), worker.progress()))
            });
        }
    }
    let (endpoint, worker) = loopback();
    WORKER.set(Some(worker.downgrade()));
    let mut receive = std::pin::pin!(worker.tag_recv(1, u64::MAX, vec![0; 8]));
    let waker = Waker::from(Arc::new(Asks));
    assert!(receive.as_mut().poll(&mut TaskContext::from_waker(&waker)).is_pending());
    endpoint.tag_send(1, pattern(8)).detach();
    assert_eq!(ANSWERS.take(), [(true, false)], "woken inside the send");
    let mut cx = TaskContext::from_waker(Waker::noop());
    assert!(receive.as_mut().poll(&mut cx).is_ready());
}
