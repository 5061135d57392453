//! Who comes in, who is pushed out, and who lingers.

use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::task::JoinHandle;

use super::fuzzing::Worker;
use super::*;
use crate::lobby::Lobby;
use crate::patience::Patience;
use crate::session::BACKLOG;
use crate::wire::domain::{Member, Participant};
use crate::wire::hello::{Hello, Role};
use crate::wire::stream::{greet, receive, send};
use crate::worker::intake::work;
use crate::worker::sessions::host_session;

fn comes(worker: &mut Worker, link: LinkKey, from: [u8; 4]) {
    let ((outbox, _), (give_up, _)) = (mpsc::channel(BACKLOG), oneshot::channel());
    worker.control.handle(Event::HostCame { link, peer: (from, 4000).into(), outbox, give_up });
}

/// Comes with a ticket that the worker does not know, and is told so; what has its stream end.
fn is_thrown_out(worker: &mut Worker, link: LinkKey) -> oneshot::Receiver<()> {
    let (outbox, mut told) = mpsc::channel(BACKLOG);
    let (give_up, given_up) = oneshot::channel();
    let peer = ([10, 0, 0, 1], 4000).into();
    worker.control.handle(Event::HostCame { link, peer, outbox, give_up });
    worker.control.handle(Event::Host { link, message: wrong_ticket() });
    assert!(matches!(told.try_recv(), Ok(WorkerToHost::Refused(_))), "host {link} is told why");
    given_up
}

fn wrong_ticket() -> HostToWorker {
    attach(7)
}

fn attach(ticket: u128) -> HostToWorker {
    HostToWorker::Attach(Attach {
        ticket,
        ucx_address: Vec::new(),
        channel: 1,
        max_inflight: 1,
        max_message: 64,
        program: String::new(),
    })
}

/// A host's end of a greeted stream, and the worker's session of link 1.
async fn greeted() -> (TcpStream, JoinHandle<()>, mpsc::Receiver<Event>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut host = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, peer) = listener.accept().await.unwrap();
    let (events, happened) = mpsc::channel(BACKLOG);
    let seat = Lobby::new(1).enter(peer.ip());
    let session = tokio::spawn(host_session(1, stream, (peer, seat), None, events, Patience::default()));
    greet(&mut host, Hello::new(Role::Host), Role::Worker, None, Patience::default()).await.unwrap();
    (host, session, happened)
}

