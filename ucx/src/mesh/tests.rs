//! Tests of meshes whose peers leave, also in the middle of a message.

use std::cell::Cell;

use super::*;
use crate::Context;
use crate::test_queues::{Queues, ran_alone};

pub(super) fn settings(transports: &str) -> ContextBuilder {
    let features = Features::TAG | Features::WAKEUP;
    Context::builder(features).config("TLS", transports).watched_shared_memory()
}

pub(super) fn member(transports: &str) -> Mesh {
    Mesh::open(settings(transports), |_| Ok(()), |_| ()).unwrap()
}

pub(super) fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it takes too long");
    }
}

/// Runs `before`; then a peer sends a message and leaves.
fn peer_leaves(mesh: &Mesh, before: impl FnOnce()) {
    let (worker, peer) = (mesh.worker().unwrap(), member("posix"));
    // SAFETY: from the mesh above.
    let endpoint = unsafe { peer.endpoint(mesh.address().unwrap().as_bytes()) }.unwrap();
    let receiving = worker.tag_recv(7, u64::MAX, vec![0; 5]);
    endpoint.tag_send(7, b"hello".to_vec()).detach();
    until(|| {
        _ = (mesh.progress(), peer.progress());
        (receiving.is_done() && mesh.connections() == 1).then_some(())
    });
    before();
    let losses = || mesh.member.borrow().as_ref().map(MeshMember::losses);
    let begin = losses();
    drop((endpoint, peer));
    until(|| {
        mesh.progress();
        (losses() != begin).then_some(())
    });
    assert!(mesh.arm().is_ok_and(|armed| !armed));
    until(|| {
        mesh.progress();
        losses().is_none_or(|(losses, tested)| tested >= losses).then_some(())
    });
}

#[test]
fn a_mesh_closes_a_blocked_worker_and_is_reached_by_the_next() {
    if ran_alone("mesh::tests::a_mesh_closes_a_blocked_worker_and_is_reached_by_the_next") {
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
    let late = stays.connect(&old, |_| ()).unwrap();
    until(|| {
        stays.progress();
        late.is_failed().then_some(())
    });
}
