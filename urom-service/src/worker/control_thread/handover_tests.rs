//! Handovers of rings and memory through the socket.

use std::os::fd::OwnedFd;

use tokio::io::AsyncReadExt;
use urom_os::EventFd;
use urom_wire::control::Reach;
use urom_wire::memory::{RING, USE_GUARD};
use urom_wire::relay::BACKLOG;
use urom_wire::ring;

use super::fuzzing::Worker;
use super::tests::attach;
use super::*;
use crate::handshakes::Handshakes;

/// A worker that admitted hosts with tokens and links 1 to `count`.
fn with_hosts(count: u64) -> (Worker, Vec<mpsc::Receiver<WorkerToHost>>) {
    let mut worker = Worker::new();
    let told = (1..=count).map(|link| {
        let (outbox, told) = mpsc::channel(BACKLOG);
        let peer = SocketAddr::from(([10, 0, 0, 1], 4000));
        let handshakes = Handshakes::new(1).enter(peer.ip());
        worker.control.handle(ControlEvent::Daemon(DaemonToWorker::Expect { token: link.into() }));
        worker.control.handle(ControlEvent::HostCame { link, peer, outbox, handshakes });
        let message = attach(link.into());
        worker.control.handle(ControlEvent::Host { link, message, turn: None });
        told
    });
    let told = told.collect();
    worker.control.mailbox.take();
    (worker, told)
}

/// Connects with this slip; returns whether it is accepted.
async fn shows(worker: &mut Worker, token: u128, share: u64) -> bool {
    hands_over(worker, token, share, Vec::new()).await
}

async fn hands_over(worker: &mut Worker, token: u128, share: u64, fds: Vec<OwnedFd>) -> bool {
    let (mut theirs, stream) = tokio::net::UnixStream::pair().unwrap();
    let slip = urom_wire::memory::Slip { token, share };
    let handed = Handed { slip, fds, process: Some(7) };
    worker.control.handle(ControlEvent::Handover(Handover { handed, stream }));
    theirs.read_u8().await.is_ok()
}

fn ring_fds() -> Vec<OwnedFd> {
    let (_ring, fds) = ring::create(&EventFd::new().unwrap(), 64).unwrap();
    fds.as_fds().map(|fd| fd.try_clone_to_owned().unwrap()).into()
}

fn reach(link: LinkKey) -> ControlEvent {
    let message = HostToWorker::Reach(Reach { ucx_address: Vec::new(), channel: 1 });
    ControlEvent::Host { link, message, turn: None }
}

fn offers(link: LinkKey, share: u64) -> ControlEvent {
    let offer = urom_wire::control::MemoryOffer {
        share,
        memory: 5,
        address: 0x1000,
        len: 8,
        access: 0,
        location: urom_wire::control::MemoryLocation::Process,
        ucx_address: Vec::new(),
    };
    let message = HostToWorker::Memory(urom_wire::control::MemoryWord::Share(offer));
    ControlEvent::Host { link, message, turn: None }
}

