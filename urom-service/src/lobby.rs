//! The connections that have proven nothing yet: so many at a time, and no more.
//!
//! One more than that, and the oldest of the address that has the most is hung up on. A host takes a few milliseconds for what
//! a stranger never does, so who opens connections by the thousand pushes out their own, and hosts of other addresses come in.
//! Who has as many addresses as there are places pushes out anybody: a network of IPv6 counts as one address for that.
//! Nor do they fill the log: each way of not coming in has a budget of lines.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::oneshot;
use tracing::{debug, info, warn};

use crate::log::Budget;
use crate::wire::hello::HelloError;
use crate::wire::stream::StreamError;

/// How many connections to one listener may be unproven at a time.
pub(crate) const UNPROVEN: usize = 64;

/// Where connections wait until they have proven something.
#[derive(Debug)]
pub(crate) struct Lobby {
    guests: Arc<Mutex<Guests>>,
    most: usize,
}

#[derive(Debug, Default)]
struct Guests {
    last: u64,
    /// The oldest first.
    waiting: VecDeque<Guest>,
    evicted: Budget,
    strangers: Budget,
    turned_away: Budget,
}

#[derive(Debug)]
struct Guest {
    number: u64,
    from: IpAddr,
    /// Dropped to hang up.
    _line: oneshot::Sender<Infallible>,
}

/// A connection's place. Dropping it makes room.
#[derive(Debug)]
pub(crate) struct Seat {
    guests: Arc<Mutex<Guests>>,
    number: u64,
    line: oneshot::Receiver<Infallible>,
}

impl Lobby {
    pub(crate) fn new(most: usize) -> Lobby {
        Lobby { guests: Arc::default(), most }
    }

    /// Gives a connection a place, at the cost of another one's if there is none.
    pub(crate) fn enter(&self, from: IpAddr) -> Seat {
        let mut guests = lock(&self.guests);
        if guests.waiting.len() >= self.most {
            guests.evict();
        }
        guests.last += 1;
        let number = guests.last;
        let (hold, line) = oneshot::channel();
        guests.waiting.push_back(Guest { number, from, _line: hold });
        Seat { guests: Arc::clone(&self.guests), number, line }
    }
}

impl Guests {
    fn evict(&mut self) {
        let goes = who_goes(self.waiting.iter().map(|guest| guest.from));
        drop(goes.and_then(|at| self.waiting.remove(at)));
    }
}

