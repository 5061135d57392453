//! How the participants of a rendezvous find each other.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use urom_abi::{Count, DocaError};

use super::super::Error;
use super::wire::{Answer, Greeting};
use crate::wait::poll_set::PollSet;

/// How long to wait before the next attempt to connect.
const RETRY: Duration = Duration::from_millis(20);

/// How many connections that have not greeted yet are kept beyond the number of participants.
const PENDING: usize = 64;

/// Connects to participant 0 and waits until it says that all are there.
pub(super) fn connect(
    address: impl ToSocketAddrs,
    greeting: Greeting,
    deadline: Instant,
) -> Result<TcpStream, Error> {
    let mut last: Option<io::Error> = None;
    loop {
        if left(deadline).is_zero() {
            let text = "participant 0 could not be reached in time";
            return Err(match last {
                Some(error) => Error::new(DocaError::TIME_OUT, format!("{text}: {error}")),
                None => Error::new(DocaError::TIME_OUT, text),
            });
        }
        match attempt(&address, greeting, deadline) {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => return Err(error),
            Err(error) => last = Some(error),
        }
        // Nothing tells when participant 0 begins to listen.
        std::thread::sleep(RETRY.min(left(deadline)));
    }
}

/// One attempt. The outer error is one that the next attempt may not meet.
fn attempt(
    address: &impl ToSocketAddrs,
    greeting: Greeting,
    deadline: Instant,
) -> io::Result<Result<TcpStream, Error>> {
    let mut stream = open(address, deadline)?;
    stream.write_all(&greeting.to_bytes())?;
    let mut head = [0; Answer::LEN];
    read_until(&mut stream, &mut head, deadline)?;
    let Some(answer) = Answer::from_bytes(&head) else {
        let text = "whoever listens at the meeting point is no participant of a rendezvous";
        return Ok(Err(Error::new(DocaError::INVALID_VALUE, text)));
    };
    if answer.code != DocaError::SUCCESS {
        let mut reason = vec![0; answer.reason];
        read_until(&mut stream, &mut reason, deadline)?;
        let text = format!("participant 0 says: {}", String::from_utf8_lossy(&reason));
        return Ok(Err(Error::new(answer.code, text)));
    }
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    Ok(Ok(stream))
}

