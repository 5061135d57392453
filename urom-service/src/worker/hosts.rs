//! The way back to the hosts: notifications into messages, messages out, and the ends of
//! connections.

use std::collections::HashMap;

use tracing::{debug, warn};
use ucx::{Request, Status};
use urom_abi::descriptor::NotificationDesc;
use urom_abi::plugin::WorkerNotify;
use urom_abi::{Count, DocaError};
use urom_wire::control::Failure;
use urom_wire::frame::{MAX_SLOTS, MAX_STATUS, NOTIFICATION_HEADER};
use urom_wire::pass::first_channel;

use super::connection::{Connection, NotifyError};
use super::connections::Connections;
use super::control::ControlHandle;
use super::instance::Instance;
use super::messages::ToControl;
use super::outgoing::{Outgoing, Pool};
use super::slot::Token;
use urom_log::LineBudget;

/// How many commands of hosts that are gone may wait for their plugins before no more hosts are let
/// in: four times what one host may have in flight.
const MOST_ORPHANS: usize = 4 * MAX_SLOTS;

/// How many times as much all hosts of a worker may leave unread as one.
const UNREAD_BY_ALL: usize = 4;

/// From how many bytes on that a host left unread their memory is given back to the system.
const MUCH_UNREAD: usize = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    bytes: usize,
    /// The most messages of one host that UCX may have unsent.
    pub(crate) messages: usize,
    /// From how many messages on their memory is given back to the system.
    much: usize,
}

impl Allowance {
    /// `bytes` of buffers for notifications of up to `max_message` bytes, and one message at least.
    pub(crate) fn new(bytes: usize, max_message: usize) -> Allowance {
        let messages = |bytes: usize| (bytes / Outgoing::room_for(max_message)).max(1);
        Allowance { bytes, messages: messages(bytes), much: messages(MUCH_UNREAD) }
    }
}

#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) connections: Connections,
    /// The channel of the first connection with frames that leave at the end of the turn, 0 for
    /// none; each knows the next.
    dirty: u16,
    /// Connections with messages UCX is not done with.
    sending: Vec<u16>,
    /// Whether there is something in `lost` or in `closing`.
    is_ending: bool,
    /// Connections found to be of no more use during this turn, and why.
    lost: Vec<(u16, Failure)>,
    /// The last messages to hosts that are gone and left much unread.
    closing: Vec<Request<Outgoing>>,
    pub(crate) allowance: Allowance,
    /// How many messages UCX is not done with, of all connections.
    unread: usize,
    pool: Pool,
    /// The plugins' places by the contexts and destinations of commands whose hosts are gone.
    orphans: HashMap<(u64, u64), u8>,
    control: ControlHandle,
    forged: LineBudget,
    refused: LineBudget,
    strange: LineBudget,
}

impl Hosts {
    pub(crate) fn new(max_message: usize, max_unread: usize, control: ControlHandle) -> Hosts {
        Hosts {
            connections: Connections::new(first_channel()),
            dirty: 0,
            sending: Vec::new(),
            is_ending: false,
            lost: Vec::new(),
            closing: Vec::new(),
            allowance: Allowance::new(max_unread, max_message),
            unread: 0,
            pool: Pool::new(max_message),
            orphans: HashMap::new(),
            control,
            forged: LineBudget::default(),
            refused: LineBudget::default(),
            strange: LineBudget::default(),
        }
    }

    #[inline]
    pub(crate) fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    /// Fails when plugins have left so many commands of hosts that are gone unanswered that no more
    /// may come: each takes memory, here and in its plugin.
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

