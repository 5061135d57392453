//! The connections that have proven nothing yet: a limited number at a time.
//!
//! Further ones wait in the kernel's backlog. A connection that had time to greet and did not may
//! lose its place: the oldest silent one of the address that has the most. An IPv6 network counts
//! as one address. Each kind of refusal has its own limit on log lines.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tracing::{debug, info, warn};

use urom_log::LineBudget;
use urom_wire::awake::sleep;
use urom_wire::hello::HelloError;
use urom_wire::stream::StreamError;

/// How many connections to one listener may be unproven at a time.
pub(crate) const UNPROVEN: usize = 256;

/// How long a connection has to greet before it may lose its place: hosts take a few milliseconds.
const TIME_TO_GREET: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
pub(crate) struct Lobby(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    guests: Mutex<Guests>,
    changed: Notify,
    most: usize,
}

#[derive(Debug, Default)]
struct Guests {
    last: u64,
    waiting: VecDeque<Guest>,
    evicted: LineBudget,
    strangers: LineBudget,
    turned_away: LineBudget,
}

#[derive(Debug)]
struct Guest {
    number: u64,
    from: IpAddr,
    is_silent: bool,
    _line: oneshot::Sender<Infallible>,
}

#[derive(Debug)]
pub(crate) struct Seat {
    lobby: Lobby,
    number: u64,
    line: oneshot::Receiver<Infallible>,
}

impl Lobby {
    pub(crate) fn new(most: usize) -> Lobby {
        Lobby(Arc::new(Shared { guests: Mutex::default(), changed: Notify::new(), most }))
    }

