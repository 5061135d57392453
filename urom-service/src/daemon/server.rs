//! The daemon's loop: it owns the registry and handles all events.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::{JoinSet, yield_now};
use tracing::{debug, info, warn};
use urom_abi::{DocaError, Quantity, WORKER_ID_ANY, WorkerId};
use urom_wire::awake::timeout;
use urom_wire::control::{
    DaemonToHost, DaemonToWorker, Failure, RecordingTarget, StartWorker, WorkerToDaemon,
};
use urom_wire::key::Key;
use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::relay::{self, BACKLOG};

use super::config::DaemonConfig;
use super::discovery::{Catalogue, FoundPlugin, path_of_environment};
use super::event::{DaemonEvent, HostLink};
use super::host::{self, Reception};
use super::keys::ServiceKeys;
use super::launcher::Launcher;
use super::manager::Manager;
use super::observatory::Observatory;
use super::observed::{ObservedWorker, ObservedWorkers};
use super::operations::{Draining, Drains};
use super::registry::{DaemonAction, HostKey, Registry, Serial};
use super::request;
use super::search::PluginSearch;
use super::snapshot::{Refusals, Snapshot};
use super::supervisor::{self, GRACE};
use super::tokens;
use super::turns::{self, measured};
use crate::entrance::Entrance;
use crate::metrics::MetricsPage;

const TOKEN_LIFETIME: Duration = Duration::from_secs(10);

pub(super) struct Server {
    config: Arc<DaemonConfig>,
    launcher: Launcher,
    address: SocketAddr,
    pub(super) registry: Registry,
    pub(super) hosts: HashMap<HostKey, HostLink>,
    workers: HashMap<Serial, WorkerLink>,
    keys: ServiceKeys,
    observed: ObservedWorkers,
    recording: Option<RecordingTarget>,
    started: SystemTime,
    refusals: Refusals,
    supervisors: JoinSet<()>,
    pub(super) events: mpsc::Sender<DaemonEvent>,
    pub(super) draining: Draining,
    pub(super) drains: Drains,
}

struct WorkerLink {
    id: WorkerId,
    plugins: String,
    outbox: mpsc::Sender<DaemonToWorker>,
}

/// `operators` starts the access of operators, which ends when its value is dropped.
pub(crate) async fn serve<O>(
    listener: TcpListener,
    config: Arc<DaemonConfig>,
    launcher: Launcher,
    manager: Manager,
    operators: impl FnOnce(&Observatory) -> O,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let served = run(listener, config, launcher, manager, operators, stop);
    let served = measured("the daemon itself", served).await;
    debug!("the longest turn of the loop took {} us", turns::longest().as_micros());
    served
}

