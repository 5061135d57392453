//! The stream between a worker context and its worker: attaching, monitoring, and domain orders.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc as std_mpsc};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use urom_abi::{DocaError, WorkerId};
use urom_os::EventFd;
use urom_wire::control::{
    Attach, CONNECT_DEADLINE, DaemonToHost, DomainWord, Failure, HandoverAddress, HostToDaemon,
    HostToWorker, HungCall, LONGEST_PROGRAM, PluginAddress, PluginEntry, Reach, StartWorker,
    WorkerToHost,
};
use urom_wire::domain::PIECE;
use urom_wire::envelope::VerificationTag;
use urom_wire::hello::Role;
use urom_wire::key::Key;
use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::stream::StreamError;

use crate::address::is_of_this_process;
use crate::daemon_link::DaemonRequest;
use crate::event::{AttachedWorker, EngineEvent, Mailbox};
use crate::failure::{fail_if, failure, stream_code};
use crate::sharing::{LateCallbacks, ShareCallback, ShareRequest, Sharing};
use crate::socket::WorkerSocket;
use crate::stream::WorkerStream;

/// Timeout of the worker's handshake over UCX after the control stream is up.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Visit {
    pub(super) worker: StartWorker,
    /// Without the token.
    pub(super) attach: Attach,
    /// The worker wakes the host by this.
    pub(super) bell: EventFd,
    pub(super) key: Option<Key>,
    pub(super) peer_timeout: PeerTimeout,
    pub(super) health: Arc<HealthReport>,
    pub(super) late: Arc<LateCallbacks>,
    pub(super) daemon: SocketAddr,
    pub(super) plugins: Vec<PluginEntry>,
}

/// Starts a worker by the daemon, attaches, and monitors it until it is lost or `orders` closes.
pub(super) async fn serve(
    visit: Visit,
    requests: mpsc::UnboundedSender<DaemonRequest>,
    run: u64,
    mailbox: Arc<Mailbox>,
    mut orders: mpsc::UnboundedReceiver<WorkerOrder>,
) {
    let (peer_timeout, health) = (visit.peer_timeout, Arc::clone(&visit.health));
    let late = Arc::clone(&visit.late);
    let mut entering = Box::pin(enter(visit, requests));
    let entered = tokio::select! {
        entered = &mut entering => entered,
        () = async { while orders.recv().await.is_some() {} } => {
            late.end();
            mailbox.post((run, EngineEvent::Ended(None)));
            // Attaches and leaves at once: otherwise the worker would wait for this host.
            if let Ok((stream, ..)) = entering.await {
                stream.close().await;
            }
            return;
        }
    };
    let end = match entered {
        Err(failure) => {
            late.end();
            Some(failure)
        }
        Ok((mut stream, attached, token, socket)) => {
            let who = format!("worker {} at {}", WorkerId(attached.id), stream.peer);
            mailbox.post((run, EngineEvent::Attached(Box::new(attached))));
            let mut sharing = Sharing::new(&who, token, socket);
            let watched =
                WatchedWorker { who: &who, run, mailbox: &mailbox, peer_timeout, health: &health };
            let end = watched.watch(&mut stream, &mut orders, &mut sharing).await;
            if end.is_none() {
                sharing.leave(&stream).await;
            }
            orders.close();
            while let Ok(order) = orders.try_recv() {
                if let WorkerOrder::Unshare { callback, .. } = order {
                    late.keep(callback);
                }
            }
            sharing.end(Arc::clone(&late)).await;
            if end.is_none() {
                stream.close().await;
            }
            end
        }
    };
    mailbox.post((run, EngineEvent::Ended(end)));
}

