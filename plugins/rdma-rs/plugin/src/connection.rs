//! One end of a connection of two instances.

use std::rc::Rc;

use urom_pdk::prelude::*;

use crate::error::text;
use crate::link::PeerLink;
use crate::message::{Bye, Hello, Route};
use crate::requester::Requester;
use crate::responder::Responder;

#[derive(Clone)]
pub(crate) struct RdmaConnection {
    pub(crate) link: Rc<PeerLink>,
    pub(crate) requester: Rc<Requester>,
    pub(crate) responder: Rc<Responder>,
}

impl RdmaConnection {
    /// Connects to the instance with the number `sender` of the worker with `address`.
    pub(crate) fn new(link: Rc<PeerLink>, sender: u64, address: Vec<u8>) -> Result<RdmaConnection> {
        let (requester, responder) = (Requester::new(&link), Responder::new(&link));
        let sent = link.tell(&Hello { route: link.route, sender }, address);
        sent.or_code(DocaError::NOT_CONNECTED, "connecting to the other end")?;
        Ok(RdmaConnection { link, requester, responder })
    }

    pub(crate) fn is_meant_by(&self, route: Route) -> bool {
        (route.to, route.from) == (self.link.route.from, self.link.route.to)
    }

    /// Ends all operations, and sends the reason to the other end.
    pub(crate) fn end(&self, error: &Error) {
        self.requester.end(error);
        self.responder.end();
        // The endpoint of a lost peer has failed.
        let _ = self.link.tell(&Bye { route: self.link.route, why: &text(error) }, Vec::new());
        self.link.close();
    }
}