async fn run<O>(
    listener: TcpListener,
    config: Arc<DaemonConfig>,
    launcher: Launcher,
    mut manager: Manager,
    operators: impl FnOnce(&Observatory) -> O,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let (events, mut happened) = relay::events();
    let path = config.plugin_path.clone().or_else(path_of_environment);
    let mut catalogue = Catalogue::new(path, &launcher);
    let keys = ServiceKeys::new(config.key.clone());
    let (refusals, draining) = (Refusals::default(), Draining::default());
    let reception = Arc::new(Reception {
        config: Arc::clone(&config),
        search: PluginSearch::begin(move || catalogue.discover()).map_err(io::Error::other)?,
        secrets: keys.hosts().clone(),
        slots: Arc::new(Semaphore::new(config.args.limits.hosts)),
        refusals: refusals.clone(),
        draining: draining.clone(),
    });
    let mut server = Server {
        address: listener.local_addr()?,
        recording: config.args.recording(),
        registry: Registry::new(config.args.limits, tokens::draw),
        config,
        launcher,
        hosts: HashMap::new(),
        workers: HashMap::new(),
        keys,
        observed: ObservedWorkers::default(),
        started: SystemTime::now(),
        refusals,
        draining,
        drains: Drains::default(),
        supervisors: JoinSet::new(),
        events,
    };
    let (events, search) = (server.events.clone(), reception.search.clone());
    let args = &server.config.args;
    let (key_file, log_file) = (args.key_file(), args.log_file.clone());
    let operators = operators(&Observatory { events, search, key_file, log_file });
    let (mut last_host, mut entrance) = (0, Entrance::new(listener));
    let mut stop = std::pin::pin!(stop);
    manager.ready();
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(event) = happened.recv() => {
                server.handle(event);
                // Between hundreds of events, heartbeats must go on.
                yield_now().await;
            }
            Some(_) = server.supervisors.join_next() => {}
            () = manager.alive() => {}
            (stream, peer, handshakes) = entrance.accept() => {
                last_host += 1;
                let (reception, events) = (Arc::clone(&reception), server.events.clone());
                let served = host::serve(last_host, stream, (peer, handshakes), reception, events);
                tokio::spawn(measured("a host's stream", served));
            }
        }
    }
    drop(entrance);
    drop(operators);
    manager.stopping();
    info!("stopping the service; it has {}", Quantity(server.workers.len(), "worker"));
    let actions = server.registry.stop();
    server.act(actions);
    let wait = async {
        loop {
            tokio::select! {
                joined = server.supervisors.join_next() => if joined.is_none() { break },
                Some(event) = happened.recv() => drop(event),
                () = manager.alive() => {}
            }
        }
    };
    if timeout(GRACE, wait).await.is_err() {
        warn!(
            "killed {}, because they did not stop within {} s",
            Quantity(server.supervisors.len(), "worker"),
            GRACE.as_secs()
        );
    }
    Ok(())
}

impl Server {
    fn handle(&mut self, event: DaemonEvent) {
        let actions = match event {
            DaemonEvent::HostCame { key, host } => {
                if self.draining.get() {
                    // It was welcomed just before.
                    let _ = host.cancel.send(());
                } else {
                    self.hosts.insert(key, host);
                }
                Vec::new()
            }
            DaemonEvent::Host { key, message } => {
                let plugins = self.hosts.get(&key).map(|host| &host.plugins[..]);
                self.registry.on_host_message(key, plugins, message)
            }
            DaemonEvent::HostGone { key } => {
                self.hosts.remove(&key);
                self.end_drain_if_empty();
                self.registry.host_gone(key)
            }
            DaemonEvent::Worker { serial, message } => self.on_worker_message(serial, message),
            DaemonEvent::NotStarted { serial, failure } => {
                limited!(warn, "worker {} was not started: {failure}", self.name(serial));
                self.observed.ended(serial);
                self.observed.failures += 1;
                self.registry.failed(serial, &failure)
            }
            DaemonEvent::WorkerSilent { serial } => {
                self.registry.silent(serial);
                Vec::new()
            }
            DaemonEvent::WorkerGone { serial, cause } => self.worker_gone(serial, &cause),
            DaemonEvent::Overdue { serial } => {
                let text =
                    format!("the worker did not open its plugins within {} s", self.ready_within());
                self.registry.overdue(serial, &Failure::new(DocaError::TIME_OUT, text))
            }
            DaemonEvent::Expired { serial, token } => self.registry.expired(serial, token),
            DaemonEvent::Drain { deadline, reply } => {
                self.drain(deadline, reply);
                Vec::new()
            }
            DaemonEvent::DrainOver { number, seconds } => {
                self.drain_over(number, seconds);
                Vec::new()
            }
            DaemonEvent::Reload { key, reply } => {
                self.take_hosts_again();
                let _ = reply.send(key.map(|key| self.reload_key(key)));
                Vec::new()
            }
            DaemonEvent::Record { target, reply } => {
                let _ = reply.send(self.record(target));
                Vec::new()
            }
            DaemonEvent::Observe { plugins, reply } => {
                let _ = reply.send(self.snapshot(plugins));
                Vec::new()
            }
        };
        self.act(actions);
    }

