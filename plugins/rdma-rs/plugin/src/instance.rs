//! An instance: its state, and how it connects.

use std::cell::RefCell;
use std::rc::Rc;

use rdma_protocol::{Access, State};
use rustix::rand::{GetRandomFlags, getrandom};
use ucx::{Mesh, PeerAddress};
use urom_pdk::prelude::*;

use crate::caller::Caller;
use crate::connection::{Base, Connection};
use crate::details::Details;
use crate::failure::Failure;
use crate::message::Route;
use crate::pieces::Pieces;

pub(crate) struct Instance {
    /// Its number, which is known once it is in the table.
    pub(crate) handle: u64,
    /// The connection of the host that created it.
    pub(crate) owner: u64,
    base: Base,
    phase: RefCell<Phase>,
}

/// How many may have connected to an instance that has not connected yet.
const CALLERS: usize = 8;

enum Phase {
    Reset,
    /// With its secret, and those who have connected already.
    Init(u64, Vec<Caller>),
    Connected(Rc<Connection>),
    /// With the first failure, and the connection, if there was one.
    Error(Failure, Option<Rc<Connection>>),
}

impl Instance {
    pub(crate) fn new(handle: u64, owner: u64, base: Base) -> Rc<Instance> {
        Rc::new(Instance { handle, owner, base, phase: RefCell::new(Phase::Reset) })
    }

    /// What the host that created it shares.
    pub(crate) fn base(&self) -> &Base {
        &self.base
    }

    /// Its state, and in ERROR the first failure.
    pub(crate) fn state(&self) -> (State, Option<Failure>) {
        match &*self.phase.borrow() {
            Phase::Reset => (State::Reset, None),
            Phase::Init(..) => (State::Init, None),
            Phase::Connected(_) => (State::Connected, None),
            Phase::Error(failure, _) => (State::Error, Some(failure.clone())),
        }
    }

    /// What is said to a call that this state does not allow.
    #[cold]
    fn bad_state(&self, call: &str, needed: &str) -> Error {
        let text = match self.state() {
            (State::Reset, _) => format!("{call}: the instance is in RESET, start it"),
            (State::Init, _) => format!("{call}: the instance is in INIT, it takes {needed}"),
            (State::Connected, _) => {
                format!("{call}: the instance is in CONNECTED, it takes {needed}")
            }
            (State::Error, failure) => {
                let why = failure.map(|failure| failure.why).unwrap_or_default();
                format!("{call}: the instance is in ERROR, stop it; it failed because {why}")
            }
        };
        Error::new(DocaError::BAD_STATE, text)
    }

    pub(crate) fn start(&self) -> Result<()> {
        if self.state().0 != State::Reset {
            return Err(self.bad_state("starting", "RESET"));
        }
        self.phase.replace(Phase::Init(secret()?, Vec::new()));
        Ok(())
    }

    /// Brings it to RESET. What is not complete ends. Gives the connection, if there was one, whose
    /// bytes may still move.
    pub(crate) fn stop(&self, why: &'static str) -> Option<Rc<Connection>> {
        let failure = Failure::new(DocaError::SHUTDOWN, why);
        let connection = match self.phase.replace(Phase::Reset) {
            Phase::Connected(connection) => {
                connection.end(&failure);
                Some(connection)
            }
            Phase::Error(_, connection) => connection,
            Phase::Init(_, callers) => {
                callers.into_iter().for_each(Caller::turn_away);
                None
            }
            Phase::Reset => None,
        };
        self.base.receives.borrow_mut().fail(&failure);
        connection
    }

    /// Brings it to ERROR, if it is connected with this secret: an earlier connection fails alone.
    pub(crate) fn fail(&self, secret: u64, failure: &Failure) {
        let is_connected = matches!(
            &*self.phase.borrow(), Phase::Connected(connection) if connection.route.from == secret
        );
        if is_connected {
            self.cut(failure);
        }
    }

    /// Brings it to ERROR, if it is in INIT or CONNECTED.
    pub(crate) fn cut(&self, failure: &Failure) {
        let connection = match self.phase.replace(Phase::Reset) {
            Phase::Connected(connection) => Some(connection),
            Phase::Init(_, callers) => {
                callers.into_iter().for_each(Caller::turn_away);
                None
            }
            other => return drop(self.phase.replace(other)),
        };
        self.phase.replace(Phase::Error(failure.clone(), connection.clone()));
        if let Some(connection) = connection {
            connection.end(failure);
        }
        self.base.receives.borrow_mut().fail(&failure.of_others());
    }

    pub(crate) fn export(&self, address: Vec<u8>) -> Result<Vec<u8>> {
        let Phase::Init(secret, _) = *self.phase.borrow() else {
            return Err(self.bad_state("exporting", "INIT"));
        };
        Ok(Details { instance: self.handle, secret, address }.to_bytes())
    }

