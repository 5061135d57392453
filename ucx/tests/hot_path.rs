//! In the steady state, sends, receives, wakes and progress do not allocate on the Rust heap.

mod common;

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

use common::{Pair, TRANSPORTS, announced};
use counting_allocator::{CountingAllocator, allocations_of};
use ucx::AmFlags;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

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
    let (sender, mesh) = (common::watched("tcp,shm,self"), common::mesh("tcp,shm,self"));
    let receiver = mesh.worker().unwrap();
    let _endpoint = sender.endpoint().connect_peer(&mesh.address().unwrap()).unwrap();
    common::until(&[&sender, &receiver], "the connection", || mesh.connections() == 1);
    let made = steady(|| {
        for worker in [&sender, &receiver] {
            (0..32).for_each(|_| _ = worker.progress());
            worker.arm().unwrap();
        }
        mesh.progress();
        mesh.arm().unwrap();
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
                let request = announced(message).recv(buffer.take().unwrap());
                started.set(Some(request));
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