    fn on_worker_message(&mut self, serial: Serial, message: WorkerToDaemon) -> Vec<DaemonAction> {
        if let WorkerToDaemon::Failed(failure) = &message {
            let (name, code) = (self.name(serial), failure.code.name());
            warn!("worker {name} cannot work: {failure} ({code})");
        }
        self.registry.on_worker_message(serial, self.address.ip(), message)
    }

    fn snapshot(&self, plugins: Option<usize>) -> Snapshot {
        Snapshot {
            started: self.started,
            address: self.address,
            draining: self.draining.get(),
            plugins,
            hosts: self.hosts.values().map(|host| host.peer).collect(),
            states: self.registry.states(),
            observed: self.observed.clone(),
            refused: self.refusals.counts(),
        }
    }

    fn worker_gone(&mut self, serial: Serial, cause: &str) -> Vec<DaemonAction> {
        self.observed.ended(serial);
        match self.workers.remove(&serial) {
            Some(link) => {
                self.observed.failures += 1;
                warn!("worker {} has ended: {cause}; it ran {}", link.id, link.plugins);
            }
            None => debug!("a worker that no host used any more ended: {cause}"),
        }
        let text = format!(
            "the worker was lost while it started: {cause}; the service's log may say more"
        );
        self.registry.gone(serial, &Failure::new(DocaError::CONNECTION_RESET, text))
    }

    pub(super) fn act(&mut self, actions: Vec<DaemonAction>) {
        for action in actions {
            match action {
                DaemonAction::Spawn { serial, id, host, worker } => {
                    self.spawn(serial, id, host, worker)
                }
                DaemonAction::ToWorker(serial, message) => self.send_to_worker(serial, message),
                DaemonAction::Abandon(serial) => drop(self.workers.remove(&serial)),
                DaemonAction::ToHost(key, message) => self.send_to_host(key, message),
                DaemonAction::Expire(serial, token) => self.later(
                    self.config.peer_timeout.at_least(TOKEN_LIFETIME),
                    DaemonEvent::Expired { serial, token },
                ),
            }
        }
    }

    /// Starts a worker on a thread: checking its plugins and starting a process may take long.
    fn spawn(&mut self, serial: Serial, id: u64, host: HostKey, worker: StartWorker) {
        debug_assert_ne!(id, WORKER_ID_ANY);
        let secrets = self.keys.of_worker(id);
        let id = WorkerId(id);
        let plugins = self.hosts.get(&host).map_or(&[][..], |host| &host.plugins);
        let wanted = plugins.iter().filter(|found| worker.plugins & found.entry.id != 0);
        let plugins: Arc<[FoundPlugin]> = wanted.cloned().collect();
        let names: Vec<&str> = plugins.iter().map(|found| &found.entry.name[..]).collect();
        let names = names.join(", ");
        let page = self.observe(serial, id, worker.gid, &plugins);
        let (outbox, outgoing) = mpsc::channel(BACKLOG);
        // Before hosts, so that all their commands are recorded.
        if let Some(target) = self.recording.clone() {
            let _ = outbox.try_send(DaemonToWorker::Record { target: Some(target) });
        }
        let _ = outbox.try_send(DaemonToWorker::Open { secrets });
        self.workers.insert(serial, WorkerLink { id, plugins: names.clone(), outbox });
        let (config, launcher) = (Arc::clone(&self.config), self.launcher.clone());
        let (gid, listen) = (worker.gid, self.address.ip());
        let socket = config.socket(serial);
        let of_worker = socket.clone();
        let launch = move || {
            let (mut config, env) = request::resolve(id, &worker, &plugins, &config, listen)?;
            config.socket = of_worker;
            let launched = launcher.launch(config, env, page.as_ref()).map_err(|error| {
                let text = format!("worker {id} could not be started: {error}");
                Failure::new(DocaError::OPERATING_SYSTEM, text)
            })?;
            let process = launched.1.process();
            info!("worker {id} (group {gid}) is starting with {names}{process}");
            Ok(launched)
        };
        let (events, peer_timeout) =
            (self.events.clone(), (self.ready_within(), self.config.peer_timeout));
        let supervisor = supervisor::supervise(serial, id, launch, outgoing, events, peer_timeout);
        let supervisor = async move {
            supervisor.await;
            if let Some(socket) = socket {
                supervisor::remove_socket(socket).await;
            }
        };
        self.supervisors.spawn(measured("a worker's stream", supervisor));
        self.later(self.ready_within(), DaemonEvent::Overdue { serial });
    }

