//! Passes commands to plugins, and their answers to hosts.

use std::os::fd::RawFd;
use std::rc::Rc;

use tracing::debug;
use urom_abi::DocaError;
use urom_abi::command_buffer::CommandBuffer;
use urom_abi::descriptor::NotificationDesc;
use urom_abi::extension::CancelReason;
use urom_abi::plugin::WorkerNotify;
use urom_os::clock;
use urom_wire::envelope::{Envelope, frames};
use urom_wire::frame::{COMMAND_HEADER, Command, MAX_STATUS, NOTIFICATION_HEADER, Unusual};

use super::hosts::{Answer, Draft, Host, Hosts, Token};
use super::instance::{Handled, Instance};
use super::rounds::{ROUND, Rounds};

/// Longest command in bytes with memory allocated in advance. Longer commands skip `call`, because
/// the plugin copies a command passed to it.
const LONGEST_ROOM: usize = 4096;

/// Limit of frames from one host per turn, in fairness to other hosts and plugins.
const MOST_FRAMES: usize = 64;

const NO_PLUGIN: u8 = u8::MAX;

#[derive(Debug)]
pub(crate) struct Core {
    plugins: Vec<Instance>,
    /// Index in `plugins` of each bit; [`NO_PLUGIN`] for other bytes.
    by_bit: [u8; 256],
    rounds: Rounds,
    /// Memory for a next command of the same length, allocated while commands are not waiting.
    room: Option<CommandBuffer>,
    usual: usize,
    draft: Draft,
    pub(crate) hosts: Rc<Hosts>,
    closed: bool,
}

