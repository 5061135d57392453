//! Who comes in, who is pushed out, and who lingers.

use tokio::net::{TcpListener, TcpStream};

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

/// A host that came through `lobby`, its end of the stream, and what the session of link 1 hears.
async fn greeted(lobby: &Lobby) -> (TcpStream, mpsc::Receiver<Event>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut host = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, peer) = listener.accept().await.unwrap();
    let (events, happened) = mpsc::channel(BACKLOG);
    let seat = lobby.enter(peer.ip());
    tokio::spawn(host_session(1, stream, (peer, seat), None, events, Patience::default()));
    greet(&mut host, Hello::new(Role::Host), Role::Worker, None, Patience::default()).await.unwrap();
    (host, happened)
}

async fn has_room(lobby: &Lobby) -> bool {
    tokio::time::timeout(Duration::ZERO, lobby.room()).await.is_ok()
}

#[tokio::test]
async fn a_host_gives_its_place_back_when_it_has_shown_its_ticket() {
    let mut worker = Worker::new();
    let lobby = Lobby::new(1);
    let (mut host, mut happened) = greeted(&lobby).await;
    worker.control.handle(happened.recv().await.unwrap());
    assert!(!has_room(&lobby).await, "it has shown nothing yet");
    worker.control.handle(Event::Daemon(DaemonToWorker::Expect { ticket: 8 }));
    send(&mut host, &attach(8)).await.unwrap();
    worker.control.handle(happened.recv().await.unwrap());
    assert!(has_room(&lobby).await);
}

#[tokio::test]
async fn a_host_with_a_wrong_ticket_keeps_its_place_until_it_has_read_why() {
    let mut worker = Worker::new();
    let lobby = Lobby::new(1);
    let (mut host, mut happened) = greeted(&lobby).await;
    worker.control.handle(happened.recv().await.unwrap());
    send(&mut host, &attach(7)).await.unwrap();
    worker.control.handle(happened.recv().await.unwrap());
    assert!(worker.control.links.is_empty() && !has_room(&lobby).await);
    assert!(matches!(receive(&mut host, Patience::default()).await, Ok(WorkerToHost::Refused(_))));
    drop(host);
    worker.control.handle(happened.recv().await.unwrap());
    assert!(has_room(&lobby).await);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_shows_no_ticket_is_thrown_out_after_a_while() {
    let mut worker = Worker::new();
    let lobby = Lobby::new(1);
    let (outbox, mut told) = mpsc::channel(BACKLOG);
    let peer = SocketAddr::from(([10, 0, 0, 1], 4000));
    worker.control.handle(Event::HostCame { link: 1, peer, outbox, seat: lobby.enter(peer.ip()) });
    worker.control.handle(Event::Late { link: 1 });
    assert!(matches!(told.try_recv(), Ok(WorkerToHost::Refused(_))));
    worker.control.handle(Event::HostGone { link: 1, end: None });
    assert!(has_room(&lobby).await);
}

#[tokio::test]
async fn while_a_hosts_table_is_read_others_are_heard_and_only_its_own_words_wait() {
    let mut worker = Worker::new();
    let (says, heard) = mpsc::channel(1);
    let passing = tokio::spawn(turns::pass_on(heard, worker.control.events.clone()));
    worker.control.handle(Event::Daemon(DaemonToWorker::Expect { ticket: 8 }));
    let (outbox, mut told) = mpsc::channel(BACKLOG);
    let peer = SocketAddr::from(([10, 0, 0, 1], 4000));
    let seat = Lobby::new(1).enter(peer.ip());
    worker.control.handle(Event::HostCame { link: 1, peer, outbox, seat });
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
