//! Notifications that no task gets.

use crate::wire::frame;

/// Why no task gets it.
pub(super) enum Lost {
    /// It came by this channel, for this slot; and the worker's id, if the channel is somebody's.
    Nobodys(u16, u16, Option<u64>),
    /// The message ends here.
    Broken(frame::Broken),
}

impl Lost {
    /// Says so in the log.
    #[cold]
    pub(super) fn report(self) {
        match self {
            Lost::Nobodys(_, slot, Some(id)) => tracing::debug!(
                target: "urom_library",
                "a notification of worker {id} for slot {slot}, which has no command in flight or is another's to answer, was dropped"
            ),
            Lost::Nobodys(channel, ..) => tracing::debug!(
                target: "urom_library",
                "a notification for channel {channel}, which is closed, was dropped"
            ),
            Lost::Broken(error) => {
                tracing::warn!(target: "urom_library", "notifications dropped: {error}");
            }
        }
    }
}
