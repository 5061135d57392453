//! An all-gather over TCP: for launchers that bring no MPI.

mod join;
mod peer;
mod star;
mod wire;

use std::fmt;
use std::net::{TcpListener, ToSocketAddrs};
use std::time::{Duration, Instant};

use urom_abi::DocaError;

use super::{AllGather, BoxError, Error, busy};
use star::{Hub, Spoke};

/// An all-gather over TCP, for programs that are started without MPI.
///
/// Participant 0 listens on an address that the launcher tells everybody, and the others connect to it. Blocks of any
/// size go through participant 0 and back.
///
/// ```no_run
/// use std::time::Duration;
/// use urom_host::gather::Rendezvous;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let index = std::env::var("RANK")?.parse()?;
/// let participants = std::env::var("SIZE")?.parse()?;
/// let gather = Rendezvous::join("head-node:7357", index, participants, Duration::from_secs(60))?;
/// # Ok(())
/// # }
/// ```
///
/// Whoever can reach the address can disturb the meeting; use it where the program's own traffic is trusted, too.
pub struct Rendezvous {
    index: u32,
    participants: u32,
    limit: Duration,
    role: Role,
    exchange: Option<Exchange>,
    /// Why it is of no further use.
    failed: Option<String>,
}

enum Role {
    /// Participant 0.
    Hub(Hub),
    Spoke(Spoke),
}

struct Exchange {
    deadline: Instant,
    length: usize,
}

impl Rendezvous {
    /// Meets the other participants at `address` and returns when all are there.
    ///
    /// Participant 0 listens there, on any local address if it is unspecified (`0.0.0.0:7357`); the others try to
    /// connect until it does. `limit` is how long this may take, and afterwards how long each exchange may take.
    ///
    /// # Errors
    /// `TIME_OUT` when not all came within `limit`, with the numbers of those who are missing; `INVALID_VALUE` when
    /// the participants do not agree on how many they are, two have the same index, or an index is not below the number
    /// of participants (these end the meeting for all); the system's reason when participant 0 cannot listen.
    /// Connections from strangers are turned away and counted.
    pub fn join(
        address: impl ToSocketAddrs,
        index: u32,
        participants: u32,
        limit: Duration,
    ) -> Result<Rendezvous, Error> {
        if index >= participants {
            let text = format!("there is no participant {index} in a group of {participants}");
            return Err(Error::new(DocaError::INVALID_VALUE, text));
        }
        if index == 0 {
            let listener = TcpListener::bind(address).map_err(|error| {
                Error::io("participant 0 cannot listen at the meeting point", error)
            })?;
            return Rendezvous::host(listener, participants, limit);
        }
        let stream =
            join::connect(address, wire::Greeting { participants, index }, deadline(limit))?;
        Ok(Rendezvous::new(index, participants, limit, Role::Spoke(Spoke::new(stream))))
    }

    /// As [`join`](Self::join), for participant 0, on a listener of its own: for instance one on a port that the system
    /// chose and that the program makes known.
    ///
    /// # Errors
    /// As there.
    ///
    /// ```no_run
    /// use std::net::TcpListener;
    /// use std::time::Duration;
    /// use urom_host::gather::Rendezvous;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let listener = TcpListener::bind("0.0.0.0:0")?;
    /// println!("the others join port {}", listener.local_addr()?.port());
    /// let gather = Rendezvous::host(listener, 4, Duration::from_secs(60))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn host(
        listener: TcpListener,
        participants: u32,
        limit: Duration,
    ) -> Result<Rendezvous, Error> {
        if participants == 0 {
            return Err(Error::new(
                DocaError::INVALID_VALUE,
                "a group has at least one participant",
            ));
        }
        let others = join::accept(listener, participants, deadline(limit), limit)?;
        Ok(Rendezvous::new(0, participants, limit, Role::Hub(Hub::new(others))))
    }

    fn new(index: u32, participants: u32, limit: Duration, role: Role) -> Rendezvous {
        Rendezvous { index, participants, limit, role, exchange: None, failed: None }
    }

    /// Remembers a failure, and ends the connections so that nobody waits for this participant.
    fn fail(&mut self, error: &Error) {
        self.failed = Some(error.to_string());
        match &mut self.role {
            Role::Hub(hub) => hub.fail(error),
            Role::Spoke(spoke) => spoke.close(),
        }
    }

    fn usable(&self) -> Result<(), Error> {
        match &self.failed {
            None => Ok(()),
            Some(why) => {
                let text = format!("the rendezvous has failed before: {why}");
                Err(Error::new(DocaError::BAD_STATE, text))
            }
        }
    }

    fn step(&mut self, blocks: &mut [u8]) -> Result<bool, Error> {
        let Some(exchange) = &self.exchange else {
            return Err(Error::new(DocaError::BAD_STATE, "no exchange is under way"));
        };
        if blocks.len() != exchange.length * self.participants as usize {
            let text = format!(
                "room for {} bytes is not what {} blocks take",
                blocks.len(),
                self.participants
            );
            return Err(Error::new(DocaError::INVALID_VALUE, text));
        }
        let done = match &mut self.role {
            Role::Hub(hub) => hub.step(blocks)?,
            Role::Spoke(spoke) => spoke.step(blocks)?,
        };
        if !done && Instant::now() >= exchange.deadline {
            let whom = match &self.role {
                Role::Hub(hub) => hub.waits_for(),
                Role::Spoke(_) => "participant 0".into(),
            };
            let text =
                format!("the exchange took longer than {:?}: nothing came from {whom}", self.limit);
            return Err(Error::new(DocaError::TIME_OUT, text));
        }
        Ok(done)
    }
}

impl AllGather for Rendezvous {
    fn participants(&self) -> u32 {
        self.participants
    }

    fn index(&self) -> u32 {
        self.index
    }

    fn begin(&mut self, block: &[u8]) -> Result<(), BoxError> {
        self.usable()?;
        if self.exchange.is_some() {
            return Err(busy());
        }
        self.exchange = Some(Exchange { deadline: deadline(self.limit), length: block.len() });
        match &mut self.role {
            Role::Hub(hub) => hub.begin(block),
            Role::Spoke(spoke) => spoke.begin(block),
        }
        Ok(())
    }

    fn test(&mut self, blocks: &mut [u8]) -> Result<bool, BoxError> {
        self.usable()?;
        let done = self.step(blocks).inspect_err(|error| self.fail(error))?;
        if done {
            self.exchange = None;
        }
        Ok(done)
    }
}

impl fmt::Debug for Rendezvous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendezvous")
            .field("index", &self.index)
            .field("participants", &self.participants)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

/// A moment `limit` from now; a year stands for anything longer.
fn deadline(limit: Duration) -> Instant {
    Instant::now() + limit.min(Duration::from_secs(365 * 24 * 3600))
}
