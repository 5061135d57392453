//! Messages of hosts about the memory that they share, and their hand-overs at the door.

use std::io;
use std::os::fd::OwnedFd;

use tokio::net::UnixStream;
use tokio::sync::mpsc::error::TrySendError;
use urom_abi::DocaError;
use urom_wire::control::{DoorAddress, Failure, MemoryAnswer, MemoryWord, WorkerToHost};
use urom_wire::memory::{Handed, LEASE, RING, Slip, machine, say_taken};
use urom_wire::ring::{self, DESCRIPTORS};

use super::{Control, ControlEvent};
use crate::worker::memory::HandedOffer;
use crate::worker::memory::door::{Door, Handover};
use crate::worker::messages::{EndOfShare, LinkKey, ToData, Turn};

/// How many memories a host may have handed over that it has not offered.
const MOST_HANDED: usize = 64;

impl Control {
    pub(super) fn hear_of_memory(&mut self, key: LinkKey, word: MemoryWord, turn: Turn) {
        match word {
            MemoryWord::Share(offer) => {
                let Some(link) = self.links.get_mut(&key) else { return };
                // Also what was handed over too late to be offered so.
                let handed = link.handed.remove(&offer.share);
                let ticket = link.ticket.unwrap_or_default();
                let shared = HandedOffer { offer, handed, ticket };
                self.mailbox.post(ToData::Share { link: key, shared, turn });
            }
            MemoryWord::End { memory, share, after } => {
                let end = EndOfShare { memory, share, after };
                self.mailbox.post(ToData::Unshare { link: key, end, turn });
            }
            MemoryWord::Leave => self.mailbox.post(ToData::Leave { link: key }),
        }
    }

    /// The address of the door, which is opened for the first host.
    pub(super) fn door_address(&mut self) -> DoorAddress {
        if let Some(address) = &self.door_address {
            return address.clone();
        }
        let address = match Door::open(self.config.id, self.config.socket.as_deref()) {
            Ok(door) => {
                let address = door.address();
                self.timers.spawn(door.keep(self.events.clone(), ControlEvent::AtDoor));
                address
            }
            Err(problem) => {
                limited!(
                    warn,
                    "hosts cannot hand over rings and memory, which makes both slower: {problem}"
                );
                Vec::new()
            }
        };
        self.door_address.insert(DoorAddress { address, machine: machine() }).clone()
    }

    /// Keeps what was handed over for the host whose ticket came with it, or gives it its lease.
    pub(super) fn at_door(&mut self, visitor: Handover) {
        let Handover { mut handed, stream } = visitor;
        let Slip { ticket, share } = handed.slip;
        let of_ticket = |(_, link): &(_, &mut super::Link)| link.ticket == Some(ticket);
        // One without a ticket is told nothing: the connection closes.
        let Some((&key, link)) = self.links.iter_mut().find(of_ticket) else { return };
        let is_lease = share == LEASE;
        if share == RING {
            if !link.is_reached {
                self.ring_at_door(key, handed, &stream);
            }
            return;
        }
        // A host may have given up before it had the answer, and asks for its lease again.
        let is_over = if is_lease { link.has_handed } else { link.handed.len() >= MOST_HANDED };
        if is_over || say_taken(&stream).is_err() {
            return;
        }
        if !is_lease {
            link.has_handed = true;
            // A memory has one descriptor.
            handed.fds.truncate(1);
            link.handed.insert(share, handed);
        } else if let Ok(lease) = stream.into_std() {
            self.mailbox.post(ToData::Lease { link: key, lease: lease.into() });
        }
    }

    /// Gives a host's ring to the data thread. A host whose ring is not taken goes over UCX.
    fn ring_at_door(&mut self, link: LinkKey, handed: Handed, stream: &UnixStream) {
        let taken = match <[OwnedFd; DESCRIPTORS]>::try_from(handed.fds) {
            Ok(fds) => ring::open(fds, self.config.max_message),
            Err(_) => Err(io::ErrorKind::InvalidInput.into()),
        };
        match taken {
            Ok((ring, bell)) => {
                // A host that does not wait for the answer goes over UCX.
                if say_taken(stream).is_ok()
                    && let Some(host) = self.links.get_mut(&link)
                {
                    host.is_reached = true;
                    self.mailbox.post(ToData::Ring { link, ring, bell });
                }
            }
            Err(problem) => limited!(warn, "the ring of a host cannot be used: {problem}"),
        }
    }

    pub(super) fn say_of_memory(&mut self, key: LinkKey, answer: MemoryAnswer) {
        let Some(link) = self.links.get(&key) else { return };
        // The host keeps the memory until it has the answer, so that none may be left out. One that
        // has left hears the end of its lease.
        if let Err(TrySendError::Full(_)) = link.outbox.try_send(WorkerToHost::Memory(answer)) {
            let text = "the host does not read what it is told of its memory";
            self.throw_out(key, Failure::new(DocaError::FULL, text));
        }
    }
}
