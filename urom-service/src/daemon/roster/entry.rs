//! One worker of the roster: what state it is in, and the hosts that are there, on the way, or
//! about to be.

use std::collections::HashMap;
use std::net::SocketAddr;

use urom_wire::control::{DaemonToWorker, Failure, StartWorker};

use super::host::Place;
use super::{Action, HostKey, Serial, failed};

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) serial: Serial,
    pub(super) gid: u32,
    pub(super) plugins: u64,
    pub(super) state: State,
    /// It was silent for too long and is about to be killed.
    pub(super) given_up: bool,
    /// Hosts that are there, on the way, or about to be.
    pub(super) tickets: HashMap<u128, Visitor>,
}

#[derive(Debug)]
pub(super) struct Visitor {
    pub(super) host: HostKey,
    pub(super) there: bool,
    /// The worker was told to expect it no more, and may just have let it in.
    pub(super) late: bool,
    /// Counts for its host, unless it is late and not there.
    pub(super) place: Option<Place>,
    /// It has not been told: the worker has not confirmed the ticket.
    pub(super) pending: Option<Pending>,
}

/// A request whose host waits for the worker's confirmation. Without it a host could be sent to a
/// worker that has just died, before the daemon hears of that.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) request: u64,
    /// A request to join a worker that ran already. If that is gone, another one will do.
    pub(super) again: Option<StartWorker>,
}

#[derive(Debug)]
pub(super) enum State {
    /// The process is there; these requests wait for it.
    Starting(Vec<Waiting>),
    Ready(SocketAddr),
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) host: HostKey,
    pub(super) request: u64,
    pub(super) place: Option<Place>,
}

impl Entry {
    /// Gives a host a ticket, or has it told why there is none. The worker hears of it first, and
    /// the host once the worker has confirmed it.
    pub(super) fn promise(
        &mut self,
        Waiting { host, request, place }: Waiting,
        again: Option<StartWorker>,
        mut new_ticket: impl FnMut() -> Result<u128, Failure>,
    ) -> Vec<Action> {
        let ticket = match new_ticket() {
            Ok(ticket) => ticket,
            Err(failure) => return vec![failed(host, request, &failure)],
        };
        self.tickets.insert(
            ticket,
            Visitor {
                host,
                there: false,
                late: false,
                place,
                pending: Some(Pending { request, again }),
            },
        );
        vec![
            Action::ToWorker(self.serial, DaemonToWorker::Expect { ticket }),
            Action::Expire(self.serial, ticket),
        ]
    }
}
