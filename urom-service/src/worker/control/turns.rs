//! A host's messages, one at a time: a table that takes long to read delays the host that sent it,
//! and nobody else.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};

use super::Event;

/// Passes on the events of a host's stream until it ends, each message when the one before is
/// dealt with.
pub(super) async fn pass_on(mut heard: mpsc::Receiver<Event>, events: mpsc::Sender<Event>) {
    let turns = Arc::new(Semaphore::new(1));
    while let Some(mut event) = heard.recv().await {
        if let Event::Host { turn, .. } = &mut event {
            *turn = Arc::clone(&turns).acquire_owned().await.ok();
        }
        if events.send(event).await.is_err() {
            return;
        }
    }
}