    /// Makes the page of a worker, and keeps it until its process has ended. Without a page, the
    /// worker is not counted.
    fn observe(
        &mut self,
        serial: Serial,
        id: WorkerId,
        gid: u32,
        plugins: &Arc<[FoundPlugin]>,
    ) -> Option<OwnedFd> {
        match MetricsPage::create() {
            Ok((page, fd)) => {
                let (page, plugins) = (Arc::new(page), Arc::clone(plugins));
                let started = SystemTime::now();
                self.observed.started(serial, ObservedWorker { id, gid, started, plugins, page });
                Some(fd)
            }
            Err(error) => {
                limited!(warn, "worker {id} is not counted in metrics: {error}");
                None
            }
        }
    }

    fn ready_within(&self) -> PeerTimeout {
        self.config.peer_timeout.at_least(self.launcher.ready_deadline())
    }

    fn later(&self, delay: PeerTimeout, event: DaemonEvent) {
        let events = self.events.clone();
        let timer = async move {
            delay.run_out().await;
            let _ = events.send(event).await;
        };
        tokio::spawn(measured("a timer", timer));
    }

    /// Accepts a key at the daemon and at all workers.
    fn reload_key(&mut self, key: Key) -> &'static str {
        let text = self.keys.reload(key);
        let workers: Vec<_> =
            self.workers.iter().map(|(serial, link)| (*serial, link.id)).collect();
        for (serial, WorkerId(id)) in workers {
            let secrets = self.keys.of_worker(id);
            self.send_to_worker(serial, DaemonToWorker::Open { secrets });
        }
        text
    }

    /// Lets all workers record, or no longer; also later ones. Returns the number of workers now.
    fn record(&mut self, target: Option<RecordingTarget>) -> usize {
        self.recording.clone_from(&target);
        let workers: Vec<_> = self.workers.keys().copied().collect();
        for &serial in &workers {
            let target = target.clone();
            self.send_to_worker(serial, DaemonToWorker::Record { target });
        }
        workers.len()
    }

    fn send_to_worker(&mut self, serial: Serial, message: DaemonToWorker) {
        let Some(link) = self.workers.get(&serial) else { return };
        // The end of a closed stream is reported separately, with its cause.
        if let Err(TrySendError::Full(_)) = link.outbox.try_send(message) {
            warn!(
                "worker {} does not read the messages of the daemon, which closes its connection",
                link.id
            );
            self.workers.remove(&serial);
        }
    }

    fn send_to_host(&mut self, key: HostKey, message: DaemonToHost) {
        let Some(host) = self.hosts.get(&key) else { return };
        let Err(error) = host.outbox.try_send(message) else { return };
        if let (TrySendError::Full(_), Some(host)) = (error, self.hosts.remove(&key)) {
            warn!(
                "host {} does not read the messages of the daemon, which closes its connection",
                host.peer
            );
            let _ = host.cancel.send(());
            // Not at the stream's end: until then, a worker might be started for this host.
            let actions = self.registry.host_gone(key);
            self.act(actions);
        }
    }

    fn name(&self, serial: Serial) -> String {
        self.workers.get(&serial).map_or_else(|| "(gone)".to_owned(), |link| link.id.to_string())
    }
}
