//! One host's connection in the data loop: its task slots, and what is on the way to it.

use std::collections::VecDeque;

use ucx::{AmFlags, CloseMode, Endpoint, Request, Status};
use urom_abi::DocaError;
use urom_abi::extension::LONGEST_FAILURE;
use urom_wire::control::cut;
use urom_wire::frame::{AM_NOTIFICATIONS, MAX_PAYLOAD, NOTIFICATION_HEADER};
use urom_wire::pass::Pass;

use super::ends::Ends;
use super::messages::LinkKey;
use super::outgoing::{Outgoing, Pool};
use super::slot::{NOBODY, Slot, Token};
use crate::host_names::HostName;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) link: LinkKey,
    /// What plugins know it by; never used twice in a worker's life.
    pub(crate) dest_id: u64,
    pub(crate) host: HostName,
    pub(crate) limit: usize,
    /// The longest payload of a notification within that limit, in bytes.
    pub(crate) longest: u64,
    pub(crate) pass: Pass,
    peer_channel: u16,
    slots: Box<[Slot]>,
    /// Frames that UCX has not sent: those in `open` and in `sending`.
    unsent: usize,
    /// Frames that leave at the end of the turn, if there are any, or later if UCX has much unsent:
    /// a buffer that UCX is done with stays here.
    open: Option<Outgoing>,
    /// Whether it is among those that have frames to send.
    pub(crate) is_dirty: bool,
    /// Whether it is among those whose messages are collected.
    pub(crate) is_collected: bool,
    endpoint: Endpoint,
    /// Messages UCX is not done with, oldest first, and how many frames they hold.
    sending: VecDeque<(Request<Outgoing>, usize)>,
    /// The most messages that UCX may have unsent.
    most_unread: usize,
    /// How many of them the sum over all hosts has.
    pub(crate) counted: usize,
    pub(crate) ends: Ends,
}

#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) channel: u16,
    pub(crate) endpoint: Endpoint,
    pub(crate) pass: Pass,
    pub(crate) name: HostName,
}

/// How many messages UCX may have unsent while the next one leaves before it is full. Each has a
/// buffer of its own, however few frames it holds: a host that takes nothing would have one for
/// each of its answers.
const MOST_UNFILLED: usize = 8;

impl Connection {
    pub(crate) fn new(
        link: LinkKey,
        dest_id: u64,
        peer: Peer,
        max_inflight: usize,
        limit: usize,
        most_unread: usize,
    ) -> Connection {
        Connection {
            link,
            dest_id,
            host: peer.name,
            limit,
            longest: limit.saturating_sub(NOTIFICATION_HEADER) as u64,
            pass: peer.pass,
            peer_channel: peer.channel,
            slots: vec![Slot::NEW; max_inflight].into_boxed_slice(),
            unsent: 0,
            open: None,
            is_dirty: false,
            is_collected: false,
            endpoint: peer.endpoint,
            sending: VecDeque::new(),
            most_unread,
            counted: 0,
            ends: Ends::NONE,
        }
    }

    /// The slot for a command that comes now; `None` if the host does something
    /// [wrong](Connection::misuse).
    #[inline]
    pub(crate) fn vacant(&mut self, slot: u16) -> Option<&mut Slot> {
        let most = 2 * self.slots.len();
        self.slots
            .get_mut(usize::from(slot))
            .filter(|state| state.plugin == NOBODY && self.unsent <= most)
    }

    #[cold]
    pub(crate) fn misuse(&self, slot: u16) -> String {
        match self.slots.get(usize::from(slot)) {
            None => {
                format!("task slot {slot} is beyond the {} it asked for", self.slots.len())
            }
            Some(state) if state.plugin != NOBODY => {
                format!("task slot {slot} already has a command in flight")
            }
            // A host that has an answer may use the slot again before UCX tells this side that the
            // answer was sent: that explains one unsent frame for each slot.
            Some(_) => format!(
                "it sends commands without taking the answers ({} are waiting)",
                self.unsent
            ),
        }
    }

    /// Gives a slot back when `plugin` answers what is in flight there. Whether it is.
    #[inline]
    pub(crate) fn vacate(&mut self, slot: u16, generation: u32, plugin: u8) -> bool {
        let asked = Slot { generation, plugin: plugin.into() };
        let Some(state) = self.slots.get_mut(usize::from(slot)).filter(|state| **state == asked)
        else {
            return false;
        };
        state.plugin = NOBODY;
        true
    }

    /// Gives a slot back whose command was answered at once.
    #[inline]
    pub(crate) fn free(&mut self, slot: u16) {
        if let Some(state) = self.slots.get_mut(usize::from(slot)) {
            state.plugin = NOBODY;
        }
    }

