//! Hosts' messages about shared memory, and their handovers through the socket.

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

/// Limit of memories that a host has handed over but not offered.
const MOST_HANDED: usize = 64;

impl Control {
    pub(super) fn hear_of_memory(&mut self, key: LinkKey, word: MemoryWord, turn: Turn) {
        match word {
            MemoryWord::Share(offer) => {
                let Some(link) = self.links.get_mut(&key) else { return };
                // Even a late handover, which the offer does not mention.
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

    /// Returns the socket's address; opens the socket for the first host.
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

    /// Stores a handover for the host with its ticket, or gives the host its lease.
    pub(super) fn at_door(&mut self, visitor: Handover) {
        let Handover { mut handed, stream } = visitor;
        let Slip { ticket, share } = handed.slip;
        let of_ticket = |(_, link): &(_, &mut super::Link)| link.ticket == Some(ticket);
        // Without a valid ticket, the connection just closes.
        let Some((&key, link)) = self.links.iter_mut().find(of_ticket) else { return };
        let is_lease = share == LEASE;
        if share == RING {
            if !link.is_reached {
                self.ring_at_door(key, handed, &stream);
            }
            return;
        }
        // A host may have timed out before the answer, and asks again for its lease.
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

    /// Gives a host's ring to the data thread. If the ring is refused, the host uses UCX.
    fn ring_at_door(&mut self, link: LinkKey, handed: Handed, stream: &UnixStream) {
        let taken = match <[OwnedFd; DESCRIPTORS]>::try_from(handed.fds) {
            Ok(fds) => ring::open(fds, self.config.max_message),
            Err(_) => Err(io::ErrorKind::InvalidInput.into()),
        };
        match taken {
            Ok((ring, bell)) => {
                // A host that does not wait for the answer uses UCX.
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
        // The host keeps its memory until this answer. A host that left sees its lease end.
        if let Err(TrySendError::Full(_)) = link.outbox.try_send(WorkerToHost::Memory(answer)) {
            let text = "the host does not read messages about its memory";
            self.throw_out(key, Failure::new(DocaError::FULL, text));
        }
    }
}
