//! Tag send and receive, and requests that are dropped early.

mod common;

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::time::Duration;

use common::{Pair, TRANSPORTS, pattern};
use ucx::{Buffer, BufferMut, Stable, Status, TagInfo};

const ALL: u64 = u64::MAX;

#[test]
fn messages_reach_receives_that_wait() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        for length in [0, 1, 100, 10_000, 3 << 20] {
            let text: Arc<[u8]> = pattern(length).into();
            let buffer = Stable::new(vec![0; length + 5].into_boxed_slice());
            let receive = pair.b.tag_recv(0x17, ALL, buffer);
            let send = pair.to_b.tag_send(0x17, Stable::new(Arc::clone(&text)));
            let (info, bytes) = pair.finish(receive);
            assert_eq!(info, Ok(TagInfo { tag: 0x17, length }));
            assert!(bytes[..length] == pattern(length));
            assert_eq!(bytes[length..], [0; 5]);
            let (result, back) = pair.finish(send);
            assert_eq!(result, Ok(()));
            assert!(Arc::ptr_eq(&back.into_inner(), &text));
        }
    }
}

#[test]
fn a_message_that_came_first_is_received_at_once() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        let send = pair.to_b.tag_send(0xab, pattern(64));
        pair.until("the message", || pair.b.tag_probe(0xab, ALL).is_some());
        assert_eq!(pair.b.tag_probe(0xab, ALL), Some(TagInfo { tag: 0xab, length: 64 }));
        let (info, bytes) =
            pair.b.tag_recv(0xab, ALL, vec![0; 64]).into_done().expect("done on return");
        assert_eq!(info, Ok(TagInfo { tag: 0xab, length: 64 }));
        assert_eq!(bytes, pattern(64));
        assert_eq!(pair.finish(send).0, Ok(()));
        assert_eq!(pair.b.tag_probe(0, 0), None);
    }
}

#[test]
fn the_mask_chooses_among_messages() {
    let pair = Pair::new("shm,self");
    for tag in [0x1_0001, 0x2_0001, 0x1_0002] {
        pair.to_b.tag_send(tag, tag.to_le_bytes().to_vec()).detach();
    }
    pair.until("the messages", || pair.b.tag_probe(0x1_0002, ALL).is_some());
    for (tag, mask, expected) in
        [(0x2_0000, 0xf_0000, 0x2_0001), (0x0002, 0xffff, 0x1_0002), (0, 0, 0x1_0001)]
    {
        let (info, bytes) = pair.finish(pair.b.tag_recv(tag, mask, vec![0; 8]));
        assert_eq!(info.unwrap().tag, expected);
        assert_eq!(bytes, u64::to_le_bytes(expected));
    }
}

#[test]
fn a_message_longer_than_the_buffer_is_truncated() {
    for transports in TRANSPORTS {
        for first in [true, false] {
            for length in [100, 2 << 20] {
                let pair = Pair::new(transports);
                let receive = |pair: &Pair| pair.b.tag_recv(1, ALL, vec![0xee; 10]);
                let waiting = first.then(|| receive(&pair));
                let send = pair.to_b.tag_send(1, pattern(length));
                let receive = waiting.unwrap_or_else(|| {
                    pair.until("the message", || pair.b.tag_probe(1, ALL).is_some());
                    receive(&pair)
                });
                let (result, bytes) = pair.finish(receive);
                assert_eq!(result, Err(Status::MESSAGE_TRUNCATED));
                assert_eq!(bytes.len(), 10);
                let (sent, buffer) = pair.finish(send);
                assert!(matches!(sent, Ok(()) | Err(Status::MESSAGE_TRUNCATED)), "{sent:?}");
                assert!(buffer == pattern(length));
            }
        }
    }
}

#[test]
fn waiting_with_a_limit_gives_the_request_back() {
    let pair = Pair::new("tcp");
    let receive =
        pair.b.tag_recv(1, ALL, vec![0; 8]).wait_for(Duration::from_millis(10)).unwrap_err();
    assert!(!receive.is_done());
    pair.finish(pair.to_b.tag_send(1, pattern(8))).0.unwrap();
    pair.finish(pair.to_b.flush()).0.unwrap();
    let (result, bytes) = receive.wait_for(Duration::MAX).unwrap();
    assert_eq!((result.map(|info| info.length), bytes), (Ok(8), pattern(8)));
}

struct Counted {
    bytes: Vec<u8>,
    drops: Rc<Cell<u32>>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.set(self.drops.get() + 1);
    }
}

// SAFETY: a vector's bytes are on the heap.
unsafe impl Buffer for Counted {
    fn start(&self) -> *const u8 {
        self.bytes.as_ptr()
    }
    fn len(&self) -> usize {
        self.bytes.len()
    }
}

// SAFETY: as above.
unsafe impl BufferMut for Counted {
    fn start_mut(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr()
    }
}

fn counted(length: usize) -> (Counted, Rc<Cell<u32>>) {
    let drops = Rc::new(Cell::new(0));
    (Counted { bytes: pattern(length), drops: Rc::clone(&drops) }, drops)
}

#[test]
fn a_receive_that_is_dropped_gets_nothing_and_releases_its_buffer() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        let (buffer, drops) = counted(64);
        let receive = pair.b.tag_recv(1, ALL, buffer);
        assert!(!receive.is_done());
        drop(receive);
        pair.until("the cancellation", || drops.get() == 1);
        assert_eq!(pair.finish(pair.to_b.tag_send(1, vec![9; 64])).0, Ok(()));
        let (info, bytes) = pair.finish(pair.b.tag_recv(1, ALL, vec![0; 64]));
        assert_eq!((info.unwrap().length, bytes), (64, vec![9; 64]));
        assert_eq!(drops.get(), 1);
    }
}