    /// The command in flight in a slot, and the place of the plugin at work for it; `channel` is
    /// this connection's.
    pub(crate) fn at(&self, channel: u16, slot: u16) -> Option<(Token, u8)> {
        let state = self.slots.get(usize::from(slot))?;
        Some((Token { channel, slot, generation: state.generation }, state.owner()?))
    }

    /// Gives every slot back; those that had a command in flight.
    pub(crate) fn vacate_all(&mut self) -> Vec<u16> {
        let slots = self.slots.iter_mut().enumerate();
        let taken = slots.filter_map(|(number, slot)| {
            let owner = std::mem::replace(&mut slot.plugin, NOBODY);
            (owner != NOBODY).then_some(number as u16)
        });
        taken.collect()
    }

    /// The commands in flight, and the places of the plugins at work for them; `channel` is this
    /// connection's.
    pub(crate) fn in_flight(&self, channel: u16) -> impl Iterator<Item = (Token, u8)> {
        self.slots.iter().enumerate().filter_map(move |(slot, state)| {
            let token = Token { channel, slot: slot as u16, generation: state.generation };
            state.owner().map(|place| (token, place))
        })
    }

    #[inline]
    pub(crate) fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    pub(crate) fn unread(&self) -> usize {
        self.sending.len()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.unread() > self.most_unread
    }

    /// Adds a notification that a plugin packs; `len` is how long its payload should be, and `why`
    /// the reason of its failure, or nothing. When UCX makes no room for it, the connection is of
    /// no more use.
    #[inline(always)]
    pub(crate) fn notify<E>(
        &mut self,
        pool: &mut Pool,
        slot: u16,
        status: DocaError,
        len: usize,
        why: &str,
        pack: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<Result<(), E>, Status> {
        let (channel, limit) = (self.peer_channel, self.limit);
        let packed = if why.is_empty() {
            self.open_for(pool, len)?.add_packed(channel, slot, status, limit, pack)
        } else {
            // A frame's length has 24 bits.
            let why = cut(why, LONGEST_FAILURE.min(MAX_PAYLOAD.saturating_sub(len)));
            let open = self.open_for(pool, len + why.len())?;
            open.add_explained(channel, slot, status, limit, why, pack)
        };
        self.unsent += usize::from(packed.is_ok());
        Ok(packed)
    }

    pub(crate) fn refuse(
        &mut self,
        pool: &mut Pool,
        slot: u16,
        status: DocaError,
        why: &str,
    ) -> Result<(), Status> {
        let channel = self.peer_channel;
        let why = cut(why, LONGEST_FAILURE);
        self.open_for(pool, why.len())?.add_bare(channel, slot, status, why);
        self.unsent += 1;
        Ok(())
    }

    /// Has a plugin write a notification to the place where it is sent from. `call` gets that place
    /// and gives the length of what it wrote, or what else it did. When UCX makes no room, the
    /// connection is of no more use.
    #[inline(always)]
    pub(crate) fn place<E>(
        &mut self,
        pool: &mut Pool,
        slot: u16,
        call: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<Result<(), E>, Status> {
        let (channel, longest) = (self.peer_channel, self.longest as usize);
        let open = self.open_for(pool, 0)?;
        let len = match call(open.place(longest)) {
            Ok(len) => len,
            Err(other) => return Ok(Err(other)),
        };
        if open.has_room(len) {
            open.commit(channel, slot, len);
        } else {
            self.place_apart(pool, slot, len)?;
        }
        self.unsent += 1;
        Ok(Ok(()))
    }

    /// What a plugin wrote to the place of a notification that was not made one.
    pub(crate) fn written(&mut self, len: usize) -> &[u8] {
        let longest = self.longest as usize;
        self.open.as_mut().map_or(&[], |open| &open.place(longest)[..len])
    }

    /// Puts a notification that was written, and that makes the message too long, into the next
    /// message.
    #[cold]
    fn place_apart(&mut self, pool: &mut Pool, slot: u16, len: usize) -> Result<(), Status> {
        let (channel, longest) = (self.peer_channel, self.longest as usize);
        let mut next = pool.take().begin_with(self.pass);
        if let Some(open) = &mut self.open {
            next.place(longest)[..len].copy_from_slice(&open.place(longest)[..len]);
        }
        next.commit(channel, slot, len);
        self.make_room()?;
        if let Some(empty) = self.open.replace(next) {
            pool.give(empty);
        }
        Ok(())
    }

    /// The message that is being written, with room for a payload of `len` bytes.
    #[inline]
    fn open_for(&mut self, pool: &mut Pool, len: usize) -> Result<&mut Outgoing, Status> {
        if self.open.as_ref().is_some_and(|open| !open.has_room(len)) {
            self.make_room()?;
        }
        Ok(self.open.get_or_insert_with(|| pool.take().begin_with(self.pass)))
    }

    /// Sends what was written, in the middle of a turn.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) -> Result<(), Status> {
        match &mut self.open {
            // The host is given up at the end of the turn. Until then a plugin may have thousands
            // of answers for it.
            Some(open) if self.sending.len() > self.most_unread => {
                self.unsent -= open.frames();
                open.clear();
                Ok(())
            }
            _ => self.send_open(),
        }
    }

    /// Sends what was written, unless UCX has so much unsent that it can wait: then
    /// [`collect`](Connection::collect) sends it, or the next frame for which there is no room.
    #[inline(always)]
    pub(crate) fn flush(&mut self) -> Result<(), Status> {
        if self.sending.len() >= MOST_UNFILLED {
            return Ok(());
        }
        self.send_open()
    }

    #[inline(always)]
    fn send_open(&mut self) -> Result<(), Status> {
        let Some(message) = self.open.take_if(|open| open.frames() > 0) else { return Ok(()) };
        let frames = message.frames();
        match self.endpoint.am_send_now(AM_NOTIFICATIONS, &[], message, AmFlags::EAGER) {
            Ok((result, mut message)) => {
                message.clear();
                self.open = Some(message);
                self.unsent -= frames;
                result
            }
            Err(request) => {
                self.sent_later(request, frames);
                Ok(())
            }
        }
    }

    #[cold]
    fn sent_later(&mut self, request: Request<Outgoing>, frames: usize) {
        self.sending.push_back((request, frames));
    }

    /// Collects what UCX is done with, and sends what waited for that. Whether there was anything.
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
        if any {
            self.flush()?;
        }
        Ok(any)
    }

