//! The control thread's requests about hosts' memory.

use std::os::fd::OwnedFd;

use tracing::debug;
use urom_abi::host_memory::MemoryPath;
use urom_wire::control::{MemoryAnswer, MemoryOffer};

use super::DataThread;
use crate::worker::memory::HandedOffer;
use crate::worker::messages::{LinkKey, ToControl};

impl DataThread {
    pub(super) fn use_guard(&self, link: LinkKey, use_guard: OwnedFd) {
        if let Some(dest_id) = self.dest_id(link) {
            self.hosts.memories.use_guard(dest_id, use_guard);
        }
    }

    pub(super) fn share(&self, link: LinkKey, shared: HandedOffer) {
        let Some(dest_id) = self.dest_id(link) else { return };
        let MemoryOffer { share, memory, .. } = shared.offer;
        let result = self.hosts.memories.share(dest_id, link, shared, self.control.clone());
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

    fn dest_id(&self, link: LinkKey) -> Option<u64> {
        self.hosts.by_link(link).map(|host| host.dest_id)
    }
}
