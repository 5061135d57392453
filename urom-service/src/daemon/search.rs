//! The search for plugins: one look at the plugin path serves all hosts that wait for one.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tracing::dispatcher;

use super::discovery::{Catalogue, Found, path_of_environment};
use super::turns::measured;

/// Asks for looks.
#[derive(Debug, Clone)]
pub(crate) struct Search(mpsc::UnboundedSender<oneshot::Sender<Arc<[Found]>>>);

impl Search {
    /// Begins a first look, and serves requests for further ones as long as there is somebody to make them. Looks load files and
    /// read directories, and happen on threads that may wait for them.
    pub(crate) fn begin(catalogue: Catalogue, plugin_path: Option<Vec<PathBuf>>) -> Search {
        let (ask, asked) = mpsc::unbounded_channel();
        tokio::spawn(measured("looking for plugins", serve(catalogue, plugin_path, asked)));
        Search(ask)
    }

    /// What there is at this moment, or was a little later. Nothing when looking panicked.
    pub(crate) async fn look(&self) -> Option<Arc<[Found]>> {
        let (answer, answered) = oneshot::channel();
        // The task ends with the last search.
        let _ = self.0.send(answer);
        answered.await.ok()
    }
}

async fn serve(
    mut catalogue: Catalogue,
    plugin_path: Option<Vec<PathBuf>>,
    mut asked: mpsc::UnboundedReceiver<oneshot::Sender<Arc<[Found]>>>,
) {
    let log = dispatcher::get_default(Clone::clone);
    // Before any host comes: what hangs or crashes is known by then.
    let mut waiting: Vec<oneshot::Sender<Arc<[Found]>>> = Vec::new();
    loop {
        let (path, log) = (plugin_path.clone().or_else(path_of_environment), log.clone());
        let look = move || {
            let found = dispatcher::with_default(&log, || catalogue.discover(path.as_deref()));
            (found, catalogue)
        };
        let found = match spawn_blocking(look).await {
            Ok((found, same)) => {
                catalogue = same;
                Arc::<[Found]>::from(found)
            }
            // The runtime ends, or it panicked, which was reported; those who wait are told by the loss of their requests.
            Err(_) => return,
        };
        for answer in waiting.drain(..) {
            // A host that has gone meanwhile wants none.
            let _ = answer.send(Arc::clone(&found));
        }
        // Who came during a look may have missed something, and waits for the next.
        if asked.recv_many(&mut waiting, usize::MAX).await == 0 {
            return;
        }
    }
}
