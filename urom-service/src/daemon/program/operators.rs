//! Access to the daemon for operators: HTTP, the control socket and `SIGHUP`.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::signal::unix::Signal;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::control::{self, ControlSocket};
use super::http;
use crate::daemon::observatory::Observatory;
use crate::daemon::operations::reload;
use crate::daemon::turns::measured;

/// The listeners of the daemon's options.
#[derive(Debug, Default)]
pub(crate) struct Operators {
    pub(super) metrics: Option<TcpListener>,
    pub(super) control: Option<ControlSocket>,
    /// `SIGHUP`, if it reloads the service.
    pub(super) hangup: Option<Signal>,
}

impl Operators {
    /// Serves until the result is dropped.
    pub(super) fn serve(self, observatory: &Observatory) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let reloads = Arc::new(Notify::new());
        if let Some(listener) = self.metrics {
            let served = http::serve(listener, observatory.clone());
            tasks.spawn(measured("the metrics' listener", served));
        }
        if let Some(socket) = self.control {
            let served = control::serve(socket, observatory.clone(), Arc::clone(&reloads));
            tasks.spawn(measured("the control socket", served));
        }
        if let Some(mut hangup) = self.hangup {
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