fn open(address: &impl ToSocketAddrs, deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "the meeting point has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, some(left(deadline))) {
            // While nobody listens on a port of this machine, a connection to it may turn out to be one with itself.
            Ok(stream) if stream.local_addr().ok() == stream.peer_addr().ok() => {
                last = io::ErrorKind::ConnectionRefused.into();
            }
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn read_until(stream: &mut TcpStream, mut room: &mut [u8], deadline: Instant) -> io::Result<()> {
    while !room.is_empty() {
        stream.set_read_timeout(Some(some(left(deadline))))?;
        match stream.read(room) {
            Ok(0) => {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "it closed the connection",
                ));
            }
            Ok(count) => room = &mut room[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && left(deadline).is_zero() => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "it waits for other participants, or hangs",
                ));
            }
            Err(error) if again(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits for all others at participant 0; gives their streams in the order of their indices, from 1.
pub(super) fn accept(
    listener: TcpListener,
    participants: u32,
    deadline: Instant,
    limit: Duration,
) -> Result<Vec<TcpStream>, Error> {
    let mut meeting = Meeting {
        participants,
        joined: (1..participants).map(|_| None).collect(),
        pending: Vec::new(),
        strangers: 0,
        last_stranger: None,
    };
    let result = listener
        .set_nonblocking(true)
        .map_err(|error| Error::io("participant 0 cannot listen at the meeting point", error))
        .and_then(|()| meeting.wait(&listener, deadline, limit));
    let code = result.as_ref().err().map_or(DocaError::SUCCESS, Error::code);
    let reason = result.as_ref().err().map(Error::to_string).unwrap_or_default();
    let answer = Answer::message(code, &reason);
    if result.is_err() {
        // Whoever is the cause is among these.
        for pending in &mut meeting.pending {
            let _ = pending.stream.write_all(&answer);
        }
    }
    let mut streams = Vec::new();
    for (stream, index) in meeting.joined.into_iter().zip(1..) {
        let Some(mut stream) = stream else { continue };
        // Nothing was sent before, so the answer fits the socket's buffer.
        let told = stream.write_all(&answer).and_then(|()| stream.set_nodelay(true));
        match told {
            Err(error) if result.is_ok() => {
                return Err(Error::io(format!("participant {index} is gone"), error));
            }
            _ => streams.push(stream),
        }
    }
    result.map(|()| streams)
}

/// Participant 0's side of the meeting.
struct Meeting {
    participants: u32,
    joined: Vec<Option<TcpStream>>,
    pending: Vec<Pending>,
    strangers: usize,
    last_stranger: Option<SocketAddr>,
}

/// A connection that has not greeted yet.
struct Pending {
    stream: TcpStream,
    peer: SocketAddr,
    greeting: [u8; Greeting::LEN],
    filled: usize,
}

enum Heard {
    Nothing,
    Greeting(Greeting),
    Stranger,
}

impl Meeting {
    fn wait(
        &mut self,
        listener: &TcpListener,
        deadline: Instant,
        limit: Duration,
    ) -> Result<(), Error> {
        while self.joined.iter().any(Option::is_none) {
            if left(deadline).is_zero() {
                return Err(self.incomplete(limit));
            }
            self.sleep(listener, left(deadline));
            self.forget_the_gone();
            self.answer_the_door(listener)?;
            self.listen_to_the_pending()?;
        }
        Ok(())
    }

    fn sleep(&self, listener: &TcpListener, limit: Duration) {
        let mut set = PollSet::take();
        set.add(listener.as_raw_fd());
        self.pending.iter().for_each(|pending| set.add(pending.stream.as_raw_fd()));
        self.joined.iter().flatten().for_each(|stream| set.add(stream.as_raw_fd()));
        set.poll(Some(limit));
    }

    /// A participant that ended before the group was complete may come again.
    fn forget_the_gone(&mut self) {
        for joined in &mut self.joined {
            if joined.as_ref().is_some_and(is_gone) {
                *joined = None;
            }
        }
    }

    fn answer_the_door(&mut self, listener: &TcpListener) -> Result<(), Error> {
        loop {
            match listener.accept() {
                Ok((stream, peer)) => {
                    if stream.set_nonblocking(true).is_ok() {
                        self.pending.push(Pending {
                            stream,
                            peer,
                            greeting: [0; Greeting::LEN],
                            filled: 0,
                        });
                    }
                    if self.pending.len() > self.participants as usize + PENDING {
                        let silent = self.pending.remove(0);
                        self.turn_away(silent.peer);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // One that was gone before it was let in.
                Err(error) if again(&error) || error.kind() == io::ErrorKind::ConnectionAborted => {
                }
                Err(error) => return Err(Error::io("participant 0 cannot let anybody in", error)),
            }
        }
    }

    fn listen_to_the_pending(&mut self) -> Result<(), Error> {
        let mut at = 0;
        while let Some(pending) = self.pending.get_mut(at) {
            match pending.hear() {
                Heard::Nothing => at += 1,
                Heard::Stranger => {
                    let stranger = self.pending.swap_remove(at);
                    self.turn_away(stranger.peer);
                }
                Heard::Greeting(greeting) => {
                    // One may have gone and come again at once.
                    self.forget_the_gone();
                    self.check(greeting)?;
                    let pending = self.pending.swap_remove(at);
                    self.joined[greeting.index as usize - 1] = Some(pending.stream);
                }
            }
        }
        Ok(())
    }

    /// Whether someone who greets like this can be one of the group.
    fn check(&self, Greeting { participants, index }: Greeting) -> Result<(), Error> {
        let own = self.participants;
        let text = if participants != own {
            format!(
                "participant {index} was told of {participants} participants, participant 0 of {own}"
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

    fn turn_away(&mut self, stranger: SocketAddr) {
        tracing::warn!("{stranger} came to the rendezvous and is no participant");
        self.strangers += 1;
        self.last_stranger = Some(stranger);
    }

    fn incomplete(&self, limit: Duration) -> Error {
        let missing = self.joined.iter().zip(1u32..).filter(|(joined, _)| joined.is_none());
        let missing: Vec<_> = missing.map(|(_, index)| index.to_string()).collect();
        let mut text = format!(
            "not all {} participants came within {limit:?}: missing {}",
            self.participants,
            missing.join(", ")
        );
        if let Some(last) = self.last_stranger {
            text += &format!(
                "; {} from no participant came, too, the last from {last}",
                Count(self.strangers, "connection")
            );
        }
        Error::new(DocaError::TIME_OUT, text)
    }
}

/// Whether a participant that waits for the others closed its connection, or broke it; it has nothing to say yet.
fn is_gone(stream: &TcpStream) -> bool {
    !matches!(stream.peek(&mut [0]), Err(error) if again(&error))
}

impl Pending {
    fn hear(&mut self) -> Heard {
        loop {
            match self.stream.read(&mut self.greeting[self.filled..]) {
                Ok(0) => return Heard::Stranger,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Heard::Nothing,
                Err(error) if again(&error) => continue,
                Err(_) => return Heard::Stranger,
            }
            if !Greeting::may_begin(&self.greeting[..self.filled]) {
                return Heard::Stranger;
            }
            if self.filled == Greeting::LEN {
                return Greeting::from_bytes(&self.greeting)
                    .map_or(Heard::Stranger, Heard::Greeting);
            }
        }
    }
}

fn again(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// A time limit for a system call, which would take zero for none.
fn some(limit: Duration) -> Duration {
    limit.max(Duration::from_millis(1))
}
