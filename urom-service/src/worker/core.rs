//! Commands to plugins, notifications to hosts: what happens between two turns of UCX.

use std::collections::HashMap;

use tracing::{debug, warn};
use ucx::{Message, Status};
use urom_abi::DocaError;
use urom_abi::descriptor::{CommandDesc, NotificationDesc};

use super::connection::{Connection, Token};
use super::connections::Connections;
use super::control::ControlHandle;
use super::instance::Instance;
use super::messages::ToControl;
use super::outgoing::Pool;
use super::throttle::Throttle;
use crate::wire::control::Failure;
use crate::wire::frame::{self, COMMAND_HEADER, Command, NOTIFICATION_HEADER};

/// No plugin has this bit.
const NO_PLUGIN: u8 = u8::MAX;

/// Plugins and connections.
#[derive(Debug)]
pub(crate) struct Core {
    plugins: Vec<Instance>,
    /// The place in `plugins` of each bit.
    by_bit: [u8; 64],
    pub(crate) connections: Connections,
    /// The plugins' places by the contexts and destinations of commands whose hosts are gone.
    orphans: HashMap<(u64, u64), u8>,
    pool: Pool,
    /// Connections with frames that leave at the end of the turn.
    dirty: Vec<u16>,
    /// Connections with messages UCX is not done with.
    sending: Vec<u16>,
    /// Connections found to be of no more use during this turn, and why.
    lost: Vec<(u16, Failure)>,
    control: ControlHandle,
    strays: Throttle,
    broken: Throttle,
    forged: Throttle,
    refused: Throttle,
}

impl Core {
    pub(crate) fn new(plugins: Vec<Instance>, max_message: usize, control: ControlHandle) -> Core {
        let mut by_bit = [NO_PLUGIN; 64];
        for (place, plugin) in plugins.iter().enumerate() {
            // An id is a single bit.
            by_bit[plugin.id.trailing_zeros() as usize % 64] = place as u8;
        }
        Core {
            plugins,
            by_bit,
            connections: Connections::new(),
            orphans: HashMap::new(),
            pool: Pool::new(max_message),
            dirty: Vec::new(),
            sending: Vec::new(),
            lost: Vec::new(),
            control,
            strays: Throttle::default(),
            broken: Throttle::default(),
            forged: Throttle::default(),
            refused: Throttle::default(),
        }
    }

    /// Whether something is to be looked for that wakes nobody: plugins owe answers, or UCX has messages that wait for
    /// room at the peer.
    pub(crate) fn owes(&self) -> bool {
        !self.sending.is_empty() || self.plugins.iter().any(|plugin| plugin.outstanding > 0)
    }

    /// A message with commands.
    pub(crate) fn receive(&mut self, message: &Message<'_>) {
        let ucx::Data::Eager(bytes) = &message.data else {
            if let Some(count) = self.broken.count() {
                warn!(
                    "a host announced a message in place of sending it; it is dropped ({count} times so far)"
                );
            }
            return;
        };
        for command in frame::commands(bytes) {
            match command {
                Ok(command) => self.command(&command),
                Err(error) => {
                    if let Some(count) = self.broken.count() {
                        warn!("a host sent commands that cannot be read: {error} ({count} times so far)");
                    }
                }
            }
        }
    }

    fn command(&mut self, command: &Command<'_>) {
        let &Command { channel, slot, plugin_bit, payload } = command;
        let Some(connection) = self.connections.get(channel) else {
            // A host that was lost or thrown out a moment ago may have had commands under way.
            if let Some(count) = self.strays.count() {
                debug!("dropped a command for channel {channel}, where no host is ({count} so far)");
            }
            return;
        };
        if let Err(error) = connection.check(slot) {
            let failure =
                Failure::new(DocaError::BAD_STATE, format!("the worker threw the host out: {error}"));
            return self.lose(channel, failure);
        }
        let place = self.by_bit.get(usize::from(plugin_bit)).copied().unwrap_or(NO_PLUGIN);
        let Some(plugin) = self.plugins.get_mut(usize::from(place)) else {
            return self.refuse(channel, slot, DocaError::NOT_FOUND, "its plugin is not loaded here");
        };
        if COMMAND_HEADER + payload.len() > connection.limit {
            return self.refuse(channel, slot, DocaError::TOO_BIG, "it is over the message limit");
        }
        let generation = connection.occupy(slot, place);
        let token = Token { channel, slot, generation };
        match CommandDesc::new(connection.dest_id, plugin.id, token.pack(), payload) {
            Ok(desc) => plugin.push(desc),
            Err(code) => {
                connection.vacate(slot, generation, place);
                self.refuse(channel, slot, code, "there is no memory for it");
            }
        }
    }

