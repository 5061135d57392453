//! Messages of a daemon and a worker to a host on their control streams.

use std::sync::{Arc, mpsc as std_mpsc};

use tokio::sync::{mpsc, oneshot};
use urom_wire::control::{DoorAddress, HostToDaemon};
use urom_wire::envelope::Pass;
use urom_wire::fuzzing::memory::within;
use urom_wire::fuzzing::now;
use urom_wire::patience::Patience;

use super::{loopback, stream};
use crate::address::Address;
use crate::daemon_link::{self, Request};
use crate::door::WorkerDoor;
use crate::event::Mailbox;
use crate::sharing::Sharing;
use crate::worker_link::{self, Health, Watched, WorkerOrder};

/// A message's length is believed before its bytes are there; beside it, what a stream and its
/// queues take.
const MEMORY: usize = (1 << 20) + (256 << 10);

/// The run of the service's context, and of a domain's.
const RUN: u64 = 3;

/// The first byte chooses the peer, a daemon or a worker, and whether the stream begins; the others
/// are the stream. Each request is answered once or never, other answers are ignored, and the
/// stream's end has a reason, as has a refusal at the beginning.
pub fn host_control(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    within(MEMORY + 128 * bytes.len(), || match choice % 4 {
        0 => now(from_daemon(bytes)),
        1 => now(from_worker(bytes)),
        2 => now(welcome(bytes)),
        _ => now(admission(bytes)),
    });
}

/// Four requests wait for their answers.
async fn from_daemon(said: &[u8]) {
    let (ask, requests) = mpsc::unbounded_channel();
    let mut answers = Vec::new();
    for gid in 0..4 {
        let (answer, answered) = oneshot::channel();
        answers.push(answered);
        let asks = move |request| HostToDaemon::Group { request, gid };
        let request = Request::new(asks, |said| drop(answer.send(said)));
        assert!(ask.send(request).is_ok(), "the task takes requests");
    }
    let end = daemon_link::answer(stream(said), requests, loopback()).await;
    let end = end.expect("the stream's end is told");
    assert_ne!(end.code, 0, "tasks would end with success: {}", end.text);
    for (number, mut answered) in (1..).zip(answers) {
        if let Ok(Ok(message)) = answered.try_recv() {
            assert_eq!(message.request(), Some(number), "an answer is to its own request");
        }
    }
}

/// A domain starts at the worker, and another ends.
async fn from_worker(said: &[u8]) {
    let mailbox = Mailbox::new().expect("a mailbox");
    let (give, mut orders) = mpsc::unbounded_channel();
    let (done, ended) = std_mpsc::channel();
    let (answer, mut answered) = oneshot::channel();
    let start = WorkerOrder::Start { domain: 5, table: Arc::new(vec![1; 10]), answer };
    let given = give.send(start).is_ok() && give.send(WorkerOrder::End { domain: 6, done }).is_ok();
    assert!(given, "the task takes orders");
    let mut stream = stream(said);
    let health = Health::default();
    let (who, patience) = ("worker 9", Patience::default());
    let watched = Watched { who, run: RUN, mailbox: &mailbox, patience, health: &health };
    let mut sharing = Sharing::new("a worker", 7, WorkerDoor::new(DoorAddress::default()));
    let end = watched.watch(&mut stream, &mut orders, &mut sharing).await;
    let end = end.expect("the stream's end is told");
    assert_ne!(end.code, 0, "tasks would end with success: {}", end.text);
    drop(give);
    drop(orders);
    assert!(ended.try_recv().is_err(), "nothing but the end is told");
    let is_waiting = matches!(answered.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    assert!(!is_waiting && mailbox.take().is_empty(), "a domain's start is told, and only there");
}

/// A host takes a welcome whole, or refuses it with a reason.
async fn welcome(said: &[u8]) {
    match daemon_link::welcome(&Address::embedded(loopback()), stream(said)).await {
        Ok((stream, welcome)) => {
            stream.close().await;
            assert_eq!(welcome.cpus.to_string().parse(), Ok(welcome.cpus));
            assert_eq!(welcome.daemon, loopback());
            let infos = welcome.plugins();
            assert!(infos.iter().all(|info| !info.name().is_none_or(str::is_empty)));
        }
        Err(failure) => assert_ne!(failure.code, 0, "it failed with success: {failure:?}"),
    }
}

/// A worker lets the host in, with messages that both allow, or the host has a reason.
async fn admission(said: &[u8]) {
    const LIMIT: u64 = 256;
    let mut stream = stream(said);
    match worker_link::admission(&mut stream, 9, loopback(), LIMIT, Pass::default()).await {
        Ok((attached, _)) => {
            stream.close().await;
            assert!(attached.id == 9 && attached.max_message as u64 <= LIMIT);
        }
        Err(failure) => assert_ne!(failure.code, 0, "it failed with success: {failure:?}"),
    }
}
