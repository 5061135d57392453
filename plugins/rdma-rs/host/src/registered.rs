//! The memory that a worker's instances use: each map is shared with the worker once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use urom_host::memory::{MemoryShare, Mmap, Share, ShareGuard};
use urom_host::{DocaError, Pending, Result, Worker};

use crate::gate::Gate;

#[derive(Debug, Default)]
pub(crate) struct RegisteredMaps {
    maps: RefCell<HashMap<u64, (MemoryShare, ShareGuard)>>,
    /// Gates of maps that are being shared; lookups in the table wait for them.
    gates: RefCell<HashMap<u64, Weak<Gate>>>,
}

impl RegisteredMaps {
    pub(crate) fn has(&self, map: &Mmap) -> bool {
        self.maps.borrow().contains_key(&map.id())
    }

    pub(crate) async fn share(&self, worker: &Worker, map: &ShareGuard) -> Result<()> {
        if self.has(map) {
            return Ok(());
        }
        let turn = self.gate(map).wait();
        turn.comes().await;
        if self.has(map) {
            return Ok(());
        }
        // Drop maps that only this table and the share still hold.
        self.maps.borrow_mut().retain(|_, (_, known)| known.shares() > 1);
        match map.share_with_device(worker).await {
            Ok(shared) => {
                let known = (shared, map.begin_share());
                self.maps.borrow_mut().insert(map.id(), known);
            }
            // The program shared the map itself, with the access that the plugin gets.
            Err(error) if error.code() == DocaError::ALREADY_EXIST => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn gate(&self, map: &Mmap) -> Rc<Gate> {
        let mut gates = self.gates.borrow_mut();
        gates.retain(|_, gate| gate.strong_count() > 0);
        if let Some(gate) = gates.get(&map.id()).and_then(Weak::upgrade) {
            return gate;
        }
        let gate = Rc::default();
        gates.insert(map.id(), Rc::downgrade(&gate));
        gate
    }

    pub(crate) fn unshare(&self, map: &Mmap) -> Option<Pending<()>> {
        Some(self.maps.borrow_mut().remove(&map.id())?.0.unshare())
    }
}
