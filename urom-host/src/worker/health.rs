//! The health of a worker's plugins.

use std::time::Duration;

use urom_abi::DocaStatus;
use urom_abi::host::WorkerHealth;

use super::Context;
use crate::library::c_text;

/// The state of a worker's plugins; see [`Worker::health`](crate::Worker::health).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// Each call into a plugin returned within 5 s, as far as the worker has reported.
    Well,
    /// A plugin has not returned from a call for at least 5 s, for instance an endless loop. Its
    /// worker has one plugin thread: meanwhile it answers no commands, and no host can join.
    Hung {
        /// The plugin's name.
        plugin: String,
        /// The method: `worker_cmd` and `progress` run handlers, `notif_pack` writes their answers.
        method: String,
        /// The time since the call, in whole seconds.
        since: Duration,
    },
    /// The worker no longer runs, or the library (as NVIDIA's) lacks the function.
    Unknown,
}

impl Context {
    pub(crate) fn health(&self) -> Health {
        let get_health = self.extensions().urom_worker_get_health;
        let Some(get_health) = get_health else { return Health::Unknown };
        let mut health = WorkerHealth::well();
        // SAFETY: the worker is live, and the pointer is to a local variable.
        let status = unsafe { get_health(self.object(), &mut health) };
        match (status, c_text(&health.plugin)) {
            (DocaStatus::SUCCESS, plugin) if plugin.is_empty() => Health::Well,
            (DocaStatus::SUCCESS, plugin) => Health::Hung {
                plugin,
                method: c_text(&health.method),
                since: Duration::from_secs(health.seconds),
            },
            _ => Health::Unknown,
        }
    }
}