    /// Answers a command that no plugin gets.
    fn refuse(&mut self, channel: u16, slot: u16, code: DocaError, why: &str) {
        if let Some(count) = self.refused.count() {
            warn!("refused a command: {why}: {code} ({count} refused so far)");
        }
        self.answer(channel, slot, code);
    }

    /// Sends a notification of the worker's own.
    fn answer(&mut self, channel: u16, slot: u16, code: DocaError) {
        let Some(connection) = self.connections.get(channel) else { return };
        let fresh = !connection.has_frames();
        match connection.refuse(&mut self.pool, slot, code) {
            Ok(()) if fresh => self.dirty.push(channel),
            Ok(()) => {}
            Err(status) => self.lose(channel, unsendable(status)),
        }
    }

    /// One turn: commands to the plugins, notifications from them, messages out. Whether anything happened.
    pub(crate) fn turn(&mut self) -> bool {
        let mut worked = false;
        for place in 0..self.plugins.len() {
            worked |= self.run_plugin(place);
        }
        worked |= self.send();
        worked |= self.collect();
        self.bury();
        worked
    }

    fn run_plugin(&mut self, place: usize) -> bool {
        let plugin = &mut self.plugins[place];
        let mut worked = plugin.has_commands();
        if worked {
            let mut refused = Vec::new();
            plugin.deliver(|command, code| refused.push((command.header().urom_context, code)));
            for (context, code) in refused {
                self.give_up(place, Token::unpack(context), code);
            }
        }
        if self.plugins[place].progress() {
            worked = true;
            while let Some(notification) = self.plugins[place].finished() {
                self.notification(place, notification);
            }
        }
        worked
    }

    /// Answers a command that a plugin left behind.
    fn give_up(&mut self, place: usize, token: Token, code: DocaError) {
        self.orphans.retain(|(context, _), _| *context != token.pack());
        let Some(connection) = self.connections.get(token.channel) else { return };
        if connection.vacate(token.slot, token.generation, place as u8) {
            self.refuse(token.channel, token.slot, code, "its plugin did not take it");
        }
    }

    fn notification(&mut self, place: usize, notification: NotificationDesc) {
        let header = *notification.header();
        let dest_id = notification.dest_id();
        let token = Token::unpack(header.urom_context);
        let plugin = &mut self.plugins[place];
        let Some(connection) =
            self.connections.get(token.channel).filter(|connection| connection.dest_id == dest_id)
        else {
            return self.unasked(place, header.urom_context, dest_id);
        };
        if !connection.vacate(token.slot, token.generation, place as u8) {
            return self.unasked(place, header.urom_context, dest_id);
        }
        plugin.outstanding = plugin.outstanding.saturating_sub(1);
        let len = usize::try_from(header.len).unwrap_or(usize::MAX);
        let limit = connection.limit;
        if len.saturating_add(NOTIFICATION_HEADER) > limit {
            let name = plugin.name.clone();
            let why = format!(
                "plugin `{name}` answered it with {len} bytes and a header of {NOTIFICATION_HEADER}, over the message limit \
                 of {limit}, which is the smaller one of service and host: `uromd --max-msg-size`, and \
                 `max_message_size` of the host's ServiceBuilder"
            );
            return self.refuse(token.channel, token.slot, DocaError::TOO_BIG, &why);
        }
        let fresh = !connection.has_frames();
        let plugin = &self.plugins[place];
        let mut wrong = String::new();
        let pack = |place: &mut [u8]| {
            plugin.pack(notification, place).map_err(|error| {
                wrong = error.to_string();
                error.code()
            })
        };
        match connection.notify(&mut self.pool, token.slot, header.status, len, pack) {
            Err(status) => return self.lose(token.channel, unsendable(status)),
            Ok(Ok(())) => {}
            Ok(Err(code)) => {
                let why = format!("plugin `{}` could not pack its answer: {wrong}", plugin.name);
                self.refuse(token.channel, token.slot, code, &why);
            }
        }
        if fresh {
            self.dirty.push(token.channel);
        }
    }

