//! Connections that have not completed their handshake: a limited number at a time.
//!
//! Further connections wait in the kernel's backlog. A connection that did not complete in time may
//! lose its slot: first the oldest silent connection of the owner with the most. An IPv6 network is
//! one owner; on a Unix socket, users are compared first, then a user's processes. Refused hosts
//! and unknown peers have separate limits on log lines.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use urom_wire::awake::sleep;
use urom_wire::hello::HelloError;
use urom_wire::stream::StreamError;

pub(crate) const MAX_HANDSHAKES: usize = 256;

/// Time for the handshake before a connection may lose its slot; hosts need some milliseconds.
const HANDSHAKE_TIME: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
pub(crate) struct Handshakes(Arc<SharedSlots>);

#[derive(Debug)]
struct SharedSlots {
    state: Mutex<HandshakeSlots>,
    changed: Notify,
    most: usize,
}

#[derive(Debug, Default)]
struct HandshakeSlots {
    last: u64,
    entries: VecDeque<HandshakeSlot>,
}

#[derive(Debug)]
struct HandshakeSlot {
    number: u64,
    owner: ConnectionOwner,
    is_silent: bool,
    _evicts: oneshot::Sender<Infallible>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ConnectionOwner {
    Address(IpAddr),
    User(u32),
    Process(u32, i32),
}

impl From<IpAddr> for ConnectionOwner {
    /// An IPv6 /64 network is one owner. IPv4-mapped IPv6 addresses count as IPv4.
    fn from(address: IpAddr) -> ConnectionOwner {
        ConnectionOwner::Address(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            address => address,
        })
    }
}

impl ConnectionOwner {
    fn user(self) -> ConnectionOwner {
        match self {
            ConnectionOwner::Process(user, _) => ConnectionOwner::User(user),
            other => other,
        }
    }
}

/// The slot of an unauthenticated connection; dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct PendingHandshake {
    set: Handshakes,
    number: u64,
    evicted: oneshot::Receiver<Infallible>,
}

impl Handshakes {
    pub(crate) fn new(most: usize) -> Handshakes {
        Handshakes(Arc::new(SharedSlots { state: Mutex::default(), changed: Notify::new(), most }))
    }

    /// Waits for a free slot. Only one task may wait at a time.
    pub(crate) async fn free_slot(&self) {
        let has_free_slot = || {
            let entries = &self.lock().entries;
            entries.len() < self.0.most || entries.iter().any(|entry| entry.is_silent)
        };
        while !has_free_slot() {
            self.0.changed.notified().await;
        }
    }

    /// Gives a connection a slot. If all are taken, a silent connection loses its slot or, without
    /// [`free_slot`](Handshakes::free_slot), a connection whose handshake time is not over.
    pub(crate) fn enter(&self, from: impl Into<ConnectionOwner>) -> PendingHandshake {
        let mut state = self.lock();
        if state.entries.len() >= self.0.most {
            evict(&mut state.entries);
        }
        state.last += 1;
        let (number, (evicts, evicted)) = (state.last, oneshot::channel());
        let entry = HandshakeSlot { number, owner: from.into(), is_silent: false, _evicts: evicts };
        state.entries.push_back(entry);
        PendingHandshake { set: self.clone(), number, evicted }
    }

    fn lock(&self) -> MutexGuard<'_, HandshakeSlots> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Frees a slot: evicts the oldest silent connection of the user with the most, within that user of
/// the process with the most. Without silent connections, all count.
fn evict(entries: &mut VecDeque<HandshakeSlot>) {
    let any_silent = entries.iter().any(|entry| entry.is_silent);
    let mut counts: HashMap<ConnectionOwner, usize> = HashMap::new();
    for entry in entries.iter().filter(|entry| entry.is_silent == any_silent) {
        *counts.entry(entry.owner.user()).or_default() += 1;
        *counts.entry(entry.owner).or_default() += 1;
    }
    let rank = |entry: &HandshakeSlot| {
        let counts = [entry.owner.user(), entry.owner].map(|owner| counts.get(&owner));
        (entry.is_silent, counts)
    };
    let most = entries.iter().map(rank).max();
    if let Some(at) = entries.iter().position(|entry| Some(rank(entry)) == most) {
        entries.remove(at);
    }
}

fn is_of_host(error: &StreamError) -> bool {
    match error {
        StreamError::Hello(error) => !matches!(error, HelloError::NotUrom),
        error => matches!(error, StreamError::Key(_)),
    }
}

fn reason_of(error: &StreamError) -> &'static str {
    match error {
        StreamError::Hello(HelloError::Ucx { .. }) => "ucx",
        StreamError::Hello(HelloError::Protocol { .. }) => "protocol",
        StreamError::Key(_) => "key",
        _ => "role",
    }
}

