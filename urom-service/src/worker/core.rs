//! Passes commands to plugins, and their answers to hosts.

use std::os::fd::RawFd;
use std::rc::Rc;

use tracing::debug;
use urom_abi::command_buffer::CommandBuffer;
use urom_abi::extension::CancelReason;
use urom_abi::trace::TraceContext;
use urom_abi::{DocaError, DocaStatus};
use urom_os::clock;
use urom_wire::envelope::{Envelope, frames};
use urom_wire::frame::{COMMAND_HEADER, Command, Unusual};

use super::answers::{failure_of, notify, refuse_undelivered};
use super::hosts::{FailedCommand, FrameDraft, HostEntry, Hosts, TaskAnswer, TaskToken};
use super::instance::{CallOutcome, PluginInstance};
use super::rounds::{ROUND, Rounds};
use crate::metrics::RowKey;

/// Longest command in bytes that is preallocated and passed to `call`, which copies it.
const LONGEST_BUFFER: usize = 4096;

/// Limit of frames from one host per turn, in fairness to other hosts and plugins.
const MOST_FRAMES: usize = 64;

const NO_PLUGIN: u8 = u8::MAX;

#[derive(Debug)]
pub(crate) struct Core {
    plugins: Vec<PluginInstance>,
    /// Index in `plugins` of each bit; [`NO_PLUGIN`] for other bytes.
    by_bit: [u8; 256],
    rounds: Rounds,
    /// Memory for a next command of the same length, allocated while commands are not waiting.
    buffer: Option<CommandBuffer>,
    usual: usize,
    draft: FrameDraft,
    pub(crate) hosts: Rc<Hosts>,
    closed: bool,
}

