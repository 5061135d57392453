//! The meeting: the others connect and send a hello, and participant 0 answers all when complete.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use urom_abi::{DocaError, Quantity};

use super::super::Error;
use super::address::{MOMENT, MeetingAddress, left, listed};
use super::link::{BLOCKS, HANDSHAKE, Link, frame};
use crate::wait::poll_set::PollSet;

const RETRY: Duration = Duration::from_millis(20);

const NOBODY: u32 = u32::MAX;

pub(super) fn connect(
    address: &MeetingAddress,
    index: u32,
    participants: u32,
    deadline: Instant,
) -> Result<Link, Error> {
    let mut why = String::new();
    while !left(deadline).is_zero() {
        match attempt(address, index, participants, deadline) {
            Err(error) if error.is_io() => why = format!(": {error}"),
            Err(error) if error.code() == DocaError::UNEXPECTED => {
                let text = format!(
                    "the program that listens at {address} is not a participant of a rendezvous"
                );
                return Err(Error::new(DocaError::INVALID_VALUE, text));
            }
            result => return result,
        }
        std::thread::sleep(RETRY.min(left(deadline)));
    }
    let text = format!("participant 0 could not be reached in time{why}");
    Err(Error::new(DocaError::TIME_OUT, text))
}

fn attempt(
    address: &MeetingAddress,
    index: u32,
    participants: u32,
    deadline: Instant,
) -> Result<Link, Error> {
    let no_connection = |error| Error::io("the connection is missing", error);
    let stream = address.open(deadline)?;
    stream.set_read_timeout(Some(left(deadline).max(MOMENT))).map_err(no_connection)?;
    let mut link = Link::new(0, stream).map_err(no_connection)?;
    link.send(&frame(HANDSHAKE, index, &u64::from(participants).to_le_bytes()))?;
    link.next_exchange();
    if link.receive(BLOCKS, 0, index)?.is_none() {
        let waits = "it waits for other participants, or hangs";
        return Err(link.gone(io::Error::new(ErrorKind::TimedOut, waits)));
    }
    link.next_exchange();
    link.stream.set_nonblocking(true).map_err(no_connection)?;
    Ok(link)
}

/// Accepts all others at participant 0; returns them in the order of the indices.
pub(super) fn accept(
    listeners: &[TcpListener],
    participants: u32,
    limit: Duration,
) -> Result<Vec<Link>, Error> {
    let mut meeting = Meeting { participants, links: Vec::new(), unknown_peers: Vec::new() };
    let result = meeting.wait(listeners, limit);
    let mut links: Vec<Link> = meeting.links.into_iter().map(|(link, _)| link).collect();
    if let Err(error) = result {
        // Also connections without a hello: one of these may be the cause.
        links.iter_mut().for_each(|link| link.tell(&error));
        return Err(error);
    }
    links.retain(|link| link.index != NOBODY);
    links.sort_unstable_by_key(|link| link.index);
    for link in &mut links {
        link.send(&frame(BLOCKS, 0, &[]))?;
        link.next_exchange();
    }
    Ok(links)
}

struct Meeting {
    participants: u32,
    links: Vec<(Link, SocketAddr)>,
    unknown_peers: Vec<SocketAddr>,
}

impl Meeting {
    fn wait(&mut self, listeners: &[TcpListener], limit: Duration) -> Result<(), Error> {
        let deadline = super::deadline(limit);
        for listener in listeners {
            let cannot = |error| Error::io("participant 0 cannot listen", error);
            listener.set_nonblocking(true).map_err(cannot)?;
        }
        while self.missing().next().is_some() {
            if left(deadline).is_zero() {
                return Err(self.incomplete(listeners, limit));
            }
            let mut set = PollSet::take();
            listeners.iter().for_each(|listener| set.add(listener.as_raw_fd()));
            self.links.iter().for_each(|(link, _)| set.add(link.as_raw_fd()));
            set.poll(Some(left(deadline)));
            listeners.iter().try_for_each(|listener| self.accept(listener))?;
            self.read_handshakes()?;
        }
        Ok(())
    }

    fn missing(&self) -> impl Iterator<Item = u32> {
        let is_here = |index: &u32| self.links.iter().any(|(link, _)| link.index == *index);
        (1..self.participants).filter(move |index| !is_here(index))
    }

    fn accept(&mut self, listener: &TcpListener) -> Result<(), Error> {
        loop {
            match listener.accept() {
                Ok((stream, address)) => {
                    let link =
                        stream.set_nonblocking(true).and_then(|()| Link::new(NOBODY, stream));
                    self.links.extend(link.map(|link| (link, address)));
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(()),
                    // A connection that was closed before it was accepted.
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => return Err(Error::io("participant 0 cannot accept connections", error)),
                },
            }
        }
    }

    fn read_handshakes(&mut self) -> Result<(), Error> {
        let own = self.participants;
        let mut result = Ok(());
        self.links.retain_mut(|(link, address)| {
            if link.index == NOBODY {
                match link.receive(HANDSHAKE, 8, 0) {
                    Ok(None) => return true,
                    Ok(Some(index)) => match check(index, link.body(), own) {
                        Ok(()) => link.index = index,
                        Err(error) => result = Err(error),
                    },
                    Err(_) => {
                        tracing::warn!(
                            "{address} connected to the rendezvous and is not a participant"
                        );
                        self.unknown_peers.push(*address);
                        return false;
                    }
                }
                link.next_exchange();
            }
            // It may have ended before the group was complete, and connect again.
            link.check().is_ok()
        });
        let mut indices: Vec<u32> = self.links.iter().map(|(link, _)| link.index).collect();
        indices.retain(|index| *index != NOBODY);
        indices.sort_unstable();
        match indices.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => result.and(Err(twins(pair[0]))),
            None => result,
        }
    }

    fn incomplete(&self, listeners: &[TcpListener], limit: Duration) -> Error {
        let at: Vec<_> = listeners.iter().filter_map(|it| it.local_addr().ok()).collect();
        let missing: Vec<_> = self.missing().map(|index| index.to_string()).collect();
        let (participants, missing) = (self.participants, missing.join(", "));
        let mut text =
            format!("not all {participants} participants came within {limit:?}: missing {missing}");
        text += &format!("; participant 0 listened at {}", listed(&at));
        if let Some(last) = self.unknown_peers.last() {
            let unknown_peers = Quantity(self.unknown_peers.len(), "connection");
            text += &format!("; {unknown_peers} came from other programs, the last from {last}");
        }
        Error::new(DocaError::TIME_OUT, text)
    }
}

fn check(index: u32, participants: &[u8], own: u32) -> Result<(), Error> {
    let participants = participants.try_into().map_or(0, u64::from_le_bytes);
    let text = if participants != u64::from(own) {
        format!(
            "participant {index} expects {participants} participants, participant 0 expects {own}"
        )
    } else if index >= own {
        format!("someone calls itself participant {index}, of {own}")
    } else if index == 0 {
        return Err(twins(0));
    } else {
        return Ok(());
    };
    Err(Error::new(DocaError::INVALID_VALUE, text))
}

fn twins(index: u32) -> Error {
    let text = format!("two processes call themselves participant {index}");
    Error::new(DocaError::INVALID_VALUE, text)
}
