//! A host in the roster: how many workers it has, and where to find it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Serial;

/// One of a host's places: it is at a worker, on the way to one, or waits for one. There are as
/// many of a host's as were handed out and not dropped.
pub(super) type Place = Arc<()>;

#[derive(Debug, Default)]
pub(super) struct Host {
    places: Arc<()>,
    /// The workers that it may be at, on the way to, or wait for. Some may be gone.
    workers: BTreeSet<Serial>,
    /// How many of them there may be before those that are gone are taken out.
    most: usize,
}

impl Host {
    pub(super) fn count(&self) -> usize {
        Arc::strong_count(&self.places) - 1
    }

    pub(super) fn place(&self) -> Place {
        Arc::clone(&self.places)
    }

    /// Notes a worker that it comes to, or waits for; `lives` says whether another is still there.
    pub(super) fn comes_to(&mut self, serial: Serial, lives: impl Fn(Serial) -> bool) {
        if self.workers.len() > self.most {
            self.workers.retain(|known| lives(*known));
            // So this is done once for as many workers as it looks at.
            self.most = 2 * self.workers.len();
        }
        self.workers.insert(serial);
    }

    pub(super) fn into_workers(self) -> BTreeSet<Serial> {
        self.workers
    }
}