    #[cold]
    pub(crate) fn refuse(&mut self, channel: u16, slot: u16, code: DocaError, why: &str) {
        if let Some(more) = self.refused.line() {
            match self.connections.get(channel) {
                Some(connection) => {
                    warn!("refused a command of {}: {why}: {code}{more}", connection.host)
                }
                None => warn!("refused a command: {why}: {code}{more}"),
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
        if connection.dest_id != dest_id
            || !connection.vacate(token.slot, token.generation, place as u8)
        {
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

    /// Answers in place of a plugin that could not pack its answer, or ends a connection that
    /// cannot send.
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
        } else if let Some(more) = self.forged.line() {
            warn!(
                "plugin `{}` answered what is not in flight: no command waits for a notification with urom_context \
                 {context:#x} and dest_id {dest_id}, so it is not sent, and the command it was for stays unanswered; copy \
                 both from the command, and answer it once{more}",
                plugin.name
            );
        }
    }

    /// What is left to do for the connections at the end of a turn: messages out, and lost ones
    /// away. Whether there was anything to send.
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
        if self.is_ending {
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

    #[cold]
    fn sends_on(&mut self, channel: u16) {
        let Some(connection) = self.connections.get(channel) else { return };
        if !std::mem::replace(&mut connection.is_collected, true) {
            self.sending.push(channel);
        }
        self.count_unread(channel);
    }

    /// Counts what a host has left unread, and gives up a host if that is too much: this one, or
    /// the one that has left the most.
    fn count_unread(&mut self, channel: u16) {
        let Some(connection) = self.connections.get(channel) else { return };
        let now = connection.unread();
        self.unread = self.unread + now - std::mem::replace(&mut connection.counted, now);
        let bytes = self.allowance.bytes;
        if connection.is_over() {
            let whose = format!("the host has not read {} of answers", in_units(bytes));
            self.lose(channel, unread(&whose));
        } else if self.unread > UNREAD_BY_ALL * self.allowance.messages
            && let Some(channel) = self.most_unread()
        {
            let whose = format!(
                "the hosts of the worker have not read {} of answers, most of them this host's",
                in_units(UNREAD_BY_ALL * bytes)
            );
            self.lose(channel, unread(&whose));
        }
    }

    /// The connection whose host has left the most unread.
    fn most_unread(&mut self) -> Option<u16> {
        let Hosts { connections, sending, .. } = self;
        let unread = |channel: &u16| connections.get(*channel).map_or(0, |found| found.unread());
        sending.iter().copied().max_by_key(unread)
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
                        let still = connection.is_collected;
                        if done {
                            self.count_unread(channel);
                        }
                        still
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

    #[cold]
    pub(crate) fn lose(&mut self, channel: u16, failure: Failure) {
        self.lost.push((channel, failure));
        self.is_ending = true;
    }

    #[cold]
    fn bury(&mut self) {
        while let Some((channel, failure)) = self.lost.pop() {
            if let Some(connection) = self.part(channel) {
                // The control thread logs why.
                self.control.send(ToControl::Refused { link: connection.link, failure });
                self.abandon(connection);
            }
        }
        let before = self.closing.len();
        self.closing.retain(|request| !request.is_done());
        if self.closing.len() < before {
            give_memory_back();
        }
        self.is_ending = !self.closing.is_empty();
    }

    pub(crate) fn abandon(&mut self, connection: Connection) {
        let is_much = connection.unread() >= self.allowance.much;
        let Some(last) = connection.abandon() else { return };
        if is_much {
            self.closing.push(last);
            self.is_ending = true;
        } else {
            last.detach();
        }
    }

    /// Waits for nothing that hosts left unread.
    pub(crate) fn let_go(&mut self) {
        self.closing.drain(..).for_each(Request::detach);
    }

    /// Takes a connection out. What plugins still answer to it is dropped.
    pub(crate) fn part(&mut self, channel: u16) -> Option<Connection> {
        self.leave(channel);
        let connection = self.connections.remove(channel)?;
        self.unread -= connection.counted;
        let left = connection.in_flight(channel);
        self.orphans.extend(left.map(|(token, place)| ((token.pack(), connection.dest_id), place)));
        Some(connection)
    }

    /// Takes a connection off the list of those with frames to send.
    fn leave(&mut self, channel: u16) {
        let Some(connection) =
            self.connections.get(channel).filter(|connection| connection.is_dirty)
        else {
            return;
        };
        connection.is_dirty = false;
        let behind = connection.next_dirty;
        if self.dirty == channel {
            self.dirty = behind;
        } else if let Some((_, before)) = self
            .connections
            .iter_mut()
            .find(|(_, other)| other.is_dirty && other.next_dirty == channel)
        {
            before.next_dirty = behind;
        }
    }
}

/// Gives free memory back to the system. The C library itself gives back only what lies above
/// everything in use. Takes about a millisecond for 10 MiB.
fn give_memory_back() {
    // SAFETY: it may be called at any time, and moves nothing that is in use.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0)
    };
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
fn note_strange(strange: &mut LineBudget, plugin: &str, status: DocaError) {
    if let Some(more) = strange.line() {
        warn!(
            "plugin `{plugin}` answered a command with the status {:#x}, which is none: its host is told {} in its place; \
             answer with a doca_error_t{more}",
            status.0,
            DocaError::UNEXPECTED
        );
    }
}

#[cold]
fn unread(whose: &str) -> Failure {
    let text = format!(
        "{whose}, and the worker keeps no more: read while tasks are in flight, have fewer of them \
         in flight, or start uromd with a larger --max-unread"
    );
    Failure::new(DocaError::FULL, text)
}

fn in_units(bytes: usize) -> String {
    const MIB: usize = 1 << 20;
    match bytes % MIB {
        0 => format!("{} MiB", bytes / MIB),
        _ => Count(bytes, "byte").to_string(),
    }
}

#[cold]
fn unsendable(status: Status) -> Failure {
    Failure::new(
        DocaError::CONNECTION_RESET,
        format!("the worker cannot send to the host: {status}"),
    )
}

#[cfg(test)]
mod tests {
    use ucx::Worker;

    use super::*;
    use crate::host_names::HostName;
    use crate::worker::connection::Peer;
    use urom_wire::frame::MESSAGE_LEN;
    use urom_wire::pass::Pass;
    use urom_wire::ucx_context::context;

    const LIMIT: usize = 4096;

    /// How many bare notifications fill a message.
    const FULL: usize = MESSAGE_LEN / 12;

    fn worker() -> Worker {
        context().build().and_then(|context| context.worker()).unwrap()
    }

    /// `count` hosts that read nothing, may leave `messages` messages unread, and have channels
    /// from 1 on.
    fn hosts(count: u16, messages: usize) -> (Hosts, Vec<Worker>, Received) {
        let (control, told) = ControlHandle::new();
        let mut hosts = Hosts::new(LIMIT, messages * Outgoing::room_for(LIMIT), control);
        let ours = worker();
        let mut workers = Vec::new();
        for channel in 1..=count {
            let theirs = worker();
            let endpoint = ours.endpoint().connect(&theirs.address().unwrap()).unwrap();
            let name = HostName::new(channel.into(), "host");
            let peer = Peer { channel, endpoint, pass: Pass::new(77), name };
            let connection = Connection::new(channel.into(), 1, peer, MAX_SLOTS, LIMIT, messages);
            hosts.connections.insert(channel, connection);
            workers.push(theirs);
        }
        workers.push(ours);
        (hosts, workers, told)
    }

    type Received = tokio::sync::mpsc::UnboundedReceiver<ToControl>;

    /// Answers to a host as many times as fill so many messages, within one turn.
    fn answer(hosts: &mut Hosts, channel: u16, messages: usize) {
        for _ in 0..messages * FULL {
            hosts.answer(channel, 0, DocaError::SHUTDOWN);
        }
        hosts.turn();
    }

    fn given_up(told: &mut Received) -> Vec<(u64, String)> {
        let refused = |message| match message {
            ToControl::Refused { link, failure } => (link, failure.to_string()),
            other => panic!("{other:?}"),
        };
        std::iter::from_fn(|| told.try_recv().ok()).map(refused).collect()
    }

    #[test]
    fn a_host_that_leaves_more_unread_than_it_may_is_given_up_and_the_others_are_not() {
        let (mut hosts, _workers, mut told) = hosts(2, 100);
        answer(&mut hosts, 1, 90);
        answer(&mut hosts, 2, 90);
        assert_eq!((given_up(&mut told), hosts.unread > 150), (vec![], true));
        // More than memory has room for if it were kept, in a single turn.
        answer(&mut hosts, 2, 1000);
        let told = given_up(&mut told);
        let [(2, why)] = &told[..] else { panic!("{told:?}") };
        assert!(why.contains("has not read") && why.contains("--max-unread"), "{why}");
        assert!(hosts.unread <= 90 && hosts.connections.get(1).is_some(), "{}", hosts.unread);
    }

    #[test]
    fn the_host_that_has_left_the_most_is_given_up_when_all_hosts_have_left_too_much() {
        let (mut hosts, _workers, mut told) = hosts(6, 100);
        for (channel, messages) in [(1, 70), (2, 60), (3, 95), (4, 80), (5, 60)] {
            answer(&mut hosts, channel, messages);
        }
        assert_eq!(given_up(&mut told), []);
        answer(&mut hosts, 6, 90);
        let told = given_up(&mut told);
        let [(3, why)] = &told[..] else { panic!("{told:?}") };
        assert!(why.contains("most of them") && why.contains("--max-unread"), "{why}");
        let sum: usize =
            hosts.connections.iter_mut().map(|(_, connection)| connection.unread()).sum();
        assert!(hosts.unread == sum && sum > 300, "{} in place of {sum}", hosts.unread);
    }

    #[test]
    fn amounts_are_whole_mebibytes_or_bytes() {
        assert_eq!((&*in_units(64 << 20), &*in_units(70_000)), ("64 MiB", "70000 bytes"));
    }
}
