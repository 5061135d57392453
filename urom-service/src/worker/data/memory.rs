//! What the control thread asks about hosts' memory.

use std::os::fd::OwnedFd;

use tracing::debug;
use urom_abi::host_memory::MemoryPath;
use urom_wire::control::{MemoryAnswer, MemoryOffer};

use super::Data;
use crate::worker::memory::Shared;
use crate::worker::messages::{EndOfShare, LinkKey, ToControl};

impl Data {
    pub(super) fn lease(&self, link: LinkKey, lease: OwnedFd) {
        if let Some(dest_id) = self.dest_id(link) {
            self.core.borrow().hosts.desk.memories.lease(dest_id, lease);
        }
    }

    pub(super) fn share(&self, link: LinkKey, shared: Shared) {
        let Some(dest_id) = self.dest_id(link) else { return };
        let MemoryOffer { share, memory, .. } = shared.offer;
        let core = self.core.borrow();
        let memories = &core.hosts.desk.memories;
        let result = memories.share(dest_id, link, shared, self.control.clone());
        match &result {
            Ok(by) => {
                let path = MemoryPath(by.path).name();
                debug!("connection {dest_id} shares memory {memory:#x}: {path}");
            }
            Err(failure) => debug!("connection {dest_id} does not share memory: {failure}"),
        }
        let answer = MemoryAnswer::Shared { share, result };
        self.control.send(ToControl::Memory { link, answer });
    }

    pub(super) fn unshare(&mut self, link: LinkKey, end: EndOfShare) {
        let mut core = self.core.borrow_mut();
        let Some(connection) = core.hosts.connections.of(link) else { return };
        let (dest_id, came) = (connection.dest_id, connection.came);
        let memories = &core.hosts.desk.memories;
        let EndOfShare { memory, share, after } = end;
        // Commands take another way. An end for which there is no share, or a second one, waits for
        // nothing, so that there are never more of them than shares.
        if came < after
            && memories.is_shared(dest_id, memory, share)
            && !self.postponed.iter().any(|(of, known)| *of == link && known.share == share)
        {
            self.postponed.push((link, end));
        } else if !memories.unshare(dest_id, memory, share) {
            let answer = MemoryAnswer::Ended { share };
            self.control.send(ToControl::Memory { link, answer });
        }
    }

    /// Ends the shares whose commands have come, and forgets those of hosts that have left.
    #[cold]
    pub(super) fn end_postponed(&mut self) {
        for (link, end) in std::mem::take(&mut self.postponed) {
            self.unshare(link, end);
        }
    }

    pub(super) fn end_shares(&self, link: LinkKey) {
        if let Some(dest_id) = self.dest_id(link) {
            self.core.borrow().hosts.desk.memories.close(dest_id);
        }
    }

    fn dest_id(&self, link: LinkKey) -> Option<u64> {
        let mut core = self.core.borrow_mut();
        core.hosts.connections.of(link).map(|connection| connection.dest_id)
    }
}
