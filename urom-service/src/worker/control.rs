//! The control thread: the stream to the daemon, the streams of hosts, and who may come in.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::{TcpListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, error, info, warn};
use urom_abi::DocaError;

use super::Place;
use super::domains::Domains;
use super::intake::Intake;
use super::messages::{LinkKey, ToControl, ToData};
use super::sessions::{daemon_session, host_session};
use crate::mailbox::Mailbox;
use crate::session::BACKLOG;
use crate::wire::control::{
    Attach, DaemonToWorker, DomainWord, Failure, HostToWorker, PATIENCE, WorkerToDaemon, WorkerToHost,
};
use crate::wire::stream::StreamError;

/// How long a host may take to show its ticket.
const ADMISSION: Duration = Duration::from_secs(2);

/// What a host is told that shows no ticket, or none that the daemon announced.
const UNEXPECTED_HOST: &str =
    "the worker does not expect this host: its ticket is missing, unknown, used up or too old";

/// How long the data thread may take to end; the daemon gives a worker 2 s.
const STOP_LIMIT: Duration = Duration::from_millis(1500);

/// How long to wait before accepting again when the system has no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The data thread's way to the control thread.
#[derive(Debug, Clone)]
pub(crate) struct ControlHandle(mpsc::UnboundedSender<ToControl>);

impl ControlHandle {
    /// A handle, and where its messages come out.
    pub(crate) fn new() -> (ControlHandle, mpsc::UnboundedReceiver<ToControl>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (ControlHandle(sender), receiver)
    }

    pub(crate) fn send(&self, message: ToControl) {
        // A control thread that is gone has told the data thread to stop.
        let _ = self.0.send(message);
    }
}

/// How the control thread ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Everything was closed.
    Orderly,
    /// The data thread did not end in time: a plugin holds it.
    Stuck,
}

/// What the control thread starts with.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) id: u64,
    pub(crate) place: Place,
    /// Where hosts connect.
    pub(crate) listener: std::net::TcpListener,
    pub(crate) daemon: StdUnixStream,
    pub(crate) mailbox: Arc<Mailbox<ToData>>,
    pub(crate) from_data: mpsc::UnboundedReceiver<ToControl>,
    /// What plugins look up.
    pub(crate) domains: Arc<Domains>,
}

/// What happened.
#[derive(Debug)]
pub(super) enum Event {
    Daemon(DaemonToWorker),
    DaemonGone(Option<StreamError>),
    HostCame { link: LinkKey, peer: SocketAddr, outbox: mpsc::Sender<WorkerToHost> },
    Host { link: LinkKey, message: HostToWorker },
    HostGone { link: LinkKey, end: Option<StreamError> },
    Late { link: LinkKey },
}

/// A host's stream.
struct Link {
    peer: SocketAddr,
    outbox: mpsc::Sender<WorkerToHost>,
    /// Its domains, once it was let in: the data thread knows it then.
    intake: Option<Intake>,
}

impl Link {
    fn is_admitted(&self) -> bool {
        self.intake.is_some()
    }
}

struct Control {
    id: u64,
    mailbox: Arc<Mailbox<ToData>>,
    domains: Arc<Domains>,
    daemon: mpsc::Sender<WorkerToDaemon>,
    port: u16,
    expected: HashSet<u128>,
    links: HashMap<LinkKey, Link>,
    events: mpsc::Sender<Event>,
    sessions: JoinSet<()>,
    /// Apart from the sessions, because nobody waits for these to end.
    timers: JoinSet<()>,
    stopping: bool,
}

/// Starts the thread.
///
/// # Errors
/// The operating system's.
pub(crate) fn start(setup: Setup) -> io::Result<JoinHandle<()>> {
    setup.listener.set_nonblocking(true)?;
    setup.daemon.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // What the data thread logs to, this one does too: threads of an embedded service have a log of their own.
    let log = tracing::dispatcher::get_default(Clone::clone);
    std::thread::Builder::new().name("urom-control".to_owned()).spawn(move || {
        let (id, place) = (setup.id, setup.place);
        tracing::dispatcher::with_default(&log, || {
            if runtime.block_on(run(setup)) == End::Stuck {
                error!("worker {id} does not stop: a plugin does not return");
                if place == Place::Process {
                    std::process::exit(1);
                }
            }
        });
    })
}

