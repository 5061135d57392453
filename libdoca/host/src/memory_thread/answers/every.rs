//! Connections to workers that fail, and the one answer to all questions that are then without one.
//!
//! A worker's own connection need not have failed with this side's, so it would wait for ever. It
//! is told until that worked, or its stream is left.

use std::rc::Rc;
use std::time::{Duration, Instant};

use ucx::{Endpoint, Request, WorkerAddress};
use urom_abi::DocaError;
use urom_wire::plain::Plain;
use urom_wire::remote::{AM_ANSWER, EVERY};

use super::{Answers, Questions, answer};

/// The time between two tries to reach a worker, which may be gone, is from this ...
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// ... to this long. It doubles, because UCX logs each.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// An answer to all questions that a worker is owed.
#[derive(Default)]
pub(super) struct Every {
    /// The last try, and how long the pause after it is.
    tried: Option<(Instant, Duration)>,
    /// There while UCX is at it.
    sent: Option<Request<()>>,
}

impl Questions {
    /// A question of this stream has no answer, or perhaps none: that is said by an answer to all.
    pub(super) fn owe(&mut self, ticket: u128) {
        if self.askers.contains_key(&ticket) {
            // One that is under way may be on a connection that has failed meanwhile.
            self.owed.entry(ticket).or_default().sent = None;
        }
    }

    /// Notes whose connections have failed. A worker that asked nothing lost no answer.
    fn note_lost(&mut self) {
        for ticket in std::mem::take(&mut self.lost) {
            let asker = self.askers.get(&ticket);
            if asker.is_some_and(|asker| asker.has_asked && !asker.is_connected()) {
                self.owe(ticket);
            }
        }
    }
}

impl Answers {
    /// An endpoint for the answers of a stream.
    pub(super) fn open(&self, ticket: u128, address: &[u8]) -> ucx::Result<Endpoint> {
        let desk = Rc::downgrade(&self.desk);
        let lost = move |_| {
            if let Some(desk) = desk.upgrade() {
                desk.borrow_mut().lost.push(ticket);
            }
        };
        // SAFETY: from a worker that this host uses, which it trusts with its memory.
        let address = unsafe { WorkerAddress::from_bytes(address) }?;
        self.worker.endpoint().on_error(lost).connect(&address)
    }

    /// Tells workers that questions of theirs have no answer, over new connections where the old
    /// ones have failed.
    pub(super) fn tell_all(&self) {
        let mut desk = self.desk.borrow_mut();
        desk.note_lost();
        if desk.owed.is_empty() {
            return;
        }
        let (Questions { owed, askers, .. }, now) = (&mut *desk, Instant::now());
        owed.retain(|&ticket, every| {
            let Some(asker) = askers.get_mut(&ticket) else { return false };
            if every.sent.is_none() && !asker.address.is_empty() && every.wait(now).is_zero() {
                let pause = every.tried.map_or(FIRST_PAUSE, |(_, pause)| pause * 2);
                every.tried = Some((now, pause.min(LONGEST_PAUSE)));
                if !asker.is_connected() {
                    let endpoint = self.open(ticket, &asker.address);
                    let why = |error| log!(debug, "a worker is not reached again: {error}");
                    asker.endpoint = endpoint.map_err(why).ok();
                }
                let all = answer(ticket, EVERY, DocaError::CONNECTION_RESET, 0);
                let send = |endpoint: &Endpoint| endpoint.am_send(AM_ANSWER, all.as_bytes(), ());
                every.sent = asker.endpoint.as_ref().map(send);
            }
            match every.sent.take().map(Request::into_done) {
                Some(Ok((Ok(()), ()))) => {
                    asker.has_asked = false;
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

    /// How long until a worker is to be told again, or has waited long enough; nothing if none is.
    pub(in super::super) fn pause(&self) -> Option<Duration> {
        let (desk, now) = (self.desk.borrow(), Instant::now());
        let is_known = |ticket| desk.askers.get(ticket).is_some_and(|it| !it.address.is_empty());
        let due = desk.owed.iter().filter(|(ticket, it)| it.sent.is_none() && is_known(*ticket));
        due.map(|(_, every)| every.wait(now)).chain(desk.waits.pause()).min()
    }
}

impl Every {
    #[cfg(test)]
    pub(super) fn last_try(&self) -> Option<Instant> {
        self.tried.map(|(tried, _)| tried)
    }

    /// How long until the next try.
    fn wait(&self, now: Instant) -> Duration {
        let next =
            |(tried, pause): (Instant, Duration)| (tried + pause).saturating_duration_since(now);
        self.tried.map_or(Duration::ZERO, next)
    }
}
