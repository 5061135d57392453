//! In the steady state nothing is allocated on the Rust heap: not by a send, a receive, a wake or a
//! round of progress. And nothing ever is of a size that a peer only announces.

mod common;

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

use common::{Pair, TRANSPORTS};
use counting_allocator::{CountingAllocator, allocations_of, within};
use ucx::{AmFlags, Data, Mesh, Status};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// What the last half of some rounds allocates.
fn steady(mut round: impl FnMut()) -> usize {
    (0..200).for_each(|_| round());
    allocations_of(|| (0..200).for_each(|_| round()))
}

#[test]
fn a_round_trip_of_short_messages_allocates_nothing() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        pair.b
            .set_am_handler(1, |message| {
                message.reply().unwrap().am_send(2, message.header, ()).detach();
            })
            .unwrap();
        let answers = Rc::new(Cell::new(0_u64));
        let counter = Rc::clone(&answers);
        pair.a.set_am_handler(2, move |_| counter.set(counter.get() + 1)).unwrap();
        let mut buffer = Some(vec![5; 64]);
        let mut rounds = 0;
        let allocated = steady(|| {
            rounds += 1;
            let request =
                pair.to_b.am_send_with(1, b"header", buffer.take().unwrap(), AmFlags::REPLY);
            let (result, back) = pair.finish(request);
            result.unwrap();
            buffer = Some(back);
            pair.until("the answer", || answers.get() == rounds);
        });
        assert_eq!(allocated, 0, "{transports}");
    }
}

#[test]
fn rounds_and_arming_of_a_worker_that_watches_peers_allocate_nothing() {
    let (sender, receiver) = (common::watched("tcp,shm,self"), common::watched("tcp,shm,self"));
    let mesh = Mesh::new(&receiver).unwrap();
    let _endpoint = sender.endpoint().connect_peer(&mesh.address().unwrap()).unwrap();
    common::until(&[&sender, &receiver], "the connection", || mesh.connections() == 1);
    let made = steady(|| {
        for worker in [&sender, &receiver] {
            (0..32).for_each(|_| _ = worker.progress());
            worker.arm().unwrap();
        }
    });
    assert_eq!(made, 0);
}

#[test]
fn a_pending_request_and_its_wake_allocate_nothing() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        let (mut sent, mut received) = (Some(vec![5; 64]), Some(vec![0; 64]));
        let allocated = steady(|| {
            let mut cx = TaskContext::from_waker(Waker::noop());
            let mut receive = pin!(pair.b.tag_recv(1, u64::MAX, received.take().unwrap()));
            assert!(receive.as_mut().poll(&mut cx).is_pending());
            let mut send = pin!(pair.to_b.tag_send(1, sent.take().unwrap()));
            pair.until("both", || {
                if received.is_none()
                    && let Poll::Ready((info, buffer)) = receive.as_mut().poll(&mut cx)
                {
                    info.unwrap();
                    received = Some(buffer);
                }
                if sent.is_none()
                    && let Poll::Ready((result, buffer)) = send.as_mut().poll(&mut cx)
                {
                    result.unwrap();
                    sent = Some(buffer);
                }
                sent.is_some() && received.is_some()
            });
        });
        assert_eq!(allocated, 0, "{transports}");
    }
}

#[test]
fn a_large_message_is_received_without_allocating() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        let target = Rc::new(Cell::new(Some(vec![0; 1 << 20])));
        let request = Rc::new(Cell::new(None));
        let (buffer, started) = (Rc::clone(&target), Rc::clone(&request));
        pair.b
            .set_am_handler(1, move |message| {
                let Data::Rendezvous(rendezvous) = message.data else {
                    panic!("asked for rendezvous")
                };
                started.set(Some(rendezvous.recv(buffer.take().unwrap())));
            })
            .unwrap();
        let mut source = Some(vec![3; 1 << 20]);
        let allocated = steady(|| {
            let send = pair.to_b.am_send_with(1, b"", source.take().unwrap(), AmFlags::RENDEZVOUS);
            let mut receive = None;
            pair.until("the announcement", || {
                receive = request.take();
                receive.is_some()
            });
            let (length, buffer) = pair.finish(receive.take().unwrap());
            assert_eq!(length, Ok(1 << 20));
            target.set(Some(buffer));
            let (result, buffer) = pair.finish(send);
            result.unwrap();
            source = Some(buffer);
        });
        assert_eq!(allocated, 0, "{transports}");
    }
}

#[test]
fn a_large_message_that_is_dropped_unread_costs_no_memory_of_its_size() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        let mut source = Some(vec![3; 8 << 20]);
        for _ in 0..3 {
            source = within(4096, || {
                let send = pair.to_b.tag_send(1, source.take().unwrap());
                let mut message = None;
                pair.until("the announcement", || {
                    message = pair.b.tag_take(1, u64::MAX);
                    message.is_some()
                });
                assert_eq!(message.as_ref().unwrap().info().length, 8 << 20);
                drop(message);
                let (result, buffer) = pair.finish(send);
                assert!(matches!(result, Ok(()) | Err(Status::MESSAGE_TRUNCATED)), "{result:?}");
                Some(buffer)
            });
        }
        // What is sent next arrives.
        let send = pair.to_b.tag_send(2, source.take().unwrap());
        let (info, buffer) = pair.finish(pair.b.tag_recv(2, u64::MAX, vec![0; 8 << 20]));
        assert_eq!(info.unwrap().length, 8 << 20);
        assert!(buffer.iter().all(|&byte| byte == 3));
        assert_eq!(pair.finish(send).0, Ok(()));
    }
}
