//! One host's stream, as the daemon sees it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::timeout;
use tracing::{debug, dispatcher, warn};
use urom_abi::{Count, DocaError};

use super::discovery::{self, Catalogue, Found};
use super::roster::HostKey;
use super::server::{Event, HostLink};
use crate::key::Secret;
use crate::lobby::Seat;
use crate::log::Budget;
use crate::session::{self, BACKLOG};
use crate::wire::control::{DaemonToHost, Failure, PATIENCE};
use crate::wire::hello::{Hello, Role};
use crate::wire::stream::{self, StreamError, greet};

/// How long a host waits for the list of plugins. It gives the daemon up when it has heard nothing for [`PATIENCE`].
const SEARCH: Duration = Duration::from_secs(3);

/// What a host is told that has to wait too long for the list of plugins.
const SEARCHING: &str = "the daemon still looks for plugins: the one that its log names last as `loading` takes long, or hangs; try \
    again, or take it out of the plugin path and start the service again";

/// What every host's task shares.
#[derive(Debug)]
pub(crate) struct Reception {
    /// Asynchronous: while a plugin hangs as it is loaded, hosts that come wait here, and no thread does.
    pub(crate) catalogue: Arc<tokio::sync::Mutex<Catalogue>>,
    /// In place of the environment's.
    pub(crate) plugin_path: Option<Vec<PathBuf>>,
    /// What hosts have to know, if anything.
    pub(crate) secret: Option<Secret>,
    /// For the hosts that there may be, which are so many.
    pub(crate) places: Arc<Semaphore>,
    pub(crate) limit: usize,
    /// Lines about those that were turned away.
    pub(crate) refusals: Mutex<Budget>,
    /// The CPUs hosts are told of, as text.
    pub(crate) cpus: String,
    pub(crate) max_message: usize,
}

/// Greets a host, tells it what there is, and passes its requests on until it goes.
pub(crate) async fn serve(
    key: HostKey,
    mut stream: TcpStream,
    (peer, seat): (SocketAddr, Seat),
    reception: Arc<Reception>,
    events: mpsc::Sender<Event>,
) {
    let greeting = greet(&mut stream, Hello::new(Role::Daemon), Role::Host, reception.secret.as_ref());
    if !seat.admit(peer, greeting).await {
        return;
    }
    let Ok(_place) = Arc::clone(&reception.places).try_acquire_owned() else {
        let text = format!(
            "the daemon has {} already, which is its limit: end one, or start uromd with a larger --max-hosts",
            Count(reception.limit, "host")
        );
        return reception.turn_away(stream, peer, Failure::new(DocaError::FULL, text)).await;
    };
    let plugins = match timeout(SEARCH, reception.discover()).await {
        Ok(Ok(plugins)) => plugins,
        Ok(Err(_)) => {
            return warn!("refused host {peer}: looking for plugins panicked; please report it");
        }
        Err(_) => {
            let failure = Failure::new(DocaError::TIME_OUT, SEARCHING);
            return reception.turn_away(stream, peer, failure).await;
        }
    };
    debug!("host {peer} connected, and is told of {}", Count(plugins.len(), "plugin"));
    let (outbox, outgoing) = mpsc::channel(BACKLOG);
    let welcome = DaemonToHost::Welcome {
        plugins: plugins.iter().map(|found| found.entry.clone()).collect(),
        cpus: reception.cpus.clone(),
        max_message: reception.max_message as u64,
    };
    // The queue is new and has room.
    let _ = outbox.try_send(welcome);
    let (give_up, given_up) = oneshot::channel();
    let host = HostLink { outbox, give_up, plugins, peer };
    if events.send(Event::HostCame { key, host }).await.is_err() {
        return;
    }
    let session = session::run(stream, outgoing, &events, |message| Event::Host { key, message });
    let end = tokio::select! {
        end = session => end,
        // The daemon has said that it does not read.
        Ok(()) = given_up => None,
    };
    match end {
        None | Some(StreamError::Closed) => debug!("host {peer} disconnected"),
        Some(error) => warn!("lost the connection to host {peer}: {error}"),
    }
    // Nobody listens when the daemon ends.
    let _ = events.send(Event::HostGone { key }).await;
}

impl Reception {
    /// Tells a host why it cannot stay.
    async fn turn_away(&self, mut stream: TcpStream, peer: SocketAddr, failure: Failure) {
        let line = self.refusals.lock().unwrap_or_else(PoisonError::into_inner).line(Instant::now());
        if let Some(more) = line {
            warn!("refused host {peer}: {failure}{more}");
        }
        // A host that reads nothing does not learn why.
        let _ = timeout(PATIENCE, stream::send(&mut stream, &DaemonToHost::Refused(failure))).await;
    }

    /// Looks for plugins. This loads files, and takes as long as they take: on a thread, which goes on when nobody waits any more.
    async fn discover(&self) -> Result<Vec<Found>, JoinError> {
        let mut catalogue = Arc::clone(&self.catalogue).lock_owned().await;
        let path = self.plugin_path.clone().or_else(discovery::path_of_environment);
        let log = dispatcher::get_default(Clone::clone);
        let find = move || dispatcher::with_default(&log, || catalogue.discover(path.as_deref()));
        spawn_blocking(find).await
    }
}