async fn enter(
    visit: Visit,
    requests: mpsc::UnboundedSender<DaemonRequest>,
) -> Result<(WorkerStream, AttachedWorker, u128, WorkerSocket), Failure> {
    let gone = || {
        failure!(
            CONNECTION_RESET,
            "the service was stopped, or its daemon lost, before the worker was started: start the \
             service again"
        )
    };
    let wanted = visit.worker.plugins;
    let (answer, answered) = oneshot::channel();
    let ask = |request| HostToDaemon::Start { request, worker: visit.worker };
    // A cancelled start finishes in the background.
    let on_answer = |reply| drop(answer.send(reply));
    requests.send(DaemonRequest::new(ask, on_answer)).map_err(|_| gone())?;
    drop(requests);
    let started = answered.await.map_err(|_| gone())??;
    let DaemonToHost::Started { id, mut address, token, .. } = started else {
        return Err(failure!(IO_FAILED, "the daemon's answer is of another kind"));
    };
    if address.ip().is_unspecified() {
        address.set_ip(visit.daemon.ip());
    }
    let secret = visit.key.map(|key| key.worker_secret(id));
    let attach = async {
        let mut stream =
            WorkerStream::open(address, Role::Worker, secret.as_ref(), visit.peer_timeout)
                .await
                .map_err(|error| match error {
                    // Not the error for a closed port.
                    StreamError::Key(_) => failure!(
                        code = stream_code(&error),
                        "this program and worker {} at {address} do not let each other in: {error}",
                        WorkerId(id)
                    ),
                    // Likewise.
                    StreamError::Io(error) if is_of_this_process(&error) => failure!(
                        NOT_CONNECTED,
                        "this process cannot connect to worker {} at {address}: {error}",
                        WorkerId(id)
                    ),
                    StreamError::Io(_) => {
                        no_way(id, address, stream_code(&error), &error.to_string())
                    }
                    error => no_answer(id, address, stream_code(&error), &error.to_string()),
                })?;
        let (tag, max_message) = (VerificationTag::new(token), visit.attach.max_message);
        stream.send(HostToWorker::Attach(Attach { token, ..visit.attach })).await;
        let (mut attached, socket) = admission(&mut stream, id, address, max_message, tag).await?;
        let wanted = visit.plugins.iter().filter(|entry| entry.id & wanted != 0);
        same_builds(id, wanted, &attached.plugins)?;
        let socket = WorkerSocket::new(socket);
        attached.ring = socket.hand_ring(id, &visit.bell, token, attached.max_message).await;
        Ok((stream, attached, token, socket))
    };
    let within = visit.peer_timeout.at_least(CONNECT_DEADLINE);
    within.wait(attach).await.unwrap_or_else(|_| {
        let why = format!("no answer within {within} s");
        Err(no_way(id, address, DocaError::TIME_OUT, &why))
    })
}

pub(super) fn program() -> String {
    let file = std::env::current_exe().ok();
    let name = file.as_deref().and_then(Path::file_name).unwrap_or(OsStr::new("a program"));
    let process = format!(", process {}", std::process::id());
    let mut name = name.to_string_lossy().into_owned();
    while name.len() + process.len() > LONGEST_PROGRAM {
        name.pop();
    }
    name + &process
}

/// Adds this side's UCX variables to a failed connection: the worker's error lists only its own.
fn with_own_variables(mut failure: Failure) -> Failure {
    let own = ucx::variables();
    if failure.code == DocaError::NOT_CONNECTED && !failure.text.contains(&own) {
        failure.text += &format!("; {own}");
    }
    failure
}

/// Receives the worker's acceptance, with messages of at most `max_message` bytes, or its refusal.
pub(super) async fn admission(
    stream: &mut WorkerStream,
    id: u64,
    address: SocketAddr,
    max_message: u64,
    tag: VerificationTag,
) -> Result<(AttachedWorker, HandoverAddress), Failure> {
    match stream.next().await {
        Ok(WorkerToHost::Attached {
            socket,
            ucx_address,
            channel,
            max_message: theirs,
            plugins,
        }) => {
            let max_message = theirs.min(max_message) as usize;
            let attached = AttachedWorker {
                id,
                ring: None,
                ucx_address,
                channel,
                max_message,
                protocol: stream.protocol,
                plugins,
                tag,
            };
            Ok((attached, socket))
        }
        Ok(WorkerToHost::Refused(failure)) => Err(with_own_variables(failure)),
        Ok(_) => Err(no_answer(id, address, DocaError::IO_FAILED, "it answered out of turn")),
        Err(error) => Err(no_answer(id, address, stream_code(&error), &error.to_string())),
    }
}

/// Checks that a worker loaded the listed builds: a file may have been replaced meanwhile.
fn same_builds<'a>(
    id: u64,
    listed: impl Iterator<Item = &'a PluginEntry>,
    loaded: &[PluginAddress],
) -> Result<(), Failure> {
    for PluginEntry { name, build, .. } in listed {
        fail_if!(
            loaded.iter().any(|plugin| plugin.name == *name && plugin.build != *build),
            UNSUPPORTED_VERSION,
            "worker {} runs another build of the plugin `{name}` than the daemon listed when \
                 this host connected: its file was replaced; connect to the service again, and \
                 stop workers that still run the old file",
            WorkerId(id)
        );
    }
    Ok(())
}

fn no_answer(id: u64, address: SocketAddr, code: DocaError, why: &str) -> Failure {
    failure!(
        code = code,
        "worker {}, started by the daemon, cannot be reached at {address}: {why}",
        WorkerId(id)
    )
}

fn no_way(id: u64, address: SocketAddr, code: DocaError, why: &str) -> Failure {
    let mut failure = no_answer(id, address, code, why);
    // On one machine a firewall is not the cause.
    if !address.ip().is_loopback() {
        failure.text += "; open that port on the way";
    }
    failure
}

