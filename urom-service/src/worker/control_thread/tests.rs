//! Admission, eviction, and refused hosts that still read.

use tokio::net::{TcpListener, TcpStream};
use urom_wire::control::{DomainWord, Method};
use urom_wire::domain::{Member, Participant};
use urom_wire::hello::{Hello, Role};
use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::relay::BACKLOG;
use urom_wire::stream::{handshake, receive, send};

use super::fuzzing::Worker;
use super::health::WAITS;
use super::*;
use crate::handshakes::Handshakes;
use crate::worker::intake::work;
use crate::worker::streams::{host_stream, pass_on};
use crate::worker::watch::PluginCalls;

pub(super) fn attach(token: u128) -> HostToWorker {
    HostToWorker::Attach(Attach { token, max_inflight: 1, max_message: 64, program: String::new() })
}

/// A host with a slot of `set`: its end of the stream, and the events of link 1.
async fn after_handshake(set: &Handshakes) -> (TcpStream, mpsc::Receiver<ControlEvent>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut host = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, peer) = listener.accept().await.unwrap();
    let (events, happened) = mpsc::channel(BACKLOG);
    let handshakes = set.enter(peer.ip());
    tokio::spawn(host_stream(
        1,
        stream,
        (peer, handshakes),
        Vec::new(),
        events,
        PeerTimeout::default(),
    ));
    handshake(&mut host, Hello::new(Role::Host), Role::Worker, None, PeerTimeout::default())
        .await
        .unwrap();
    (host, happened)
}

async fn has_free_slot(set: &Handshakes) -> bool {
    tokio::time::timeout(Duration::ZERO, set.free_slot()).await.is_ok()
}

#[tokio::test]
async fn a_host_frees_its_slot_when_it_has_shown_its_token() {
    let mut worker = Worker::new();
    let set = Handshakes::new(1);
    let (mut host, mut happened) = after_handshake(&set).await;
    worker.control.handle(happened.recv().await.unwrap());
    assert!(!has_free_slot(&set).await, "it has shown nothing yet");
    worker.control.handle(ControlEvent::Daemon(DaemonToWorker::Expect { token: 8 }));
    send(&mut host, &attach(8)).await.unwrap();
    worker.control.handle(happened.recv().await.unwrap());
    assert!(has_free_slot(&set).await);
}

