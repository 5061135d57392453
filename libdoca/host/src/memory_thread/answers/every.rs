//! Failed connections to workers, and the single answer to all questions lost with them. A worker
//! may not notice the failure, so the answer is repeated until it succeeds or the stream ends.

use std::rc::Rc;
use std::time::{Duration, Instant};

use ucx::{Endpoint, Request, WorkerAddress};
use urom_abi::DocaError;
use urom_wire::plain::Plain;
use urom_wire::remote::{AM_ANSWER, EVERY};

use super::{MemoryServer, ServerState, answer};

/// Initial delay between attempts to reach a worker.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Maximum delay. It doubles, because UCX logs each attempt.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct Every {
    /// Time of the last attempt and the delay after it.
    tried: Option<(Instant, Duration)>,
    /// `Some` while UCX is sending.
    sent: Option<Request<()>>,
}

impl ServerState {
    /// Schedules the answer to all questions of a stream.
    pub(super) fn owe(&mut self, token: u128) {
        if self.sessions.contains_key(&token) {
            // A pending answer may be on a connection that failed meanwhile.
            self.owed.entry(token).or_default().sent = None;
        }
    }

    /// Records failed connections. A worker without questions has not lost an answer.
    fn note_lost(&mut self) {
        for token in std::mem::take(&mut self.lost) {
            let session = self.sessions.get(&token);
            if session.is_some_and(|session| session.has_asked && !session.is_connected()) {
                self.owe(token);
            }
        }
    }
}

impl MemoryServer {
    pub(super) fn open(&self, token: u128, address: &[u8]) -> ucx::Result<Endpoint> {
        let state = Rc::downgrade(&self.state);
        let lost = move |_| {
            if let Some(state) = state.upgrade() {
                state.borrow_mut().lost.push(token);
            }
        };
        // SAFETY: from an attached worker, which this host trusts with its memory.
        let address = unsafe { WorkerAddress::from_bytes(address) }?;
        self.worker.endpoint().on_error(lost).connect(&address)
    }

    /// Sends the owed answers, over new connections if necessary.
    pub(super) fn tell_all(&self) {
        let mut state = self.state.borrow_mut();
        state.note_lost();
        if state.owed.is_empty() {
            return;
        }
        let (ServerState { owed, sessions, .. }, now) = (&mut *state, Instant::now());
        owed.retain(|&token, every| {
            let Some(session) = sessions.get_mut(&token) else { return false };
            if every.sent.is_none() && !session.address.is_empty() && every.wait(now).is_zero() {
                let pause = every.tried.map_or(FIRST_PAUSE, |(_, pause)| pause * 2);
                every.tried = Some((now, pause.min(LONGEST_PAUSE)));
                if !session.is_connected() {
                    let endpoint = self.open(token, &session.address);
                    let why = |error| log!(debug, "a worker is not reached again: {error}");
                    session.endpoint = endpoint.map_err(why).ok();
                }
                let all = answer(token, EVERY, Err(DocaError::CONNECTION_RESET));
                let send = |endpoint: &Endpoint| endpoint.am_send(AM_ANSWER, all.as_bytes(), ());
                every.sent = session.endpoint.as_ref().map(send);
            }
            match every.sent.take().map(Request::into_done) {
                Some(Ok((Ok(()), ()))) => {
                    session.has_asked = false;
                    false
                }
                Some(Err(under_way)) => {
                    every.sent = Some(under_way);
                    true
                }
                Some(Ok((Err(_), ()))) | None => true,
            }
        });
    }

    /// Returns the time until the next attempt or timeout, if any.
    pub(in super::super) fn pause(&self) -> Option<Duration> {
        let (state, now) = (self.state.borrow(), Instant::now());
        let is_known = |token| state.sessions.get(token).is_some_and(|it| !it.address.is_empty());
        let due = state.owed.iter().filter(|(token, it)| it.sent.is_none() && is_known(*token));
        due.map(|(_, every)| every.wait(now)).chain(state.waits.pause()).min()
    }
}

impl Every {
    #[cfg(test)]
    pub(super) fn last_try(&self) -> Option<Instant> {
        self.tried.map(|(tried, _)| tried)
    }

    fn wait(&self, now: Instant) -> Duration {
        let next =
            |(tried, pause): (Instant, Duration)| (tried + pause).saturating_duration_since(now);
        self.tried.map_or(Duration::ZERO, next)
    }
}
