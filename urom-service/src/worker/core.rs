//! Commands to plugins, and the plugins' turns: what happens between two turns of UCX.

use std::os::fd::RawFd;
use std::rc::Rc;

use tracing::debug;
use urom_abi::DocaError;
use urom_abi::command_room::CommandRoom;
use urom_abi::extension::CancelReason;
use urom_os::clock;
use urom_wire::frame::{self, Broken, COMMAND_HEADER, Command, Unusual};
use urom_wire::pass::Pass;

use super::control_thread::ControlHandle;
use super::desk::Desk;
use super::hosts::{Hosts, join, unsendable};
use super::instance::{Handled, Instance};
use super::rounds::{ROUND, Rounds};
use super::slot::Token;

/// For how long a command there is memory in advance, in bytes at most, and up to which length it
/// is called: a plugin copies it.
const LONGEST_ROOM: usize = 4096;

const NO_PLUGIN: u8 = u8::MAX;

#[derive(Debug)]
pub(crate) struct Core {
    plugins: Vec<Instance>,
    /// The place in `plugins` of each bit, and [`NO_PLUGIN`] of what is none.
    by_bit: [u8; 256],
    rounds: Rounds,
    /// Memory for the next command, if that is as long as the last one: it is got while nobody
    /// waits for an answer.
    room: Option<CommandRoom>,
    usual: usize,
    pub(crate) hosts: Hosts,
    strays: u64,
    closed: bool,
}

impl Core {
    pub(crate) fn new(
        plugins: Vec<Instance>,
        max_message: usize,
        max_unread: usize,
        desk: Rc<Desk>,
        control: ControlHandle,
    ) -> Core {
        let mut by_bit = [NO_PLUGIN; 256];
        for (place, plugin) in plugins.iter().enumerate() {
            by_bit[plugin.id.trailing_zeros() as usize % 64] = place as u8;
        }
        Core {
            rounds: Rounds::new(plugins.len()),
            plugins,
            by_bit,
            room: None,
            usual: 0,
            hosts: Hosts::new(max_message, max_unread, desk, control),
            strays: 0,
            closed: false,
        }
    }

    /// Whether something is to be looked for that wakes nobody: plugins owe answers, or UCX has
    /// messages that wait for room at the peer.
    #[inline]
    pub(crate) fn owes(&self) -> bool {
        self.hosts.is_sending() || self.rounds.any_owes() || self.hosts.desk.memories.is_busy()
    }

    /// Whether the next turn begins after one look at UCX: something else is at work.
    #[inline]
    pub(crate) fn is_at_work(&self) -> bool {
        self.owes() || self.rounds.any_moves()
    }

    /// Asks the plugins what ends the worker's sleep. Whether none has something to do now.
    pub(crate) fn arm(&self, wake: &mut Vec<RawFd>) -> bool {
        self.plugins.iter().all(|plugin| plugin.arm(wake))
    }