impl Core {
    pub(crate) fn new(plugins: Vec<Instance>, max_message: usize, hosts: Rc<Hosts>) -> Core {
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
            draft: Draft::new(max_message),
            hosts,
            closed: false,
        }
    }

    /// Returns whether work is pending that does not wake the worker.
    #[inline]
    pub(crate) fn owes(&self) -> bool {
        self.hosts.is_waiting() || self.rounds.any_owes() || self.hosts.memories.is_busy()
    }

    /// Returns whether the next turn begins after one poll for commands.
    #[inline]
    pub(crate) fn is_at_work(&self) -> bool {
        self.owes() || self.rounds.any_moves()
    }

    /// Collects the plugins' wake descriptors. Returns whether all plugins are idle.
    pub(crate) fn arm(&self, wake: &mut Vec<RawFd>) -> bool {
        self.plugins.iter().all(|plugin| plugin.arm(wake))
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn is_idle(&self) -> bool {
        self.hosts.is_empty() && self.hosts.departed.borrow().is_empty() && !self.owes()
    }

    /// Handles the commands in hosts' rings. Returns whether there were any.
    #[inline]
    pub(crate) fn receive(&mut self) -> bool {
        let hosts = Rc::clone(&self.hosts);
        hosts.each_of_turn(|host| {
            let mut inbox = host.inbox.borrow_mut();
            let Some(inbox) = inbox.as_mut() else { return false };
            for count in 0..MOST_FRAMES {
                match inbox.receive() {
                    Ok(Some((header, body))) => self.command(host, &Command::read(header, body)),
                    Ok(None) => return count > 0,
                    Err(garbage) => {
                        self.hosts.throw_out_for(host, garbage);
                        return true;
                    }
                }
            }
            true
        })
    }

    pub(crate) fn receive_message(&mut self, message: &[u8]) {
        let Some((Envelope { tag, channel }, message)) = Envelope::split(message) else {
            return limited!(warn, "a message was dropped: it is shorter than its envelope");
        };
        let Some(host) = self.hosts.by_channel(channel) else {
            // A host that just left may have commands under way.
            return limited!(debug, "dropped a message for channel {channel}, where no host is");
        };
        if host.tag != tag {
            return limited!(
                warn,
                "dropped a message for channel {channel} without the verification tag of its host"
            );
        }
        for frame in frames(message) {
            match frame {
                Ok((header, body)) => self.command(&host, &Command::read(header, body)),
                Err(error) => {
                    limited!(warn, "{} sent commands that cannot be read: {error}", host.name)
                }
            }
        }
    }

    #[inline]
    fn command(&mut self, host: &Host, command: &Command<'_>) {
        let &Command { slot, plugin_bit, payload } = command;
        let place = self.by_bit[usize::from(plugin_bit)];
        let Some(plugin) = self.plugins.get_mut(usize::from(place)) else {
            return self.unusual(host, command);
        };
        self.hosts.count_command(host);
        let Some(token) = host.occupy(slot, place) else {
            return self.hosts.throw_out(host, slot);
        };
        if COMMAND_HEADER + payload.len() > host.limit {
            host.free(slot);
            let why = "it is over the message limit";
            return self.hosts.refuse(host, &mut self.draft, slot, DocaError::TOO_BIG, why);
        }
        if payload.len() <= LONGEST_ROOM {
            let ids = (host.dest_id, token.pack());
            match plugin.call(ids, payload, self.draft.payload(host.longest())) {
                Handled::Answered(DocaError::SUCCESS, len) => {
                    // First, because the host waits for it.
                    self.hosts.succeed(host, slot, self.draft.payload(len));
                    self.rounds.answered(usize::from(place));
                    return host.free(slot);
                }
                Handled::Answered(status, len) => {
                    self.rounds.answered(usize::from(place));
                    let why = failure_of(plugin, host, token, status);
                    host.free(slot);
                    let answer = Answer { slot, status, payload: Some(len), why: &why };
                    return self.hosts.answer(host, &mut self.draft, &answer);
                }
                Handled::Pending => return self.rounds.owes(usize::from(place)),
                Handled::Declined => {}
            }
        }
        self.list(host, token, payload, place);
    }

    #[inline]
    fn list(&mut self, host: &Host, token: Token, payload: &[u8], place: u8) {
        let Some(plugin) = self.plugins.get_mut(usize::from(place)) else { return };
        let room = match self.room.take_if(|room| room.capacity() == payload.len()) {
            Some(room) => Some(room),
            None => CommandBuffer::new(payload.len()),
        };
        match room {
            Some(room) => {
                let desc = room.fill(host.dest_id, plugin.id, token.pack(), payload);
                self.usual = payload.len();
                plugin.push(desc);
                self.rounds.owes(usize::from(place));
            }
            None => {
                host.free(token.slot);
                let (status, why) = (DocaError::NO_MEMORY, "memory for it is exhausted");
                self.hosts.refuse(host, &mut self.draft, token.slot, status, why);
            }
        }
    }

    /// Handles a frame whose bit does not belong to a plugin of this worker.
    #[cold]
    fn unusual(&mut self, host: &Host, command: &Command<'_>) {
        let slot = command.slot;
        match command.unusual() {
            Some(Unusual::Cancel(reason)) => {
                // A host may send any number; plugins get one of two reasons.
                let is_late = reason == CancelReason::TIMED_OUT.0;
                let reason =
                    if is_late { CancelReason::TIMED_OUT } else { CancelReason::CANCELLED };
                self.cancel(host, slot, reason);
            }
            _ if !host.is_free(slot) => self.hosts.throw_out(host, slot),
            Some(Unusual::Limited(command, left)) => {
                host.set_deadline(slot, clock::monotonic().saturating_add(left).max(1));
                self.command(host, &command);
            }
            None => {
                self.hosts.count_command(host);
                // Clears a possible deadline.
                host.free(slot);
                let (status, why) = match self.closed {
                    true => (DocaError::SHUTDOWN, "the worker stops"),
                    false => (DocaError::NOT_FOUND, "its plugin is not loaded here"),
                };
                self.hosts.refuse(host, &mut self.draft, slot, status, why);
            }
        }
    }

    /// Cancels a slot's command, if present: its answer may have crossed the cancel.
    fn cancel(&mut self, host: &Host, slot: u16, reason: CancelReason) {
        let Some((_, place)) = host.at(slot) else { return };
        if self.plugins.get(usize::from(place)).is_some_and(Instance::has_commands) {
            // The command may still be in the list.
            self.run_plugin(place.into());
        }
        if let Some((token, place)) = host.at(slot)
            && let Some(plugin) = self.plugins.get(usize::from(place))
        {
            plugin.cancel(host.dest_id, token.pack(), reason);
        }
    }

    /// Runs one turn of commands, notifications and messages. Returns whether anything happened.
    /// Idle plugins are polled at the rate of [`Rounds::due`] for `looks`.
    #[inline]
    pub(crate) fn turn(&mut self, looks: u32) -> bool {
        let mut worked = false;
        // Also after a sleep: hosts may have closed connections.
        if self.hosts.memories.is_busy() || looks == ROUND {
            worked |= self.hosts.memories.turn();
        }
        for place in self.rounds.due(looks) {
            worked |= self.run_plugin(place);
        }
        self.hosts.end_due();
        if self.usual <= LONGEST_ROOM
            && self.room.as_ref().map(CommandBuffer::capacity) != Some(self.usual)
        {
            self.room = CommandBuffer::new(self.usual);
        }
        if self.hosts.departed.borrow().has_news() {
            self.report_departed();
        }
        worked | self.hosts.turn()
    }

    #[cold]
    fn report_departed(&self) {
        let at = |place: usize| self.plugins.get(place).into_iter();
        let cancel = |place, dest_id, token| {
            at(place).for_each(|plugin| plugin.cancel(dest_id, token, CancelReason::HOST_LEFT));
        };
        let host_left = |place, dest_id| at(place).for_each(|plugin| plugin.host_left(dest_id));
        self.hosts.departed.borrow_mut().tell(self.plugins.len(), cancel, host_left);
    }

    #[inline(always)]
    fn run_plugin(&mut self, place: usize) -> bool {
        let Some(plugin) = self.plugins.get_mut(place) else { return false };
        let mut worked = plugin.has_commands();
        if worked && let Err(code) = plugin.deliver() {
            give_up(&self.hosts, &mut self.draft, plugin, place, code);
            if !plugin.owes() {
                self.rounds.settled(place);
            }
        }
        if plugin.progress() {
            worked = true;
            while let Some(notification) = plugin.finished() {
                notify(&self.hosts, &mut self.draft, plugin, place, notification);
            }
            if !plugin.owes() {
                self.rounds.settled(place);
            }
        }
        plugin.rest();
        if self.hosts.take_moved() {
            self.rounds.moved(place);
            worked = true;
        }
        worked
    }

    pub(crate) fn close_plugins(&mut self) {
        self.closed = true;
        self.hosts.memories.shut();
        while let Some(plugin) = self.plugins.pop() {
            debug!("closing plugin `{}`", plugin.name);
            drop(plugin);
        }
        self.hosts.answer_all(&mut self.draft, DocaError::SHUTDOWN);
        self.turn(ROUND);
    }
}

