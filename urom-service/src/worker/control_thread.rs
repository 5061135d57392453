//! State and event handlers of the control thread: the streams of daemon and hosts, and admission.

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
#[cfg(test)]
mod handover_tests;
mod health;
mod memory;
mod run;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinSet;
use tracing::{debug, info, warn};
use urom_abi::{DocaError, Quantity};

use self::health::takes_no_host;
pub(crate) use self::run::{ControlSetup, start};
use super::WorkerConfig;
use super::intake::{DomainReply, Intake, TableInbox};
use super::memory::handover::Handover;
use super::messages::{LinkKey, ToControl, ToData};
use super::watch::{CallObserver, CallWatch, LONG};
use crate::handshakes::PendingHandshake;
use crate::metrics::MetricsPage;
use urom_log::{LeftOut, LineBudget};
use urom_wire::awake::sleep;
use urom_wire::control::{
    Attach, DaemonToWorker, Failure, HandoverAddress, HostToWorker, HungCall, WorkerToDaemon,
    WorkerToHost,
};
use urom_wire::envelope::VerificationTag;
use urom_wire::key::Secret;
use urom_wire::mailbox::Mailbox;
use urom_wire::memory::Handed;
use urom_wire::stream::StreamError;

const ADMISSION: Duration = Duration::from_secs(2);

const UNEXPECTED_HOST: &str =
    "the worker does not expect this host: its token is missing, unknown, used up or too old";

