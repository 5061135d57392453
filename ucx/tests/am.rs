//! Active messages between two workers.

mod common;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use common::{Log, Pair, TRANSPORTS, announcements, builder, eager, log, pattern, until};
use ucx::{AmData, AmFlags, ErrorMode, Message, Status};

#[test]
fn eager_messages_arrive_with_header_and_data() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        let seen = eager(&pair.b, 3);
        for length in [0, 1, 8, 100, 4000, 1 << 20] {
            let send = pair.to_b.am_send_with(3, b"head", pattern(length), AmFlags::EAGER);
            let (result, buffer) = pair.finish(send);
            assert_eq!(result, Ok(()));
            assert!(buffer == pattern(length));
            pair.until("the message", || !seen.borrow().is_empty());
            assert!(seen.take() == [(b"head".to_vec(), pattern(length))]);
        }
    }
}

#[test]
fn a_header_alone_needs_no_buffer() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        let seen = common::headers(&pair.b, 0);
        let longest = pair.a.max_am_header();
        assert!(longest >= 1024, "{longest}");
        for length in [1, 64, longest] {
            let header = pattern(length);
            let request = pair.to_b.am_send(0, &header, ());
            drop(header);
            assert_eq!(pair.finish(request).0, Ok(()));
            pair.until("the message", || !seen.borrow().is_empty());
            assert_eq!(seen.take(), [pattern(length)]);
        }
    }
}

#[test]
fn a_message_sent_now_gives_its_buffer_back_or_a_request_that_has_it() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        let seen = common::headers(&pair.b, 1);
        assert_eq!(pair.finish(pair.to_b.am_send(1, b"first", ())).0, Ok(()));
        pair.until("the connection", || !seen.borrow().is_empty());

        let (result, buffer) =
            pair.to_b.am_send_now(1, b"short", pattern(16), AmFlags::EAGER).unwrap();
        assert_eq!((result, buffer), (Ok(()), pattern(16)));
        // The handler drops the announcement; the sender needs the peer's progress to detect that.
        let under_way =
            pair.to_b.am_send_now(1, b"long", pattern(1 << 20), AmFlags::RENDEZVOUS).unwrap_err();
        assert!(!under_way.is_done());
        assert_eq!(pair.finish(under_way), (Ok(()), pattern(1 << 20)));
        assert_eq!(seen.take(), [b"first".to_vec(), b"short".to_vec(), b"long".to_vec()]);
    }
}

#[test]
fn a_message_that_cannot_be_sent_gives_its_buffer_and_the_reason_back() {
    let pair = Pair::new("shm,self");
    let header = pattern(pair.a.max_am_header() + 1);
    let now = pair.to_b.am_send_now(0, &header, pattern(5), AmFlags::NONE).unwrap();
    for refused in [now, pair.to_b.am_send(0, &header, pattern(5)).into_done().unwrap()] {
        assert_eq!(refused, (Err(Status::INVALID_PARAM), pattern(5)));
    }
}

#[test]
fn large_messages_are_announced_and_fetched() {
    for transports in TRANSPORTS {
        let pair = Pair::announcing(transports);
        let announced = announcements(&pair.b, 9);
        let length = 5 << 20;
        let send = pair.to_b.am_send(9, b"big", pattern(length));
        pair.until("the announcement", || !announced.borrow().is_empty());
        let rendezvous = announced.take().pop().unwrap();
        assert_eq!(rendezvous.len(), length);
        let (received, bytes) = pair.finish(rendezvous.recv(vec![0xee; length + 3]));
        assert_eq!(received, Ok(length));
        assert!(bytes[..length] == pattern(length));
        assert_eq!(bytes[length..], [0xee; 3]);
        assert_eq!(pair.finish(send).0, Ok(()));
    }
}

#[test]
fn an_announcement_can_be_dropped_in_and_after_its_handler() {
    for transports in TRANSPORTS {
        for keep in [false, true] {
            let pair = Pair::announcing(transports);
            let (dropped, log) = log();
            let announced = match keep {
                true => announcements(&pair.b, 1),
                false => {
                    let handler = move |_: Message<'_>| log.borrow_mut().push(());
                    pair.b.set_am_handler(1, handler).unwrap();
                    Log::default()
                }
            };
            let send = pair.to_b.am_send(1, b"", pattern(1 << 20));
            let came = || announced.borrow().len() + dropped.borrow().len() == 1;
            pair.until("the announcement", came);
            announced.borrow_mut().clear();
            assert_eq!(pair.finish(send).0, Ok(()));
        }
    }
}