pub(super) struct WatchedWorker<'a> {
    pub(super) who: &'a str,
    pub(super) run: u64,
    pub(super) mailbox: &'a Mailbox,
    pub(super) peer_timeout: PeerTimeout,
    pub(super) health: &'a HealthReport,
}

impl WatchedWorker<'_> {
    /// Executes orders until the worker is lost, or until all senders are dropped (`None`).
    pub(super) async fn watch(
        self,
        stream: &mut WorkerStream,
        orders: &mut mpsc::UnboundedReceiver<WorkerOrder>,
        sharing: &mut Sharing,
    ) -> Option<Failure> {
        let WatchedWorker { who, run, mailbox, peer_timeout, health } = self;
        let (mut starting, mut ending) = (HashMap::new(), HashMap::new());
        let mut overdue = Box::pin(peer_timeout.at_least(HANDSHAKE_TIMEOUT).run_out());
        let mut waiting = true;
        let lost = loop {
            tokio::select! {
                () = &mut overdue, if waiting => {
                    waiting = false;
                    mailbox.post((run, EngineEvent::Overdue));
                }
                order = orders.recv() => match order? {
                    WorkerOrder::Start { domain, table, answer } => {
                        let is_over = || answer.is_closed() || orders.is_closed();
                        send_table(stream, domain, &table, is_over).await;
                        starting.insert(domain, answer);
                    }
                    WorkerOrder::End { domain, done } => {
                        starting.remove(&domain);
                        ending.insert(domain, done);
                        let word = DomainWord::End;
                        stream.send_in_turn(HostToWorker::Domain { domain, word }).await;
                    }
                    WorkerOrder::Reach(reach) => stream.send(HostToWorker::Reach(reach)).await,
                    WorkerOrder::Share(offered) => sharing.share(offered),
                    WorkerOrder::Unshare { memory, after, callback } => {
                        sharing.unshare(stream, memory, after, callback).await;
                    }
                },
                words = sharing.next_offer() => for word in words {
                    stream.send(HostToWorker::Memory(word)).await;
                },
                message = stream.next() => match message {
                    Ok(WorkerToHost::Refused(failure)) => break with_own_variables(failure),
                    Ok(WorkerToHost::Health(hung)) => health.record(hung),
                    Ok(WorkerToHost::Memory(answer)) => sharing.on_answer(answer),
                    Ok(WorkerToHost::DomainStarted { domain, result }) => {
                        // A stopped domain no longer waits for it.
                        starting.remove(&domain).map(|answer| answer.send(result));
                    }
                    Ok(WorkerToHost::DomainEnded { domain }) => drop(ending.remove(&domain)),
                    Ok(WorkerToHost::Ping | WorkerToHost::Attached { .. }) => {}
                    Err(error) => {
                        let code = stream_code(&error);
                        break failure!(code = code, "{who} was lost: {error}; start it again");
                    }
                },
            }
        };
        for answer in starting.into_values() {
            let _ = answer.send(Err(lost.clone()));
        }
        Some(lost)
    }
}

/// Sends a domain's table at the worker's pace. Stops when the domain is over: another may follow.
async fn send_table(stream: &WorkerStream, domain: u64, table: &[u8], is_over: impl Fn() -> bool) {
    let send = |word| stream.send_in_turn(HostToWorker::Domain { domain, word });
    send(DomainWord::Start { len: table.len() as u64 }).await;
    for piece in table.chunks(PIECE) {
        if is_over() {
            return send(DomainWord::End).await;
        }
        send(DomainWord::Piece(piece.to_vec())).await;
    }
}

pub(super) enum WorkerOrder {
    Start {
        domain: u64,
        table: Arc<Vec<u8>>,
        /// Receives the worker's answer. Dropped if it will not come.
        answer: oneshot::Sender<Result<(), Failure>>,
    },
    End {
        domain: u64,
        /// Dropped when the worker has ended the domain or is lost.
        done: std_mpsc::Sender<()>,
    },
    Reach(Reach),
    Share(ShareRequest),
    Unshare {
        /// Number of commands submitted before.
        after: u64,
        memory: u64,
        callback: ShareCallback,
    },
}

/// The stream's task writes the last report of hung plugins and its time; `None` means healthy.
#[derive(Debug, Default)]
pub(super) struct HealthReport(Mutex<Option<(HungCall, Instant)>>);

impl HealthReport {
    pub(super) fn record(&self, hung: Option<HungCall>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            hung.map(|hung| (hung, Instant::now()));
    }

    /// Returns the hung call with its duration until now.
    pub(super) fn hung(&self) -> Option<HungCall> {
        let (mut hung, reported) = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let since = u32::try_from(reported.elapsed().as_secs()).unwrap_or(u32::MAX);
        hung.seconds = hung.seconds.saturating_add(since);
        Some(hung)
    }
}
