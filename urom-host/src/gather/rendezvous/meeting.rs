//! How the participants of a rendezvous find each other: participant 0 listens, the others connect
//! and greet it, and it answers once all are there.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use urom_abi::{Count, DocaError};

use super::super::Error;
use super::peer::{Peer, blocks, is_for_later};
use crate::wait::poll_set::PollSet;

const RETRY: Duration = Duration::from_millis(20);

/// How many connections without a greeting are kept beyond the number of participants.
const PENDING: usize = 64;

/// Connects to participant 0 and waits until it says that all are there.
pub(super) fn connect(
    address: impl ToSocketAddrs,
    index: u32,
    participants: u32,
    deadline: Instant,
) -> Result<Peer, Error> {
    let mut why = String::new();
    while !left(deadline).is_zero() {
        let error = match attempt(&address, index, participants, deadline) {
            Ok(peer) => return Ok(peer),
            Err(error) => error,
        };
        if !error.is_io() {
            return Err(match error.code() {
                DocaError::UNEXPECTED => Error::new(
                    DocaError::INVALID_VALUE,
                    "whoever listens at the meeting point is no participant of a rendezvous",
                ),
                _ => error,
            });
        }
        why = format!(": {error}");
        // Nothing tells when participant 0 begins to listen.
        std::thread::sleep(RETRY.min(left(deadline)));
    }
    let text = format!("participant 0 could not be reached in time{why}");
    Err(Error::new(DocaError::TIME_OUT, text))
}

fn attempt(
    address: &impl ToSocketAddrs,
    index: u32,
    participants: u32,
    deadline: Instant,
) -> Result<Peer, Error> {
    let no_connection = |error| Error::io("there is no connection", error);
    let stream = open(address, deadline).map_err(no_connection)?;
    let mut peer = Peer::new(0, stream).map_err(no_connection)?;
    peer.greet(index, participants).map_err(no_connection)?;
    while !peer.receive(0, &mut [], index)? {
        let rest = left(deadline);
        if rest.is_zero() {
            let waits = "it waits for other participants, or hangs";
            return Err(peer.gone(io::Error::new(ErrorKind::TimedOut, waits)));
        }
        let mut set = PollSet::take();
        set.add(peer.as_raw_fd());
        set.poll(Some(rest));
    }
    peer.next_exchange();
    Ok(peer)
}

