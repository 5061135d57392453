//! The way back to the hosts: notifications into messages, messages out, and the ends of connections.

use std::collections::HashMap;

use tracing::{debug, warn};
use ucx::Status;
use urom_abi::DocaError;
use urom_abi::descriptor::NotificationDesc;
use urom_abi::plugin::WorkerNotify;

use super::connection::{Connection, NotifyError};
use super::connections::Connections;
use super::control::ControlHandle;
use super::instance::Instance;
use super::messages::ToControl;
use super::outgoing::Pool;
use super::slot::Token;
use super::throttle::Throttle;
use crate::wire::control::Failure;
use crate::wire::frame::{MAX_SLOTS, MAX_STATUS, NOTIFICATION_HEADER};
use crate::wire::pass::first_channel;

/// How many commands of hosts that are gone may wait for their plugins before no more hosts are let in: four times what one host
/// may have in flight.
const MOST_ORPHANS: usize = 4 * MAX_SLOTS;

/// The connections of hosts, and what is on the way to them.
#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) connections: Connections,
    /// The channel of the first connection with frames that leave at the end of the turn, 0 for none; each knows the next.
    dirty: u16,
    /// Connections with messages UCX is not done with.
    sending: Vec<u16>,
    /// Connections found to be of no more use during this turn, and why.
    lost: Vec<(u16, Failure)>,
    pool: Pool,
    /// The plugins' places by the contexts and destinations of commands whose hosts are gone.
    orphans: HashMap<(u64, u64), u8>,
    control: ControlHandle,
    forged: Throttle,
    refused: Throttle,
    strange: Throttle,
}

impl Hosts {
    pub(crate) fn new(max_message: usize, control: ControlHandle) -> Hosts {
        Hosts {
            connections: Connections::new(first_channel()),
            dirty: 0,
            sending: Vec::new(),
            lost: Vec::new(),
            pool: Pool::new(max_message),
            orphans: HashMap::new(),
            control,
            forged: Throttle::default(),
            refused: Throttle::default(),
            strange: Throttle::default(),
        }
    }

    /// Whether UCX is not done with a message.
    #[inline]
    pub(crate) fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    /// Fails when plugins have left so many commands of hosts that are gone unanswered that no more may come: each takes memory,
    /// here and in its plugin.
    pub(crate) fn check_orphans(&self) -> Result<(), Failure> {
        let count = self.orphans.len();
        if count < MOST_ORPHANS {
            return Ok(());
        }
        let text = format!(
            "the plugins of this worker have left {count} commands of hosts that are gone unanswered, and {MOST_ORPHANS} is \
             the limit: use another worker, or start this one again when its last host has left"
        );
        Err(Failure::new(DocaError::FULL, text))
    }