impl PendingHandshake {
    /// Waits for the handshake, and returns the protocol.
    ///
    /// # Errors
    /// It fails, or the connection loses its slot before. The error is a reason for metrics.
    pub(crate) async fn admit(
        &mut self,
        peer: SocketAddr,
        handshake: impl Future<Output = Result<u16, StreamError>>,
    ) -> Result<u16, &'static str> {
        let end = self.hold(handshake).await;
        let (reason, why) = match end {
            Some(Ok(protocol)) => return Ok(protocol),
            None => ("silent", "its handshake did not begin, and others wait".to_owned()),
            Some(Err(StreamError::Hello(HelloError::NotUrom))) => {
                ("not_urom", "it did not send a host's handshake".to_owned())
            }
            // Users can act on these lines, so other peers must not use up their limit.
            Some(Err(error)) if is_of_host(&error) => {
                limited!(warn, "refused host {peer}: {error}");
                return Err(reason_of(&error));
            }
            Some(Err(error)) => ("incomplete", format!("its handshake was not complete: {error}")),
        };
        limited!(info, "closed the connection from {peer}: {why}");
        Err(reason)
    }

    pub(crate) async fn hold<T>(&mut self, proving: impl Future<Output = T>) -> Option<T> {
        let PendingHandshake { set, number, evicted } = self;
        let silence = async {
            sleep(HANDSHAKE_TIME).await;
            for entry in &mut set.lock().entries {
                entry.is_silent |= entry.number == *number;
            }
            set.0.changed.notify_one();
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            // A handshake in time counts, even if this task runs late.
            biased;
            proven = proving => Some(proven),
            _ = evicted => None,
            never = silence => match never {},
        }
    }
}

