//! An operator's commands: status, drain, reload and record.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::Access;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tracing::{error, info, warn};
use urom_abi::{DocaError, Quantity};
use urom_wire::awake::sleep;
use urom_wire::control::{Failure, RecordingTarget};
use urom_wire::key::Key;

use super::event::DaemonEvent;
use super::observatory::Observatory;
use super::server::Server;
use super::status::{self, ServiceStatus};
use super::turns::measured;
use crate::aside::result_of;
use crate::log::Log;

/// An operator's command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OperatorCommand {
    Status,
    /// Take no new hosts, and wait until all have left, or for so many seconds.
    Drain {
        deadline: Option<u32>,
    },
    /// Take hosts again, look for plugins, read the key, reopen the log.
    Reload,
    /// Record the commands of all workers from now on, or no longer.
    Record {
        target: Option<RecordingTarget>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OperatorReply {
    Status(ServiceStatus),
    Done(String),
    Failed(String),
}

pub(super) async fn execute(command: OperatorCommand, observatory: &Observatory) -> OperatorReply {
    match command {
        OperatorCommand::Status => match observatory.snapshot().await {
            Some(snapshot) => OperatorReply::Status(status::status(&snapshot)),
            None => OperatorReply::Failed("the daemon does not answer".to_owned()),
        },
        OperatorCommand::Drain { deadline } => {
            let event = |reply| DaemonEvent::Drain { deadline, reply };
            let reply = observatory.ask(event).await;
            reply.unwrap_or_else(|| OperatorReply::Failed("the service ends".to_owned()))
        }
        OperatorCommand::Reload => reload(observatory).await,
        OperatorCommand::Record { target } => match record(target, observatory).await {
            Ok(text) => OperatorReply::Done(text),
            Err(problem) => OperatorReply::Failed(problem),
        },
    }
}

/// The smallest limit of a recording in bytes. Its header has the descriptions of plugins.
pub(super) const LEAST_RECORDED: u64 = 1 << 16;

/// Checks that this process can make files in a directory.
pub(super) fn takes_files(directory: &Path) -> Result<(), String> {
    let shown = directory.display();
    rustix::fs::access(directory.join("."), Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| format!("the service cannot make files in {shown}: {error}"))
}

async fn record(
    target: Option<RecordingTarget>,
    observatory: &Observatory,
) -> Result<String, String> {
    if let Some(RecordingTarget { directory, plugins, limit, .. }) = &target {
        takes_files(directory)?;
        if *limit < LEAST_RECORDED {
            return Err(format!(
                "a limit of {limit} bytes is too small: {LEAST_RECORDED} is the least"
            ));
        }
        let found = observatory.search.latest().unwrap_or_default();
        if let Some(name) =
            plugins.iter().find(|name| found.iter().all(|it| it.entry.name != **name))
        {
            return Err(format!("the service has no plugin `{name}`"));
        }
    }
    let to = target.as_ref().map(|target| target.directory.display().to_string());
    let event = |reply| DaemonEvent::Record { target, reply };
    let workers = observatory.ask(event).await.ok_or("the service ends")?;
    let workers = Quantity(workers, "worker");
    let text = match to {
        Some(to) => format!("recording to {to}: {workers}, and workers that start later"),
        None => format!("recordings ended: {workers}"),
    };
    info!("{text}");
    Ok(text)
}

/// Whether the service refuses new hosts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draining(Arc<AtomicBool>);

impl Draining {
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, draining: bool) {
        self.0.store(draining, Ordering::Relaxed);
    }

    /// The answer to a host that comes meanwhile.
    pub(crate) fn failure() -> Failure {
        let text = "the service is being drained and refuses new hosts: use another one, or try \
                    again later";
        Failure::new(DocaError::AGAIN, text)
    }
}

/// Operators that wait for the end of a drain.
#[derive(Debug, Default)]
pub(super) struct Drains {
    waiting: Vec<oneshot::Sender<OperatorReply>>,
    /// Counts drains and reloads: a timer belongs to one drain.
    number: u64,
}

impl Server {
    pub(super) fn drain(&mut self, deadline: Option<u32>, reply: oneshot::Sender<OperatorReply>) {
        self.draining.set(true);
        self.drains.number += 1;
        self.drains.waiting.push(reply);
        info!("draining: {} left", Quantity(self.hosts.len(), "host"));
        self.end_drain_if_empty();
        if let Some(seconds) = deadline {
            let (events, number) = (self.events.clone(), self.drains.number);
            let timer = async move {
                sleep(Duration::from_secs(seconds.into())).await;
                let _ = events.send(DaemonEvent::DrainOver { number, seconds }).await;
            };
            tokio::spawn(measured("a drain's deadline", timer));
        }
    }