fn was_handed(worker: &Worker) -> bool {
    match &worker.control.mailbox.take()[..] {
        [ToData::Share { shared, .. }] => shared.handed.is_some(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_handover_belongs_to_the_host_whose_token_is_shown() {
    let (mut worker, _told) = with_hosts(2);
    for token in [0, 3, u128::MAX, 1 << 64] {
        assert!(!shows(&mut worker, token, 9).await, "an unknown peer");
    }
    assert!(shows(&mut worker, 1, 9).await);
    worker.control.handle(offers(2, 9));
    assert!(!was_handed(&worker), "another host's");
    worker.control.handle(offers(1, 8));
    assert!(!was_handed(&worker), "another share's");
    worker.control.handle(offers(1, 9));
    assert!(was_handed(&worker));
    worker.control.handle(offers(1, 9));
    assert!(!was_handed(&worker), "it was taken once");
    // A token is void once its host has left.
    worker.control.handle(ControlEvent::HostGone { link: 1, end: None });
    assert!(!shows(&mut worker, 1, 10).await);
}

#[tokio::test]
async fn a_host_hands_over_so_many_memories_before_it_offers_them() {
    let (mut worker, _told) = with_hosts(2);
    for share in 1..=64 {
        assert!(shows(&mut worker, 1, share).await, "{share}");
    }
    assert!(!shows(&mut worker, 1, 65).await);
    assert!(shows(&mut worker, 2, 65).await, "another host has its own limit");
    worker.control.handle(offers(1, 5));
    assert!(was_handed(&worker) && shows(&mut worker, 1, 65).await);
}

#[tokio::test]
async fn each_host_gets_one_use_guard() {
    let (mut worker, _told) = with_hosts(2);
    for token in [1, 2] {
        assert!(shows(&mut worker, token, USE_GUARD).await);
        match &worker.control.mailbox.take()[..] {
            [ToData::UseGuard { link, .. }] => assert_eq!(u128::from(*link), token),
            other => panic!("{other:?}"),
        }
        assert!(shows(&mut worker, token, USE_GUARD).await, "it timed out at the first");
        worker.control.mailbox.take();
        assert!(shows(&mut worker, token, 1).await);
        assert!(!shows(&mut worker, token, USE_GUARD).await, "it uses the second");
    }
    assert!(!shows(&mut worker, 3, USE_GUARD).await, "an unknown peer");
    assert!(worker.control.mailbox.take().is_empty());
}

#[tokio::test]
async fn a_host_is_reached_one_way_and_once() {
    let (mut worker, mut told) = with_hosts(4);
    for link in [1, 2] {
        assert!(hands_over(&mut worker, link.into(), RING, ring_fds()).await);
        match &worker.control.mailbox.take()[..] {
            [ToData::Ring { link: of, .. }] => assert_eq!(*of, link),
            other => panic!("{other:?}"),
        }
    }
    assert!(!hands_over(&mut worker, 1, RING, ring_fds()).await, "a second ring");
    worker.control.handle(reach(2));
    worker.control.handle(reach(3));
    assert!(!hands_over(&mut worker, 3, RING, ring_fds()).await, "a ring behind an address");
    // A host with an unusable ring uses UCX.
    for fds in [Vec::new(), ring_fds()[..2].iter().map(|fd| fd.try_clone().unwrap()).collect()] {
        assert!(!hands_over(&mut worker, 4, RING, fds).await);
    }
    worker.control.handle(reach(4));
    let posts = worker.control.mailbox.take();
    let reached = |post: &ToData| matches!(post, ToData::Reach { .. });
    assert_eq!(posts.iter().filter(|post| reached(post)).count(), 2, "{posts:?}");
    worker.control.handle(reach(4));
    for (link, is_out) in [(1, false), (2, true), (3, false), (4, true)] {
        assert_eq!(!worker.control.links.contains_key(&link), is_out, "{link}");
        let refused = matches!(told[link as usize - 1].try_recv(), Ok(WorkerToHost::Refused(_)));
        assert_eq!(refused, is_out, "{link}");
    }
}

#[tokio::test]
async fn a_ring_whose_host_has_left_is_not_used() {
    let (mut worker, _told) = with_hosts(1);
    let (theirs, stream) = tokio::net::UnixStream::pair().unwrap();
    drop(theirs);
    let slip = urom_wire::memory::Slip { token: 1, share: RING };
    let handed = Handed { slip, fds: ring_fds(), process: Some(7) };
    worker.control.handle(ControlEvent::Handover(Handover { handed, stream }));
    assert!(worker.control.mailbox.take().is_empty());
    worker.control.handle(reach(1));
    assert!(matches!(&worker.control.mailbox.take()[..], [ToData::Reach { .. }]));
}

#[tokio::test]
async fn unknown_peers_and_hosts_that_read_nothing_are_disconnected() {
    let (mut worker, mut told) = with_hosts(1);
    let (outbox, mut of_unknown) = mpsc::channel(BACKLOG);
    let peer = SocketAddr::from(([10, 0, 0, 2], 4000));
    let handshakes = Handshakes::new(1).enter(peer.ip());
    worker.control.handle(ControlEvent::HostCame { link: 2, peer, outbox, handshakes });
    worker.control.handle(offers(2, 9));
    assert!(matches!(of_unknown.try_recv(), Ok(WorkerToHost::Refused(_))));
    assert!(!worker.control.links.contains_key(&2) && worker.control.mailbox.take().is_empty());
    for share in 0..=BACKLOG as u64 {
        let answer = urom_wire::control::MemoryAnswer::Ended { share };
        worker.control.on_data_message(ToControl::Memory { link: 1, answer });
    }
    assert!(worker.control.links.is_empty(), "an answer was lost");
    assert!(matches!(told[0].try_recv(), Ok(WorkerToHost::Memory(_))));
}