    pub(crate) fn strays(&self) -> u64 {
        self.strays
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn is_idle(&mut self) -> bool {
        self.hosts.is_empty() && !self.owes()
    }

    /// Receives a message with commands. While they are few, those that end at once are answered
    /// here: UCX finishes its round while the answer is on its way.
    ///
    /// All that a command passes through is part of this function, and none of what a caller knows
    /// besides.
    #[inline(never)]
    pub(crate) fn receive(&mut self, pass: Pass, message: &[u8]) {
        for command in frame::commands(message) {
            match command {
                Ok(command) => self.command(pass, &command),
                Err(error) => self.unreadable(pass, error),
            }
        }
        for place in self.rounds.take_fresh() {
            self.run_plugin(place);
        }
        self.hosts.turn();
    }

    #[cold]
    fn unreadable(&mut self, pass: Pass, error: Broken) {
        let host = self.hosts.connections.iter_mut().find(|(_, host)| host.pass == pass);
        let host = host.map_or_else(|| "a host".to_owned(), |(_, host)| host.host.to_string());
        limited!(warn, "{host} sent commands that cannot be read: {error}");
    }

    #[inline]
    fn command(&mut self, pass: Pass, command: &Command<'_>) {
        let &Command { channel, slot, plugin_bit, payload } = command;
        let Hosts { connections, pool, dirty, due, .. } = &mut self.hosts;
        let Some(connection) = connections.get(channel) else {
            return self.stray(channel);
        };
        if connection.pass != pass {
            return limited!(
                warn,
                "dropped a command for channel {channel} without the pass of its host"
            );
        }
        let place = self.by_bit[usize::from(plugin_bit)];
        let Some(plugin) = self.plugins.get_mut(usize::from(place)) else {
            return self.unusual(pass, command);
        };
        let (dest_id, limit) = (connection.dest_id, connection.limit);
        if connection.ends.count() {
            due.push(channel);
        }
        let Some(vacant) = connection.vacant(slot) else {
            return self.hosts.throw_out(channel, slot);
        };
        if COMMAND_HEADER + payload.len() > limit {
            return self.hosts.refuse(
                channel,
                slot,
                DocaError::TOO_BIG,
                "it is over the message limit",
            );
        }
        let token = Token { channel, slot, generation: vacant.next() };
        vacant.occupy(place);
        if payload.len() <= LONGEST_ROOM && plugin.is_callable() {
            let ids = (dest_id, token.pack());
            let placed =
                connection.place(pool, slot, |room| match plugin.call(ids, payload, room) {
                    Handled::Answered(DocaError::SUCCESS, len) => Ok(len),
                    handled => Err(handled),
                });
            match placed {
                Ok(Ok(())) => {
                    connection.free(slot);
                    join(dirty, channel, connection);
                    return self.rounds.answered(usize::from(place));
                }
                Ok(Err(Handled::Pending)) => return self.rounds.owes(usize::from(place)),
                Ok(Err(Handled::Declined)) => {}
                Ok(Err(Handled::Answered(status, len))) => {
                    self.rounds.answered(usize::from(place));
                    return self.hosts.answered_with(plugin, token, status, len);
                }
                Err(status) => {
                    connection.free(slot);
                    return self.hosts.lose(channel, unsendable(status));
                }
            }
        }
        self.list(dest_id, token, payload, place);
    }

    /// Puts a command, whose slot is occupied, into its plugin's list.
    #[inline]
    fn list(&mut self, dest_id: u64, token: Token, payload: &[u8], place: u8) {
        let Some(plugin) = self.plugins.get_mut(usize::from(place)) else { return };
        let room = match self.room.take_if(|room| room.capacity() == payload.len()) {
            Some(room) => Some(room),
            None => CommandRoom::new(payload.len()),
        };
        match room {
            Some(room) => {
                let desc = room.fill(dest_id, plugin.id, token.pack(), payload);
                self.usual = payload.len();
                plugin.push(desc);
                self.rounds.owes(usize::from(place));
            }
            None => {
                let Token { channel, slot, .. } = token;
                if let Some(connection) = self.hosts.connections.get(channel) {
                    connection.free(slot);
                }
                self.hosts.refuse(channel, slot, DocaError::NO_MEMORY, "there is no memory for it")
            }
        }
    }

    /// Handles a frame whose byte is not the bit of a plugin that is here.
    #[cold]
    fn unusual(&mut self, pass: Pass, command: &Command<'_>) {
        let &Command { channel, slot, .. } = command;
        let Some(connection) = self.hosts.connections.get(channel) else { return };
        let dest_id = connection.dest_id;
        match command.unusual() {
            Some(Unusual::Cancel(reason)) => {
                // Whatever a host sends, plugins get a reason that a host can have.
                let is_late = reason == CancelReason::TIMED_OUT.0;
                let reason =
                    if is_late { CancelReason::TIMED_OUT } else { CancelReason::CANCELLED };
                self.cancel(channel, slot, reason);
            }
            Some(Unusual::Limited(command, left)) => {
                let token = connection
                    .vacant(slot)
                    .map(|vacant| Token { channel, slot, generation: vacant.next() }.pack());
                let Some(token) = token else { return self.hosts.throw_out(channel, slot) };
                let at = clock::monotonic().saturating_add(left);
                self.hosts.desk.set_deadline(dest_id, token, at);
                self.command(pass, &command);
                let connection = self.hosts.connections.get(channel);
                let pending = connection.and_then(|connection| connection.at(channel, slot));
                if pending.is_none_or(|(pending, _)| pending.pack() != token) {
                    self.hosts.desk.forget_deadline(dest_id, token);
                }
            }
            None if connection.vacant(slot).is_none() => self.hosts.throw_out(channel, slot),
            None => self.refuse_without_plugin(channel, slot),
        }
    }

    /// Tells a plugin that nobody waits for the command in a slot, if there is one: its answer may
    /// have crossed the host's word.
    fn cancel(&mut self, channel: u16, slot: u16, reason: CancelReason) {
        let at = |core: &mut Core| {
            let connection = core.hosts.connections.get(channel)?;
            let (token, place) = connection.at(channel, slot)?;
            Some((connection.dest_id, token.pack(), usize::from(place)))
        };
        let Some((_, _, place)) = at(self) else { return };
        if self.plugins.get(place).is_some_and(Instance::has_commands) {
            // The command may be among them.
            self.run_plugin(place);
        }
        if let Some((dest_id, token, place)) = at(self)
            && let Some(plugin) = self.plugins.get(place)
        {
            plugin.cancel(dest_id, token, reason);
        }
    }

    #[cold]
    fn refuse_without_plugin(&mut self, channel: u16, slot: u16) {
        let (code, why) = match self.closed {
            true => (DocaError::SHUTDOWN, "the worker stops"),
            false => (DocaError::NOT_FOUND, "its plugin is not loaded here"),
        };
        self.hosts.refuse(channel, slot, code, why);
    }

    #[cold]
    fn stray(&mut self, channel: u16) {
        // A host that was lost or thrown out a moment ago may have had commands under way.
        self.strays += 1;
        limited!(debug, "dropped a command for channel {channel}, where no host is");
    }

    /// One turn: commands to the plugins, notifications from them, messages out. Whether anything
    /// happened. Plugins that rest are polled at the rate that [`Rounds::due`] finds for so many
    /// `looks` at UCX.
    #[inline]
    pub(crate) fn turn(&mut self, looks: u32) -> bool {
        let mut worked = false;
        // After a sleep, too: there may be connections that hosts have closed.
        if self.hosts.desk.memories.is_busy() || looks == ROUND {
            worked |= self.hosts.desk.memories.turn();
        }
        for place in self.rounds.due(looks) {
            worked |= self.run_plugin(place);
        }
        if !self.hosts.due.is_empty() {
            self.hosts.end_due();
        }
        if self.usual <= LONGEST_ROOM
            && self.room.as_ref().map(CommandRoom::capacity) != Some(self.usual)
        {
            self.room = CommandRoom::new(self.usual);
        }
        if self.hosts.departed.has_news() {
            self.hosts.departed.tell(&self.plugins);
        }
        self.hosts.turn() | worked
    }

    #[inline(always)]
    fn run_plugin(&mut self, place: usize) -> bool {
        let Some(plugin) = self.plugins.get_mut(place) else { return false };
        let mut worked = plugin.has_commands();
        if worked && let Err(code) = plugin.deliver() {
            self.hosts.give_up(plugin, place, code);
            if !plugin.owes() {
                self.rounds.settled(place);
            }
        }
        if plugin.progress() {
            worked = true;
            while let Some(notification) = plugin.finished() {
                self.hosts.notification(plugin, place, notification);
            }
            if !plugin.owes() {
                self.rounds.settled(place);
            }
        }
        plugin.rest();
        if self.hosts.desk.take_moved() {
            self.rounds.moved(place);
            worked = true;
        }
        worked
    }

    pub(crate) fn close_plugins(&mut self) {
        self.closed = true;
        self.hosts.desk.memories.shut();
        while let Some(plugin) = self.plugins.pop() {
            debug!("closing plugin `{}`", plugin.name);
            drop(plugin);
        }
        self.hosts.answer_all(DocaError::SHUTDOWN);
        self.turn(ROUND);
    }
}
