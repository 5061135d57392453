//! An all-gather over TCP, for launchers without MPI: every participant sends its block to
//! participant 0, which sends all blocks to all participants.

pub(super) mod address;
mod link;
mod meeting;

use std::fmt;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use urom_abi::DocaError;
use urom_os::fork::Maker;

use super::{AllGather, BoxError, Error, busy, check, idle};
use address::MeetingAddress;
use link::{BLOCKS, Link, frame};

/// An all-gather over TCP, for programs started without MPI.
///
/// Participant 0 listens on a known address, and the others connect. Blocks may have any size.
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
/// Anyone who can reach the address can disturb the meeting: use it in a trusted network.
pub struct Rendezvous {
    maker: Maker,
    index: u32,
    participants: u32,
    pub(super) limit: Duration,
    /// At participant 0: all others, by index. At the others: participant 0.
    links: Vec<Link>,
    number: u32,
    exchange: Option<PendingGather>,
    failed: Option<String>,
}

struct PendingGather {
    deadline: Instant,
    block: Vec<u8>,
    /// The frame to send. At participant 0: all blocks, once they have arrived.
    frame: Vec<u8>,
}

impl Rendezvous {
    /// Meets the other participants at `address` and returns when all have arrived.
    ///
    /// Participant 0 listens there (on all local addresses for `0.0.0.0:7357`); the others try to
    /// connect until it does. `limit` applies to the meeting, and to each exchange.
    ///
    /// A name may have other addresses on another machine. Participant 0 listens at all addresses
    /// of the name on its machine. If these are only loopback addresses, as in Debian's
    /// `/etc/hosts`, it listens at all addresses of the machine, unless the name is `localhost`.
    ///
    /// # Errors
    /// `TIME_OUT` when some participants did not arrive within `limit`, with their numbers;
    /// `INVALID_VALUE` when the participants disagree on their number, two have the same index, or
    /// an index is too large (these end the meeting for all); the system's error when participant 0
    /// cannot listen. Unknown connections are refused and counted.
    pub fn join(
        address: impl fmt::Display,
        index: u32,
        participants: u32,
        limit: Duration,
    ) -> Result<Rendezvous, Error> {
        if index >= participants {
            let text = format!("participant {index} is not in a group of {participants}");
            return Err(Error::new(DocaError::INVALID_VALUE, text));
        }
        let address = MeetingAddress::new(address);
        if index == 0 {
            let links = meeting::accept(&address.listen()?, participants, limit)?;
            return Ok(Rendezvous::new(0, participants, limit, links));
        }
        Rendezvous::visit(&address, index, participants, limit)
    }

    pub(super) fn visit(
        address: &MeetingAddress,
        index: u32,
        participants: u32,
        limit: Duration,
    ) -> Result<Rendezvous, Error> {
        let link = meeting::connect(address, index, participants, deadline(limit))?;
        Ok(Rendezvous::new(index, participants, limit, vec![link]))
    }

    /// As [`join`](Self::join), for participant 0 with a listener, such as on a system-chosen port.
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub fn host(
        listener: TcpListener,
        participants: u32,
        limit: Duration,
    ) -> Result<Rendezvous, Error> {
        if participants == 0 {
            let text = "a group has at least one participant";
            return Err(Error::new(DocaError::INVALID_VALUE, text));
        }
        let links = meeting::accept(&[listener], participants, limit)?;
        Ok(Rendezvous::new(0, participants, limit, links))
    }

    fn new(index: u32, participants: u32, limit: Duration, links: Vec<Link>) -> Rendezvous {
        let (maker, number, exchange, failed) = (Maker::here(), 1, None, None);
        Rendezvous { maker, index, participants, limit, links, number, exchange, failed }
    }

    /// Stores a failure, and ends the connections so that no participant waits for this one.
    fn fail(&mut self, error: &Error) {
        self.failed = Some(error.to_string());
        let frame = self.exchange.take().map_or(0, |exchange| exchange.frame.len());
        for mut link in std::mem::take(&mut self.links) {
            if self.index == 0 && (link.sent == 0 || link.sent == frame) {
                link.tell(error);
            }
        }
    }

    fn usable(&self) -> Result<(), Error> {
        check(self.maker)?;
        let Some(why) = &self.failed else { return Ok(()) };
        let text = format!("the rendezvous has failed before: {why}");
        Err(Error::new(DocaError::BAD_STATE, text))
    }

    fn step(&mut self, blocks: &mut [u8]) -> Result<bool, Error> {
        let Some(PendingGather { deadline, block, frame: own }) = &mut self.exchange else {
            return Err(idle());
        };
        let length = block.len();
        if blocks.len() != length * self.participants as usize {
            let (found, participants) = (blocks.len(), self.participants);
            let text = format!("a buffer of {found} bytes does not hold {participants} blocks");
            return Err(Error::new(DocaError::INVALID_VALUE, text));
        }
        let wanted = if self.index == 0 { length } else { blocks.len() };
        let mut over = true;
        for link in &mut self.links {
            let sent = link.send(own);
            // Participant 0 may have sent its reason before it closed the connection.
            let number = link.receive(BLOCKS, wanted, self.index)?;
            if number.is_some_and(|number| number != self.number) {
                return Err(link.nonsense());
            }
            link.is_late = number.is_none() | !sent?;
            over &= !link.is_late;
        }
        if !over && Instant::now() >= *deadline {
            let late = self.links.iter().filter(|link| link.is_late);
            let late: Vec<_> = late.map(|link| format!("participant {}", link.index)).collect();
            let (limit, late) = (self.limit, late.join(", "));
            let text = format!("the exchange took longer than {limit:?}: nothing came from {late}");
            return Err(Error::new(DocaError::TIME_OUT, text));
        }
        if over && self.index > 0 {
            self.links.iter().for_each(|link| blocks.copy_from_slice(link.body()));
        } else if over && own.is_empty() {
            blocks[..length].copy_from_slice(block);
            for link in &self.links {
                blocks[link.index as usize * length..][..length].copy_from_slice(link.body());
            }
            *own = frame(BLOCKS, self.number, blocks);
            return self.step(blocks);
        }
        Ok(over)
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
        let frame = if self.index == 0 { Vec::new() } else { frame(BLOCKS, self.number, block) };
        let (deadline, block) = (deadline(self.limit), block.to_vec());
        self.exchange = Some(PendingGather { deadline, block, frame });
        Ok(())
    }

    fn test(&mut self, blocks: &mut [u8]) -> Result<bool, BoxError> {
        self.usable()?;
        let over = self.step(blocks).inspect_err(|error| self.fail(error))?;
        if over {
            self.exchange = None;
            self.number = self.number.wrapping_add(1);
            self.links.iter_mut().for_each(Link::next_exchange);
        }
        Ok(over)
    }
}

debug_fields!(Rendezvous, |it| {
    index: it.index,
    participants: it.participants,
    failed: it.failed
});

pub(super) fn deadline(limit: Duration) -> Instant {
    Instant::now() + limit.min(Duration::from_secs(365 * 24 * 3600))
}