#[inline(always)]
fn notify(
    hosts: &Hosts,
    draft: &mut Draft,
    plugin: &mut Instance,
    place: usize,
    notification: NotificationDesc,
) {
    let &WorkerNotify { urom_context, len, status, .. } = notification.header();
    let dest_id = notification.dest_id();
    let token = Token::unpack(urom_context);
    let Some(host) = hosts.vacate(token, dest_id, place) else {
        return unasked(hosts, plugin, place, urom_context, dest_id);
    };
    plugin.answered();
    let slot = token.slot;
    if len > host.longest() as u64 {
        let (name, limit) = (&plugin.name, host.limit);
        let why = format!(
            "plugin `{name}` answered it with {len} bytes and a header of {NOTIFICATION_HEADER}, over the message limit \
             of {limit}, which is the smaller one of service and host"
        );
        return hosts.refuse(&host, draft, slot, DocaError::TOO_BIG, &why);
    }
    let why = match status {
        DocaError::SUCCESS => String::new(),
        _ => failure_of(plugin, &host, token, status),
    };
    match plugin.pack(notification, draft.notification(host.limit)) {
        Ok(len) => {
            hosts.answer(&host, draft, &Answer { slot, status, payload: Some(len), why: &why })
        }
        Err(error) => {
            let why = format!("plugin `{}` could not pack its answer: {}", plugin.name, error.text);
            hosts.refuse(&host, draft, slot, error.code(), &why);
        }
    }
}

#[cold]
fn failure_of(plugin: &Instance, host: &Host, token: Token, status: DocaError) -> String {
    if status.0 > MAX_STATUS {
        limited!(
            warn,
            "plugin `{}` answered a command with the status {:#x}, which is none: its host is told {} in its place; \
             answer with a doca_error_t",
            plugin.name,
            status.0,
            DocaError::UNEXPECTED
        );
    }
    host.reason(token)
}

#[cold]
fn give_up(hosts: &Hosts, draft: &mut Draft, plugin: &mut Instance, place: usize, code: DocaError) {
    while let Some(command) = plugin.take_back() {
        let token = Token::unpack(command.header().urom_context);
        hosts.departed.borrow_mut().end(token.pack(), command.dest_id(), place);
        if let Some(host) = hosts.vacate(token, command.dest_id(), place) {
            hosts.refuse(&host, draft, token.slot, code, "its plugin did not take it");
        }
    }
}

#[cold]
fn unasked(hosts: &Hosts, plugin: &mut Instance, place: usize, context: u64, dest_id: u64) {
    if hosts.departed.borrow_mut().end(context, dest_id, place) {
        plugin.answered();
        debug!("dropped a notification of plugin `{}`: its host has left", plugin.name);
    } else {
        limited!(
            warn,
            "plugin `{}` answered what is not in flight: no command waits for a notification with urom_context \
             {context:#x} and dest_id {dest_id}, so it is not sent, and the command it was for stays unanswered; copy \
             both from the command, and answer it once",
            plugin.name
        );
    }
}
