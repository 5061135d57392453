//! One worker of the roster: what state it is in, and the hosts that are there, on the way, or
//! about to be.

use std::collections::HashMap;
use std::net::SocketAddr;

use urom_wire::control::{DaemonToWorker, Failure, StartWorker};

use super::{Action, HostKey, Serial, failed};

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: u64,
    pub(super) gid: u32,
    pub(super) plugins: u64,
    pub(super) env: Vec<String>,
    pub(super) state: State,
    /// It was silent for too long and is about to be killed.
    pub(super) given_up: bool,
    /// By ticket.
    pub(super) visitors: HashMap<u128, Visitor>,
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
}

#[derive(Debug)]
pub(super) struct Visitor {
    pub(super) host: HostKey,
    pub(super) stage: VisitStage,
}

#[derive(Debug)]
pub(super) enum VisitStage {
    /// The worker has not confirmed the ticket, and the host was not told. Without that it could be
    /// sent to a worker that has just died, before the daemon hears of that.
    Pending {
        request: u64,
        /// A request to join a worker that ran already. If that is gone, another one will do.
        again: Option<StartWorker>,
    },
    Expected,
    /// The worker was told to expect it no more, and may just have let it in.
    Late,
    There,
}

impl Entry {
    /// The first variable that another environment has otherwise than the worker's, if any. Its
    /// value is not named: it may be a secret.
    pub(super) fn differs(&self, env: &[String]) -> Option<String> {
        let (own, other) = (variables(&self.env), variables(env));
        let differs = |name: &&str| own.get(name) != other.get(name);
        let mut names = env.iter().chain(&self.env).map(|text| variable(text).0);
        Some(match names.find(differs)? {
            "" => "an entry that is not NAME=value".to_owned(),
            name => format!("`{}`", name.escape_debug()),
        })
    }

    /// Notes a host that may come with a ticket, or has it told why there is none. The worker hears
    /// of it first, and the host once the worker has confirmed it.
    pub(super) fn promise(
        &mut self,
        serial: Serial,
        Waiting { host, request }: Waiting,
        again: Option<StartWorker>,
        ticket: Result<u128, Failure>,
    ) -> Vec<Action> {
        let ticket = match ticket {
            Ok(ticket) => ticket,
            Err(failure) => return vec![failed(host, request, &failure)],
        };
        self.visitors
            .insert(ticket, Visitor { host, stage: VisitStage::Pending { request, again } });
        let expect = Action::ToWorker(serial, DaemonToWorker::Expect { ticket });
        vec![expect, Action::Expire(serial, ticket)]
    }

    pub(super) fn places_of(&self, host: HostKey) -> usize {
        let counts =
            |visitor: &&Visitor| visitor.host == host && !matches!(visitor.stage, VisitStage::Late);
        let waiting = match &self.state {
            State::Starting(waiting) => waiting.iter().filter(|one| one.host == host).count(),
            State::Ready(_) => 0,
        };
        waiting + self.visitors.values().filter(counts).count()
    }
}

/// An environment as a process sees it: of two variables with one name the later counts.
fn variables(env: &[String]) -> HashMap<&str, &str> {
    env.iter().map(|text| variable(text)).collect()
}

fn variable(text: &str) -> (&str, &str) {
    text.split_once('=').unwrap_or(("", text))
}