/// Whose an address is: a network of 64 bits of IPv6 is one's, and IPv4 that is written as IPv6 is IPv4.
fn owner(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

/// Which of those that wait makes room for one more: the oldest of the address that has the most, if the oldest come first.
pub(crate) fn who_goes(waiting: impl Iterator<Item = IpAddr> + Clone) -> Option<usize> {
    let waiting = waiting.map(owner);
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    for from in waiting.clone() {
        *counts.entry(from).or_default() += 1;
    }
    let most = counts.values().copied().max();
    waiting.enumerate().find(|(_, from)| counts.get(from).copied() == most).map(|(at, _)| at)
}

impl Seat {
    /// Whether a connection has greeted as it should. If it has not, that is logged.
    pub(crate) async fn admit(
        self,
        peer: SocketAddr,
        greeting: impl Future<Output = Result<(), StreamError>>,
    ) -> bool {
        let guests = Arc::clone(&self.guests);
        let end = self.hold(greeting).await;
        let (mut guests, now) = (lock(&guests), Instant::now());
        match end {
            Some(Ok(())) => return true,
            None => {
                if let Some(more) = guests.evicted.line(now) {
                    debug!(
                        "closed the connection from {peer}: too many connections are being set up at a time{more}"
                    );
                }
            }
            Some(Err(StreamError::Hello(HelloError::NotUrom))) => {
                if let Some(more) = guests.strangers.line(now) {
                    info!("closed a connection from {peer}, which sent no greeting of a host{more}");
                }
            }
            // For these there is something to do, so no others may use up their lines.
            Some(Err(error @ (StreamError::Hello(_) | StreamError::Key(_)))) => {
                if let Some(more) = guests.turned_away.line(now) {
                    warn!("refused host {peer}: {error}{more}");
                }
            }
            Some(Err(error)) => {
                if let Some(more) = guests.strangers.line(now) {
                    info!(
                        "closed a connection from {peer}, whose greeting of a host was not complete: {error}{more}"
                    );
                }
            }
        }
        false
    }

    /// What `proving` gives; nothing when the place was needed before.
    async fn hold<T>(mut self, proving: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            proven = proving => Some(proven),
            _ = &mut self.line => None,
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut guests = lock(&self.guests);
        if let Some(at) = guests.waiting.iter().position(|guest| guest.number == self.number) {
            drop(guests.waiting.remove(at));
        }
    }
}

fn lock(guests: &Mutex<Guests>) -> MutexGuard<'_, Guests> {
    guests.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::hello::Role;
    use crate::wire::proof::KeyError;

    fn from(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    /// Whether a place was needed for another.
    async fn is_out(seat: Seat) -> bool {
        // What takes a moment longer than hanging up does.
        seat.hold(tokio::task::yield_now()).await.is_none()
    }

    #[tokio::test]
    async fn one_too_many_costs_the_oldest_of_the_address_with_the_most_its_place() {
        let lobby = Lobby::new(4);
        let honest = lobby.enter(from(1));
        let mut strangers: VecDeque<Seat> = (0..3).map(|_| lobby.enter(from(2))).collect();
        for _ in 0..100 {
            strangers.push_back(lobby.enter(from(2)));
            assert!(is_out(strangers.pop_front().unwrap()).await);
        }
        assert!(!is_out(honest).await);
        for stranger in strangers {
            assert!(!is_out(stranger).await);
        }
        assert_eq!(lock(&lobby.guests).waiting.len(), 0);
    }

    #[tokio::test]
    async fn a_place_that_was_given_back_is_free() {
        let lobby = Lobby::new(2);
        let stays = lobby.enter(from(1));
        for last in 2..100 {
            drop(lobby.enter(from(last)));
        }
        assert!(!is_out(stays).await);
    }

    #[tokio::test]
    async fn who_has_proven_something_in_time_is_not_hung_up_on() {
        let lobby = Lobby::new(1);
        let first = lobby.enter(from(1));
        let _second = lobby.enter(from(1));
        assert_eq!(first.hold(std::future::ready(5)).await, Some(5));
    }

    #[test]
    fn a_network_of_ipv6_is_one_address_and_ipv4_in_ipv6_is_ipv4() {
        let goes = |texts: &[&str]| who_goes(texts.iter().map(|text| text.parse::<IpAddr>().unwrap()));
        assert_eq!(goes(&["10.0.0.1", "2001:db8:0:1::1", "2001:db8:0:1:ffff::2"]), Some(1));
        assert_eq!(goes(&["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:2::2"]), Some(1));
        assert_eq!(goes(&["2001:db8::1", "::ffff:10.0.0.1", "10.0.0.1"]), Some(1));
        assert_eq!(goes(&["10.0.0.3", "::ffff:10.0.0.1", "::ffff:10.0.0.2"]), Some(0), "these are three");
    }

    #[tokio::test]
    async fn only_a_host_that_can_do_something_about_it_is_turned_away() {
        let lobby = Lobby::new(8);
        let spent = |budget: &Budget| *budget != Budget::default();
        let broken = || std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        let strangers = [
            HelloError::NotUrom.into(),
            StreamError::Closed,
            StreamError::Silent,
            StreamError::Garbage("an opening that says 7".to_owned()),
            broken().into(),
        ];
        let hosts = [
            HelloError::Role { expected: Role::Host, found: Role::Worker }.into(),
            KeyError::HostHasNone.into(),
        ];
        for (errors, is_host) in [(Vec::from(strangers), false), (Vec::from(hosts), true)] {
            for error in errors {
                let text = error.to_string();
                *lock(&lobby.guests) = Guests::default();
                let seat = lobby.enter(from(1));
                assert!(!seat.admit((from(1), 4000).into(), std::future::ready(Err(error))).await);
                let guests = lock(&lobby.guests);
                assert_eq!(
                    (spent(&guests.turned_away), spent(&guests.strangers)),
                    (is_host, !is_host),
                    "{text}"
                );
            }
        }
    }
}