    pub(super) fn end_drain_if_empty(&mut self) {
        if self.hosts.is_empty() && !self.drains.waiting.is_empty() {
            info!("drained: the last host has left");
            self.reply_to_drains(|| OperatorReply::Done("drained: no host is left".to_owned()));
        }
    }

    /// Disconnects the hosts that have not left by the deadline of a drain.
    pub(super) fn drain_over(&mut self, number: u64, seconds: u32) {
        if number != self.drains.number || self.hosts.is_empty() {
            return;
        }
        let mut peers: Vec<_> = self.hosts.values().map(|host| host.peer.to_string()).collect();
        peers.sort_unstable();
        let (count, peers) = (Quantity(peers.len(), "host"), peers.join(", "));
        let text =
            format!("{count} did not leave within {seconds} s and lost the connection: {peers}");
        warn!("{text}");
        for (key, host) in std::mem::take(&mut self.hosts) {
            let _ = host.cancel.send(());
            let actions = self.registry.host_gone(key);
            self.act(actions);
        }
        let failure = Failure::new(DocaError::SHUTDOWN, "the service was drained");
        let actions = self.registry.end_all(&failure);
        self.act(actions);
        self.reply_to_drains(|| OperatorReply::Failed(text.clone()));
    }

    pub(super) fn take_hosts_again(&mut self) {
        self.draining.set(false);
        self.drains.number += 1;
        let text = "the service was reloaded, and takes hosts again";
        self.reply_to_drains(|| OperatorReply::Failed(text.to_owned()));
    }

    fn reply_to_drains(&mut self, reply: impl Fn() -> OperatorReply) {
        for waiting in self.drains.waiting.drain(..) {
            // The operator may have left.
            let _ = waiting.send(reply());
        }
    }
}

/// Takes hosts again, looks for plugins, reopens the log and reads the key. If the key cannot be
/// read, the service keeps its present one.
pub(super) async fn reload(observatory: &Observatory) -> OperatorReply {
    let read = match observatory.key_file.clone() {
        Some(file) => read_key(file).await.map(Some),
        None => Ok(None),
    };
    let (key, mut problems) = read.map_or_else(
        |problem| (None, vec![format!("the present key stays, because {problem}")]),
        |key| (key, Vec::new()),
    );
    let event = |reply| DaemonEvent::Reload { key, reply };
    let Some(key) = observatory.ask(event).await else {
        return OperatorReply::Failed("the service ends".to_owned());
    };
    if let Some(file) = observatory.log_file.clone() {
        problems.extend(open_log(file).await.err());
    }
    Log::reopen();
    let before = observatory.search.latest().unwrap_or_default();
    let found = observatory.search.look().await.unwrap_or_default();
    let is_found = |name: &str| found.iter().any(|plugin| plugin.entry.name == name);
    // A file that was removed is not a problem.
    let refused = before.iter().filter(|it| !is_found(&it.entry.name) && it.file.exists());
    problems.extend(refused.map(|plugin| {
        format!("{} is not served any more: the log has the reason", plugin.entry.name)
    }));
    if found.is_empty() && !before.is_empty() && problems.is_empty() {
        problems.push("no plugin is left".to_owned());
    }
    let mut text = format!("reloaded: {} found", Quantity(found.len(), "plugin"));
    key.iter().for_each(|key| text.extend([", ", key]));
    if problems.is_empty() {
        info!("{text}");
        return OperatorReply::Done(text);
    }
    let text = [text, problems.join("; ")].join("; ");
    error!("{text}");
    OperatorReply::Failed(text)
}

/// Tries whether the log file can be opened: the writer opens it later.
async fn open_log(file: PathBuf) -> Result<(), String> {
    let shown = file.display().to_string();
    let opened = result_of("urom-log-file", move || Log::check(&file)).await?;
    opened.map_err(|error| format!("the log file {shown} cannot be opened: {error}"))
}

async fn read_key(file: PathBuf) -> Result<Key, String> {
    let read = result_of("urom-key", move || Key::read(&file)).await?;
    read.map_err(|error| error.to_string())
}
