//! A plugin that does not return: reports to hosts, log and daemon, and the end of the worker.

use tracing::{error, info, warn};
use urom_abi::DocaError;
use urom_wire::control::{Failure, HungCall, WorkerToDaemon, WorkerToHost};

use super::ControlState;
use crate::worker::config::WorkerConfig;
use crate::worker::watch::CallEvent;

/// Number of polls after which a waiting host gets an error about a plugin that has blocked for
/// [`KEPT_WAITING`] seconds. The host times out after 4 s, and would blame the network.
pub(super) const WAITS: u32 = 3;
const KEPT_WAITING: u32 = 2;

/// Refusal of a host that cannot join because a plugin does not return.
pub(super) fn takes_no_host(config: &WorkerConfig, hung: &HungCall) -> Failure {
    let then = match config.plugin_timeout {
        Some(most) => format!("wait: the worker ends after {most} s (--plugin-timeout)"),
        None => "start uromd with --plugin-timeout, which ends such a worker".to_owned(),
    };
    let text = format!("worker {} refuses hosts: {hung}; use another worker, or {then}", config.id);
    Failure::new(DocaError::TIME_OUT, text)
}

impl ControlState {
    /// Checks the data thread, and notifies hosts if blocked. Returns false to end the worker.
    pub(super) fn look(&mut self) -> bool {
        match self.observer.look() {
            Some(CallEvent::Hung(hung)) => {
                warn!("{}", self.warning(&hung));
                self.send_health(Some(&hung));
            }
            Some(CallEvent::Returned(HungCall { plugin, method, seconds })) => {
                info!("plugin `{plugin}` returned from `{}` after {seconds} s", method.name());
                self.send_health(None);
            }
            None => {}
        }
        let hung = self.observer.hung();
        self.refuse_waiting(hung.as_ref());
        // Start and stop have their own time limits.
        let over =
            |hung: &HungCall| self.config.plugin_timeout.is_some_and(|most| hung.seconds >= most);
        match hung.filter(over) {
            Some(hung) if self.ready && !self.stopping => {
                self.end_worker(&hung);
                false
            }
            _ => true,
        }
    }

    fn warning(&self, hung: &HungCall) -> String {
        let then = match self.config.plugin_timeout {
            _ if !self.ready => "the worker cannot start before it does".to_owned(),
            Some(most) => format!(
                "hosts of worker {} wait for it; the worker ends after {most} s (--plugin-timeout)",
                self.config.id
            ),
            None => format!(
                "hosts of worker {} wait for it; fix the plugin, or start uromd with --plugin-timeout, which ends such \
                 a worker",
                self.config.id
            ),
        };
        format!("{hung}: {then}")
    }

    fn send_health(&self, hung: Option<&HungCall>) {
        for link in self.links.values().filter(|link| link.is_admitted() && link.waits.is_none()) {
            let _ = link.outbox.try_send(WorkerToHost::Health(hung.cloned()));
        }
    }

    /// Counts polls of waiting hosts, and refuses those hosts if a plugin is blocking.
    fn refuse_waiting(&mut self, hung: Option<&HungCall>) {
        let mut tired = Vec::new();
        for (key, link) in &mut self.links {
            let Some(waits) = &mut link.waits else { continue };
            *waits += 1;
            tired.extend((*waits >= WAITS).then_some(*key));
        }
        if let Some(hung) = hung.filter(|hung| hung.seconds >= KEPT_WAITING) {
            for link in tired {
                self.disconnect(link, takes_no_host(&self.config, hung));
            }
        }
    }

    fn end_worker(&mut self, hung: &HungCall) {
        let text = format!("worker {} was ended: {hung} (--plugin-timeout)", self.config.id);
        error!("{text}");
        let failure = Failure::new(DocaError::TIME_OUT, text);
        // Before the hosts leave: a daemon that learns of an empty worker stops it without a cause.
        self.send_to_daemon(WorkerToDaemon::Failed(failure.clone()));
        self.send_all_away(&failure);
        // For a thread: the plugin may still return.
        self.stop();
    }
}
