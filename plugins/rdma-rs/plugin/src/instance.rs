//! An instance: its state, and how it connects.

use std::cell::RefCell;
use std::rc::Rc;

use rdma_protocol::{Access, State};
use rustix::rand::{GetRandomFlags, getrandom};
use ucx::PeerAddress;
use urom_pdk::peers::PeerWorker;
use urom_pdk::prelude::*;

use crate::caller::RdmaCaller;
use crate::connection::RdmaConnection;
use crate::details::Details;
use crate::error::of_others;
use crate::link::{Base, PeerLink};
use crate::message::Route;
use crate::pieces::Pieces;

/// Maximum number of callers before an instance connects.
const CALLERS: usize = 8;

pub(crate) struct RdmaInstance {
    handle: u64,
    pub(crate) base: Rc<Base>,
    phase: RefCell<InstancePhase>,
}

enum InstancePhase {
    Reset,
    Init(u64, Vec<RdmaCaller>),
    Connected(RdmaConnection),
    Failed(Error, Option<RdmaConnection>),
}

impl RdmaInstance {
    pub(crate) fn new(handle: u64, base: Base) -> RdmaInstance {
        RdmaInstance { handle, base: Rc::new(base), phase: RefCell::new(InstancePhase::Reset) }
    }

    pub(crate) fn state(&self) -> (State, Option<Error>) {
        match &*self.phase.borrow() {
            InstancePhase::Reset => (State::Reset, None),
            InstancePhase::Init(..) => (State::Init, None),
            InstancePhase::Connected(_) => (State::Connected, None),
            InstancePhase::Failed(error, _) => (State::Error, Some(error.clone())),
        }
    }

    #[cold]
    pub(crate) fn bad_state(&self, call: &str) -> Error {
        let advice = match self.state() {
            (State::Init, _) => "export, connect or stop it; it takes receives".into(),
            (State::Connected, _) => "it takes operations, or stop it".into(),
            (_, Some(error)) => format!("stop it; it failed because {error}"),
            (_, None) => "start it".into(),
        };
        let text = format!("{call}: the instance is in {:?}: {advice}", self.state().0);
        Error::new(DocaError::BAD_STATE, text)
    }

    pub(crate) fn start(&self) -> Result<()> {
        if self.state().0 != State::Reset {
            return Err(self.bad_state("starting"));
        }
        self.phase.replace(InstancePhase::Init(secret()?, Vec::new()));
        Ok(())
    }

    /// Brings the instance to RESET; returns the connection, if any, whose bytes may still move.
    pub(crate) fn stop(&self, why: &str) -> Option<RdmaConnection> {
        self.end(&Error::new(DocaError::SHUTDOWN, why.to_owned()))
    }

    pub(crate) fn cut(&self, error: &Error) {
        if matches!(self.state().0, State::Init | State::Connected) {
            let connection = self.end(error);
            self.phase.replace(InstancePhase::Failed(error.clone(), connection));
        }
    }

    fn end(&self, error: &Error) -> Option<RdmaConnection> {
        let connection = match self.phase.replace(InstancePhase::Reset) {
            InstancePhase::Connected(connection) => {
                connection.end(error);
                Some(connection)
            }
            InstancePhase::Failed(_, connection) => connection,
            InstancePhase::Init(_, callers) => {
                callers.into_iter().for_each(RdmaCaller::turn_away);
                None
            }
            InstancePhase::Reset => None,
        };
        self.base.receives.fail(&of_others(error));
        connection
    }

    fn secret(&self, call: &str) -> Result<u64> {
        match *self.phase.borrow() {
            InstancePhase::Init(secret, _) => Ok(secret),
            _ => Err(self.bad_state(call)),
        }
    }

    pub(crate) fn export(&self, address: Vec<u8>) -> Result<Vec<u8>> {
        let secret = self.secret("exporting")?;
        Details { instance: self.handle, secret, address: &address }.to_bytes()
    }

    pub(crate) fn connect(self: &Rc<Self>, peers: &PeerWorker, details: &[u8]) -> Result<()> {
        let secret = self.secret("connecting")?;
        let details = Details::read(details)?;
        // The address changes when the worker is replaced.
        let own = peers.address()?;
        // SAFETY: another worker's address from a host, trusted with this memory (see the guide).
        let address = unsafe { PeerAddress::from_bytes(details.address) };
        let address =
            address.or_code(DocaError::INVALID_VALUE, "reading the other end's address")?;
        let this = Rc::downgrade(self);
        // The failure of an earlier connection does not affect this one.
        let fail = move |error: &Error| match this.upgrade() {
            Some(this) if this.connection(|it| it.link.route.from == secret).is_some() => {
                this.cut(error);
            }
            _ => {}
        };
        let on_failure = fail.clone();
        let endpoint = peers.connect(&address, move |status| {
            let why = format!("the other end's worker is lost: {status}");
            fail(&Error::new(DocaError::CONNECTION_RESET, why));
        })?;
        let route = Route { instance: details.instance, to: details.secret, from: secret };
        let link = PeerLink::new(Rc::clone(&self.base), endpoint.into(), route, on_failure);
        let connection = RdmaConnection::new(link, self.handle, own)?;
        let meant = Route { instance: self.handle, to: secret, from: details.secret };
        let phase = InstancePhase::Connected(connection.clone());
        if let InstancePhase::Init(_, callers) = self.phase.replace(phase) {
            for caller in callers {
                match caller.route == meant {
                    true => connection.requester.start(),
                    false => caller.turn_away(),
                }
            }
        }
        Ok(())
    }

    pub(crate) fn connection(
        &self,
        is_meant: impl FnOnce(&RdmaConnection) -> bool,
    ) -> Option<RdmaConnection> {
        match &*self.phase.borrow() {
            InstancePhase::Connected(it) => Some(it).filter(|it| is_meant(it)).cloned(),
            _ => None,
        }
    }

    /// Keeps a caller until this instance connects or ends.
    pub(crate) fn called(&self, caller: RdmaCaller) {
        if let InstancePhase::Init(secret, callers) = &mut *self.phase.borrow_mut()
            && *secret == caller.route.to
            && callers.len() < CALLERS
        {
            return callers.push(caller);
        }
        caller.turn_away();
    }

    pub(crate) fn caller_left(&self, route: Route) {
        if let InstancePhase::Init(_, callers) = &mut *self.phase.borrow_mut() {
            callers.retain(|caller| caller.route != route);
        }
    }

    pub(crate) fn post(&self, destination: Pieces) -> Result<u64> {
        if let State::Reset | State::Error = self.state().0 {
            return Err(self.bad_state("a receive"));
        }
        let number = self.base.receives.post(destination)?;
        if let Some(connection) = self.connection(|_| true) {
            connection.responder.advance();
        }
        Ok(number)
    }

    pub(crate) fn permissions(bits: u32) -> Result<Access> {
        let allowed =
            Access::LOCAL_READ_WRITE | Access::RDMA_READ | Access::RDMA_WRITE | Access::RDMA_ATOMIC;
        ensure!(
            bits & !allowed.bits() == 0,
            DocaError::INVALID_VALUE,
            "{bits:#x} has more than LOCAL_READ_WRITE and permissions of RDMA"
        );
        Ok(Access::from_bits_truncate(bits))
    }
}

fn secret() -> Result<u64> {
    let mut bytes = [0; 8];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty());
    filled.or_code(DocaError::OPERATING_SYSTEM, "asking the system for random bytes")?;
    Ok(u64::from_ne_bytes(bytes))
}
