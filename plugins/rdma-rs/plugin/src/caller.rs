//! An instance that has connected to an instance of this worker before that one connects to it.

use std::rc::Rc;

use ucx::{AmFlags, CloseMode, PeerAddress, WeakWorker};
use urom_pdk::peers::Peer;

use crate::message::{Bye, Route};

pub(crate) struct RdmaCaller {
    ucx: WeakWorker,
    pub(crate) route: Route,
    sender: u64,
    address: Vec<u8>,
}

impl RdmaCaller {
    pub(crate) fn new(ucx: &WeakWorker, route: Route, sender: u64, address: &[u8]) -> RdmaCaller {
        RdmaCaller { ucx: ucx.clone(), route, sender, address: address.to_vec() }
    }

    /// Refuses the caller's connection. A lost caller gets no answer.
    pub(crate) fn turn_away(self) {
        let Some(ucx) = self.ucx.upgrade() else { return };
        // SAFETY: another worker's own address; such workers are trusted with this memory (see the
        // guide).
        let address = unsafe { PeerAddress::from_bytes(&self.address) };
        let endpoint = address.and_then(|address| ucx.endpoint().connect_peer(&address));
        let Ok(endpoint) = endpoint.map(Rc::new) else { return };
        let Route { to, from, .. } = self.route;
        let route = Route { instance: self.sender, to: from, from: to };
        let why = b"it was stopped, or has connected to another instance";
        let _ =
            Peer::from(Rc::clone(&endpoint)).begin_send(&Bye { route, why }, (), AmFlags::EAGER);
        endpoint.begin_close(CloseMode::Flush);
    }
}
