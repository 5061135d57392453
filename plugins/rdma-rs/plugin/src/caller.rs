//! Another instance that has connected to one of this worker, before that has connected to it.

use ucx::{AmFlags, CloseMode, PeerAddress, WeakWorker, Worker};

use crate::message::{CONTROL, Control, Route};

pub(crate) struct Caller {
    ucx: WeakWorker,
    hello: Control,
    address: Vec<u8>,
}

impl Caller {
    /// Of a `HELLO` and its data.
    pub(crate) fn new(ucx: &Worker, hello: Control, address: &[u8]) -> Caller {
        Caller { ucx: ucx.downgrade(), hello, address: address.to_vec() }
    }

    /// What its messages begin with.
    pub(crate) fn route(&self) -> Route {
        self.hello.route
    }

    /// Tells it that nobody connects to it. If it is not there any more, nobody has to be told.
    pub(crate) fn turn_away(self) {
        let Some(ucx) = self.ucx.upgrade() else { return };
        // SAFETY: what another worker says of itself. Those that reach this one are trusted with
        // its memory: the guide's page on security says so.
        let address = unsafe { PeerAddress::from_bytes(&self.address) };
        let endpoint = address.and_then(|address| ucx.endpoint().connect_peer(&address));
        let Ok(endpoint) = endpoint else { return };
        let Route { to, from, .. } = self.hello.route;
        let route = Route { instance: self.hello.sender, to: from, from: to };
        let bye = Control { route, sender: 0, word: Control::BYE };
        let why = b"it was stopped, or has connected to another instance".to_vec();
        endpoint.am_send_with(CONTROL, bytemuck::bytes_of(&bye), why, AmFlags::EAGER).detach();
        endpoint.close(CloseMode::Flush);
    }
}