fn open(address: &impl ToSocketAddrs, deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::InvalidInput, "the meeting point has no address");
    for address in address.to_socket_addrs()? {
        // The system refuses a limit of zero.
        let limit = left(deadline).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(&address, limit) {
            // Without a listener, a connection to a port of this machine can be one with itself.
            Ok(stream) if stream.local_addr().ok() == stream.peer_addr().ok() => {
                last = ErrorKind::ConnectionRefused.into();
            }
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Waits for all others at participant 0; returns them in the order of their indices.
pub(super) fn accept(
    listener: &TcpListener,
    participants: u32,
    limit: Duration,
    deadline: Instant,
) -> Result<Vec<Peer>, Error> {
    let joined = (1..participants).map(|_| None).collect();
    let mut meeting =
        Meeting { participants, joined, pending: Vec::new(), strangers: 0, last_stranger: None };
    let result = listener
        .set_nonblocking(true)
        .map_err(|error| Error::io("participant 0 cannot listen at the meeting point", error))
        .and_then(|()| meeting.wait(listener, limit, deadline));
    let mut peers: Vec<Peer> = meeting.joined.into_iter().flatten().collect();
    if let Err(error) = result {
        // Those that have not greeted include the cause of the error.
        peers.extend(meeting.pending.into_iter().map(|(peer, _)| peer));
        peers.iter_mut().for_each(|peer| peer.fail(&error, 0));
        return Err(error);
    }
    for peer in &mut peers {
        // Nothing was sent before, so the socket's buffer has room for the answer.
        peer.send(&blocks(0, &[]))?;
        peer.next_exchange();
    }
    Ok(peers)
}

struct Meeting {
    participants: u32,
    joined: Vec<Option<Peer>>,
    /// Connections that have not greeted yet.
    pending: Vec<(Peer, SocketAddr)>,
    strangers: usize,
    last_stranger: Option<SocketAddr>,
}

impl Meeting {
    fn wait(
        &mut self,
        listener: &TcpListener,
        limit: Duration,
        deadline: Instant,
    ) -> Result<(), Error> {
        while self.joined.iter().any(Option::is_none) {
            if left(deadline).is_zero() {
                return Err(self.incomplete(limit));
            }
            let mut set = PollSet::take();
            set.add(listener.as_raw_fd());
            let pending = self.pending.iter().map(|(peer, _)| peer);
            pending.chain(self.joined.iter().flatten()).for_each(|peer| set.add(peer.as_raw_fd()));
            set.poll(Some(left(deadline)));
            self.drop_closed();
            self.accept(listener)?;
            self.read_greetings()?;
        }
        Ok(())
    }

    /// A participant that ended before the group was complete may come again.
    fn drop_closed(&mut self) {
        for joined in &mut self.joined {
            joined.take_if(|peer| peer.check().is_err());
        }
    }

    fn accept(&mut self, listener: &TcpListener) -> Result<(), Error> {
        loop {
            let (stream, address) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // A connection that was gone before it was accepted.
                Err(error)
                    if is_for_later(&error) || error.kind() == ErrorKind::ConnectionAborted =>
                {
                    continue;
                }
                Err(error) => {
                    return Err(Error::io("participant 0 cannot accept connections", error));
                }
            };
            self.pending.extend(Peer::new(u32::MAX, stream).map(|peer| (peer, address)).ok());
            if self.pending.len() > self.participants as usize + PENDING {
                let (_, silent) = self.pending.remove(0);
                self.reject(silent);
            }
        }
    }

    fn read_greetings(&mut self) -> Result<(), Error> {
        let mut at = 0;
        while let Some((peer, _)) = self.pending.get_mut(at) {
            match peer.greeting() {
                Ok(None) => at += 1,
                Ok(Some((index, participants))) => {
                    // It may have left and come again at once.
                    self.drop_closed();
                    self.check(index, participants)?;
                    let (mut peer, _) = self.pending.swap_remove(at);
                    peer.index = index;
                    self.joined[index as usize - 1] = Some(peer);
                }
                Err(_) => {
                    let (_, address) = self.pending.swap_remove(at);
                    self.reject(address);
                }
            }
        }
        Ok(())
    }

    fn check(&self, index: u32, participants: u64) -> Result<(), Error> {
        let own = self.participants;
        let text = if participants != u64::from(own) {
            format!(
                "participant {index} was told of {participants} participants, participant 0 of \
                 {own}"
            )
        } else if index >= own {
            format!("someone calls itself participant {index}, of {own}")
        } else if index == 0 || self.joined[index as usize - 1].is_some() {
            format!("two processes call themselves participant {index}")
        } else {
            return Ok(());
        };
        Err(Error::new(DocaError::INVALID_VALUE, text))
    }

    fn reject(&mut self, stranger: SocketAddr) {
        tracing::warn!("{stranger} came to the rendezvous and is no participant");
        self.strangers += 1;
        self.last_stranger = Some(stranger);
    }

    fn incomplete(&self, limit: Duration) -> Error {
        let missing = self.joined.iter().zip(1..).filter(|(joined, _)| joined.is_none());
        let missing: Vec<_> = missing.map(|(_, index): (_, u32)| index.to_string()).collect();
        let mut text = format!(
            "not all {} participants came within {limit:?}: missing {}",
            self.participants,
            missing.join(", ")
        );
        if let Some(last) = self.last_stranger {
            let strangers = Count(self.strangers, "connection");
            text += &format!("; {strangers} from no participant came, too, the last from {last}");
        }
        Error::new(DocaError::TIME_OUT, text)
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
