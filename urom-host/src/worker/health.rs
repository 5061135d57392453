//! What a worker says of its plugins.

use std::time::Duration;

use urom_abi::DocaError;
use urom_abi::host::WorkerHealth;

use super::Context;
use crate::library::c_text;

/// Whether a worker's plugins return from their calls, as [`Worker::health`](crate::Worker::health)
/// gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// Each call into a plugin has returned within 5 s, as far as the worker has said.
    Well,
    /// A plugin has not returned from a call for 5 s or longer, such as a handler that loops for
    /// ever. A worker has one thread for its plugins, so no command of any host is answered
    /// meanwhile, and nobody can join it.
    Stuck {
        /// The plugin's name.
        plugin: String,
        /// The method of DOCA's plugin interface that was called: `worker_cmd` and `progress` run
        /// handlers, `notif_pack` writes their answers.
        method: String,
        /// For how long it has not returned, in whole seconds.
        since: Duration,
    },
    /// Nothing is known: the worker does not run any more, or the library has no function to ask,
    /// as NVIDIA's.
    Unknown,
}

impl Context {
    pub(crate) fn health(&self) -> Health {
        let get_health = self.extensions().urom_worker_get_health;
        let Some(get_health) = get_health else { return Health::Unknown };
        let mut health = WorkerHealth::well();
        // SAFETY: the worker is live, and the pointer is to a local variable.
        let code = unsafe { get_health(self.object(), &mut health) };
        match (code, c_text(&health.plugin)) {
            (DocaError::SUCCESS, plugin) if plugin.is_empty() => Health::Well,
            (DocaError::SUCCESS, plugin) => Health::Stuck {
                plugin,
                method: c_text(&health.method),
                since: Duration::from_secs(health.seconds),
            },
            _ => Health::Unknown,
        }
    }
}