impl Core {
    pub(crate) fn new(plugins: Vec<PluginInstance>, max_message: usize, hosts: Rc<Hosts>) -> Core {
        let mut by_bit = [NO_PLUGIN; 256];
        hosts.count_plugins(plugins.iter().fold(0, |bits, plugin| bits | plugin.id));
        for (index, plugin) in plugins.iter().enumerate() {
            by_bit[plugin.id.trailing_zeros() as usize % 64] = index as u8;
        }
        Core {
            rounds: Rounds::new(plugins.len()),
            plugins,
            by_bit,
            buffer: None,
            usual: 0,
            draft: FrameDraft::new(max_message),
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

    pub(crate) fn plugins_mut(&mut self) -> &mut [PluginInstance] {
        &mut self.plugins
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
                        self.hosts.disconnect_for(host, garbage);
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
        host.messages.set(host.messages.get() + message.len() as u64);
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
    fn command(&mut self, host: &HostEntry, command: &Command<'_>) {
        let &Command { slot, plugin_bit, payload } = command;
        let index = self.by_bit[usize::from(plugin_bit)];
        let Some(plugin) = self.plugins.get_mut(usize::from(index)) else {
            return self.unusual(host, command);
        };
        self.hosts.count_command(host);
        let counts = &self.hosts.counts;
        let Some(token) = host.occupy(slot, index) else {
            return self.hosts.disconnect(host, slot);
        };
        if COMMAND_HEADER + payload.len() > host.limit {
            host.free(slot);
            counts.refused(RowKey::of(plugin_bit, payload), DocaError::TOO_BIG);
            let why = "it is over the message limit";
            let failed = FailedCommand::new(&plugin.name, token, payload);
            return self.hosts.refuse(host, &mut self.draft, failed, DocaError::TOO_BIG, why);
        }
        counts.received(RowKey::of(plugin_bit, payload));
        if payload.len() <= LONGEST_BUFFER {
            let ids = (host.dest_id, token.pack());
            match plugin.call(ids, payload, self.draft.payload(host.longest())) {
                CallOutcome::Answered(DocaStatus::SUCCESS, len) => {
                    // First, because the host waits for it.
                    self.hosts.succeed(host, slot, self.draft.payload(len));
                    self.rounds.answered(usize::from(index));
                    counts.succeeded();
                    return host.free(slot);
                }
                CallOutcome::Answered(status, len) => {
                    self.rounds.answered(usize::from(index));
                    counts.begun(host, token, RowKey::of(plugin_bit, payload));
                    counts.ended(host, slot, status);
                    let failed = FailedCommand::new(&plugin.name, token, payload);
                    let why = failure_of(&self.hosts, host, failed, status);
                    host.free(slot);
                    let answer = TaskAnswer { slot, status, payload: Some(len), why: &why };
                    return self.hosts.answer(host, &mut self.draft, &answer);
                }
                CallOutcome::Pending => {
                    counts.begun(host, token, RowKey::of(plugin_bit, payload));
                    return self.rounds.owes(usize::from(index));
                }
                CallOutcome::Declined => {}
            }
        }
        counts.begun(host, token, RowKey::of(plugin_bit, payload));
        self.list(host, token, payload, index);
    }

    /// Passes a command with a trace context to its plugin. Its answer carries the trace.
    fn traced(&mut self, host: &HostEntry, command: &Command<'_>, context: Option<TraceContext>) {
        let &Command { slot, plugin_bit, payload } = command;
        let Some(context) = context else { return self.command(host, command) };
        self.hosts.trace(host, slot, context);
        let index = self.by_bit[usize::from(plugin_bit)];
        let fits = COMMAND_HEADER + payload.len() <= host.limit;
        let Some(plugin) = self.plugins.get_mut(usize::from(index)).filter(|_| fits) else {
            // It refuses the command.
            return self.command(host, command);
        };
        self.hosts.count_command(host);
        let Some(token) = host.occupy(slot, index) else { return };
        host.traces.occupied(token, &plugin.name);
        let key = RowKey::of(plugin_bit, payload);
        self.hosts.counts.received(key);
        self.hosts.counts.begun(host, token, key);
        if payload.len() > LONGEST_BUFFER {
            return self.list(host, token, payload, index);
        }
        let ids = (host.dest_id, token.pack());
        match plugin.call_traced(ids, payload, self.draft.payload(host.longest()), context) {
            CallOutcome::Answered(status, len) => {
                self.rounds.answered(usize::from(index));
                self.hosts.counts.ended(host, slot, status);
                let why = match status {
                    DocaStatus::SUCCESS => String::new(),
                    _ => {
                        let failed = FailedCommand::new(&plugin.name, token, payload);
                        failure_of(&self.hosts, host, failed, status)
                    }
                };
                host.free(slot);
                let answer = TaskAnswer { slot, status, payload: Some(len), why: &why };
                self.hosts.answer(host, &mut self.draft, &answer);
            }
            CallOutcome::Pending => self.rounds.owes(usize::from(index)),
            CallOutcome::Declined => self.list(host, token, payload, index),
        }
    }

    #[inline]
    fn list(&mut self, host: &HostEntry, token: TaskToken, payload: &[u8], index: u8) {
        let Some(plugin) = self.plugins.get_mut(usize::from(index)) else { return };
        if let Some(recorder) = self.hosts.recorder_of(plugin.id) {
            let (memories, token) = (&self.hosts.memories, token.pack());
            recorder.command(host.dest_id, token, plugin.id, payload, memories);
        }
        let buffer = match self.buffer.take_if(|buffer| buffer.capacity() == payload.len()) {
            Some(buffer) => Some(buffer),
            None => CommandBuffer::new(payload.len()),
        };
        match buffer {
            Some(buffer) => {
                let desc = buffer.fill(host.dest_id, plugin.id, token.pack(), payload);
                self.usual = payload.len();
                plugin.push(desc);
                self.rounds.owes(usize::from(index));
            }
            None => {
                host.free(token.slot);
                self.hosts.counts.ended(host, token.slot, DocaError::NO_MEMORY.into());
                let (code, why) = (DocaError::NO_MEMORY, "memory for it is exhausted");
                let failed = FailedCommand::new(&plugin.name, token, payload);
                self.hosts.refuse(host, &mut self.draft, failed, code, why);
            }
        }
    }

    /// Handles a frame whose bit does not belong to a plugin of this worker.
    #[cold]
    fn unusual(&mut self, host: &HostEntry, command: &Command<'_>) {
        let slot = command.slot;
        match command.unusual() {
            Some(Unusual::Cancel(reason)) => {
                // A host may send any number; plugins get one of two reasons.
                let is_late = reason == CancelReason::TIMED_OUT.0;
                let reason =
                    if is_late { CancelReason::TIMED_OUT } else { CancelReason::CANCELLED };
                self.cancel(host, slot, reason);
            }
            _ if !host.is_free(slot) => self.hosts.disconnect(host, slot),
            Some(Unusual::Limited(command, left)) => {
                host.set_deadline(slot, clock::monotonic().saturating_add(left).max(1));
                self.command(host, &command);
            }
            Some(Unusual::Traced(command, left, context)) => {
                if left != 0 {
                    host.set_deadline(slot, clock::monotonic().saturating_add(left).max(1));
                }
                self.traced(host, &command, context);
            }
            None => {
                self.hosts.count_command(host);
                self.hosts.counts.unserved();
                // The host counts it, too.
                let Some(token) = host.occupy(slot, NO_PLUGIN) else { return };
                // Clears a possible deadline.
                host.free(slot);
                let (code, why) = match self.closed {
                    true => (DocaError::SHUTDOWN, "the worker stops".to_owned()),
                    false => {
                        let names: Vec<_> = self.plugins.iter().map(|it| &*it.name).collect();
                        let text = format!(
                            "its plugin is not loaded here, only {}; start a worker with it",
                            names.join(", ")
                        );
                        (DocaError::NOT_FOUND, text)
                    }
                };
                let failed = FailedCommand::new("", token, command.payload);
                self.hosts.refuse(host, &mut self.draft, failed, code, &why);
            }
        }
    }

    /// Cancels a slot's command, if present: its answer may have crossed the cancel.
    fn cancel(&mut self, host: &HostEntry, slot: u16, reason: CancelReason) {
        let Some((_, index)) = host.at(slot) else { return };
        if self.plugins.get(usize::from(index)).is_some_and(PluginInstance::has_commands) {
            // The command may still be in the list.
            self.run_plugin(index.into());
        }
        if let Some((token, index)) = host.at(slot)
            && let Some(plugin) = self.plugins.get(usize::from(index))
        {
            self.hosts.counts.cancelled(host, slot, reason);
            if let Some(recorder) = self.hosts.recorder_of(plugin.id) {
                let is_late = reason == CancelReason::TIMED_OUT;
                recorder.cancel(host.dest_id, token.pack(), is_late);
            }
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
        for index in self.rounds.due(looks) {
            worked |= self.run_plugin(index);
        }
        self.hosts.end_due();
        if self.usual <= LONGEST_BUFFER
            && self.buffer.as_ref().map(CommandBuffer::capacity) != Some(self.usual)
        {
            self.buffer = CommandBuffer::new(self.usual);
        }
        if self.hosts.departed.borrow().has_news() {
            self.report_departed();
        }
        worked | self.hosts.turn()
    }

    #[cold]
    fn report_departed(&self) {
        let at = |index: usize| self.plugins.get(index).into_iter();
        let cancel = |index, dest_id, token| {
            at(index).for_each(|plugin| plugin.cancel(dest_id, token, CancelReason::HOST_LEFT));
        };
        let host_left = |index, dest_id| at(index).for_each(|plugin| plugin.host_left(dest_id));
        self.hosts.departed.borrow_mut().notify_plugins(self.plugins.len(), cancel, host_left);
    }

    #[inline(always)]
    fn run_plugin(&mut self, index: usize) -> bool {
        let Some(plugin) = self.plugins.get_mut(index) else { return false };
        let mut worked = plugin.has_commands();
        if worked && let Err(code) = plugin.deliver() {
            refuse_undelivered(&self.hosts, &mut self.draft, plugin, index, code);
            if !plugin.owes() {
                self.rounds.settled(index);
            }
        }
        if plugin.progress() {
            worked = true;
            while let Some(notification) = plugin.finished() {
                notify(&self.hosts, &mut self.draft, plugin, index, notification);
            }
            if !plugin.owes() {
                self.rounds.settled(index);
            }
        }
        plugin.rest();
        if self.hosts.take_moved() {
            self.rounds.moved(index);
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
