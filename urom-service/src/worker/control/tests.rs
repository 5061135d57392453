//! Who comes in, who is pushed out, and who lingers.

use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::task::JoinHandle;

use super::fuzzing::Worker;
use super::*;
use crate::lobby::Lobby;
use crate::session::BACKLOG;
use crate::wire::hello::{Hello, Role};
use crate::wire::stream::{greet, receive, send};
use crate::worker::sessions::host_session;

async fn comes(worker: &mut Worker, link: LinkKey, from: [u8; 4]) {
    let ((outbox, _), (give_up, _)) = (mpsc::channel(BACKLOG), oneshot::channel());
    worker.control.handle(Event::HostCame { link, peer: (from, 4000).into(), outbox, give_up }).await;
}

/// Comes with a ticket that the worker does not know, and is told so; what has its stream end.
async fn is_thrown_out(worker: &mut Worker, link: LinkKey) -> oneshot::Receiver<()> {
    let (outbox, mut told) = mpsc::channel(BACKLOG);
    let (give_up, given_up) = oneshot::channel();
    let peer = ([10, 0, 0, 1], 4000).into();
    worker.control.handle(Event::HostCame { link, peer, outbox, give_up }).await;
    worker.control.handle(Event::Host { link, message: wrong_ticket() }).await;
    assert!(matches!(told.try_recv(), Ok(WorkerToHost::Refused(_))), "host {link} is told why");
    given_up
}

fn wrong_ticket() -> HostToWorker {
    HostToWorker::Attach(Attach {
        ticket: 7,
        ucx_address: Vec::new(),
        channel: 1,
        max_inflight: 1,
        max_message: 64,
        same_machine: true,
    })
}

/// A host's end of a greeted stream, and the worker's session of link 1.
async fn greeted() -> (TcpStream, JoinHandle<()>, mpsc::Receiver<Event>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut host = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, peer) = listener.accept().await.unwrap();
    let (events, happened) = mpsc::channel(BACKLOG);
    let seat = Lobby::new(1).enter(peer.ip());
    let session = tokio::spawn(host_session(1, stream, (peer, seat), None, events));
    greet(&mut host, Hello::new(Role::Host), Role::Worker, None).await.unwrap();
    (host, session, happened)
}

#[tokio::test]
async fn hosts_without_a_ticket_push_out_the_oldest_of_the_address_with_the_most() {
    let mut worker = Worker::new();
    let (honest, many) = (1, 2..=10 * UNPROVEN as LinkKey);
    comes(&mut worker, honest, [10, 0, 0, 1]).await;
    for link in many.clone() {
        comes(&mut worker, link, [10, 0, 0, 2]).await;
    }
    let mut left: Vec<LinkKey> = worker.control.links.keys().copied().collect();
    left.sort_unstable();
    let newest = many.skip(10 * UNPROVEN - 1 - (UNPROVEN - 1));
    assert_eq!(left, std::iter::once(honest).chain(newest).collect::<Vec<_>>());
}

#[tokio::test]
async fn who_is_pushed_out_is_hung_up_on_at_once() {
    let mut worker = Worker::new();
    let (mut host, session, mut happened) = greeted().await;
    worker.control.handle(happened.recv().await.unwrap()).await;
    // From here on whoever waits for time to pass lets it pass.
    tokio::time::pause();
    let begin = tokio::time::Instant::now();
    for link in 2..=1 + UNPROVEN as LinkKey {
        comes(&mut worker, link, [127, 0, 0, 1]).await;
    }
    session.await.unwrap();
    assert_eq!(begin.elapsed(), Duration::ZERO, "it lingers");
    assert!(host.read_to_end(&mut Vec::new()).await.is_ok_and(|len| len == 0), "closed, without a word");
    // Its end is news to nobody.
    let end = happened.recv().await.unwrap();
    assert!(matches!(end, Event::HostGone { link: 1, end: None }));
    worker.control.handle(end).await;
    assert_eq!(worker.control.links.len(), UNPROVEN);
}

#[tokio::test]
async fn hosts_with_a_wrong_ticket_count_until_they_have_read_why() {
    let mut worker = Worker::new();
    let most = UNPROVEN as LinkKey;
    let mut ends = Vec::new();
    for link in 1..=2 * most {
        ends.push(is_thrown_out(&mut worker, link).await);
    }
    assert!(worker.control.links.is_empty());
    let (first, last) = ends.split_at_mut(UNPROVEN);
    assert!(first.iter_mut().all(|end| end.try_recv() == Ok(())), "those had their time");
    let lingers = |end: &mut oneshot::Receiver<()>| end.try_recv() == Err(TryRecvError::Empty);
    assert!(last.iter_mut().all(lingers), "nobody else has to go");
    // One that has ended by itself leaves room for another.
    worker.control.handle(Event::HostGone { link: most + 1, end: None }).await;
    let _another = is_thrown_out(&mut worker, 2 * most + 1).await;
    assert!(last[1..].iter_mut().all(lingers));
    // Those that may still show their ticket are spared for as long as there are others.
    for link in 1000..1000 + most {
        comes(&mut worker, link, [10, 0, 0, 1]).await;
    }
    assert_eq!((worker.control.links.len(), worker.control.lingering.len()), (UNPROVEN, 0));
}

#[tokio::test]
async fn who_reads_why_and_is_pushed_out_is_hung_up_on_at_once() {
    let mut worker = Worker::new();
    let (mut host, session, mut happened) = greeted().await;
    worker.control.handle(happened.recv().await.unwrap()).await;
    send(&mut host, &wrong_ticket()).await.unwrap();
    worker.control.handle(happened.recv().await.unwrap()).await;
    assert!(matches!(receive(&mut host).await, Ok(WorkerToHost::Refused(_))));
    tokio::time::pause();
    let begin = tokio::time::Instant::now();
    for link in 2..=1 + UNPROVEN as LinkKey {
        comes(&mut worker, link, [127, 0, 0, 1]).await;
    }
    session.await.unwrap();
    assert_eq!(begin.elapsed(), Duration::ZERO, "it lingers");
}
