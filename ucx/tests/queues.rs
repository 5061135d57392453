//! Workers with different receive queue sizes in shared memory do not connect.

mod common;

use common::{finish, until};
use ucx::{AmFlags, Context, ContextBuilder, Features, Mesh, Status, Worker, WorkerAddress};

fn builder() -> ContextBuilder {
    Context::builder(Features::AM).config("TLS", "tcp,posix,self")
}

fn kinds() -> [ContextBuilder; 5] {
    let watched = || builder().watched_shared_memory();
    [
        builder(),
        watched(),
        watched().config("POSIX_FIFO_SIZE", "128"),
        watched().config("*_FIFO_SIZE", "128"),
        builder().config("MM_SEG_SIZE", "16384"),
    ]
}

fn worker(builder: ContextBuilder) -> Worker {
    builder.build().unwrap().worker().unwrap()
}

/// Returns all pairs of different kinds: a worker of one and a mesh of the other.
fn pairs() -> impl Iterator<Item = (String, Worker, Mesh)> {
    let all = kinds().len();
    let pairs = (0..all)
        .flat_map(move |from| (0..all).map(move |to| (from, to)))
        .filter(|(from, to)| from != to);
    pairs.map(|(from, to)| {
        let mesh = Mesh::open(kinds()[to].clone(), |_| Ok(()), |_| ()).unwrap();
        (format!("{from} to {to}"), worker(kinds()[from].clone()), mesh)
    })
}

#[test]
fn an_address_of_a_worker_with_other_queues_is_refused() {
    for (which, from, to) in pairs() {
        let peer = to.address().unwrap();
        let address = peer.worker().clone();
        // SAFETY: the bytes of `address`, unchanged.
        let travelled = unsafe { WorkerAddress::from_bytes(address.as_bytes()) }.unwrap();
        for address in [address, travelled] {
            let error = from.connect(&address).unwrap_err();
            assert_eq!(error.status(), Status::UNREACHABLE, "{which}");
            assert!(error.to_string().contains("watched_shared_memory"), "{error}");
        }
        let error = from.endpoint().connect_peer(&peer).unwrap_err();
        assert_eq!(error.status(), Status::UNREACHABLE, "{which}");
    }
}

#[test]
fn workers_with_the_same_queues_connect() {
    for kind in kinds() {
        let [client, server] = [(); 2].map(|()| worker(kind.clone()));
        let endpoint = client.connect(&server.address().unwrap()).unwrap();
        let seen = common::headers(&server, 1);
        let sent = endpoint.am_send_with(1, b"hello", (), AmFlags::EAGER);
        assert_eq!(finish(&[&client, &server], sent).0, Ok(()));
        until(&[&client, &server], "the message", || !seen.borrow().is_empty());
        assert_eq!(seen.take(), [b"hello"]);
    }
}

#[test]
fn a_worker_without_shared_memory_sends_to_those_with_the_usual_queues() {
    let features = Features::TAG;
    let sender =
        Context::builder(features | Features::AM | Features::WAKEUP).without_shared_memory();
    let sender = sender.config("TCP_TX_SEG_SIZE", "64K").config("TCP_RX_SEG_SIZE", "512K");
    let sender = sender.build().unwrap().worker().unwrap();
    let watched = Context::builder(features).watched_shared_memory();
    for receiver in [Context::builder(features), watched] {
        let receiver = receiver.build().unwrap().worker().unwrap();
        let endpoint = sender.connect(&receiver.address().unwrap()).unwrap();
        for length in [0, 100, 10_000, 4 << 20] {
            let sent = endpoint.tag_send(7, vec![5_u8; length]);
            let received = receiver.tag_recv(7, u64::MAX, vec![0_u8; length]);
            until(&[&sender, &receiver], "a message", || sent.is_done() && received.is_done());
            assert_eq!(sent.wait().0, Ok(()));
            let (came, bytes) = received.wait();
            assert_eq!(came.unwrap().length, length);
            assert!(bytes == vec![5; length]);
        }
        assert!(!endpoint.is_in_shared_memory().unwrap());
    }
    let other = worker(builder().config("MM_SEG_SIZE", "16384"));
    let refused = sender.connect(&other.address().unwrap()).unwrap_err();
    assert_eq!(refused.status(), Status::UNREACHABLE);
}