impl Drop for PendingHandshake {
    fn drop(&mut self) {
        self.set.lock().entries.retain(|entry| entry.number != self.number);
        self.set.0.changed.notify_one();
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
    use urom_wire::hello::{HELLO_LEN, Hello, ProtocolRange, Role};
    use urom_wire::key::Key;
    use urom_wire::peer_timeout::PeerTimeout;
    use urom_wire::plain::Plain;
    use urom_wire::proof::{KeyError, OPENING_LEN, Opening, PROOF_LEN};
    use urom_wire::stream::handshake;

    fn from(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn silent(mut slot: PendingHandshake) -> JoinHandle<bool> {
        tokio::spawn(async move { slot.hold(pending::<()>()).await.is_none() })
    }

    async fn has_free_slot(set: &Handshakes) -> bool {
        timeout(Duration::ZERO, set.free_slot()).await.is_ok()
    }

    async fn handshake_time() {
        tokio::time::sleep(2 * HANDSHAKE_TIME).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_within_its_handshake_time_keeps_its_slot_and_others_wait() {
        let set = Handshakes::new(2);
        let slots = [1, 2].map(|last| silent(set.enter(from(last))));
        assert!(!has_free_slot(&set).await);
        let begin = tokio::time::Instant::now();
        set.free_slot().await;
        assert_eq!(begin.elapsed(), HANDSHAKE_TIME);
        assert!(slots.iter().all(|slot| !slot.is_finished()), "a connection leaves after it came");
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_silent_one_of_the_address_with_the_most_loses_its_slot() {
        let set = Handshakes::new(4);
        let honest = silent(set.enter(from(1)));
        let mut others: VecDeque<_> = (0..3).map(|_| silent(set.enter(from(2)))).collect();
        for _ in 0..100 {
            handshake_time().await;
            set.free_slot().await;
            others.push_back(silent(set.enter(from(2))));
            assert!(others.pop_front().unwrap().await.unwrap());
        }
        assert!(!honest.is_finished());
        honest.abort();
        others.iter().for_each(JoinHandle::abort);
        set.free_slot().await;
    }

    /// Returns which processes lose their slots to `others` connections of the last process.
    async fn evicted(owners: &[ConnectionOwner], others: usize) -> Vec<bool> {
        let set = Handshakes::new(owners.len());
        let slots: Vec<_> = owners.iter().map(|owner| silent(set.enter(*owner))).collect();
        let _others: Vec<_> = (0..others).map(|_| set.enter(owners[owners.len() - 1])).collect();
        tokio::task::yield_now().await;
        let evicted = slots.iter().map(JoinHandle::is_finished).collect();
        slots.iter().for_each(JoinHandle::abort);
        evicted
    }

    #[tokio::test(start_paused = true)]
    async fn the_user_with_the_most_connections_loses_those_of_its_greediest_process() {
        let [own, other] = [1, 2].map(|process| ConnectionOwner::Process(0, process));
        // Without waiting and without time for the handshake: a Unix socket accepts at once.
        let crowd = [3, 4, 5].map(|process| ConnectionOwner::Process(7, process));
        let all = [own, own, other, crowd[0], crowd[0], crowd[1], crowd[2]];
        let gone = evicted(&all, 2).await;
        assert_eq!(gone, [false, false, false, true, false, false, true]);
        // Processes of one user.
        let gone = evicted(&[own, other, other, other], 2).await;
        assert_eq!(gone, [false, true, true, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_freed_slot_goes_to_another_connection() {
        let set = Handshakes::new(1);
        let slot = set.enter(from(1));
        let waits = tokio::spawn({
            let set = set.clone();
            async move { set.free_slot().await }
        });
        assert!(!has_free_slot(&set).await);
        drop(slot);
        waits.await.unwrap();
        assert!(has_free_slot(&set).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_handshake_that_came_during_a_pause_of_this_process_counts_before_a_slot_is_lost() {
        let set = Handshakes::new(1);
        let mut slot = set.enter(from(1));
        let (say, said) = oneshot::channel();
        let admitted = tokio::spawn(async move { slot.hold(said).await });
        tokio::task::yield_now().await;
        say.send(5).unwrap();
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(admitted.await.unwrap(), Some(Ok(5)));
    }

    #[test]
    fn a_network_of_ipv6_is_one_address_and_ipv4_in_ipv6_is_ipv4() {
        for (a, b, are_one) in [
            ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true),
            ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
            ("::ffff:10.0.0.1", "10.0.0.1", true),
            ("::ffff:10.0.0.1", "::ffff:10.0.0.2", false),
        ] {
            let [a, b] = [a, b].map(|text| ConnectionOwner::from(text.parse::<IpAddr>().unwrap()));
            assert_eq!(a == b, are_one, "{a:?} {b:?}");
        }
    }

    #[test]
    fn only_a_host_that_can_do_something_about_it_is_turned_away() {
        for (error, is_host) in [
            (HelloError::NotUrom.into(), false),
            (StreamError::Closed, false),
            (StreamError::Silent(PeerTimeout::default()), false),
            (StreamError::Garbage("an opening that says 7".to_owned()), false),
            (std::io::Error::from(std::io::ErrorKind::ConnectionReset).into(), false),
            (
                HelloError::Protocol {
                    role: Role::Host,
                    theirs: ProtocolRange { oldest: 13, newest: 13 },
                    ours: ProtocolRange::OURS,
                }
                .into(),
                true,
            ),
            (HelloError::Role { expected: Role::Host, found: Role::Worker }.into(), true),
            (KeyError::HostHasNone.into(), true),
        ] {
            assert_eq!(is_of_host(&error), is_host, "{error}");
        }
    }

    /// The daemon closes the connection before it reads the proof, because another host connected.
    #[tokio::test]
    async fn an_evicted_host_gets_no_error_about_its_key() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (set, secret) = (Handshakes::new(1), Key::random().unwrap().daemon_secret());
        let host = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            handshake(
                &mut stream,
                Hello::new(Role::Host),
                Role::Daemon,
                Some(&secret),
                PeerTimeout::default(),
            )
            .await
        };
        let daemon = async {
            let (mut stream, peer) = listener.accept().await.unwrap();
            let mut slot = set.enter(peer.ip());
            let hello = Hello::new(Role::Daemon);
            let opening = Opening { keyed: 1, challenge: [7; 32] };
            stream.write_all(&[hello.as_bytes(), opening.as_bytes()].concat()).await.unwrap();
            let mut proof = [0; HELLO_LEN + OPENING_LEN + PROOF_LEN];
            while stream.peek(&mut proof).await.unwrap() < proof.len() {
                tokio::task::yield_now().await;
            }
            let another = async {
                set.free_slot().await;
                set.enter(peer.ip())
            };
            let (admitted, _another) =
                tokio::join!(slot.admit(peer, std::future::pending()), another);
            assert_eq!(admitted, Err("silent"));
            drop(stream);
        };
        let (end, ()) = tokio::join!(host, daemon);
        assert!(matches!(end, Err(StreamError::CutOff(Role::Daemon))), "{end:?}");
    }
}
