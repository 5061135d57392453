//! The way back to the hosts: notifications into messages, messages out, and the ends of
//! connections.

mod ends;
mod unread;

use std::convert::Infallible;
use std::rc::Rc;

use tracing::debug;
use ucx::{Request, Status};
use urom_abi::DocaError;
use urom_abi::descriptor::NotificationDesc;
use urom_abi::plugin::WorkerNotify;
use urom_wire::control::Failure;
use urom_wire::frame::{MAX_STATUS, NOTIFICATION_HEADER};
use urom_wire::pass::first_channel;

use self::unread::{Allowance, give_memory_back};
use super::connection::Connection;
use super::connections::Connections;
use super::control_thread::ControlHandle;
use super::departed::Departed;
use super::desk::Desk;
use super::instance::Instance;
use super::messages::ToControl;
use super::outgoing::{Outgoing, Pool};
use super::slot::Token;

#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) connections: Connections,
    /// The channels of connections with frames that leave at the end of the turn.
    pub(super) dirty: Vec<u16>,
    sending: Vec<u16>,
    /// The channels of connections with ends of shares that are due.
    pub(super) due: Vec<u16>,
    /// Whether there is something in `lost` or in `closing`.
    is_ending: bool,
    /// Connections found to be of no more use during this turn, and why.
    lost: Vec<(u16, Failure)>,
    /// The last messages to hosts that are gone and left much unread.
    closing: Vec<Request<Outgoing>>,
    pub(crate) allowance: Allowance,
    unread: usize,
    pub(super) pool: Pool,
    pub(super) departed: Departed,
    pub(super) desk: Rc<Desk>,
    control: ControlHandle,
}

impl Hosts {
    pub(crate) fn new(
        max_message: usize,
        max_unread: usize,
        desk: Rc<Desk>,
        control: ControlHandle,
    ) -> Hosts {
        Hosts {
            connections: Connections::new(first_channel()),
            dirty: Vec::new(),
            sending: Vec::new(),
            due: Vec::new(),
            is_ending: false,
            lost: Vec::new(),
            closing: Vec::new(),
            allowance: Allowance::new(max_unread, max_message),
            unread: 0,
            pool: Pool::new(max_message),
            departed: Departed::default(),
            desk,
            control,
        }
    }

