//! One host's stream, as the daemon sees it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tracing::{debug, dispatcher, info, warn};

use super::discovery::{self, Catalogue, Found, PLUGIN_PATH_VARIABLE};
use super::roster::HostKey;
use super::server::Event;
use crate::session::{self, BACKLOG};
use crate::wire::control::DaemonToHost;
use crate::wire::hello::{Hello, HelloError, Role};
use crate::wire::stream::{StreamError, greet};

/// What every host's task shares.
#[derive(Debug)]
pub(crate) struct Reception {
    pub(crate) catalogue: Mutex<Catalogue>,
    /// In place of the environment's.
    pub(crate) plugin_path: Option<Vec<PathBuf>>,
    /// The CPUs hosts are told of, as text.
    pub(crate) cpus: String,
    pub(crate) max_message: usize,
}

/// Greets a host, tells it what there is, and passes its requests on until it goes.
pub(crate) async fn serve(
    key: HostKey,
    mut stream: TcpStream,
    peer: String,
    reception: Arc<Reception>,
    events: mpsc::Sender<Event>,
) {
    match greet(&mut stream, Hello::new(Role::Daemon), Role::Host).await {
        Ok(()) => {}
        Err(StreamError::Hello(HelloError::NotUrom) | StreamError::Silent) => {
            return info!("{peer} is not a host: it did not greet");
        }
        Err(error) => return warn!("host {peer} was turned away: {error}"),
    }
    let (finder, log) = (Arc::clone(&reception), dispatcher::get_default(Clone::clone));
    let find = move || dispatcher::with_default(&log, || finder.discover());
    let Ok(plugins) = spawn_blocking(find).await else {
        return warn!("host {peer} was turned away: looking for plugins failed");
    };
    debug!("host {peer} is here; {} plugins", plugins.len());
    let (outbox, outgoing) = mpsc::channel(BACKLOG);
    let welcome = DaemonToHost::Welcome {
        plugins: plugins.iter().map(|found| found.entry.clone()).collect(),
        cpus: reception.cpus.clone(),
        max_message: reception.max_message as u64,
    };
    // The queue is new and has room.
    let _ = outbox.try_send(welcome);
    if events.send(Event::HostCame { key, outbox, plugins }).await.is_err() {
        return;
    }
    let end = session::run(stream, outgoing, &events, |message| Event::Host { key, message }).await;
    match end {
        None | Some(StreamError::Closed) => debug!("host {peer} left"),
        Some(error) => warn!("host {peer} is lost: {error}"),
    }
    // Nobody listens when the daemon ends.
    let _ = events.send(Event::HostGone { key }).await;
}

impl Reception {
    /// Looks for plugins. This loads files, and takes as long as they take.
    fn discover(&self) -> Vec<Found> {
        let of_environment = || std::env::var_os(PLUGIN_PATH_VARIABLE).map(|path| discovery::entries(&path));
        let path = self.plugin_path.clone().or_else(of_environment);
        self.catalogue.lock().unwrap_or_else(PoisonError::into_inner).discover(path.as_deref())
    }
}
