//! The memory that a worker's instances use: each map is shared with the worker once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use urom_host::memory::{Mmap, Share, ShareGuard, Shared};
use urom_host::{DocaError, Pending, Result, Worker};

use crate::gate::Gate;

#[derive(Debug, Default)]
pub(crate) struct Registered {
    maps: RefCell<HashMap<u64, (Shared, ShareGuard)>>,
    /// One map is shared at a time: who finds it in the table can use it.
    gate: Rc<Gate>,
}

impl Registered {
    pub(crate) fn has(&self, map: &Mmap) -> bool {
        self.maps.borrow().contains_key(&map.id())
    }

    /// Shares a map, unless it is shared.
    pub(crate) async fn share(&self, worker: &Worker, map: &ShareGuard) -> Result<()> {
        let turn = self.gate.wait();
        turn.comes().await;
        if self.has(map) {
            return Ok(());
        }
        // Those that nobody but this table and the share has any more.
        self.maps.borrow_mut().retain(|_, (_, known)| known.shares() > 1);
        match map.share_with_device(worker).await {
            Ok(shared) => {
                let known = (shared, map.begin_share());
                self.maps.borrow_mut().insert(map.id(), known);
            }
            // By the program itself: the plugin may do what that allows.
            Err(error) if error.code() == DocaError::ALREADY_EXIST => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Ends the share of a map; `None` if there is none.
    pub(crate) fn unshare(&self, map: &Mmap) -> Option<Pending<()>> {
        Some(self.maps.borrow_mut().remove(&map.id())?.0.unshare())
    }
}
