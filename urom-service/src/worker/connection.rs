//! One host's connection in the data loop: its task slots, and what is on the way to it.

use std::collections::VecDeque;

use ucx::{AmFlags, CloseMode, Endpoint, Request, Status};
use urom_abi::DocaError;

use super::messages::LinkKey;
use super::outgoing::{Outgoing, Pool};
use crate::wire::frame::AM_NOTIFICATIONS;

/// A connection of a host.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Its control stream.
    pub(crate) link: LinkKey,
    /// What plugins know it by; never used twice in a worker's life.
    pub(crate) dest_id: u64,
    /// The message limit in bytes.
    pub(crate) limit: usize,
    /// The host's number for it.
    peer_channel: u16,
    endpoint: Endpoint,
    slots: Vec<Slot>,
    /// Frames that leave at the end of the turn.
    open: Option<Outgoing>,
    /// Messages UCX is not done with, oldest first, and how many frames they hold.
    sending: VecDeque<(Request<Outgoing>, usize)>,
    /// Frames in `open` and `sending`.
    unsent: usize,
}

/// One of a host's task slots.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// Counts the slot's commands, so that an old answer is not taken for a new one.
    generation: u32,
    /// The place of the plugin that is at work for it.
    plugin: Option<u8>,
}

/// What stands in a command's `urom_context`: where its notification belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) channel: u16,
    pub(crate) slot: u16,
    pub(crate) generation: u32,
}

impl Token {
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.channel) << 48 | u64::from(self.slot) << 32 | u64::from(self.generation)
    }

    pub(crate) fn unpack(token: u64) -> Token {
        Token { channel: (token >> 48) as u16, slot: (token >> 32) as u16, generation: token as u32 }
    }
}

/// Why a host's command is no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SlotError {
    #[error("task slot {slot} is beyond the {limit} it asked for")]
    Beyond { slot: u16, limit: usize },
    #[error("task slot {slot} already has a command in flight")]
    Busy { slot: u16 },
    #[error("it sends commands without taking the answers ({unsent} are waiting)")]
    Flood { unsent: usize },
}

impl Connection {
    pub(crate) fn new(
        link: LinkKey,
        dest_id: u64,
        peer_channel: u16,
        endpoint: Endpoint,
        max_inflight: usize,
        limit: usize,
    ) -> Connection {
        Connection {
            link,
            dest_id,
            limit,
            peer_channel,
            endpoint,
            slots: vec![Slot::default(); max_inflight],
            open: None,
            sending: VecDeque::new(),
            unsent: 0,
        }
    }

    /// Whether a command may come in this slot now.
    ///
    /// # Errors
    /// What the host does wrong.
    pub(crate) fn check(&self, slot: u16) -> Result<(), SlotError> {
        let limit = self.slots.len();
        let state = self.slots.get(usize::from(slot)).ok_or(SlotError::Beyond { slot, limit })?;
        if state.plugin.is_some() {
            return Err(SlotError::Busy { slot });
        }
        // A host that has an answer may use the slot again before UCX tells this side that the answer was sent: that
        // explains one unsent frame for each slot.
        if self.unsent > 2 * limit {
            return Err(SlotError::Flood { unsent: self.unsent });
        }
        Ok(())
    }

    /// Takes a slot for a command to the plugin at place `plugin`; the generation it now has.
    pub(crate) fn occupy(&mut self, slot: u16, plugin: u8) -> u32 {
        let Some(slot) = self.slots.get_mut(usize::from(slot)) else { return 0 };
        slot.plugin = Some(plugin);
        slot.generation = slot.generation.wrapping_add(1);
        slot.generation
    }

    /// Gives a slot back when `plugin` answers what is in flight there. Whether it is.
    pub(crate) fn vacate(&mut self, slot: u16, generation: u32, plugin: u8) -> bool {
        match self.slots.get_mut(usize::from(slot)) {
            Some(state) if state.plugin == Some(plugin) && state.generation == generation => {
                state.plugin = None;
                true
            }
            _ => false,
        }
    }

