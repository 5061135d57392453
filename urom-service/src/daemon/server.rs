//! The daemon's one loop: it owns the roster, and everything else tells it what happened.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::sync::oneshot;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{sleep, timeout};
use tracing::{debug, dispatcher, info, warn};
use urom_abi::{Count, DocaError, WORKER_ID_ANY, WorkerId};

use super::DaemonConfig;
use super::discovery::{Catalogue, Found, path_of_environment};
use super::host::{self, Reception};
use super::launcher::Launcher;
use super::request;
use super::roster::{Action, HostKey, Roster, Serial};
use super::supervisor::{self, GRACE};
use super::{tickets, words};
use crate::entrance::Entrance;
use crate::key::Key;
use crate::log::Budget;
use crate::session::{self, BACKLOG};
use crate::wire::control::{
    DaemonToHost, DaemonToWorker, Failure, HostToDaemon, StartWorker, WorkerToDaemon,
};

/// How long a host may take to come to its worker.
const TICKET_LIFE: Duration = Duration::from_secs(10);

/// What happened. Nothing prints it: tickets are in it.
pub(crate) enum Event {
    HostCame { key: HostKey, host: HostLink },
    Host { key: HostKey, message: HostToDaemon },
    HostGone { key: HostKey },
    Worker { serial: Serial, message: WorkerToDaemon },
    WorkerSilent { serial: Serial },
    WorkerGone { serial: Serial, cause: String },
    Overdue { serial: Serial },
    Expired { serial: Serial, ticket: u128 },
}

/// A host that was greeted.
#[derive(Debug)]
pub(crate) struct HostLink {
    pub(crate) outbox: mpsc::Sender<DaemonToHost>,
    /// Has its stream end at once, and not when what it was told is written.
    pub(crate) give_up: oneshot::Sender<()>,
    pub(crate) plugins: Vec<Found>,
    /// What log lines call it.
    pub(crate) peer: SocketAddr,
}

struct Server {
    config: DaemonConfig,
    launcher: Launcher,
    address: SocketAddr,
    roster: Roster,
    hosts: HashMap<HostKey, HostLink>,
    workers: HashMap<Serial, WorkerLink>,
    supervisors: JoinSet<()>,
    events: mpsc::Sender<Event>,
    /// Lines about workers that hosts asked for and that cannot be.
    not_started: Budget,
}

struct WorkerLink {
    id: WorkerId,
    /// The names of its plugins.
    plugins: String,
    outbox: mpsc::Sender<DaemonToWorker>,
}

/// Serves until `stop` is ready, then stops everything in order.
///
/// # Errors
/// The listener's address cannot be had.
pub(crate) async fn serve(
    listener: TcpListener,
    config: DaemonConfig,
    launcher: Launcher,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    // A plugin that hangs as it is loaded keeps the loader's lock, which a thread takes for the first use of such a variable of its
    // own: the first line of the log would keep this thread waiting for ever.
    dispatcher::with_default(&dispatcher::get_default(Clone::clone), || ());
    let (events, mut happened) = session::events();
    let mut catalogue = Catalogue::default();
    if config.plugin_path.is_none() && path_of_environment().is_none() {
        // Says so, before a host comes, and only once.
        catalogue.discover(None);
    }
    let reception = Arc::new(Reception {
        catalogue: Arc::new(tokio::sync::Mutex::new(catalogue)),
        plugin_path: config.plugin_path.clone(),
        secret: config.key.as_ref().map(Key::daemon_secret),
        places: Arc::new(Semaphore::new(config.limits.hosts)),
        limit: config.limits.hosts,
        refusals: Mutex::default(),
        cpus: config.cpus.to_string(),
        max_message: config.max_message,
    });
    let mut server = Server {
        address: listener.local_addr()?,
        roster: Roster::new(config.limits),
        config,
        launcher,
        hosts: HashMap::new(),
        workers: HashMap::new(),
        supervisors: JoinSet::new(),
        events,
        not_started: Budget::default(),
    };
    let (mut last_host, mut entrance) = (0, Entrance::new(listener));
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(event) = happened.recv() => {
                server.handle(event);
                // Starting a process takes milliseconds, and hundreds may be asked for at once: heartbeats go on in between.
                yield_now().await;
            }
            Some(_) = server.supervisors.join_next() => {}
            (stream, peer, seat) = entrance.accept() => {
                last_host += 1;
                let (reception, events) = (Arc::clone(&reception), server.events.clone());
                tokio::spawn(host::serve(last_host, stream, (peer, seat), reception, events));
            }
        }
    }
    drop(entrance);
    info!("stopping the service; it has {}", Count(server.workers.len(), "worker"));
    let actions = server.roster.stop();
    server.act(actions);
    let wait = async {
        loop {
            tokio::select! {
                joined = server.supervisors.join_next() => if joined.is_none() { break },
                Some(event) = happened.recv() => drop(event),
            }
        }
    };
    if timeout(GRACE, wait).await.is_err() {
        warn!(
            "killed {}, because they did not stop within {} s",
            Count(server.supervisors.len(), "worker"),
            GRACE.as_secs()
        );
    }
    Ok(())
}