/// The reason of a refusal for metrics.
fn reason_of(code: DocaError) -> &'static str {
    match code {
        DocaError::AUTHENTICATION => "token",
        DocaError::FULL => "full",
        DocaError::INVALID_VALUE => "limits",
        DocaError::TIME_OUT => "hung",
        _ => "other",
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ControlHandle(mpsc::UnboundedSender<ToControl>);

impl ControlHandle {
    pub(crate) fn new() -> (ControlHandle, mpsc::UnboundedReceiver<ToControl>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (ControlHandle(sender), receiver)
    }

    pub(crate) fn send(&self, message: ToControl) {
        // The control thread stopped the data thread before it ended.
        let _ = self.0.send(message);
    }
}

#[derive(Debug)]
pub(super) enum ControlEvent {
    Daemon(DaemonToWorker),
    DaemonGone(Option<StreamError>),
    HostCame {
        link: LinkKey,
        peer: SocketAddr,
        outbox: mpsc::Sender<WorkerToHost>,
        handshakes: PendingHandshake,
    },
    /// The host's next message waits until `turn`, if present, is dropped.
    Host {
        link: LinkKey,
        message: HostToWorker,
        turn: Option<OwnedSemaphorePermit>,
    },
    Handover(Handover),
    /// A host without a valid handshake.
    Refused(&'static str),
    HostGone {
        link: LinkKey,
        end: Option<StreamError>,
    },
    Late {
        link: LinkKey,
    },
}

struct ControlLink {
    peer: SocketAddr,
    /// For log lines: the address and, once admitted, the host's program.
    name: String,
    outbox: mpsc::Sender<WorkerToHost>,
    handshakes: Option<PendingHandshake>,
    intake: Option<Intake>,
    token: Option<u128>,
    /// Handed over through the socket, but not yet offered.
    handed: HashMap<u64, Handed>,
    /// Whether it handed over memory. Then it has its use guard, and cannot get another.
    has_handed: bool,
    /// Whether it has handed over a ring or sent its UCX address.
    is_reached: bool,
    /// Number of polls the data thread has kept this host waiting, if it has.
    waits: Option<u32>,
}

impl ControlLink {
    fn is_admitted(&self) -> bool {
        self.intake.is_some()
    }
}

struct ControlState {
    config: WorkerConfig,
    mailbox: Arc<Mailbox<ToData>>,
    observer: CallObserver,
    page: MetricsPage,
    /// The plugins are open, so hosts can be admitted.
    ready: bool,
    inbox: TableInbox,
    daemon: mpsc::Sender<WorkerToDaemon>,
    port: u16,
    expected: HashSet<u128>,
    links: HashMap<LinkKey, ControlLink>,
    /// Slots of refused hosts that have not yet read the reason.
    lingering: HashMap<LinkKey, PendingHandshake>,
    unknown_peers: LineBudget,
    events: mpsc::Sender<ControlEvent>,
    streams: JoinSet<()>,
    /// Separate from the streams: the worker's end does not wait for timers.
    timers: JoinSet<()>,
    /// Set when the socket is first needed; empty if it cannot be opened.
    handover_address: Option<HandoverAddress>,
    /// The hosts' secret. Hosts are not admitted before the daemon has sent it.
    socket: Option<Vec<Secret>>,
    stopping: bool,
}

impl ControlState {
    fn new(
        config: WorkerConfig,
        mailbox: Arc<Mailbox<ToData>>,
        (watch, page): (Arc<CallWatch>, MetricsPage),
        inbox: TableInbox,
        (daemon, port): (mpsc::Sender<WorkerToDaemon>, u16),
        events: mpsc::Sender<ControlEvent>,
    ) -> ControlState {
        ControlState {
            config,
            mailbox,
            observer: CallObserver::new(watch),
            page,
            ready: false,
            inbox,
            daemon,
            port,
            expected: HashSet::new(),
            links: HashMap::new(),
            lingering: HashMap::new(),
            unknown_peers: LineBudget::default(),
            events,
            streams: JoinSet::new(),
            timers: JoinSet::new(),
            handover_address: None,
            socket: None,
            stopping: false,
        }
    }

    fn handle(&mut self, event: ControlEvent) {
        match event {
            ControlEvent::Daemon(message) => self.on_daemon_message(message),
            ControlEvent::DaemonGone(end) => {
                match end {
                    Some(StreamError::Closed) if self.stopping => {}
                    Some(error) => self.abandon(&error),
                    None => {}
                }
                self.stop();
            }
            ControlEvent::HostCame { link, peer, outbox, handshakes } => {
                self.links.insert(
                    link,
                    ControlLink {
                        peer,
                        name: peer.to_string(),
                        outbox,
                        handshakes: Some(handshakes),
                        intake: None,
                        token: None,
                        handed: HashMap::new(),
                        has_handed: false,
                        is_reached: false,
                        waits: None,
                    },
                );
                let events = self.events.clone();
                self.timers.spawn(async move {
                    sleep(ADMISSION).await;
                    // Fails when the worker ends.
                    let _ = events.send(ControlEvent::Late { link }).await;
                });
            }
            ControlEvent::Host { link, message, turn } => self.on_host_message(link, message, turn),
            ControlEvent::Handover(visitor) => self.at_socket(visitor),
            ControlEvent::Refused(reason) => self.page.header().refuse(reason),
            ControlEvent::HostGone { link, end } => self.host_gone(link, end),
            ControlEvent::Late { link } => {
                if self.links.get(&link).is_some_and(|link| !link.is_admitted()) {
                    self.disconnect(link, Failure::new(DocaError::AUTHENTICATION, UNEXPECTED_HOST));
                }
            }
        }
    }

    /// Notifies the hosts of the daemon's loss, before the plugins are closed: otherwise the tasks'
    /// answers, without the cause, would arrive first.
    fn abandon(&mut self, error: &StreamError) {
        let id = self.config.id;
        warn!("worker {id} ends: it lost the connection to the daemon: {error}");
        let text = format!(
            "worker {id} was stopped because its daemon has ended: {error}; connect again when the service runs"
        );
        self.send_all_away(&Failure::new(DocaError::SHUTDOWN, text));
    }

    fn send_all_away(&mut self, failure: &Failure) {
        for link in self.links.keys().copied().collect::<Vec<_>>() {
            self.send_away(link, failure.clone());
        }
    }

    fn on_daemon_message(&mut self, message: DaemonToWorker) {
        match message {
            DaemonToWorker::Ping => {}
            DaemonToWorker::Open { secrets } => self.socket = Some(secrets),
            DaemonToWorker::Record { target } => self.mailbox.post(ToData::Record(target)),
            DaemonToWorker::Expect { token } => {
                self.expected.insert(token);
                self.send_to_daemon(WorkerToDaemon::Expected { token });
            }
            DaemonToWorker::Forget { token } => {
                self.expected.remove(&token);
                self.report_if_empty();
            }
            DaemonToWorker::Leave | DaemonToWorker::Stop => self.stop(),
        }
    }

    fn on_host_message(
        &mut self,
        key: LinkKey,
        message: HostToWorker,
        turn: Option<OwnedSemaphorePermit>,
    ) {
        let Some(link) = self.links.get_mut(&key) else { return };
        match message {
            HostToWorker::Ping => {}
            HostToWorker::Attach(_) if link.is_admitted() => {
                self.disconnect(
                    key,
                    Failure::new(DocaError::BAD_STATE, "a host attaches once on a stream"),
                );
            }
            HostToWorker::Attach(attach) if self.expected.contains(&attach.token) => {
                self.admit(key, attach)
            }
            HostToWorker::Attach(_) => {
                self.disconnect(key, Failure::new(DocaError::AUTHENTICATION, UNEXPECTED_HOST));
            }
            HostToWorker::Domain { domain, word } => {
                let answer = DomainReply { outbox: link.outbox.downgrade(), turn };
                let heard = match &mut link.intake {
                    Some(intake) => intake.handle(domain, word, answer),
                    None => Err(Failure::new(
                        DocaError::BAD_STATE,
                        "a host attaches before it starts a domain",
                    )),
                };
                if let Err(failure) = heard {
                    self.disconnect(key, failure);
                }
            }
            HostToWorker::Memory(_) | HostToWorker::Reach(_) if !link.is_admitted() => {
                let text = "a host attaches before it is reached or shares memory";
                self.disconnect(key, Failure::new(DocaError::BAD_STATE, text));
            }
            HostToWorker::Reach(_) if link.is_reached => {
                let text = "a host hands a ring over or gives its address of UCX, once";
                self.disconnect(key, Failure::new(DocaError::BAD_STATE, text));
            }
            HostToWorker::Reach(reach) => {
                link.is_reached = true;
                self.mailbox.post(ToData::Reach { link: key, reach });
            }
            HostToWorker::Memory(word) => self.on_memory_message(key, word, turn),
        }
    }

    fn admit(&mut self, key: LinkKey, attach: Attach) {
        let WorkerConfig { id, max_hosts, .. } = self.config;
        if self.links.values().filter(|link| link.is_admitted()).count() >= max_hosts {
            let text = format!(
                "worker {id} has {} already, which is its limit: end one, use another worker, or start uromd \
                 with a larger --max-hosts",
                Quantity(max_hosts, "host")
            );
            // Its token expires, like the token of a host that never came.
            return self.disconnect(key, Failure::new(DocaError::FULL, text));
        }
        if let Some(hung) = self.observer.hung().filter(|hung| hung.seconds >= LONG) {
            return self.turn_away(key, attach.token, &hung);
        }
        let Some(link) = self.links.get_mut(&key) else { return };
        link.intake = Some(Intake::new(key, self.inbox.clone()));
        link.token = Some(attach.token);
        link.handshakes = None;
        link.waits = Some(0);
        self.expected.remove(&attach.token);
        if !attach.program.is_empty() {
            let program = attach.program.replace(char::is_control, " ");
            link.name = format!("{} ({program})", link.peer);
        }
        info!("host {} connected", link.name);
        let host = link.name.clone();
        self.send_to_daemon(WorkerToDaemon::Arrived { token: attach.token });
        let tag = VerificationTag::new(attach.token);
        self.mailbox.post(ToData::Attach { link: key, host, attach, tag });
    }

    /// Refuses a host because a plugin does not return. The blocked data thread is not notified.
    /// The token is used up, so that the worker does not wait for this host.
    fn turn_away(&mut self, key: LinkKey, token: u128, hung: &HungCall) {
        self.disconnect(key, takes_no_host(&self.config, hung));
        self.expected.remove(&token);
        self.send_to_daemon(WorkerToDaemon::Arrived { token });
        self.send_to_daemon(WorkerToDaemon::Departed { token });
        self.report_if_empty();
    }

    fn host_gone(&mut self, key: LinkKey, end: Option<StreamError>) {
        let Some(link) = self.links.remove(&key) else {
            self.lingering.remove(&key);
            return;
        };
        if let Some(more) = self.line_about(link.token.is_some()) {
            match end {
                None | Some(StreamError::Closed) => info!("host {} disconnected{more}", link.name),
                Some(error) => warn!("lost the connection to host {}: {error}{more}", link.name),
            }
        }
        self.part(key, &link);
    }

    fn disconnect(&mut self, key: LinkKey, failure: Failure) {
        let Some(link) = self.links.get(&key) else { return };
        let (name, is_in) = (link.name.clone(), link.token.is_some());
        if link.waits.is_some() || !is_in {
            self.page.header().refuse(reason_of(failure.code));
        }
        if let Some(more) = self.line_about(is_in) {
            warn!("closed the connection to host {name}: {failure}{more}");
        }
        self.send_away(key, failure);
    }

    fn send_away(&mut self, key: LinkKey, failure: Failure) {
        let Some(link) = self.links.remove(&key) else { return };
        let _ = link.outbox.try_send(WorkerToHost::Refused(failure));
        self.part(key, &link);
        if let Some(handshakes) = link.handshakes {
            self.lingering.insert(key, handshakes);
        }
    }

    fn disconnect_late(&mut self) {
        let late = |(key, link): (&LinkKey, &mut ControlLink)| {
            Some((*key, link.intake.as_mut()?.round()?))
        };
        let late: Vec<(LinkKey, Failure)> = self.links.iter_mut().filter_map(late).collect();
        for (key, failure) in late {
            self.disconnect(key, failure);
        }
    }

    /// Returns whether to log the end of a link: always for admitted hosts.
    fn line_about(&mut self, is_in: bool) -> Option<LeftOut> {
        if is_in { Some(LeftOut::default()) } else { self.unknown_peers.line() }
    }

    /// Removes an admitted host from the data thread, and notifies the daemon.
    fn part(&mut self, key: LinkKey, link: &ControlLink) {
        if let Some(token) = link.token {
            self.mailbox.post(ToData::Detach { link: key });
            // A failed send to a lost daemon would stop the worker before its hosts get the reason.
            if !self.daemon.is_closed() {
                self.send_to_daemon(WorkerToDaemon::Departed { token });
            }
            self.report_if_empty();
        }
    }

    fn on_data_message(&mut self, message: ToControl) -> bool {
        match message {
            ToControl::Ready => {
                self.ready = true;
                self.send_to_daemon(WorkerToDaemon::Ready { port: self.port });
            }
            ToControl::Failed(failure) => {
                self.send_to_daemon(WorkerToDaemon::Failed(failure));
                return false;
            }
            ToControl::Attached { link, ucx_address, channel, max_message, plugins } => {
                let socket = self.handover_address();
                let answer =
                    WorkerToHost::Attached { socket, ucx_address, channel, max_message, plugins };
                if let Some(link) = self.links.get_mut(&link) {
                    link.waits = None;
                    let _ = link.outbox.try_send(answer);
                }
            }
            ToControl::Refused { link, failure } => self.disconnect(link, failure),
            ToControl::Memory { link, answer } => self.send_memory_answer(link, answer),
            ToControl::Ended => return false,
        }
        true
    }

    fn report_if_empty(&mut self) {
        if self.expected.is_empty() && !self.links.values().any(ControlLink::is_admitted) {
            debug!("worker {} does not have hosts any more", self.config.id);
            self.send_to_daemon(WorkerToDaemon::Empty);
        }
    }

    fn send_to_daemon(&mut self, message: WorkerToDaemon) {
        match self.daemon.try_send(message) {
            Err(error) if !self.stopping => {
                // The loss of the daemon is logged elsewhere.
                if matches!(error, TrySendError::Full(_)) {
                    warn!("worker {} ends: the daemon does not read its messages", self.config.id);
                }
                self.stop();
            }
            _ => {}
        }
    }

    fn stop(&mut self) {
        if !self.stopping {
            self.stopping = true;
            self.mailbox.post(ToData::Stop);
        }
    }
}