#[test]
fn a_send_that_is_dropped_keeps_its_buffer_until_it_has_arrived() {
    for transports in TRANSPORTS {
        let pair = Pair::announcing(transports);
        let length = 2 << 20;
        let (buffer, drops) = counted(length);
        let send = pair.to_b.tag_send(1, buffer);
        assert!(!send.is_done());
        drop(send);
        pair.until("the announcement", || pair.b.tag_probe(1, ALL).is_some());
        assert_eq!(drops.get(), 0, "UCX still needs the bytes");
        let (info, bytes) = pair.finish(pair.b.tag_recv(1, ALL, vec![0; length]));
        assert!(info.is_ok());
        assert!(bytes == pattern(length));
        pair.until("the buffer's end", || drops.get() == 1);
    }
}

#[test]
fn a_receive_dropped_in_the_middle_keeps_its_buffer_until_the_data_has_come() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        let length = 8 << 20;
        let (buffer, drops) = counted(length);
        let send = pair.to_b.tag_send(1, pattern(length));
        pair.until("the announcement", || pair.b.tag_probe(1, ALL).is_some());
        // The receive is matched and cannot be cancelled: UCX writes to the buffer from now on.
        let receive = pair.b.tag_recv(1, ALL, buffer);
        drop(receive);
        assert_eq!(pair.finish(send).0, Ok(()));
        pair.until("the buffer's end", || drops.get() == 1);
    }
}

#[test]
fn a_worker_that_is_dropped_gives_every_buffer_up_first() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        let (buffer, received) = counted(64);
        drop(pair.b.tag_recv(1, ALL, buffer));
        let (buffer, sent) = counted(2 << 20);
        // Never received. A `tcp` endpoint closes by force, a shared memory endpoint waits.
        if transports == "tcp" {
            drop(pair.to_b.tag_send(1, buffer));
        } else {
            drop(buffer);
        }
        let Pair { to_b, a, b } = pair;
        drop(to_b);
        drop(a);
        drop(b);
        assert_eq!((received.get(), sent.get()), (1, 1));
    }
}

#[test]
fn a_buffer_that_a_peer_holds_on_to_is_leaked_and_not_freed() {
    let Pair { to_b, a, b } = Pair::without_errors("tcp");
    let (buffer, drops) = counted(2 << 20);
    drop(to_b.tag_send(1, buffer));
    common::until(&[&a, &b], "the announcement", || b.tag_probe(1, ALL).is_some());
    drop(to_b);
    // The close cannot be forced and the peer never receives: dropping the worker times out.
    drop(a);
    assert_eq!(drops.get(), 0);
    drop(b);
}

#[test]
fn requests_keep_their_worker_alive() {
    let pair = Pair::new("tcp");
    let receive = pair.b.tag_recv(1, ALL, vec![0; 64]);
    let Pair { to_b, a, b } = pair;
    drop(b);
    assert!(!receive.is_done());
    drop(receive);
    drop(to_b);
    drop(a);
}

struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn the_waker_that_was_given_last_is_woken_once() {
    for transports in TRANSPORTS {
        let pair = Pair::new(transports);
        let wakers = [(); 2].map(|()| Arc::new(Counter(AtomicUsize::new(0))));
        let mut receive = pin!(pair.b.tag_recv(1, ALL, vec![0; 64]));
        for waker in [&wakers[0], &wakers[1], &wakers[1]] {
            let waker = Waker::from(Arc::clone(waker));
            assert!(receive.as_mut().poll(&mut TaskContext::from_waker(&waker)).is_pending());
        }
        pair.to_b.tag_send(1, pattern(64)).detach();
        pair.until("the wake", || wakers[1].0.load(Ordering::Relaxed) != 0);
        let mut cx = TaskContext::from_waker(Waker::noop());
        let Poll::Ready((info, bytes)) = receive.as_mut().poll(&mut cx) else {
            panic!("woken too early")
        };
        assert_eq!((info.unwrap().length, bytes), (64, pattern(64)));
        assert_eq!(wakers.map(|waker| waker.0.load(Ordering::Relaxed)), [0, 1]);
    }
}

#[test]
#[should_panic(expected = "polled after its end")]
fn polling_after_the_end_panics() {
    let pair = Pair::new("shm,self");
    let mut send = pin!(pair.to_b.tag_send(1, vec![1]));
    let mut cx = TaskContext::from_waker(Waker::noop());
    pair.until("the send", || send.as_mut().poll(&mut cx).is_ready());
    let _ = send.as_mut().poll(&mut cx);
}

#[test]
fn a_panic_in_a_waker_goes_on_in_progress() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker's panic");
        }
    }
    let pair = Pair::new("shm,self");
    let mut receive = pin!(pair.b.tag_recv(1, ALL, vec![0; 8]));
    let waker = Waker::from(Arc::new(Panics));
    assert!(receive.as_mut().poll(&mut TaskContext::from_waker(&waker)).is_pending());
    pair.to_b.tag_send(1, pattern(8)).detach();
    let progress = std::panic::AssertUnwindSafe(|| pair.until("the panic", || false));
    let caught = std::panic::catch_unwind(progress).unwrap_err();
    assert_eq!(caught.downcast_ref::<&str>(), Some(&"a waker's panic"));
    let mut cx = TaskContext::from_waker(Waker::noop());
    assert!(receive.as_mut().poll(&mut cx).is_ready());
}