    /// Waits until one more connection can have a place. Only one may wait at a time.
    pub(crate) async fn room(&self) {
        loop {
            let changed = self.0.changed.notified();
            {
                let guests = self.lock();
                if guests.waiting.len() < self.0.most
                    || guests.waiting.iter().any(|guest| guest.is_silent)
                {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Gives a connection a place, at the cost of a silent one's if there is none.
    pub(crate) fn enter(&self, from: IpAddr) -> Seat {
        let mut guests = self.lock();
        if guests.waiting.len() >= self.0.most {
            guests.evict();
        }
        guests.last += 1;
        let number = guests.last;
        let (hold, line) = oneshot::channel();
        guests.waiting.push_back(Guest { number, from, is_silent: false, _line: hold });
        Seat { lobby: self.clone(), number, line }
    }

    fn lock(&self) -> MutexGuard<'_, Guests> {
        self.0.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guests {
    fn evict(&mut self) {
        let silent = self.waiting.iter().filter(|guest| guest.is_silent);
        let goes = who_goes(silent.map(|guest| (guest.number, guest.from)));
        self.waiting.retain(|guest| Some(guest.number) != goes);
    }
}

/// The owner of an address: a 64-bit network of IPv6 is one owner, and IPv4 written as IPv6 is
/// IPv4.
fn owner(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

/// Which of those that are silent makes room for one more: the oldest of the address that has the
/// most, if the oldest come first.
fn who_goes(silent: impl Iterator<Item = (u64, IpAddr)> + Clone) -> Option<u64> {
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    for (_, from) in silent.clone() {
        *counts.entry(owner(from)).or_default() += 1;
    }
    let most = counts.values().copied().max();
    silent
        .into_iter()
        .find(|(_, from)| counts.get(&owner(*from)).copied() == most)
        .map(|(number, _)| number)
}

impl Seat {
    pub(crate) async fn admit(
        &mut self,
        peer: SocketAddr,
        greeting: impl Future<Output = Result<(), StreamError>>,
    ) -> bool {
        let end = self.hold(greeting).await;
        let mut guests = self.lobby.lock();
        match end {
            Some(Ok(())) => return true,
            None => {
                if let Some(more) = guests.evicted.line() {
                    debug!(
                        "closed the connection from {peer}: it did not greet, and others wait{more}"
                    );
                }
            }
            Some(Err(StreamError::Hello(HelloError::NotUrom))) => {
                if let Some(more) = guests.strangers.line() {
                    info!(
                        "closed a connection from {peer}, which sent no greeting of a host{more}"
                    );
                }
            }
            // For these there is something to do, so no others may use up their lines.
            Some(Err(error @ (StreamError::Hello(_) | StreamError::Key(_)))) => {
                if let Some(more) = guests.turned_away.line() {
                    warn!("refused host {peer}: {error}{more}");
                }
            }
            Some(Err(error)) => {
                if let Some(more) = guests.strangers.line() {
                    info!(
                        "closed a connection from {peer}, whose greeting of a host was not complete: {error}{more}"
                    );
                }
            }
        }
        false
    }

    /// The result of `proving`; `None` when the place was needed before.
    async fn hold<T>(&mut self, proving: impl Future<Output = T>) -> Option<T> {
        let (mut proving, mut time) =
            (std::pin::pin!(proving), std::pin::pin!(sleep(TIME_TO_GREET)));
        let mut is_silent = false;
        loop {
            tokio::select! {
                // A greeting in time counts, however late this task runs.
                biased;
                proven = &mut proving => return Some(proven),
                _ = &mut self.line => return None,
                () = &mut time, if !is_silent => {
                    is_silent = true;
                    self.falls_silent();
                }
            }
        }
    }

    fn falls_silent(&self) {
        if let Some(guest) =
            self.lobby.lock().waiting.iter_mut().find(|guest| guest.number == self.number)
        {
            guest.is_silent = true;
        }
        self.lobby.0.changed.notify_one();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.lobby.lock().waiting.retain(|guest| guest.number != self.number);
        self.lobby.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    use super::*;
    use tokio::io::AsyncWriteExt;
    use tokio::net::{TcpListener, TcpStream};
    use urom_wire::hello::{HELLO_LEN, Hello, Role};
    use urom_wire::key::Key;
    use urom_wire::patience::Patience;
    use urom_wire::proof::{KeyError, OPENING_LEN, Opening, PROOF_LEN};
    use urom_wire::stream::greet;
    use zerocopy::IntoBytes;

    fn from(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    /// A connection that says nothing; whether its place was needed for another.
    fn silent(mut seat: Seat) -> JoinHandle<bool> {
        tokio::spawn(async move { seat.hold(pending::<()>()).await.is_none() })
    }

    /// Whether somebody can have a place now.
    async fn has_room(lobby: &Lobby) -> bool {
        timeout(Duration::ZERO, lobby.room()).await.is_ok()
    }

    async fn time_to_greet() {
        tokio::time::sleep(2 * TIME_TO_GREET).await;
    }

    #[tokio::test(start_paused = true)]
    async fn who_could_not_greet_yet_keeps_its_place_and_others_wait() {
        let lobby = Lobby::new(2);
        let seats = [1, 2].map(|last| silent(lobby.enter(from(last))));
        assert!(!has_room(&lobby).await);
        let begin = tokio::time::Instant::now();
        lobby.room().await;
        assert_eq!(begin.elapsed(), TIME_TO_GREET);
        assert!(seats.iter().all(|seat| !seat.is_finished()), "nobody goes before somebody comes");
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_silent_one_of_the_address_with_the_most_loses_its_place() {
        let lobby = Lobby::new(4);
        let honest = silent(lobby.enter(from(1)));
        let mut strangers: VecDeque<_> = (0..3).map(|_| silent(lobby.enter(from(2)))).collect();
        for _ in 0..100 {
            time_to_greet().await;
            lobby.room().await;
            strangers.push_back(silent(lobby.enter(from(2))));
            assert!(strangers.pop_front().unwrap().await.unwrap());
        }
        assert!(!honest.is_finished());
        honest.abort();
        strangers.iter().for_each(JoinHandle::abort);
        lobby.room().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_that_is_given_back_is_another_ones() {
        let lobby = Lobby::new(1);
        let seat = lobby.enter(from(1));
        let waits = tokio::spawn({
            let lobby = lobby.clone();
            async move { lobby.room().await }
        });
        assert!(!has_room(&lobby).await);
        drop(seat);
        waits.await.unwrap();
        assert!(has_room(&lobby).await);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_said_while_this_process_did_not_run_is_heard_before_anybody_loses_a_place() {
        let lobby = Lobby::new(1);
        let mut seat = lobby.enter(from(1));
        let (say, said) = oneshot::channel();
        let greets = tokio::spawn(async move { seat.hold(said).await });
        tokio::task::yield_now().await;
        say.send(5).unwrap();
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(greets.await.unwrap(), Some(Ok(5)));
    }

    #[test]
    fn a_network_of_ipv6_is_one_address_and_ipv4_in_ipv6_is_ipv4() {
        let goes = |texts: &[&str]| {
            who_goes((0..).zip(texts.iter().map(|text| text.parse::<IpAddr>().unwrap())))
        };
        assert_eq!(goes(&["10.0.0.1", "2001:db8:0:1::1", "2001:db8:0:1:ffff::2"]), Some(1));
        assert_eq!(goes(&["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:2::2"]), Some(1));
        assert_eq!(goes(&["2001:db8::1", "::ffff:10.0.0.1", "10.0.0.1"]), Some(1));
        assert_eq!(
            goes(&["10.0.0.3", "::ffff:10.0.0.1", "::ffff:10.0.0.2"]),
            Some(0),
            "these are three"
        );
    }

    #[tokio::test]
    async fn only_a_host_that_can_do_something_about_it_is_turned_away() {
        let lobby = Lobby::new(8);
        let spent = |budget: &LineBudget| *budget != LineBudget::default();
        let broken = || std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        let strangers = [
            HelloError::NotUrom.into(),
            StreamError::Closed,
            StreamError::Silent(urom_wire::patience::Patience::default()),
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
                *lobby.lock() = Guests::default();
                let mut seat = lobby.enter(from(1));
                assert!(!seat.admit((from(1), 4000).into(), std::future::ready(Err(error))).await);
                let guests = lobby.lock();
                assert_eq!(
                    (spent(&guests.turned_away), spent(&guests.strangers)),
                    (is_host, !is_host),
                    "{text}"
                );
            }
        }
    }

    /// A host shows its key to a daemon that hangs up with the proof unread, because another
    /// connection came.
    #[tokio::test]
    async fn a_host_that_is_pushed_out_does_not_hear_that_its_key_is_wrong() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (lobby, secret) = (Lobby::new(1), Key::random().unwrap().daemon_secret());
        let host = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            greet(
                &mut stream,
                Hello::new(Role::Host),
                Role::Daemon,
                Some(&secret),
                Patience::default(),
            )
            .await
        };
        let daemon = async {
            let (mut stream, peer) = listener.accept().await.unwrap();
            let mut seat = lobby.enter(peer.ip());
            let hello = Hello::new(Role::Daemon);
            let opening = Opening { keyed: 1, challenge: [7; 32] };
            stream.write_all(&[hello.as_bytes(), opening.as_bytes()].concat()).await.unwrap();
            let mut proof = [0; HELLO_LEN + OPENING_LEN + PROOF_LEN];
            while stream.peek(&mut proof).await.unwrap() < proof.len() {
                tokio::task::yield_now().await;
            }
            let another = async {
                lobby.room().await;
                lobby.enter(peer.ip())
            };
            let (admitted, _another) =
                tokio::join!(seat.admit(peer, std::future::pending()), another);
            assert!(!admitted);
            drop(stream);
        };
        let (end, ()) = tokio::join!(host, daemon);
        assert!(matches!(end, Err(StreamError::CutOff(Role::Daemon))), "{end:?}");
    }
}