    /// Gives every slot back; those that had a command in flight.
    pub(crate) fn vacate_all(&mut self) -> Vec<u16> {
        let slots = self.slots.iter_mut().enumerate();
        slots.filter_map(|(number, slot)| slot.plugin.take().map(|_| number as u16)).collect()
    }

    /// The commands in flight, and the places of the plugins at work for them; `channel` is this connection's.
    pub(crate) fn in_flight(&self, channel: u16) -> impl Iterator<Item = (Token, u8)> {
        self.slots.iter().enumerate().filter_map(move |(slot, state)| {
            let token = Token { channel, slot: slot as u16, generation: state.generation };
            state.plugin.map(|place| (token, place))
        })
    }

    /// Whether frames wait for the end of the turn.
    pub(crate) fn has_frames(&self) -> bool {
        self.open.is_some()
    }

    /// Whether UCX is not done with a message.
    pub(crate) fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    /// Adds a notification that a plugin packs; `len` is how long its payload should be.
    ///
    /// # Errors
    /// That of `pack`, or UCX's while making room.
    pub(crate) fn notify(
        &mut self,
        pool: &mut Pool,
        slot: u16,
        status: DocaError,
        len: usize,
        pack: impl FnOnce(&mut [u8]) -> Result<usize, DocaError>,
    ) -> Result<Result<(), DocaError>, Status> {
        let (channel, limit) = (self.peer_channel, self.limit);
        let open = self.open_for(pool, len)?;
        let packed = open.add_packed(channel, slot, status, limit, pack);
        self.unsent += usize::from(packed.is_ok());
        Ok(packed)
    }

    /// Adds a notification of the worker's own.
    ///
    /// # Errors
    /// UCX's, while making room.
    pub(crate) fn refuse(&mut self, pool: &mut Pool, slot: u16, status: DocaError) -> Result<(), Status> {
        let channel = self.peer_channel;
        self.open_for(pool, 0)?.add_bare(channel, slot, status);
        self.unsent += 1;
        Ok(())
    }

    /// The message that is being written, with room for a payload of `len` bytes.
    fn open_for(&mut self, pool: &mut Pool, len: usize) -> Result<&mut Outgoing, Status> {
        if self.open.as_ref().is_some_and(|open| !open.has_room(len)) {
            self.flush(pool)?;
        }
        Ok(self.open.get_or_insert_with(|| pool.take()))
    }

    /// Sends what was written.
    ///
    /// # Errors
    /// UCX's: the connection is of no more use.
    pub(crate) fn flush(&mut self, pool: &mut Pool) -> Result<(), Status> {
        let Some(message) = self.open.take() else { return Ok(()) };
        let frames = message.frames();
        if frames == 0 {
            pool.give(message);
            return Ok(());
        }
        match self.endpoint.am_send_with(AM_NOTIFICATIONS, &[], message, AmFlags::EAGER).into_done() {
            Ok((result, message)) => {
                self.unsent -= frames;
                pool.give(message);
                result
            }
            Err(request) => {
                self.sending.push_back((request, frames));
                Ok(())
            }
        }
    }

    /// Collects what UCX is done with. Whether that was anything.
    ///
    /// # Errors
    /// UCX's: the connection is of no more use.
    pub(crate) fn collect(&mut self, pool: &mut Pool) -> Result<bool, Status> {
        let mut any = false;
        while let Some((request, frames)) = self.sending.pop_front() {
            match request.into_done() {
                Ok((result, message)) => {
                    self.unsent -= frames;
                    pool.give(message);
                    result?;
                    any = true;
                }
                Err(request) => {
                    self.sending.push_front((request, frames));
                    break;
                }
            }
        }
        Ok(any)
    }

    /// Begins to wait until everything that was sent has left this machine.
    pub(crate) fn flush_endpoint(&self) -> Request<()> {
        self.endpoint.flush()
    }

    /// Ends the connection at once; what UCX still has goes on without us.
    pub(crate) fn abandon(self) {
        for (request, _) in self.sending {
            request.detach();
        }
        // Goes on by itself, or is never over with a peer that is gone: nothing waits for it.
        drop(self.endpoint.close(CloseMode::Force));
    }
}
