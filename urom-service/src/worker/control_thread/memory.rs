//! Hosts' messages about shared memory, and their handovers through the socket.

use std::io;
use std::os::fd::OwnedFd;

use tokio::net::UnixStream;
use tokio::sync::mpsc::error::TrySendError;
use urom_abi::DocaError;
use urom_wire::control::{Failure, HandoverAddress, MemoryAnswer, MemoryWord, WorkerToHost};
use urom_wire::frame::TRACED_LEN;
use urom_wire::memory::{Handed, RING, Slip, USE_GUARD, confirm_taken, machine};
use urom_wire::ring::{self, DESCRIPTORS};

use super::{ControlEvent, ControlState};
use crate::worker::memory::HandedOffer;
use crate::worker::memory::handover::{Handover, HandoverSocket};
use crate::worker::messages::{EndOfShare, LinkKey, ToData, TurnPermit};

/// Limit of memories that a host has handed over but not offered.
const MOST_HANDED: usize = 64;

impl ControlState {
    pub(super) fn on_memory_message(&mut self, key: LinkKey, word: MemoryWord, turn: TurnPermit) {
        match word {
            MemoryWord::Share(offer) => {
                let Some(link) = self.links.get_mut(&key) else { return };
                // Even a late handover, which the offer does not mention.
                let handed = link.handed.remove(&offer.share);
                let token = link.token.unwrap_or_default();
                let shared = HandedOffer { offer, handed, token };
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
    pub(super) fn handover_address(&mut self) -> HandoverAddress {
        if let Some(address) = &self.handover_address {
            return address.clone();
        }
        let address = match HandoverSocket::open(self.config.id, self.config.socket.as_deref()) {
            Ok(socket) => {
                let address = socket.address();
                self.timers.spawn(socket.keep(self.events.clone(), ControlEvent::Handover));
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
        self.handover_address.insert(HandoverAddress { address, machine: machine() }).clone()
    }

    /// Stores a handover for the host with its token, or gives the host its use guard.
    pub(super) fn at_socket(&mut self, visitor: Handover) {
        let Handover { mut handed, stream } = visitor;
        let Slip { token, share } = handed.slip;
        let of_token = |(_, link): &(_, &mut super::ControlLink)| link.token == Some(token);
        // Without a valid token, the connection just closes.
        let Some((&key, link)) = self.links.iter_mut().find(of_token) else { return };
        let is_use_guard = share == USE_GUARD;
        if share == RING {
            if !link.is_reached {
                self.ring_handed_over(key, handed, &stream);
            }
            return;
        }
        // A host may have timed out before the answer, and asks again for its use guard.
        let is_over = if is_use_guard { link.has_handed } else { link.handed.len() >= MOST_HANDED };
        if is_over || confirm_taken(&stream).is_err() {
            return;
        }
        if !is_use_guard {
            link.has_handed = true;
            // A memory has one descriptor.
            handed.fds.truncate(1);
            link.handed.insert(share, handed);
        } else if let Ok(use_guard) = stream.into_std() {
            self.mailbox.post(ToData::UseGuard { link: key, use_guard: use_guard.into() });
        }
    }

    /// Gives a host's ring to the data thread. If the ring is refused, the host uses UCX.
    fn ring_handed_over(&mut self, link: LinkKey, handed: Handed, stream: &UnixStream) {
        let taken = match <[OwnedFd; DESCRIPTORS]>::try_from(handed.fds) {
            Ok(fds) => ring::open(fds, self.config.max_message + TRACED_LEN),
            Err(_) => Err(io::ErrorKind::InvalidInput.into()),
        };
        match taken {
            Ok((ring, bell)) => {
                // A host that does not wait for the answer uses UCX.
                if confirm_taken(stream).is_ok()
                    && let Some(host) = self.links.get_mut(&link)
                {
                    host.is_reached = true;
                    self.mailbox.post(ToData::Ring { link, ring, bell });
                }
            }
            Err(problem) => limited!(warn, "the ring of a host cannot be used: {problem}"),
        }
    }

    pub(super) fn send_memory_answer(&mut self, key: LinkKey, answer: MemoryAnswer) {
        let Some(link) = self.links.get(&key) else { return };
        // The host keeps its memory until this answer. A host that left sees its use guard end.
        if let Err(TrySendError::Full(_)) = link.outbox.try_send(WorkerToHost::Memory(answer)) {
            let text = "the host does not read messages about its memory";
            self.disconnect(key, Failure::new(DocaError::FULL, text));
        }
    }
}
