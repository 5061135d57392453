//! The health of a worker's plugins: written by the task that carries its stream, read by the
//! program.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use urom_wire::control::Stuck;

/// The worker's last report and its time. A worker that has reported nothing is well.
#[derive(Debug, Default)]
pub(super) struct Health(Mutex<Option<(Stuck, Instant)>>);

impl Health {
    pub(super) fn hear(&self, stuck: Option<Stuck>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            stuck.map(|stuck| (stuck, Instant::now()));
    }

    /// The call that does not return, with its duration until now.
    pub(super) fn stuck(&self) -> Option<Stuck> {
        let (mut stuck, heard) = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let since = u32::try_from(heard.elapsed().as_secs()).unwrap_or(u32::MAX);
        stuck.seconds = stuck.seconds.saturating_add(since);
        Some(stuck)
    }
}
