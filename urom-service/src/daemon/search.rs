//! The search for plugins: one search serves all waiting hosts.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};

use super::discovery::FoundPlugin;
use crate::aside::on_thread;

type SearchReply = oneshot::Sender<Arc<[FoundPlugin]>>;

#[derive(Debug, Clone)]
pub(crate) struct PluginSearch {
    ask: mpsc::UnboundedSender<SearchReply>,
    latest: watch::Receiver<Option<Arc<[FoundPlugin]>>>,
}

impl PluginSearch {
    /// Starts a thread that calls `look` once, and again for each request.
    pub(crate) fn begin(
        look: impl FnMut() -> Vec<FoundPlugin> + Send + 'static,
    ) -> Result<PluginSearch, String> {
        let (ask, asked) = mpsc::unbounded_channel();
        let (tell, latest) = watch::channel(None);
        on_thread("urom-search", move || serve(look, asked, tell))?;
        Ok(PluginSearch { ask, latest })
    }

    pub(crate) async fn look(&self) -> Option<Arc<[FoundPlugin]>> {
        let (answer, answered) = oneshot::channel();
        let _ = self.ask.send(answer);
        answered.await.ok()
    }

    pub(crate) fn latest(&self) -> Option<Arc<[FoundPlugin]>> {
        self.latest.borrow().clone()
    }
}

fn serve(
    mut look: impl FnMut() -> Vec<FoundPlugin>,
    mut asked: mpsc::UnboundedReceiver<SearchReply>,
    latest: watch::Sender<Option<Arc<[FoundPlugin]>>>,
) {
    let mut waiting: Vec<SearchReply> = Vec::new();
    loop {
        // If `look` panics, waiting tasks notice the closed channel.
        let found = Arc::<[FoundPlugin]>::from(look());
        latest.send_replace(Some(Arc::clone(&found)));
        for answer in waiting.drain(..) {
            let _ = answer.send(Arc::clone(&found));
        }
        // A search may miss changes for tasks that came during it, so they wait for the next.
        if asked.blocking_recv_many(&mut waiting, usize::MAX) == 0 {
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
        let search = PluginSearch::begin(move || {
            count.fetch_add(1, Ordering::SeqCst);
            may_go_on.recv().unwrap();
            Vec::new()
        })
        .unwrap();
        while looks.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let ask = || {
            let (answer, answered) = oneshot::channel();
            search.ask.send(answer).unwrap();
            answered
        };
        assert_eq!(search.latest(), None);
        let hosts: Vec<_> = (0..100).map(|_| ask()).collect();
        go_on.send(()).unwrap();
        go_on.send(()).unwrap();
        for host in hosts {
            assert!(host.await.unwrap().is_empty());
        }
        assert_eq!(looks.load(Ordering::SeqCst), 2);
        assert!(search.latest().is_some_and(|found| found.is_empty()));
        go_on.send(()).unwrap();
        assert!(search.look().await.is_some(), "another one later");
    }

    #[tokio::test]
    async fn whoever_asks_learns_that_looking_panicked() {
        let search = PluginSearch::begin(|| std::panic::resume_unwind(Box::new("a look"))).unwrap();
        assert_eq!(search.look().await, None);
        assert_eq!(search.look().await, None);
    }
}
