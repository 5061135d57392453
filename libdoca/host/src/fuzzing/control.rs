//! Control messages from a daemon and a worker to a host.

use std::sync::{Arc, mpsc as std_mpsc};

use tokio::sync::{mpsc, oneshot};
use urom_wire::control::{HandoverAddress, HostToDaemon};
use urom_wire::envelope::VerificationTag;
use urom_wire::fuzzing::memory::within;
use urom_wire::fuzzing::now;
use urom_wire::peer_timeout::PeerTimeout;

use super::{loopback, stream};
use crate::address::DaemonAddress;
use crate::daemon_link::{self, DaemonRequest};
use crate::event::Mailbox;
use crate::sharing::Sharing;
use crate::socket::WorkerSocket;
use crate::worker_link::{self, HealthReport, WatchedWorker, WorkerOrder};

/// Memory limit: a message's announced length is allocated early, plus stream and queues.
const MEMORY: usize = (1 << 20) + (256 << 10);

const RUN: u64 = 3;

/// The first byte selects the peer (daemon or worker) and whether the stream begins; the rest is
/// the stream. Each request gets at most one answer; refusals and stream ends have a reason.
pub fn host_control(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    within(MEMORY + 128 * bytes.len(), || match choice % 4 {
        0 => now(from_daemon(bytes)),
        1 => now(from_worker(bytes)),
        2 => now(welcome(bytes)),
        _ => now(admission(bytes)),
    });
}

async fn from_daemon(input: &[u8]) {
    let (ask, requests) = mpsc::unbounded_channel();
    let mut answers = Vec::new();
    for gid in 0..4 {
        let (answer, answered) = oneshot::channel();
        answers.push(answered);
        let build = move |request| HostToDaemon::Group { request, gid };
        let request = DaemonRequest::new(build, |reply| drop(answer.send(reply)));
        assert!(ask.send(request).is_ok(), "the task takes requests");
    }
    let end = daemon_link::answer(stream(input), requests, loopback()).await;
    end.expect("the stream's end is reported");
    for (number, mut answered) in (1..).zip(answers) {
        if let Ok(Ok(message)) = answered.try_recv() {
            assert_eq!(message.request(), Some(number), "an answer is to its own request");
        }
    }
}

async fn from_worker(input: &[u8]) {
    let mailbox = Mailbox::new().expect("a mailbox");
    let (give, mut orders) = mpsc::unbounded_channel();
    let (done, ended) = std_mpsc::channel();
    let (answer, mut answered) = oneshot::channel();
    let start = WorkerOrder::Start { domain: 5, table: Arc::new(vec![1; 10]), answer };
    let given = give.send(start).is_ok() && give.send(WorkerOrder::End { domain: 6, done }).is_ok();
    assert!(given, "the task takes orders");
    let mut stream = stream(input);
    let health = HealthReport::default();
    let (who, peer_timeout) = ("worker 9", PeerTimeout::default());
    let watched = WatchedWorker { who, run: RUN, mailbox: &mailbox, peer_timeout, health: &health };
    let mut sharing = Sharing::new("a worker", 7, WorkerSocket::new(HandoverAddress::default()));
    let end = watched.watch(&mut stream, &mut orders, &mut sharing).await;
    end.expect("the stream's end is reported");
    drop(give);
    drop(orders);
    assert!(ended.try_recv().is_err(), "nothing but the end is reported");
    let is_waiting = matches!(answered.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    assert!(
        !is_waiting && mailbox.take().is_empty(),
        "a domain's start is reported, and only there"
    );
}

/// The host must accept a complete welcome or refuse it with a reason.
async fn welcome(input: &[u8]) {
    let daemon = DaemonAddress::embedded(loopback());
    if let Ok((stream, welcome)) = daemon_link::welcome(&daemon, stream(input)).await {
        stream.close().await;
        assert_eq!(welcome.cpus.to_string().parse(), Ok(welcome.cpus));
        assert_eq!(welcome.daemon, loopback());
        let infos = welcome.plugins();
        assert!(infos.iter().all(|info| !info.name().is_none_or(str::is_empty)));
    }
}

/// The host must accept a message limit allowed by both sides, or refuse with a reason.
async fn admission(input: &[u8]) {
    const LIMIT: u64 = 256;
    let mut stream = stream(input);
    let tag = VerificationTag::default();
    let result = worker_link::admission(&mut stream, 9, loopback(), LIMIT, tag).await;
    if let Ok((attached, _)) = result {
        stream.close().await;
        assert!(attached.id == 9 && attached.max_message as u64 <= LIMIT);
    }
}
