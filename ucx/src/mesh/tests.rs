//! Queues that move, queues with a place that is never filled, and their meshes.

use std::cell::Cell;

use super::queue_test::{AM_TEST, LIMIT, LOOKS};
use super::*;
use crate::test_queues::{Queues, ran_alone};
use crate::{AmFlags, Context};

fn settings(transports: &str) -> ContextBuilder {
    let features = Features::TAG | Features::WAKEUP;
    Context::builder(features).config("TLS", transports).watched_shared_memory()
}

fn member(transports: &str) -> Mesh {
    Mesh::open(settings(transports), |_| Ok(()), |_| ()).unwrap()
}

fn receiver() -> (Worker, QueueTest) {
    let worker = settings("posix").build().unwrap().worker().unwrap();
    let test = QueueTest::new(&worker, &settings("posix")).unwrap();
    (worker, test)
}

/// Tries until there is a result.
fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it takes too long");
    }
}

/// Looks until the test of so many losses is over. Returns whether the queue is blocked.
fn is_blocked(worker: &Worker, test: &mut QueueTest, losses: u64) -> bool {
    until(|| {
        let is_blocked = test.look(losses, !worker.progress(), Instant::now());
        (is_blocked || test.tested() == losses).then_some(is_blocked)
    })
}

/// A test whose message is in the queue, which its worker has not looked at since.
fn sent() -> (Worker, QueueTest, Instant) {
    let (worker, mut test) = receiver();
    let begin = Instant::now();
    assert!(!test.look(1, true, begin));
    until(|| {
        assert!(!test.look(1, true, begin));
        test.is_in_queue().then_some(())
    });
    (worker, test, begin)
}

#[test]
fn a_queue_with_a_place_that_is_never_filled_is_blocked() {
    if ran_alone("mesh::tests::a_queue_with_a_place_that_is_never_filled_is_blocked") {
        return;
    }
    let (worker, mut test) = receiver();
    let queues = Queues::now();
    for losses in 1..4 {
        assert!(!is_blocked(&worker, &mut test, losses), "{losses}");
    }
    queues.block(3);
    assert!(is_blocked(&worker, &mut test, 4));
}

#[test]
fn the_message_of_another_process_proves_nothing() {
    let (worker, mut test, begin) = sent();
    let nonce = test.nonce().unwrap();
    let other = settings("posix").build().unwrap().worker().unwrap();
    let endpoint = other.connect(&worker.address().unwrap()).unwrap();
    let changed = nonce.map(|byte| !byte);
    for header in [&changed[..], &nonce[1..], &[&nonce[..], &[0]].concat(), &[]] {
        endpoint.am_send_with(AM_TEST, header, (), AmFlags::EAGER).detach();
    }
    // They are behind the test's own message, which counts as not come.
    worker.progress_until(|| test.nonce().is_none());
    test.expect(nonce);
    until(|| {
        other.progress();
        (!worker.progress()).then_some(())
    });
    assert!(!test.look(1, true, begin) && test.tested() == 0);
    endpoint.am_send_with(AM_TEST, &nonce, (), AmFlags::EAGER).detach();
    worker.progress_until(|| {
        other.progress();
        test.nonce().is_none()
    });
    assert!(!test.look(1, true, begin) && test.tested() == 1);
}

#[test]
fn a_worker_that_did_not_look_knows_nothing() {
    let (_worker, mut test, begin) = sent();
    // It was stopped, or had other messages.
    for _ in 0..2 * LOOKS {
        assert!(!test.look(1, false, begin + 10 * LIMIT));
    }
    for _ in 0..LOOKS - 1 {
        assert!(!test.look(1, true, begin + 10 * LIMIT));
    }
    assert!(test.look(1, true, begin + 10 * LIMIT));
}

#[test]
fn however_many_are_lost_there_is_one_test_at_a_time_and_one_more_after_the_last() {
    let (worker, mut test) = receiver();
    let mut nonces = Vec::new();
    let mut losses = 1;
    until(|| {
        test.look(losses, !worker.progress(), Instant::now());
        nonces.extend(test.nonce());
        nonces.dedup();
        losses = 256;
        (test.tested() == losses).then_some(())
    });
    assert!(nonces.len() == 2 && nonces[0] != nonces[1], "{nonces:?}");
}