#[tokio::test]
async fn hosts_without_a_ticket_push_out_the_oldest_of_the_address_with_the_most() {
    let mut worker = Worker::new();
    let (honest, many) = (1, 2..=10 * UNPROVEN as LinkKey);
    comes(&mut worker, honest, [10, 0, 0, 1]);
    for link in many.clone() {
        comes(&mut worker, link, [10, 0, 0, 2]);
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
    worker.control.handle(happened.recv().await.unwrap());
    // From here on whoever waits for time to pass lets it pass.
    tokio::time::pause();
    let begin = tokio::time::Instant::now();
    for link in 2..=1 + UNPROVEN as LinkKey {
        comes(&mut worker, link, [127, 0, 0, 1]);
    }
    session.await.unwrap();
    assert_eq!(begin.elapsed(), Duration::ZERO, "it lingers");
    assert!(host.read_to_end(&mut Vec::new()).await.is_ok_and(|len| len == 0), "closed, without a word");
    // Its end is news to nobody.
    let end = happened.recv().await.unwrap();
    assert!(matches!(end, Event::HostGone { link: 1, end: None }));
    worker.control.handle(end);
    assert_eq!(worker.control.links.len(), UNPROVEN);
}

#[tokio::test]
async fn hosts_with_a_wrong_ticket_count_until_they_have_read_why() {
    let mut worker = Worker::new();
    let most = UNPROVEN as LinkKey;
    let mut ends = Vec::new();
    for link in 1..=2 * most {
        ends.push(is_thrown_out(&mut worker, link));
    }
    assert!(worker.control.links.is_empty());
    let (first, last) = ends.split_at_mut(UNPROVEN);
    assert!(first.iter_mut().all(|end| end.try_recv() == Ok(())), "those had their time");
    let lingers = |end: &mut oneshot::Receiver<()>| end.try_recv() == Err(TryRecvError::Empty);
    assert!(last.iter_mut().all(lingers), "nobody else has to go");
    // One that has ended by itself leaves room for another.
    worker.control.handle(Event::HostGone { link: most + 1, end: None });
    let _another = is_thrown_out(&mut worker, 2 * most + 1);
    assert!(last[1..].iter_mut().all(lingers));
    // Those that may still show their ticket are spared for as long as there are others.
    for link in 1000..1000 + most {
        comes(&mut worker, link, [10, 0, 0, 1]);
    }
    assert_eq!((worker.control.links.len(), worker.control.lingering.len()), (UNPROVEN, 0));
}

#[tokio::test]
async fn who_reads_why_and_is_pushed_out_is_hung_up_on_at_once() {
    let mut worker = Worker::new();
    let (mut host, session, mut happened) = greeted().await;
    worker.control.handle(happened.recv().await.unwrap());
    send(&mut host, &wrong_ticket()).await.unwrap();
    worker.control.handle(happened.recv().await.unwrap());
    assert!(matches!(receive(&mut host, Patience::default()).await, Ok(WorkerToHost::Refused(_))));
    tokio::time::pause();
    let begin = tokio::time::Instant::now();
    for link in 2..=1 + UNPROVEN as LinkKey {
        comes(&mut worker, link, [127, 0, 0, 1]);
    }
    session.await.unwrap();
    assert_eq!(begin.elapsed(), Duration::ZERO, "it lingers");
}

#[tokio::test]
async fn while_a_hosts_table_is_read_others_are_heard_and_only_its_own_words_wait() {
    let mut worker = Worker::new();
    let (says, heard) = mpsc::channel(1);
    let passing = tokio::spawn(turns::pass_on(heard, worker.control.events.clone()));
    worker.control.handle(Event::Daemon(DaemonToWorker::Expect { ticket: 8 }));
    let (outbox, mut told) = mpsc::channel(BACKLOG);
    let (peer, give_up) = (([10, 0, 0, 1], 4000).into(), oneshot::channel().0);
    worker.control.handle(Event::HostCame { link: 1, peer, outbox, give_up });
    let table = Participant { members: vec![Member { id: 7, addresses: Vec::new() }], segments: Vec::new() };
    let table = table.encode();
    let word = |word| HostToWorker::Domain { domain: 3, word };
    let len = table.len() as u64;
    for message in [attach(8), word(DomainWord::Start { len }), word(DomainWord::Piece(table))] {
        says.send(Event::Host { link: 1, message }).await.unwrap();
        let event = worker.events.recv().await.unwrap();
        worker.control.handle(event);
    }
    // Nobody has read the table yet, and the daemon's word is answered.
    while worker.from_worker.try_recv().is_ok() {}
    worker.control.handle(Event::Daemon(DaemonToWorker::Expect { ticket: 9 }));
    assert!(matches!(worker.from_worker.try_recv(), Ok(WorkerToDaemon::Expected { ticket: 9 })));
    says.send(Event::Host { link: 1, message: word(DomainWord::End) }).await.unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(worker.events.is_empty() && told.is_empty(), "its next word waits for its turn");
    let job = worker.for_clerk.recv().await.unwrap();
    work(&worker.domains, job).await;
    assert!(matches!(told.try_recv(), Ok(WorkerToHost::DomainStarted { domain: 3, result: Ok(()) })));
    let event = worker.events.recv().await.unwrap();
    assert!(matches!(event, Event::HostInTurn { link: 1, .. }));
    drop(says);
    passing.await.unwrap();
}