    #[inline]
    pub(crate) fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn is_empty(&self) -> bool {
        self.connections.is_empty() && self.departed.is_empty()
    }

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
        if let Some(connection) = self.connections.get(channel) {
            limited!(warn, "refused a command of {}: {why}: {code}", connection.host);
        }
        self.answer(channel, slot, code, &format!("the worker refused it: {why}"));
    }

    #[cold]
    fn answer(&mut self, channel: u16, slot: u16, code: DocaError, why: &str) {
        let Some(connection) = self.connections.get(channel) else { return };
        match connection.refuse(&mut self.pool, slot, code, why) {
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
            self.answer(channel, slot, code, "");
        }
    }

    #[cold]
    pub(crate) fn give_up(&mut self, plugin: &mut Instance, place: usize, code: DocaError) {
        while let Some(command) = plugin.take_back() {
            let token = Token::unpack(command.header().urom_context);
            self.departed.end(token.pack(), command.dest_id(), place);
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
            note_strange(&plugin.name, status);
        }
        let why = match status {
            DocaError::SUCCESS => String::new(),
            _ => self.desk.failure(dest_id, urom_context),
        };
        let len = len as usize;
        let pack = |place: &mut [u8]| plugin.pack(notification, place);
        match connection.notify(&mut self.pool, token.slot, status, len, &why, pack) {
            Ok(Ok(())) => join(&mut self.dirty, token.channel, connection),
            Ok(Err(error)) => self.unpacked(plugin, token, &error),
            Err(status) => self.lose(token.channel, unsendable(status)),
        }
    }

    /// Sends an answer with another status than success, whose `len` bytes a plugin wrote to the
    /// place where it would be sent from.
    #[cold]
    pub(crate) fn answered_with(
        &mut self,
        plugin: &Instance,
        token: Token,
        status: DocaError,
        len: usize,
    ) {
        let Token { channel, slot, .. } = token;
        let Some(connection) = self.connections.get(channel) else { return };
        if status.0 > MAX_STATUS {
            note_strange(&plugin.name, status);
        }
        let why = self.desk.failure(connection.dest_id, token.pack());
        let payload = connection.written(len).to_vec();
        let pack = |place: &mut [u8]| -> Result<usize, Infallible> {
            place[NOTIFICATION_HEADER..][..len].copy_from_slice(&payload);
            Ok(len)
        };
        connection.free(slot);
        match connection.notify(&mut self.pool, slot, status, len, &why, pack) {
            Ok(_) => join(&mut self.dirty, channel, connection),
            Err(status) => self.lose(channel, unsendable(status)),
        }
    }

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

    #[cold]
    fn unpacked(&mut self, plugin: &Instance, token: Token, error: &Failure) {
        let why = format!("plugin `{}` could not pack its answer: {}", plugin.name, error.text);
        self.refuse(token.channel, token.slot, error.code(), &why);
    }

    #[cold]
    fn unasked(&mut self, plugin: &mut Instance, place: usize, context: u64, dest_id: u64) {
        if self.departed.end(context, dest_id, place) {
            plugin.answered();
            debug!("dropped a notification of plugin `{}`: its host is gone", plugin.name);
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

    /// Sends messages and ends lost connections at the end of a turn. Whether there was anything to
    /// send.
    #[inline(always)]
    pub(crate) fn turn(&mut self) -> bool {
        let mut worked = false;
        if !self.dirty.is_empty() {
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

    #[inline(always)]
    fn send(&mut self) {
        while let Some(channel) = self.dirty.pop() {
            let Some(connection) = self.connections.get(channel) else { continue };
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

    /// Notes that a connection is of no more use; it ends with the turn.
    #[cold]
    pub(crate) fn lose(&mut self, channel: u16, failure: Failure) {
        self.lost.push((channel, failure));
        self.is_ending = true;
    }

    #[cold]
    fn bury(&mut self) {
        while let Some((channel, failure)) = self.lost.pop() {
            if let Some(connection) = self.part(channel) {
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

    /// Notes that no connection is of use any more.
    pub(crate) fn lose_all(&mut self, failure: &Failure) {
        for channel in self.connections.numbers() {
            self.lose(channel, failure.clone());
        }
    }

    /// Ends all connections, and waits for nothing that UCX still has for them.
    pub(crate) fn let_go(&mut self) {
        for channel in self.connections.numbers() {
            if let Some(connection) = self.part(channel) {
                self.abandon(connection);
            }
        }
        self.closing.drain(..).for_each(Request::detach);
    }

    /// Takes a connection out. What plugins still answer to it is dropped.
    pub(crate) fn part(&mut self, channel: u16) -> Option<Connection> {
        let connection = self.connections.remove(channel)?;
        self.unread -= connection.counted;
        self.departed.add(connection.dest_id, connection.in_flight(channel));
        self.desk.close(connection.dest_id);
        Some(connection)
    }

    /// Lets a connection in.
    pub(crate) fn admit(&mut self, channel: u16, connection: Connection) {
        self.desk.open(connection.dest_id, connection.limit);
        self.connections.insert(channel, connection);
    }
}

/// Puts a connection on the list of those with frames to send, unless it is there.
#[inline]
pub(super) fn join(dirty: &mut Vec<u16>, channel: u16, connection: &mut Connection) {
    if !std::mem::replace(&mut connection.is_dirty, true) {
        dirty.push(channel);
    }
}

#[cold]
pub(super) fn note_strange(plugin: &str, status: DocaError) {
    limited!(
        warn,
        "plugin `{plugin}` answered a command with the status {:#x}, which is none: its host is told {} in its place; \
         answer with a doca_error_t",
        status.0,
        DocaError::UNEXPECTED
    );
}

#[cold]
pub(super) fn unsendable(status: Status) -> Failure {
    Failure::new(
        DocaError::CONNECTION_RESET,
        format!("the worker cannot send to the host: {status}"),
    )
}