#[test]
fn a_message_that_came_into_the_queue_a_moment_ago_has_its_time_to_come_out() {
    let (_worker, mut test, begin) = sent();
    for _ in 0..2 * LOOKS {
        assert!(!test.look(1, true, begin + LIMIT / 2));
    }
    assert!(test.look(1, true, begin + LIMIT));
}

#[test]
fn a_worker_that_is_not_reached_by_shared_memory_is_not_tested() {
    let worker = settings("tcp").build().unwrap().worker().unwrap();
    let mut test = QueueTest::new(&worker, &settings("tcp")).unwrap();
    assert!(!is_blocked(&worker, &mut test, 1));
    assert!(member("tcp").with_member(|member| Ok(member.queue.is_none())).unwrap());
}

/// Has a peer send a message, and leave; `before` that, something happens.
fn peer_leaves(mesh: &Mesh, before: impl FnOnce()) {
    let (worker, peer) = (mesh.worker().unwrap(), member("posix"));
    // SAFETY: of the mesh above.
    let endpoint = unsafe { peer.endpoint(mesh.address().unwrap().as_bytes()) }.unwrap();
    let receiving = worker.tag_recv(7, u64::MAX, vec![0; 5]);
    endpoint.tag_send(7, b"hello".to_vec()).detach();
    until(|| {
        _ = (mesh.progress(), peer.progress());
        (receiving.is_done() && mesh.connections() == 1).then_some(())
    });
    before();
    let losses = || mesh.with_member(|member| Ok(member.losses().unwrap())).ok();
    let begin = losses();
    drop((endpoint, peer));
    until(|| {
        mesh.progress();
        losses().is_none_or(|now| Some(now) != begin).then_some(())
    });
    if mesh.worker().is_ok() {
        assert!(!mesh.arm().unwrap());
    }
    until(|| {
        mesh.progress();
        losses().is_none_or(|(losses, tested)| tested >= losses).then_some(())
    });
}

#[test]
fn a_mesh_gives_up_a_worker_that_is_blocked_and_is_reached_by_the_next() {
    if ran_alone("mesh::tests::a_mesh_gives_up_a_worker_that_is_blocked_and_is_reached_by_the_next")
    {
        return;
    }
    let (listened, said) = (Rc::<Cell<u32>>::default(), Rc::<RefCell<Vec<Status>>>::default());
    let (listens, says) = (Rc::clone(&listened), Rc::clone(&said));
    let listen = move |_: &Worker| {
        listens.set(listens.get() + 1);
        Ok(())
    };
    let on_blocked = move |error: &Error| says.borrow_mut().push(error.status());
    let mesh = Mesh::open(settings("posix"), listen, on_blocked).unwrap();
    let queues = Queues::now();
    peer_leaves(&mesh, || ());
    assert!(mesh.worker().is_ok());

    let (stays, failed) = (member("posix"), Rc::<Cell<Option<Status>>>::default());
    let (address, fails) = (stays.address().unwrap(), Rc::clone(&failed));
    let endpoint = mesh.connect(&address, move |status| fails.set(Some(status))).unwrap();
    let waits = mesh.worker().unwrap().tag_recv(8, u64::MAX, vec![0; 5]);
    let old = mesh.address().unwrap();
    // Two messages, and the test's own.
    peer_leaves(&mesh, || queues.block(3));
    let reset = Status::CONNECTION_RESET;
    assert_eq!(mesh.worker().unwrap_err().status(), reset);
    assert_eq!(mesh.connect(&address, |_| ()).unwrap_err().status(), reset);
    assert_eq!(mesh.arm().unwrap_err().status(), reset);
    assert_eq!((waits.into_done().unwrap().0, failed.get()), (Err(reset), Some(reset)));
    assert_eq!((endpoint.error(), said.take().as_slice()), (Some(reset), &[reset][..]));
    drop(endpoint);

    let new = mesh.address().unwrap();
    assert_ne!(new, old);
    assert_eq!(listened.get(), 2);
    peer_leaves(&mesh, || ());
    assert!(mesh.worker().is_ok());
    // An endpoint to the old address fails.
    let late = stays.connect(&old, |_| ()).unwrap();
    until(|| {
        _ = (mesh.progress(), stays.progress());
        late.is_failed().then_some(())
    });
}