impl Server {
    fn handle(&mut self, event: Event) {
        let actions = match event {
            Event::HostCame { key, host } => {
                self.hosts.insert(key, host);
                Vec::new()
            }
            Event::Host { key, message } => self.host_says(key, message),
            Event::HostGone { key } => {
                self.hosts.remove(&key);
                self.roster.host_gone(key)
            }
            Event::Worker { serial, message } => self.worker_says(serial, message),
            Event::WorkerSilent { serial } => {
                self.roster.silent(serial);
                Vec::new()
            }
            Event::WorkerGone { serial, cause } => self.worker_gone(serial, &cause),
            Event::Overdue { serial } => {
                let text = format!(
                    "the worker did not open its plugins within {} s",
                    self.launcher.ready_deadline().as_secs()
                );
                self.roster.overdue(serial, &Failure::new(DocaError::TIME_OUT, text))
            }
            Event::Expired { serial, ticket } => self.roster.expired(serial, ticket),
        };
        self.act(actions);
    }

    fn host_says(&mut self, key: HostKey, message: HostToDaemon) -> Vec<Action> {
        let plugins = self.hosts.get(&key).map(|host| &host.plugins[..]);
        words::of_host(&mut self.roster, key, plugins, message, tickets::draw)
    }

    fn worker_says(&mut self, serial: Serial, message: WorkerToDaemon) -> Vec<Action> {
        if let WorkerToDaemon::Failed(failure) = &message {
            let (name, code) = (self.name(serial), failure.code().name());
            warn!("worker {name} cannot work: {failure} ({code})");
        }
        words::of_worker(&mut self.roster, serial, self.address.ip(), message, tickets::draw)
    }

    fn worker_gone(&mut self, serial: Serial, cause: &str) -> Vec<Action> {
        match self.workers.remove(&serial) {
            Some(link) => warn!("worker {} is gone: {cause}; it ran {}", link.id, link.plugins),
            None => debug!("a worker that no host used any more ended: {cause}"),
        }
        let text = format!("the worker was lost while it started: {cause}; the service's log may say more");
        self.roster.gone(serial, &Failure::new(DocaError::CONNECTION_RESET, text))
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Spawn { serial, id, host, worker } => {
                    if let Err(failure) = self.spawn(serial, id, host, worker) {
                        if let Some(more) = self.not_started.line(Instant::now()) {
                            warn!("worker {} was not started: {failure}{more}", WorkerId(id));
                        }
                        let actions = self.roster.failed(serial, &failure);
                        self.act(actions);
                    }
                }
                Action::ToWorker(serial, message) => self.tell_worker(serial, message),
                Action::Abandon(serial) => drop(self.workers.remove(&serial)),
                Action::ToHost(key, message) => self.tell_host(key, message),
                Action::Expire(serial, ticket) => self.later(TICKET_LIFE, Event::Expired { serial, ticket }),
            }
        }
    }

    fn spawn(&mut self, serial: Serial, id: u64, host: HostKey, worker: StartWorker) -> Result<(), Failure> {
        debug_assert_ne!(id, WORKER_ID_ANY);
        let secret = self.config.key.as_ref().map(|key| key.worker_secret(id));
        let id = WorkerId(id);
        let plugins = self.hosts.get(&host).map_or(&[][..], |host| &host.plugins);
        let (config, env) = request::resolve(id, &worker, plugins, &self.config, self.address.ip())?;
        let wanted = plugins.iter().filter(|found| worker.plugins & found.entry.id != 0);
        let names: Vec<&str> = wanted.map(|found| &found.entry.name[..]).collect();
        let launched = self.launcher.launch(config, env).map_err(|error| {
            Failure::new(DocaError::OPERATING_SYSTEM, format!("worker {id} could not be started: {error}"))
        })?;
        let process = launched.body.process();
        let plugins = names.join(", ");
        info!("worker {id} (group {}) is starting with {plugins}{process}", worker.gid);
        let (outbox, outgoing) = mpsc::channel(BACKLOG);
        // The queue is new and has room.
        let _ = outbox.try_send(DaemonToWorker::Open { secret });
        self.workers.insert(serial, WorkerLink { id, plugins, outbox });
        let events = self.events.clone();
        self.supervisors.spawn(supervisor::supervise(serial, id, launched, outgoing, events));
        self.later(self.launcher.ready_deadline(), Event::Overdue { serial });
        Ok(())
    }

    fn later(&self, delay: Duration, event: Event) {
        let events = self.events.clone();
        tokio::spawn(async move {
            sleep(delay).await;
            // Nobody listens when the daemon ends.
            let _ = events.send(event).await;
        });
    }

    fn tell_worker(&mut self, serial: Serial, message: DaemonToWorker) {
        let Some(link) = self.workers.get(&serial) else { return };
        // One whose stream has ended is about to be reported gone, with the cause.
        if let Err(TrySendError::Full(_)) = link.outbox.try_send(message) {
            warn!("worker {} does not read the messages of the daemon, which closes its connection", link.id);
            self.workers.remove(&serial);
        }
    }

    fn tell_host(&mut self, key: HostKey, message: DaemonToHost) {
        let Some(host) = self.hosts.get(&key) else { return };
        let Err(error) = host.outbox.try_send(message) else { return };
        // One that has just left is not worth a word.
        if let (TrySendError::Full(_), Some(host)) = (error, self.hosts.remove(&key)) {
            warn!("host {} does not read the messages of the daemon, which closes its connection", host.peer);
            // Its stream may have ended by itself.
            let _ = host.give_up.send(());
            // Not only when its stream has ended: until then a worker would be started for it, and without its plugins.
            let actions = self.roster.host_gone(key);
            self.act(actions);
        }
    }

    fn name(&self, serial: Serial) -> String {
        self.workers.get(&serial).map_or_else(|| "(gone)".to_owned(), |link| link.id.to_string())
    }
}