    /// Begins to wait until everything has left this machine, what was written last included.
    pub(crate) fn flush_endpoint(&mut self) -> Request<()> {
        // One that cannot send has nothing to wait for.
        let _ = self.send_open();
        self.endpoint.flush()
    }

    /// Ends the connection at once; what UCX still has goes on without us. UCX is done with all of
    /// it when it is done with the last message, which is given back.
    pub(crate) fn abandon(mut self) -> Option<Request<Outgoing>> {
        let last = self.sending.pop_back();
        for (request, _) in self.sending {
            request.detach();
        }
        self.endpoint.close(CloseMode::Force);
        last.map(|(request, _)| request)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use ucx::Worker;

    use super::*;
    use urom_wire::frame::{MESSAGE_LEN, notifications};
    use urom_wire::ucx_context::context;

    const LIMIT: usize = 4096;

    fn worker() -> Worker {
        context().build().and_then(|context| context.worker()).unwrap()
    }

    #[test]
    fn a_host_that_takes_nothing_costs_little_more_than_its_frames_and_gets_them_all_later() {
        let (ours, theirs) = (worker(), worker());
        let endpoint = ours.endpoint().connect(&theirs.address().unwrap()).unwrap();
        let got = Rc::new(Cell::new(0));
        let count = Rc::clone(&got);
        let note = move |message: ucx::Message<'_>| {
            let ucx::Data::Eager(bytes) = message.data else { panic!("an eager message") };
            let (_, frames) = Pass::split(bytes).expect("a pass");
            count.set(count.get() + notifications(frames).map(Result::unwrap).count());
        };
        theirs.set_am_handler(AM_NOTIFICATIONS, note).unwrap();
        let peer =
            Peer { channel: 3, endpoint, pass: Pass::new(77), name: HostName::new(1, "host") };
        let (mut connection, mut pool) =
            (Connection::new(1, 1, peer, 1 << 16, LIMIT, usize::MAX), Pool::new(LIMIT));
        let mut turn = |connection: &mut Connection, frames: usize| {
            for _ in 0..frames {
                connection.refuse(&mut pool, 0, DocaError::SHUTDOWN, "").unwrap();
            }
            connection.flush().unwrap();
            ours.progress();
            connection.collect(&mut pool).unwrap();
        };
        turn(&mut connection, 1);
        while got.get() == 0 {
            theirs.progress();
            turn(&mut connection, 0);
        }
        const FRAMES: usize = 100_000;
        let mut bytes = 0;
        for _ in 0..FRAMES {
            turn(&mut connection, 1);
            bytes = bytes.max((connection.sending.len() + 1) * Outgoing::room_for(LIMIT));
        }
        assert!(connection.unsent > FRAMES / 2, "{} are unsent", connection.unsent);
        // A frame is at most half of a message, so all but a few messages are at least half full.
        let most = (MOST_UNFILLED + 2 + 2 * 12 * FRAMES / MESSAGE_LEN) * Outgoing::room_for(LIMIT);
        assert!(bytes <= most && most < 8 << 20, "{bytes} bytes, where {most} are the most");
        while got.get() < FRAMES + 1 {
            theirs.progress();
            turn(&mut connection, 0);
        }
        assert!(connection.unsent == 0 && !connection.is_sending());
    }
}
