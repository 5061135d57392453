//! Passes each message of a host or worker to the registry, for the server and its fuzz target.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use urom_abi::DocaError;
use urom_wire::control::{DaemonToHost, Failure, HostToDaemon, WorkerToDaemon};
use urom_wire::stream::LONGEST_DESCRIPTION;

use super::discovery::FoundPlugin;
use super::registry::{DaemonAction, HostKey, Registry, Serial};

impl Registry {
    /// Handles a host's message. `plugins` is the list sent to the host, `None` after it left.
    pub(super) fn on_host_message(
        &mut self,
        key: HostKey,
        plugins: Option<&[FoundPlugin]>,
        message: HostToDaemon,
    ) -> Vec<DaemonAction> {
        match message {
            HostToDaemon::Ping => Vec::new(),
            HostToDaemon::Start { request, worker } => {
                let Some(plugins) = plugins else { return Vec::new() };
                self.start(key, request, worker, plugins)
            }
            HostToDaemon::Group { request, gid } => {
                let ids = self.group(gid);
                vec![DaemonAction::ToHost(key, DaemonToHost::Group { request, ids })]
            }
            HostToDaemon::Describe { request, plugin } => {
                let answer = match describe(plugins.unwrap_or_default(), plugin) {
                    Ok(description) => DaemonToHost::Description { request, description },
                    Err(failure) => DaemonToHost::Failed { request, failure },
                };
                vec![DaemonAction::ToHost(key, answer)]
            }
        }
    }

    pub(super) fn on_worker_message(
        &mut self,
        serial: Serial,
        listen: IpAddr,
        message: WorkerToDaemon,
    ) -> Vec<DaemonAction> {
        match message {
            WorkerToDaemon::Ping => {}
            WorkerToDaemon::Ready { port } => {
                return self.ready(serial, SocketAddr::new(listen, port));
            }
            WorkerToDaemon::Failed(failure) => return self.failed(serial, &failure),
            WorkerToDaemon::Expected { token } => return self.expected(serial, token),
            WorkerToDaemon::Arrived { token } => self.arrived(serial, token),
            WorkerToDaemon::Departed { token } => self.departed(serial, token),
            WorkerToDaemon::Empty => return self.empty(serial),
        }
        Vec::new()
    }
}

fn describe(plugins: &[FoundPlugin], plugin: u64) -> Result<Arc<[u8]>, Failure> {
    let found = plugins.iter().find(|found| found.entry.id == plugin).ok_or_else(|| {
        let text = format!("{plugin:#x} is not a plugin's id: take an id of the plugin list");
        Failure::new(DocaError::INVALID_VALUE, text)
    })?;
    let name = &found.entry.name;
    let bytes = found.description.clone().ok_or_else(|| {
        let text =
            format!("the plugin `{name}` lacks a description: it is not built with this kit");
        Failure::new(DocaError::NOT_FOUND, text)
    })?;
    if bytes.len() > LONGEST_DESCRIPTION {
        let text = format!("the description of `{name}` has {} bytes", bytes.len());
        return Err(Failure::new(DocaError::TOO_BIG, text));
    }
    Ok(bytes)
}