    /// A notification that answers no command in flight.
    fn unasked(&mut self, place: usize, context: u64, dest_id: u64) {
        let plugin = &mut self.plugins[place];
        if self.orphans.get(&(context, dest_id)).is_some_and(|owner| usize::from(*owner) == place) {
            self.orphans.remove(&(context, dest_id));
            plugin.outstanding = plugin.outstanding.saturating_sub(1);
            debug!("dropped a notification of plugin `{}`: its host is gone", plugin.name);
        } else if let Some(count) = self.forged.count() {
            warn!(
                "plugin `{}` answered what is not in flight: no command waits for a notification with urom_context \
                 {context:#x} and dest_id {dest_id}, so it is not sent, and the command it was for stays unanswered; copy \
                 both from the command, and answer it once ({count} times so far)",
                plugin.name
            );
        }
    }

    /// Takes a connection out. What plugins still answer to it is dropped.
    pub(crate) fn part(&mut self, channel: u16) -> Option<Connection> {
        let connection = self.connections.remove(channel)?;
        let left = connection.in_flight(channel);
        self.orphans.extend(left.map(|(token, place)| ((token.pack(), connection.dest_id), place)));
        Some(connection)
    }

    /// Sends what was written in this turn.
    fn send(&mut self) -> bool {
        let any = !self.dirty.is_empty();
        while let Some(channel) = self.dirty.pop() {
            let Some(connection) = self.connections.get(channel) else { continue };
            let was_sending = connection.is_sending();
            match connection.flush(&mut self.pool) {
                Err(status) => self.lose(channel, unsendable(status)),
                Ok(()) if connection.is_sending() && !was_sending => self.sending.push(channel),
                Ok(()) => {}
            }
        }
        any
    }

    /// Collects what UCX is done with.
    fn collect(&mut self) -> bool {
        let mut any = false;
        let mut next = 0;
        while let Some(&channel) = self.sending.get(next) {
            let still = match self.connections.get(channel) {
                None => false,
                Some(connection) => match connection.collect(&mut self.pool) {
                    Ok(done) => {
                        any |= done;
                        connection.is_sending()
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
    pub(crate) fn lose(&mut self, channel: u16, failure: Failure) {
        self.lost.push((channel, failure));
    }

    /// Ends the connections that were lost.
    fn bury(&mut self) {
        while let Some((channel, failure)) = self.lost.pop() {
            if let Some(connection) = self.part(channel) {
                warn!("connection {} ends: {failure}", connection.dest_id);
                self.control.send(ToControl::Refused { link: connection.link, failure });
                connection.abandon();
            }
        }
    }

    /// Enters a connection.
    pub(crate) fn enter(&mut self, channel: u16, connection: Connection) {
        self.connections.insert(channel, connection);
    }

    /// Closes the plugins, and answers everything that is still in flight.
    pub(crate) fn close_plugins(&mut self) {
        while let Some(plugin) = self.plugins.pop() {
            debug!("closing plugin `{}`", plugin.name);
            drop(plugin);
        }
        let mut unanswered = Vec::new();
        for (channel, connection) in self.connections.iter_mut() {
            unanswered.extend(connection.vacate_all().into_iter().map(|slot| (channel, slot)));
        }
        for (channel, slot) in unanswered {
            self.answer(channel, slot, DocaError::SHUTDOWN);
        }
        self.turn();
    }
}

fn unsendable(status: Status) -> Failure {
    Failure::new(DocaError::CONNECTION_RESET, format!("the worker cannot send to the host: {status}"))
}
