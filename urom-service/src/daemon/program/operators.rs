//! Access to the daemon for operators: HTTP, the control socket and `SIGHUP`.

use std::sync::Arc;

use anyhow::Result;
#[cfg(feature = "operators")]
use tokio::net::TcpListener;
use tokio::signal::unix::Signal;
use tokio::sync::Notify;
use tokio::task::JoinSet;

#[cfg(feature = "operators")]
use super::{control, http};
use crate::daemon::DaemonArgs;
use crate::daemon::observatory::Observatory;
use crate::daemon::operations::reload;
use crate::daemon::turns::measured;

/// The listeners of the daemon's options.
#[derive(Debug)]
pub(super) struct Operators {
    #[cfg(feature = "operators")]
    metrics: Option<TcpListener>,
    #[cfg(feature = "operators")]
    control: Option<control::ControlSocket>,
}

impl Operators {
    /// # Errors
    /// An address or a file is taken, or this program is built without these parts.
    #[cfg(feature = "operators")]
    pub(super) async fn listen(args: &DaemonArgs) -> Result<Operators> {
        let control = args.control.as_deref().map(control::ControlSocket::claim).transpose()?;
        let metrics = match args.metrics {
            Some(address) => Some(http::listen(address).await?),
            None => None,
        };
        Ok(Operators { metrics, control })
    }

    #[cfg(not(feature = "operators"))]
    pub(super) async fn listen(args: &DaemonArgs) -> Result<Operators> {
        let is_asked = args.control.is_some() || args.metrics.is_some();
        anyhow::ensure!(!is_asked, "--control and --metrics: {}", super::WITHOUT_OPERATORS);
        Ok(Operators {})
    }

    /// Serves until the result is dropped. `hangup` is `SIGHUP`, if it reloads the service.
    pub(super) fn serve(self, observatory: &Observatory, hangup: Option<Signal>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let reloads = Arc::new(Notify::new());
        #[cfg(feature = "operators")]
        if let Some(listener) = self.metrics {
            let served = http::serve(listener, observatory.clone());
            tasks.spawn(measured("the metrics' listener", served));
        }
        #[cfg(feature = "operators")]
        if let Some(socket) = self.control {
            let served = control::serve(socket, observatory.clone(), Arc::clone(&reloads));
            tasks.spawn(measured("the control socket", served));
        }
        if let Some(mut hangup) = hangup {
            let observatory = observatory.clone();
            let reloads = async move {
                while hangup.recv().await.is_some() {
                    reloads.notify_one();
                    reload(&observatory).await;
                }
            };
            tasks.spawn(measured("a reload", reloads));
        }
        tasks
    }
}
