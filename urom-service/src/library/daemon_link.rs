//! The stream between a service context and its daemon.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use urom_abi::DocaError;

use super::address::Address;
use super::event::{Event, Mailbox};
use super::failure::{failure, stream_code};
use super::stream::Stream;
use crate::wire::control::{CONNECT_DEADLINE, DaemonToHost, Failure, HostToDaemon, PluginEntry, StartWorker};
use crate::wire::hello::Role;
use crate::wire::stream::StreamError;

/// What contexts ask of the daemon.
pub(super) enum Request {
    /// Start or join a worker.
    Start(StartWorker, oneshot::Sender<Result<Started, Failure>>),
    /// Ask for a group.
    Group { query: u64, gid: u32 },
}

/// A worker that expects the host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Started {
    pub(super) id: u64,
    pub(super) address: SocketAddr,
    pub(super) ticket: u128,
}

/// What the daemon said first.
#[derive(Debug)]
pub(super) struct Welcome {
    pub(super) plugins: Vec<PluginEntry>,
    pub(super) cpus: String,
    pub(super) max_message: u64,
    /// Where it was found.
    pub(super) daemon: SocketAddr,
}

type DaemonStream = Stream<DaemonToHost, HostToDaemon>;

/// Connects to a daemon, hands over what it says first, and carries requests and answers until the stream is over.
pub(super) async fn serve(
    address: Address,
    run: u64,
    mailbox: Arc<Mailbox>,
    requests: mpsc::UnboundedReceiver<Request>,
    welcomed: std::sync::mpsc::SyncSender<Result<Welcome, Failure>>,
) {
    let connected = timeout(CONNECT_DEADLINE, connect(&address)).await;
    let result = connected.unwrap_or_else(|_| Err(address.no_answer(CONNECT_DEADLINE)));
    let (stream, welcome) = match result {
        Ok(connected) => connected,
        Err(failure) => {
            // The starting call waits for this.
            let _ = welcomed.send(Err(failure));
            return;
        }
    };
    let daemon = welcome.daemon;
    if welcomed.send(Ok(welcome)).is_err() {
        return;
    }
    let end = answer(stream, requests, &mailbox, run, daemon).await;
    mailbox.post((run, Event::Ended(end)));
}

async fn connect(address: &Address) -> Result<(DaemonStream, Welcome), Failure> {
    let mut last = None;
    for candidate in address.resolve().await? {
        match DaemonStream::open(candidate, Role::Daemon).await {
            Ok(stream) => return welcome(address, stream).await,
            Err(error) => last = Some(address.refused(candidate, &error)),
        }
    }
    Err(last.unwrap_or_else(|| address.unknown_host("the name has no address")))
}

async fn welcome(address: &Address, mut stream: DaemonStream) -> Result<(DaemonStream, Welcome), Failure> {
    let daemon = stream.peer;
    match stream.next().await {
        Ok(DaemonToHost::Welcome { plugins, cpus, max_message }) => {
            Ok((stream, Welcome { plugins, cpus, max_message, daemon }))
        }
        Ok(other) => Err(failure(
            DocaError::IO_FAILED,
            format!(
                "the daemon at {daemon} began with {other:?} instead of a welcome: use the same release on both"
            ),
        )),
        Err(error) => Err(address.refused(daemon, &error)),
    }
}

/// Carries requests and answers. `None` when the context let go of its end.
async fn answer(
    mut stream: DaemonStream,
    mut requests: mpsc::UnboundedReceiver<Request>,
    mailbox: &Mailbox,
    run: u64,
    daemon: SocketAddr,
) -> Option<Failure> {
    let mut starts: HashMap<u64, oneshot::Sender<Result<Started, Failure>>> = HashMap::new();
    let mut queries: HashMap<u64, u64> = HashMap::new();
    let mut next_request = 0;
    loop {
        tokio::select! {
            request = requests.recv() => match request {
                None => {
                    stream.close().await;
                    return None;
                }
                Some(request) => {
                    next_request += 1;
                    let message = match request {
                        Request::Start(worker, answer) => {
                            starts.insert(next_request, answer);
                            HostToDaemon::Start { request: next_request, worker }
                        }
                        Request::Group { query, gid } => {
                            queries.insert(next_request, query);
                            HostToDaemon::Group { request: next_request, gid }
                        }
                    };
                    stream.send(message).await;
                }
            },
            message = stream.next() => match message {
                Ok(DaemonToHost::Started { request, id, mut address, ticket }) => {
                    if address.ip().is_unspecified() {
                        address.set_ip(daemon.ip());
                    }
                    if let Some(answer) = starts.remove(&request) {
                        // A start that was given up finishes by itself: see `worker_link`.
                        let _ = answer.send(Ok(Started { id, address, ticket }));
                    }
                }
                Ok(DaemonToHost::Group { request, ids }) => {
                    if let Some(query) = queries.remove(&request) {
                        mailbox.post((run, Event::Group { query, result: Ok(ids) }));
                    }
                }
                Ok(DaemonToHost::Failed { request, failure }) => {
                    if let Some(answer) = starts.remove(&request) {
                        let _ = answer.send(Err(failure));
                    } else if let Some(query) = queries.remove(&request) {
                        mailbox.post((run, Event::Group { query, result: Err(failure) }));
                    }
                }
                Ok(DaemonToHost::Ping | DaemonToHost::Welcome { .. }) => {}
                Err(error) => return Some(lost(daemon, &error)),
            },
        }
    }
}

fn lost(daemon: SocketAddr, error: &StreamError) -> Failure {
    failure(
        stream_code(error),
        format!("the UROM daemon at {daemon} was lost: {error}; start the context again when uromd runs"),
    )
}

/// How long a caller of start waits at most: the deadline, and a margin for the control thread itself.
pub(super) const ANSWER_DEADLINE: Duration = Duration::from_millis(4500);