    /// Whether there is no connection, and nothing is left of an earlier one.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn is_empty(&mut self) -> bool {
        self.connections.iter_mut().next().is_none() && self.orphans.is_empty()
    }

    /// Ends the connection of a host that uses this slot and may not.
    #[cold]
    pub(crate) fn throw_out(&mut self, channel: u16, slot: u16) {
        // Until the end of the turn there may be thousands of these, and one is enough.
        if self.lost.iter().any(|(lost, _)| *lost == channel) {
            return;
        }
        let Some(connection) = self.connections.get(channel) else { return };
        let text = format!("the worker threw the host out: {}", connection.misuse(slot));
        self.lose(channel, Failure::new(DocaError::BAD_STATE, text));
    }

    /// Answers a command that no plugin gets.
    #[cold]
    pub(crate) fn refuse(&mut self, channel: u16, slot: u16, code: DocaError, why: &str) {
        if let Some(count) = self.refused.count() {
            match self.connections.get(channel) {
                Some(connection) => warn!("refused a command of {}: {why}: {code}{count}", connection.host),
                None => warn!("refused a command: {why}: {code}{count}"),
            }
        }
        self.answer(channel, slot, code);
    }

    /// Sends a notification of the worker's own.
    #[cold]
    fn answer(&mut self, channel: u16, slot: u16, code: DocaError) {
        let Some(connection) = self.connections.get(channel) else { return };
        match connection.refuse(&mut self.pool, slot, code) {
            Ok(()) => join(&mut self.dirty, channel, connection),
            Err(status) => self.lose(channel, unsendable(status)),
        }
    }

    /// Answers every command in flight.
    pub(crate) fn answer_all(&mut self, code: DocaError) {
        let mut unanswered = Vec::new();
        for (channel, connection) in self.connections.iter_mut() {
            unanswered.extend(connection.vacate_all().into_iter().map(|slot| (channel, slot)));
        }
        for (channel, slot) in unanswered {
            self.answer(channel, slot, code);
        }
    }

    /// Answers the commands that a plugin left behind.
    #[cold]
    pub(crate) fn give_up(&mut self, plugin: &mut Instance, place: usize, code: DocaError) {
        while let Some(command) = plugin.take_back() {
            let token = Token::unpack(command.header().urom_context);
            self.orphans.remove(&(token.pack(), command.dest_id()));
            let Some(connection) = self.connections.get(token.channel) else { continue };
            let is_its = connection.dest_id == command.dest_id();
            if is_its && connection.vacate(token.slot, token.generation, place as u8) {
                self.refuse(token.channel, token.slot, code, "its plugin did not take it");
            }
        }
    }

    /// A plugin's answer.
    #[inline(always)]
    pub(crate) fn notification(
        &mut self,
        plugin: &mut Instance,
        place: usize,
        notification: NotificationDesc,
    ) {
        let &WorkerNotify { urom_context, len, status, .. } = notification.header();
        let dest_id = notification.dest_id();
        let token = Token::unpack(urom_context);
        let Some(connection) = self.connections.get(token.channel) else {
            return self.unasked(plugin, place, urom_context, dest_id);
        };
        if connection.dest_id != dest_id || !connection.vacate(token.slot, token.generation, place as u8) {
            return self.unasked(plugin, place, urom_context, dest_id);
        }
        plugin.answered();
        if len > connection.longest {
            return self.too_long(plugin, token, len);
        }
        if status.0 > MAX_STATUS {
            note_strange(&mut self.strange, &plugin.name, status);
        }
        // Not above the limit, which is one.
        let len = len as usize;
        let pack = |place: &mut [u8]| plugin.pack(notification, place);
        match connection.notify(&mut self.pool, token.slot, status, len, pack) {
            Ok(()) => join(&mut self.dirty, token.channel, connection),
            Err(error) => self.unpacked(plugin, token, error),
        }
    }

    /// Answers in place of a plugin whose answer is over the limit.
    #[cold]
    fn too_long(&mut self, plugin: &Instance, token: Token, len: u64) {
        let Some(connection) = self.connections.get(token.channel) else { return };
        let (name, limit) = (&plugin.name, connection.limit);
        let why = format!(
            "plugin `{name}` answered it with {len} bytes and a header of {NOTIFICATION_HEADER}, over the message limit \
             of {limit}, which is the smaller one of service and host"
        );
        self.refuse(token.channel, token.slot, DocaError::TOO_BIG, &why);
    }

    /// Answers in place of a plugin that could not pack its answer, or ends a connection that cannot send.
    #[cold]
    fn unpacked(&mut self, plugin: &Instance, token: Token, error: NotifyError) {
        match error {
            NotifyError::Send(status) => self.lose(token.channel, unsendable(status)),
            NotifyError::Pack(error) => {
                let why = format!("plugin `{}` could not pack its answer: {error}", plugin.name);
                self.refuse(token.channel, token.slot, error.code(), &why);
            }
        }
    }

    /// A notification that answers no command in flight.
    #[cold]
    fn unasked(&mut self, plugin: &mut Instance, place: usize, context: u64, dest_id: u64) {
        if self.orphans.get(&(context, dest_id)).is_some_and(|owner| usize::from(*owner) == place) {
            self.orphans.remove(&(context, dest_id));
            plugin.answered();
            debug!("dropped a notification of plugin `{}`: its host is gone", plugin.name);
        } else if let Some(count) = self.forged.count() {
            warn!(
                "plugin `{}` answered what is not in flight: no command waits for a notification with urom_context \
                 {context:#x} and dest_id {dest_id}, so it is not sent, and the command it was for stays unanswered; copy \
                 both from the command, and answer it once{count}",
                plugin.name
            );
        }
    }

    /// What is left to do for the connections at the end of a turn: messages out, and lost ones away. Whether there was
    /// anything to send.
    #[inline(always)]
    pub(crate) fn turn(&mut self) -> bool {
        let mut worked = false;
        if self.dirty != 0 {
            self.send();
            worked = true;
        }
        if !self.sending.is_empty() {
            worked |= self.collect();
        }
        if !self.lost.is_empty() {
            self.bury();
        }
        worked
    }

    /// Sends what was written in this turn.
    #[inline(always)]
    fn send(&mut self) {
        while self.dirty != 0 {
            let channel = self.dirty;
            let Some(connection) = self.connections.get(channel) else {
                // Those that are taken out are taken off the list, too: `part`.
                self.dirty = 0;
                return;
            };
            self.dirty = connection.next_dirty;
            connection.is_dirty = false;
            match connection.flush() {
                Err(status) => self.lose(channel, unsendable(status)),
                Ok(()) if connection.is_sending() => self.sends_on(channel),
                Ok(()) => {}
            }
        }
    }

    /// Notes that messages of a connection are to be collected.
    #[cold]
    fn sends_on(&mut self, channel: u16) {
        let Some(connection) = self.connections.get(channel) else { return };
        if !std::mem::replace(&mut connection.is_collected, true) {
            self.sending.push(channel);
        }
    }

    /// Collects what UCX is done with.
    #[cold]
    fn collect(&mut self) -> bool {
        let mut any = false;
        let mut next = 0;
        while let Some(&channel) = self.sending.get(next) {
            let still = match self.connections.get(channel) {
                None => false,
                Some(connection) => match connection.collect(&mut self.pool) {
                    Ok(done) => {
                        any |= done;
                        connection.is_collected = connection.is_sending();
                        connection.is_collected
                    }
                    Err(status) => {
                        self.lose(channel, unsendable(status));
                        false
                    }
                },
            };
            if still {
                next += 1;
            } else {
                self.sending.swap_remove(next);
            }
        }
        any
    }

    /// Notes that a connection is of no more use; it ends with the turn.
    #[cold]
    pub(crate) fn lose(&mut self, channel: u16, failure: Failure) {
        self.lost.push((channel, failure));
    }

    /// Ends the connections that were lost.
    #[cold]
    fn bury(&mut self) {
        while let Some((channel, failure)) = self.lost.pop() {
            if let Some(connection) = self.part(channel) {
                // The control thread logs why.
                self.control.send(ToControl::Refused { link: connection.link, failure });
                connection.abandon();
            }
        }
    }

    /// Takes a connection out. What plugins still answer to it is dropped.
    pub(crate) fn part(&mut self, channel: u16) -> Option<Connection> {
        self.leave(channel);
        let connection = self.connections.remove(channel)?;
        let left = connection.in_flight(channel);
        self.orphans.extend(left.map(|(token, place)| ((token.pack(), connection.dest_id), place)));
        Some(connection)
    }

    /// Takes a connection off the list of those with frames to send.
    fn leave(&mut self, channel: u16) {
        let Some(connection) = self.connections.get(channel).filter(|connection| connection.is_dirty) else {
            return;
        };
        connection.is_dirty = false;
        let behind = connection.next_dirty;
        if self.dirty == channel {
            self.dirty = behind;
        } else if let Some((_, before)) =
            self.connections.iter_mut().find(|(_, other)| other.is_dirty && other.next_dirty == channel)
        {
            before.next_dirty = behind;
        }
    }
}

/// Puts a connection on the list of those with frames to send, unless it is there.
#[inline]
fn join(dirty: &mut u16, channel: u16, connection: &mut Connection) {
    if !connection.is_dirty {
        connection.is_dirty = true;
        connection.next_dirty = std::mem::replace(dirty, channel);
    }
}

/// Says that a plugin's status does not travel.
#[cold]
fn note_strange(strange: &mut Throttle, plugin: &str, status: DocaError) {
    if let Some(count) = strange.count() {
        warn!(
            "plugin `{plugin}` answered a command with the status {:#x}, which is none: its host is told {} in its place; \
             answer with a doca_error_t{count}",
            status.0,
            DocaError::UNEXPECTED
        );
    }
}

#[cold]
fn unsendable(status: Status) -> Failure {
    Failure::new(DocaError::CONNECTION_RESET, format!("the worker cannot send to the host: {status}"))
}
