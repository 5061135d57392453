//! A host's words, one at a time: a table that takes long to read holds up the host that asked for
//! it, and nobody else.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};

use super::Event;

/// Passes on what happens on a host's stream until that is over, each word when the one before is
/// dealt with.
pub(super) async fn pass_on(mut heard: mpsc::Receiver<Event>, events: mpsc::Sender<Event>) {
    let turns = Arc::new(Semaphore::new(1));
    while let Some(event) = heard.recv().await {
        let event = match event {
            Event::Host { link, message } => match Arc::clone(&turns).acquire_owned().await {
                Ok(turn) => Event::HostInTurn { link, message, turn },
                // Nobody closes it.
                Err(_) => return,
            },
            event => event,
        };
        // Nobody listens when the worker ends.
        if events.send(event).await.is_err() {
            return;
        }
    }
}
