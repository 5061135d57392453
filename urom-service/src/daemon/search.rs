//! The search for plugins: one look at the plugin path serves all hosts that wait for one.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tracing::dispatcher;

use super::discovery::Found;
use super::turns::measured;

/// The tasks that wait for a look.
type Asked = oneshot::Sender<Arc<[Found]>>;

/// Asks for looks.
#[derive(Debug, Clone)]
pub(crate) struct Search(mpsc::UnboundedSender<Asked>);

impl Search {
    /// Calls `look` once, and again when hosts ask for it, on threads that may wait for files and
    /// directories.
    pub(crate) fn begin(look: impl FnMut() -> Vec<Found> + Send + 'static) -> Search {
        let (ask, asked) = mpsc::unbounded_channel();
        tokio::spawn(measured("looking for plugins", serve(look, asked)));
        Search(ask)
    }

    /// The plugins at this moment, or a little later. `None` when looking panicked.
    pub(crate) async fn look(&self) -> Option<Arc<[Found]>> {
        let (answer, answered) = oneshot::channel();
        // The task ends with the last search.
        let _ = self.0.send(answer);
        answered.await.ok()
    }
}

async fn serve(
    mut look: impl FnMut() -> Vec<Found> + Send + 'static,
    mut asked: mpsc::UnboundedReceiver<Asked>,
) {
    let log = dispatcher::get_default(Clone::clone);
    // Before any host comes: what hangs or crashes is known by then.
    let mut waiting: Vec<Asked> = Vec::new();
    loop {
        let log = log.clone();
        let once = move || (dispatcher::with_default(&log, &mut look), look);
        // It fails after a panic, which was reported, or when the runtime ends. The tasks that wait
        // notice that.
        let Ok((found, again)) = spawn_blocking(once).await else { return };
        look = again;
        let found = Arc::<[Found]>::from(found);
        for answer in waiting.drain(..) {
            // A host that has gone meanwhile wants none.
            let _ = answer.send(Arc::clone(&found));
        }
        // A task that came during a look may have missed something, and waits for the next.
        if asked.recv_many(&mut waiting, usize::MAX).await == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc as blocking;

    use super::*;

    #[tokio::test]
    async fn hosts_that_come_during_a_look_share_the_next_one() {
        let (go_on, may_go_on) = blocking::channel::<()>();
        let looks = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&looks);
        let search = Search::begin(move || {
            count.fetch_add(1, Ordering::SeqCst);
            may_go_on.recv().unwrap();
            Vec::new()
        });
        while looks.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let ask = || {
            let (answer, answered) = oneshot::channel();
            search.0.send(answer).unwrap();
            answered
        };
        let hosts: Vec<_> = (0..100).map(|_| ask()).collect();
        go_on.send(()).unwrap();
        go_on.send(()).unwrap();
        for host in hosts {
            assert!(host.await.unwrap().is_empty());
        }
        assert_eq!(looks.load(Ordering::SeqCst), 2);
        go_on.send(()).unwrap();
        assert!(search.look().await.is_some(), "another one later");
    }

    #[tokio::test]
    async fn whoever_asks_learns_that_looking_panicked() {
        let search = Search::begin(|| std::panic::resume_unwind(Box::new("a look")));
        assert_eq!(search.look().await, None);
        assert_eq!(search.look().await, None);
    }
}