async fn run(setup: Setup) -> End {
    let Setup { id, listener, daemon, mailbox, mut from_data, domains, .. } = setup;
    let streams = UnixStream::from_std(daemon)
        .and_then(|daemon| Ok((daemon, listener.local_addr()?.port(), TcpListener::from_std(listener)?)));
    let (daemon, port, listener) = match streams {
        Ok(streams) => streams,
        Err(problem) => {
            error!("worker {id} has no control streams: {problem}");
            mailbox.post(ToData::Stop);
            return End::Orderly;
        }
    };
    let (events, mut happened) = mpsc::channel(BACKLOG);
    let (outbox, outgoing) = mpsc::channel(BACKLOG);
    let mut sessions = JoinSet::new();
    sessions.spawn(daemon_session(daemon, outgoing, events.clone()));
    let mut control = Control {
        id,
        mailbox,
        domains,
        daemon: outbox,
        port,
        expected: HashSet::new(),
        links: HashMap::new(),
        events,
        sessions,
        timers: JoinSet::new(),
        stopping: false,
    };
    let mut last_link = 0;
    let mut deadline = std::pin::pin!(sleep(Duration::MAX));
    let end = loop {
        let stopping = control.stopping;
        tokio::select! {
            message = from_data.recv() => match message {
                Some(message) => if !control.data_says(message) { break End::Orderly },
                None => {
                    error!("the data thread of worker {id} is gone");
                    break End::Orderly;
                }
            },
            Some(event) = happened.recv() => control.handle(event).await,
            Some(_) = control.sessions.join_next() => {}
            Some(_) = control.timers.join_next() => {}
            () = &mut deadline, if stopping => break End::Stuck,
            accepted = listener.accept(), if !stopping => match accepted {
                Ok((stream, peer)) => {
                    last_link += 1;
                    let session = host_session(last_link, stream, peer, control.events.clone());
                    control.sessions.spawn(session);
                }
                Err(problem) => {
                    error!("no host can connect: {problem}");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
        if control.stopping && !stopping {
            deadline.set(sleep(STOP_LIMIT));
        }
    };
    control.close(happened, end).await;
    end
}

impl Control {
    async fn handle(&mut self, event: Event) {
        match event {
            Event::Daemon(message) => self.daemon_says(message),
            Event::DaemonGone(end) => {
                match end {
                    None | Some(StreamError::Closed) if self.stopping => {}
                    None => {}
                    Some(error) => warn!("worker {} ends: the daemon is gone: {error}", self.id),
                }
                self.stop();
            }
            Event::HostCame { link, peer, outbox } => {
                self.links.insert(link, Link { peer, outbox, intake: None });
                let events = self.events.clone();
                self.timers.spawn(async move {
                    sleep(ADMISSION).await;
                    // Nobody listens when the worker ends.
                    let _ = events.send(Event::Late { link }).await;
                });
            }
            Event::Host { link, message } => self.host_says(link, message).await,
            Event::HostGone { link, end } => self.host_gone(link, end),
            Event::Late { link } => {
                if self.links.get(&link).is_some_and(|link| !link.is_admitted()) {
                    self.throw_out(link, Failure::new(DocaError::AUTHENTICATION, UNEXPECTED_HOST));
                }
            }
        }
    }

    fn daemon_says(&mut self, message: DaemonToWorker) {
        match message {
            DaemonToWorker::Ping => {}
            DaemonToWorker::Expect { ticket } => {
                self.expected.insert(ticket);
                self.tell_daemon(WorkerToDaemon::Expected { ticket });
            }
            DaemonToWorker::Forget { ticket } => {
                self.expected.remove(&ticket);
                self.tell_if_empty();
            }
            DaemonToWorker::Leave | DaemonToWorker::Stop => self.stop(),
        }
    }

    async fn host_says(&mut self, key: LinkKey, message: HostToWorker) {
        let Some(link) = self.links.get_mut(&key) else { return };
        match message {
            HostToWorker::Ping => {}
            HostToWorker::Attach(_) if link.is_admitted() => {
                self.throw_out(key, Failure::new(DocaError::BAD_STATE, "a host attaches once on a stream"));
            }
            HostToWorker::Attach(attach) if self.expected.contains(&attach.ticket) => self.admit(key, attach),
            HostToWorker::Attach(_) => {
                self.throw_out(key, Failure::new(DocaError::AUTHENTICATION, UNEXPECTED_HOST));
            }
            HostToWorker::Domain { domain, word } => self.domain(key, domain, word).await,
        }
    }

    async fn domain(&mut self, key: LinkKey, domain: u64, word: DomainWord) {
        let Some(link) = self.links.get_mut(&key) else { return };
        let heard = match &mut link.intake {
            Some(intake) => intake.hear(domain, word).await,
            None => Err(Failure::new(DocaError::BAD_STATE, "a host attaches before it starts a domain")),
        };
        match heard {
            Ok(None) => {}
            Ok(Some(answer)) => {
                // A host that reads nothing is soon given up.
                let _ = link.outbox.try_send(answer);
            }
            Err(failure) => self.throw_out(key, failure),
        }
    }

    /// Lets in a host whose ticket is expected.
    fn admit(&mut self, key: LinkKey, attach: Attach) {
        let Some(link) = self.links.get_mut(&key) else { return };
        link.intake = Some(Intake::new(key, Arc::clone(&self.domains)));
        self.expected.remove(&attach.ticket);
        info!("host {} is in", link.peer);
        self.tell_daemon(WorkerToDaemon::Arrived { ticket: attach.ticket });
        self.mailbox.post(ToData::Attach { link: key, attach });
    }

    fn host_gone(&mut self, key: LinkKey, end: Option<StreamError>) {
        let Some(link) = self.links.remove(&key) else { return };
        match end {
            None | Some(StreamError::Closed) => info!("host {} left", link.peer),
            Some(error) => warn!("host {} is lost: {error}", link.peer),
        }
        if link.is_admitted() {
            self.mailbox.post(ToData::Detach { link: key });
            self.tell_if_empty();
        }
    }

    /// Tells a host why it must go, and lets go of it.
    fn throw_out(&mut self, key: LinkKey, failure: Failure) {
        let Some(link) = self.links.remove(&key) else { return };
        warn!("host {} is thrown out: {failure}", link.peer);
        // A host that reads nothing does not learn why.
        let _ = link.outbox.try_send(WorkerToHost::Refused(failure));
        if link.is_admitted() {
            self.mailbox.post(ToData::Detach { link: key });
            self.tell_if_empty();
        }
    }

    /// False when the data thread is done.
    fn data_says(&mut self, message: ToControl) -> bool {
        match message {
            ToControl::Ready => self.tell_daemon(WorkerToDaemon::Ready { port: self.port }),
            ToControl::Failed(failure) => {
                self.tell_daemon(WorkerToDaemon::Failed(failure));
                return false;
            }
            ToControl::Attached { link, ucx_address, channel, max_message, plugins } => {
                let answer = WorkerToHost::Attached { ucx_address, channel, max_message, plugins };
                if let Some(link) = self.links.get(&link) {
                    // A host that reads nothing is soon given up.
                    let _ = link.outbox.try_send(answer);
                }
            }
            ToControl::Refused { link, failure } => self.throw_out(link, failure),
            ToControl::Ended => return false,
        }
        true
    }

    fn tell_if_empty(&mut self) {
        if self.expected.is_empty() && !self.links.values().any(Link::is_admitted) {
            debug!("worker {} has no host", self.id);
            self.tell_daemon(WorkerToDaemon::Empty);
        }
    }

    fn tell_daemon(&mut self, message: WorkerToDaemon) {
        if self.daemon.try_send(message).is_err() && !self.stopping {
            warn!("worker {} ends: the daemon does not listen", self.id);
            self.stop();
        }
    }

    fn stop(&mut self) {
        if !self.stopping {
            self.stopping = true;
            self.mailbox.post(ToData::Stop);
        }
    }

    /// Says what is left to say, and waits until it is read, but not long.
    async fn close(self, mut happened: mpsc::Receiver<Event>, end: End) {
        let Control { id, daemon, links, mut sessions, events, .. } = self;
        let code = if end == End::Orderly { DocaError::SHUTDOWN } else { DocaError::TIME_OUT };
        for link in links.into_values() {
            let text = format!("worker {id} was stopped");
            // A host that reads nothing does not learn why.
            let _ = link.outbox.try_send(WorkerToHost::Refused(Failure::new(code, text)));
        }
        drop((daemon, events));
        let all = async {
            loop {
                tokio::select! {
                    joined = sessions.join_next() => if joined.is_none() { break },
                    Some(event) = happened.recv() => drop(event),
                }
            }
        };
        // Whatever is not read by now will not be.
        let _ = timeout(Duration::from_millis(600), all).await;
    }
}

const _: () = assert!(STOP_LIMIT.as_millis() < PATIENCE.as_millis());