    /// Connects to the other end, which learns that this worker has this address.
    pub(crate) fn connect(
        self: &Rc<Self>,
        mesh: &Mesh,
        own: Vec<u8>,
        details: &[u8],
    ) -> Result<()> {
        let Phase::Init(secret, _) = *self.phase.borrow() else {
            return Err(self.bad_state("connecting", "INIT"));
        };
        let details = Details::read(details)?;
        // SAFETY: a host's word for the address of another worker. It is trusted with the worker's
        // memory: the guide's page on security says so.
        let address = unsafe { PeerAddress::from_bytes(&details.address) };
        let address =
            address.or_code(DocaError::INVALID_VALUE, "reading the other end's address")?;
        let this = Rc::downgrade(self);
        let fail = move |failure: &Failure| {
            if let Some(this) = this.upgrade() {
                this.fail(secret, failure);
            }
        };
        let on_failure = fail.clone();
        let lost = move |status: ucx::Status| {
            let why = format!("the other end's worker is gone: {status}");
            fail(&Failure::new(DocaError::CONNECTION_RESET, why.as_str()));
        };
        let endpoint = mesh.connect(&address, lost);
        let endpoint = endpoint.or_code(DocaError::NOT_CONNECTED, "connecting to the other end")?;
        let route = Route { instance: details.instance, to: details.secret, from: secret };
        let connection = Connection::new(on_failure, self.base.clone(), endpoint, route);
        connection.say_hello(self.handle, own);
        if let Phase::Init(_, callers) = self.phase.replace(Phase::Connected(connection)) {
            let meant = Route { instance: self.handle, to: secret, from: details.secret };
            callers.into_iter().filter(|it| it.route() != meant).for_each(Caller::turn_away);
        }
        Ok(())
    }

    /// The connection, for an operation.
    pub(crate) fn connection(&self, call: &str) -> Result<Rc<Connection>> {
        match &*self.phase.borrow() {
            Phase::Connected(connection) => Ok(Rc::clone(connection)),
            _ => Err(self.bad_state(call, "receives alone until it is connected")),
        }
    }

    /// The connection that a message is of.
    pub(crate) fn connection_of(&self, route: Route) -> Option<Rc<Connection>> {
        match &*self.phase.borrow() {
            Phase::Connected(connection) if connection.is_meant_by(route) => {
                Some(Rc::clone(connection))
            }
            _ => None,
        }
    }

    /// Somebody has connected to this instance, which has not connected to it.
    pub(crate) fn called(&self, caller: Caller) {
        // It is told of the connection, or turned away once there will be none.
        if let Phase::Init(secret, callers) = &mut *self.phase.borrow_mut()
            && *secret == caller.route().to
            && callers.len() < CALLERS
        {
            return callers.push(caller);
        }
        caller.turn_away();
    }

    /// Somebody who has connected to this instance has left.
    pub(crate) fn caller_left(&self, route: Route) {
        if let Phase::Init(_, callers) = &mut *self.phase.borrow_mut() {
            callers.retain(|caller| caller.route() != route);
        }
    }

    /// Adds a receive, and gives its number.
    pub(crate) fn post(&self, places: Pieces) -> Result<u64> {
        let connection = match &*self.phase.borrow() {
            Phase::Init(..) => None,
            Phase::Connected(connection) => Some(Rc::clone(connection)),
            Phase::Reset | Phase::Error(..) => return Err(self.bad_state("a receive", "receives")),
        };
        let number = self.base.receives.borrow_mut().post(places);
        let number = number.ok_or_else(|| {
            Error::new(DocaError::FULL, "as many receives wait as may: see the limits")
        })?;
        if let Some(connection) = connection {
            connection.advance();
        }
        Ok(number)
    }

    /// What the other end may do.
    pub(crate) fn permissions(bits: u32) -> Result<Access> {
        let allowed =
            Access::LOCAL_READ_WRITE | Access::RDMA_READ | Access::RDMA_WRITE | Access::RDMA_ATOMIC;
        Access::from_bits(bits).filter(|access| allowed.contains(*access)).ok_or_else(|| {
            let text = format!("{bits:#x} has more than LOCAL_READ_WRITE and permissions of RDMA");
            Error::new(DocaError::INVALID_VALUE, text)
        })
    }
}

/// A number that nobody guesses.
fn secret() -> Result<u64> {
    let mut bytes = [0; 8];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty());
    filled.or_code(DocaError::OPERATING_SYSTEM, "asking the system for random bytes")?;
    Ok(u64::from_ne_bytes(bytes))
}