#[test]
fn a_buffer_too_small_for_an_announcement_comes_back() {
    let pair = Pair::new("shm,self");
    let (results, log) = log();
    pair.b
        .set_am_handler(1, move |message| {
            let AmData::Rendezvous(rendezvous) = message.data else {
                panic!("asked for rendezvous")
            };
            log.borrow_mut().push(rendezvous.recv(vec![7; 10]).into_done().unwrap());
        })
        .unwrap();
    let send = pair.to_b.am_send_with(1, b"", pattern(11), AmFlags::RENDEZVOUS);
    assert_eq!(pair.finish(send).0, Ok(()));
    pair.until("the handler", || !results.borrow().is_empty());
    assert_eq!(results.take(), [(Err(Status::BUFFER_TOO_SMALL), vec![7; 10])]);
}

#[test]
fn a_panic_in_a_handler_goes_on_in_progress_and_the_worker_lives() {
    for rendezvous in [AmFlags::EAGER, AmFlags::RENDEZVOUS] {
        let pair = Pair::new("shm,self");
        let (seen, log) = log();
        pair.b
            .set_am_handler(1, move |message| {
                if message.header == b"bad" {
                    panic!("a handler's panic");
                }
                log.borrow_mut().push(message.header.to_vec());
            })
            .unwrap();
        let bad = pair.to_b.am_send_with(1, b"bad", pattern(64), rendezvous);
        let good = pair.to_b.am_send_with(1, b"good", pattern(64), rendezvous);
        let caught =
            catch_unwind(AssertUnwindSafe(|| pair.until("the panic", || false))).unwrap_err();
        assert_eq!(caught.downcast_ref::<&str>(), Some(&"a handler's panic"));
        pair.until("the next message", || !seen.borrow().is_empty());
        assert_eq!(seen.take(), [b"good"]);
        assert_eq!(pair.finish(bad).0, Ok(()));
        assert_eq!(pair.finish(good).0, Ok(()));
    }
}

#[test]
fn handlers_can_be_replaced() {
    let pair = Pair::new("shm,self");
    let (seen, log) = log();
    let dropped = Rc::new(());
    for name in ["first", "second"] {
        let (log, dropped) = (Rc::clone(&log), Rc::clone(&dropped));
        pair.b
            .set_am_handler(1, move |_| {
                let _ = &dropped;
                log.borrow_mut().push(name);
            })
            .unwrap();
        pair.to_b.am_send(1, b"", vec![]).detach();
        pair.until("the message", || seen.borrow().last() == Some(&name));
    }
    assert_eq!(Rc::strong_count(&dropped), 2, "the first handler was dropped when it was replaced");
}

#[test]
fn a_message_names_the_endpoint_to_its_sender() {
    for mode in [ErrorMode::Peer, ErrorMode::None] {
        let worker = || builder("tcp,self").build().unwrap().worker().unwrap();
        let [receiver, sender, other] = [worker(), worker(), worker()];
        let connect = |from: &ucx::Worker, to: &ucx::Worker| {
            let address = to.address().unwrap();
            // SAFETY: from a worker of this test.
            let raw = unsafe { ucx::WorkerAddress::from_raw(address.raw_bytes()) }.unwrap();
            assert_eq!(raw.worker_uid().unwrap(), address.worker_uid().unwrap());
            from.endpoint().error_mode(mode).connect(&raw).unwrap()
        };
        let [back, elsewhere] = [connect(&receiver, &sender), connect(&receiver, &other)];
        let there = connect(&sender, &receiver);
        let came = Rc::new(Cell::new(None));
        let seen = Rc::clone(&came);
        let handler = move |message: Message<'_>| seen.set(message.reply().map(|r| r.endpoint()));
        receiver.set_am_handler(0, handler).unwrap();
        there.am_send_with(0, b"header", vec![1; 10], AmFlags::REPLY).detach();
        until(&[&receiver, &sender, &other], "the message", || came.get().is_some());
        assert_eq!(came.get(), Some(back.id()));
        assert_ne!(came.get(), Some(elsewhere.id()));
        assert!(back.id().to_string().starts_with("0x"));
    }
}

#[test]
fn bytes_that_are_too_few_are_no_raw_address() {
    for bytes in [&b""[..], b"short"] {
        // SAFETY: the test makes no endpoint from it.
        let error = unsafe { ucx::WorkerAddress::from_raw(bytes) }.unwrap_err();
        assert_eq!(error.status(), Status::INVALID_ADDR);
    }
}
