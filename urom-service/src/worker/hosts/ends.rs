//! Ends shares of hosts when their commands have come.

use urom_wire::control::MemoryAnswer;

use super::Hosts;
use crate::worker::messages::{EndOfShare, LinkKey, ToControl};

impl Hosts {
    /// Ends a share when its host's commands have come.
    pub(crate) fn unshare(&mut self, link: LinkKey, end: EndOfShare) {
        let Some(connection) = self.connections.of(link) else { return };
        let EndOfShare { memory, share, after } = end;
        let (memories, dest_id) = (&self.desk.memories, connection.dest_id);
        if !memories.shares.is_shared(dest_id, memory, share) {
            let answer = MemoryAnswer::Ended { share };
            return self.control.send(ToControl::Memory { link, answer });
        }
        // A second end waits for nothing, so that there are never more of them than shares.
        if connection.ends.take(share) || connection.ends.have_come(after) {
            memories.shares.unshare(dest_id, memory, share);
        } else {
            connection.ends.postpone(end);
        }
    }

    /// Ends the shares whose last commands have gone to their plugins.
    #[cold]
    pub(crate) fn end_due(&mut self) {
        while let Some(channel) = self.due.pop() {
            let Some(connection) = self.connections.get(channel) else { continue };
            for EndOfShare { memory, share, .. } in connection.ends.take_due() {
                self.desk.memories.shares.unshare(connection.dest_id, memory, share);
            }
        }
    }

    /// Ends all that a host shares.
    pub(crate) fn end_shares(&mut self, link: LinkKey) {
        if let Some(connection) = self.connections.of(link) {
            connection.ends.clear();
            self.desk.memories.close(connection.dest_id);
        }
    }
}