#[tokio::test]
async fn a_host_with_a_wrong_token_keeps_its_slot_until_it_has_read_why() {
    let mut worker = Worker::new();
    let set = Handshakes::new(1);
    let (mut host, mut happened) = after_handshake(&set).await;
    worker.control.handle(happened.recv().await.unwrap());
    send(&mut host, &attach(7)).await.unwrap();
    worker.control.handle(happened.recv().await.unwrap());
    assert!(worker.control.links.is_empty() && !has_free_slot(&set).await);
    assert!(matches!(
        receive(&mut host, PeerTimeout::default()).await,
        Ok(WorkerToHost::Refused(_))
    ));
    drop(host);
    worker.control.handle(happened.recv().await.unwrap());
    assert!(has_free_slot(&set).await);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_shows_no_token_is_disconnected_after_a_while() {
    let mut worker = Worker::new();
    let set = Handshakes::new(1);
    let (outbox, mut told) = mpsc::channel(BACKLOG);
    let peer = SocketAddr::from(([10, 0, 0, 1], 4000));
    worker.control.handle(ControlEvent::HostCame {
        link: 1,
        peer,
        outbox,
        handshakes: set.enter(peer.ip()),
    });
    worker.control.handle(ControlEvent::Late { link: 1 });
    assert!(matches!(told.try_recv(), Ok(WorkerToHost::Refused(_))));
    worker.control.handle(ControlEvent::HostGone { link: 1, end: None });
    assert!(has_free_slot(&set).await);
}

#[tokio::test]
async fn while_a_hosts_table_is_read_others_are_heard_and_only_its_own_words_wait() {
    let mut worker = Worker::new();
    let (says, heard) = mpsc::channel(1);
    let passing = tokio::spawn(pass_on(heard, worker.control.events.clone()));
    worker.control.handle(ControlEvent::Daemon(DaemonToWorker::Expect { token: 8 }));
    let (outbox, mut told) = mpsc::channel(BACKLOG);
    let peer = SocketAddr::from(([10, 0, 0, 1], 4000));
    let handshakes = Handshakes::new(1).enter(peer.ip());
    worker.control.handle(ControlEvent::HostCame { link: 1, peer, outbox, handshakes });
    let table = Participant {
        members: vec![Member { id: 7, addresses: Vec::new() }],
        segments: Vec::new(),
    };
    let table = table.encode();
    let word = |word| HostToWorker::Domain { domain: 3, word };
    let len = table.len() as u64;
    for message in [attach(8), word(DomainWord::Start { len }), word(DomainWord::Piece(table))] {
        says.send(ControlEvent::Host { link: 1, message, turn: None }).await.unwrap();
        let event = worker.events.recv().await.unwrap();
        worker.control.handle(event);
    }
    // The table is still unread, but the daemon is answered.
    while worker.from_worker.try_recv().is_ok() {}
    worker.control.handle(ControlEvent::Daemon(DaemonToWorker::Expect { token: 9 }));
    assert!(matches!(worker.from_worker.try_recv(), Ok(WorkerToDaemon::Expected { token: 9 })));
    says.send(ControlEvent::Host { link: 1, message: word(DomainWord::End), turn: None })
        .await
        .unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(worker.events.is_empty() && told.is_empty(), "its next word waits for its turn");
    work(&worker.domains, worker.jobs.recv().unwrap());
    assert!(matches!(
        told.try_recv(),
        Ok(WorkerToHost::DomainStarted { domain: 3, result: Ok(()) })
    ));
    let event = worker.events.recv().await.unwrap();
    assert!(matches!(event, ControlEvent::Host { link: 1, turn: Some(_), .. }));
    drop(says);
    passing.await.unwrap();
}

/// A worker whose plugin `slow` does not return.
struct Kept {
    worker: Worker,
    calls: PluginCalls,
}

impl Kept {
    fn new() -> Kept {
        let mut worker = Worker::new();
        let calls = worker.watch.plugin("slow");
        worker.control.on_data_message(ToControl::Ready);
        Kept { worker, calls }
    }

    fn call(&mut self, method: Method) {
        self.calls.begin(method);
        assert!(self.worker.control.look());
    }

    /// Polls `count` times; returns whether the worker goes on each time.
    fn looks(&mut self, count: u32) -> bool {
        (0..count).all(|_| self.worker.control.look())
    }

    fn comes(&mut self, link: LinkKey) -> mpsc::Receiver<WorkerToHost> {
        let (outbox, told) = mpsc::channel(BACKLOG);
        let peer = SocketAddr::from(([10, 0, 0, 1], 4000));
        let (handshakes, token) = (Handshakes::new(1).enter(peer.ip()), u128::from(link));
        let control = &mut self.worker.control;
        control.handle(ControlEvent::Daemon(DaemonToWorker::Expect { token }));
        control.handle(ControlEvent::HostCame { link, peer, outbox, handshakes });
        control.handle(ControlEvent::Host { link, message: attach(token), turn: None });
        told
    }

    /// A host that the data thread has also admitted.
    fn host(&mut self, link: LinkKey) -> mpsc::Receiver<WorkerToHost> {
        let mut told = self.comes(link);
        let (ucx_address, plugins) = (Vec::new(), Vec::new());
        let answer =
            ToControl::Attached { link, ucx_address, channel: 1, max_message: 64, plugins };
        self.worker.control.on_data_message(answer);
        assert!(matches!(told.try_recv(), Ok(WorkerToHost::Attached { .. })));
        told
    }
}

fn refusal(told: &mut mpsc::Receiver<WorkerToHost>) -> Failure {
    match told.try_recv() {
        Ok(WorkerToHost::Refused(failure)) => failure,
        other => panic!("{other:?} is not a refusal"),
    }
}

fn names_the_call(failure: &Failure) {
    let Failure { code, text } = failure;
    assert_eq!(*code, DocaError::TIME_OUT, "{text}");
    assert!(text.contains("plugin `slow`") && text.contains("`worker_cmd`"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn hosts_are_told_of_a_plugin_that_does_not_return_and_when_it_does() {
    let mut kept = Kept::new();
    let mut told = [kept.host(1), kept.host(2)];
    kept.call(Method::WorkerCmd);
    assert!(kept.looks(LONG - 1));
    assert!(told.iter().all(mpsc::Receiver::is_empty), "it may be only slow");
    assert!(kept.looks(100), "no end was requested");
    let said = HungCall { plugin: "slow".to_owned(), method: Method::WorkerCmd, seconds: LONG };
    for told in &mut told {
        assert!(matches!(told.try_recv(), Ok(WorkerToHost::Health(Some(hung))) if hung == said));
        assert!(told.is_empty(), "it is said once");
    }
    kept.calls.over();
    assert!(kept.looks(1));
    for told in &mut told {
        assert!(matches!(told.try_recv(), Ok(WorkerToHost::Health(None))));
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_comes_to_a_plugin_that_does_not_return_is_told_at_once() {
    let mut kept = Kept::new();
    kept.call(Method::WorkerCmd);
    assert!(kept.looks(LONG));
    names_the_call(&refusal(&mut kept.comes(1)));
    assert!(!kept.worker.control.mailbox.has_post(), "what cannot be read is not kept");
    assert!(kept.worker.control.expected.is_empty(), "it was cancelled");
    kept.calls.over();
    assert!(kept.looks(1));
    drop(kept.host(2));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_waits_for_a_plugin_is_refused_before_it_times_out() {
    let mut kept = Kept::new();
    let mut told = kept.comes(1);
    kept.call(Method::WorkerCmd);
    assert!(kept.looks(WAITS - 2) && told.is_empty());
    let later = kept.comes(2);
    assert!(kept.looks(1));
    names_the_call(&refusal(&mut told));
    assert!(later.is_empty(), "it has waited for less");
    // The plugin returns just in time, and the data thread reads its messages.
    kept.calls.over();
    assert!(kept.looks(WAITS) && later.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_worker_ends_after_the_time_that_its_plugins_have() {
    let mut kept = Kept::new();
    kept.worker.control.config.plugin_timeout = Some(7);
    let mut told = [kept.host(1), kept.comes(2)];
    kept.call(Method::WorkerCmd);
    assert!(kept.looks(1));
    kept.worker.watch.next_turn();
    assert!(kept.looks(7), "each turn has its own time");
    while kept.worker.from_worker.try_recv().is_ok() {}
    assert!(!kept.looks(1));
    let Ok(WorkerToDaemon::Failed(failure)) = kept.worker.from_worker.try_recv() else {
        panic!("the daemon is told first")
    };
    names_the_call(&failure);
    assert!(matches!(told[0].try_recv(), Ok(WorkerToHost::Health(Some(_)))));
    for told in &mut told {
        names_the_call(&refusal(told));
    }
    let mail = kept.worker.control.mailbox.take();
    assert!(
        matches!(mail.last(), Some(ToData::Stop)),
        "a thread that goes on all the same has to end"
    );
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_opens_or_closes_has_other_deadlines() {
    let mut kept = Kept::new();
    kept.worker.control.config.plugin_timeout = Some(1);
    kept.worker.control.ready = false;
    kept.call(Method::Open);
    assert!(kept.looks(100));
    kept.worker.control.ready = true;
    kept.worker.control.stop();
    kept.worker.watch.next_turn();
    kept.call(Method::Close);
    assert!(kept.looks(100));
}
