//! The hosts of a worker: one entry each, and the ways in and out.
//!
//! | file | holds |
//! | --- | --- |
//! | `host` | a host's entry: slots, deadlines, reasons of failures |
//! | `bells` | what ends the worker's sleep |
//! | `outbox` | the frames to a host, over its ring or over UCX |
//! | `endings` | the ends of connections |
//! | `ends` | the ends of a host's shares of memory |
//! | `departed` | hosts that left commands with plugins |
//!
//! Everything belongs to the data thread. While a plugin runs, only the table and the inbox of the
//! host whose command it has are borrowed: a plugin's calls of the worker's services read the table
//! and need the rest.

mod bells;
mod departed;
mod endings;
mod ends;
mod host;
mod outbox;

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::thread::{self, ThreadId};

use ucx::{Endpoint, Request, Status};
use urom_abi::{DocaError, Quantity};
use urom_os::EventFd;
use urom_wire::control::Failure;
use urom_wire::envelope::{Envelope, Pass, first_channel};
use urom_wire::frame::short_notification;
use urom_wire::ring::Ring;
use urom_wire::ucx_context::Config;

pub(crate) use self::bells::Bells;
use self::departed::Departed;
pub(crate) use self::host::{Answer, Draft, Host, Token};
use self::outbox::{Outbox, RingOutbox, UcxOutbox};
use super::control_thread::ControlHandle;
use super::memory::Memories;
use super::messages::LinkKey;

/// The most hosts that one turn looks at. A worker with more looks at the others in the next turns.
const WINDOW: usize = 32;

#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) thread: ThreadId,
    pub(crate) bells: Bells,
    table: RefCell<Vec<Option<Rc<Host>>>>,
    /// The channel of the first place in the table.
    base: u16,
    /// Whether a host was ever connected over UCX, which may have closing to do after its end.
    uses_ucx: Cell<bool>,
    last_dest_id: Cell<u64>,
    /// Where the next turn begins to look.
    cursor: Cell<usize>,
    /// Hosts with frames that wait for room, or for a message to be full.
    waiting: RefCell<Vec<Rc<Host>>>,
    /// Whether frames were written since the last announcement.
    is_written: Cell<bool>,
    /// The numbers of hosts that are lost, and why. Their connections end with the turn.
    lost: RefCell<Vec<(u64, Failure)>>,
    /// The last messages to hosts that have left much unread.
    closing: RefCell<Vec<Request<Vec<u8>>>>,
    max_unread: usize,
    pub(super) departed: RefCell<Departed>,
    pub(crate) memories: Memories,
    /// Hosts with shares whose end is due.
    due: RefCell<Vec<Rc<Host>>>,
    /// Whether the plugin that runs moved something else than an answer.
    moved: Cell<bool>,
    control: ControlHandle,
}

impl Hosts {
    /// `memory` configures UCX for hosts' memory.
    pub(crate) fn new(
        max_unread: usize,
        memory: Config,
        control: ControlHandle,
        bells: Bells,
    ) -> Rc<Hosts> {
        Rc::new(Hosts {
            thread: thread::current().id(),
            bells,
            table: RefCell::default(),
            base: first_channel(),
            uses_ucx: Cell::new(false),
            last_dest_id: Cell::new(0),
            cursor: Cell::new(0),
            waiting: RefCell::default(),
            is_written: Cell::new(false),
            lost: RefCell::default(),
            closing: RefCell::default(),
            max_unread,
            departed: RefCell::default(),
            memories: Memories::new(memory),
            due: RefCell::default(),
            moved: Cell::new(false),
            control,
        })
    }

    /// Lets a host in, which is not connected yet. `None` when there are as many hosts as channels.
    pub(crate) fn admit(
        &self,
        link: LinkKey,
        name: &str,
        pass: Pass,
        limit: usize,
        max_inflight: usize,
    ) -> Option<Rc<Host>> {
        let mut table = self.table.borrow_mut();
        let place = table.iter().position(Option::is_none).unwrap_or(table.len());
        let channel = self.base.wrapping_add(u16::try_from(place).ok()?);
        self.last_dest_id.set(self.last_dest_id.get() + 1);
        let numbers = (link, channel, self.last_dest_id.get());
        let host = Rc::new(Host::new(numbers, name, pass, limit, max_inflight));
        if place == table.len() {
            table.push(None);
        }
        table[place] = Some(Rc::clone(&host));
        Some(host)
    }

    /// Connects a host by its ring.
    ///
    /// # Errors
    /// The system's: the bell cannot end the worker's sleep.
    pub(crate) fn connect_ring(
        &self,
        host: &Host,
        (reader, writer): Ring,
        bell: EventFd,
    ) -> io::Result<()> {
        self.bells.add(&bell)?;
        *host.inbox.borrow_mut() = Some(reader);
        *host.outbox.borrow_mut() = Outbox::Ring(RingOutbox::new(writer, bell));
        Ok(())
    }

    /// Connects a host over UCX.
    pub(crate) fn connect_ucx(&self, host: &Host, endpoint: Endpoint, channel: u16) {
        let envelope = Envelope { pass: host.pass, channel };
        *host.outbox.borrow_mut() = Outbox::Ucx(UcxOutbox::new(endpoint, envelope));
        self.use_ucx();
    }

    #[inline]
    pub(crate) fn by_channel(&self, channel: u16) -> Option<Rc<Host>> {
        let place = usize::from(channel.wrapping_sub(self.base));
        self.table.borrow().get(place).cloned().flatten()
    }

    pub(crate) fn by_link(&self, link: LinkKey) -> Option<Rc<Host>> {
        self.find(|host| host.link == link)
    }

    pub(crate) fn by_dest_id(&self, dest_id: u64) -> Option<Rc<Host>> {
        self.find(|host| host.dest_id == dest_id)
    }

    /// The host of a command, by the two numbers that its plugin has.
    pub(crate) fn of_command(&self, dest_id: u64, urom_context: u64) -> Option<Rc<Host>> {
        let host = self.by_channel(Token::unpack(urom_context).channel);
        host.filter(|host| host.dest_id == dest_id)
    }

    fn find(&self, is_it: impl Fn(&Host) -> bool) -> Option<Rc<Host>> {
        self.table.borrow().iter().flatten().find(|host| is_it(host)).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Rc<Host>> {
        self.table.borrow().iter().flatten().cloned().collect()
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn is_empty(&self) -> bool {
        self.table.borrow().iter().all(Option::is_none)
    }

    /// Has turns progress UCX from now on.
    pub(crate) fn use_ucx(&self) {
        self.uses_ucx.set(true);
    }

    /// Whether turns progress UCX.
    #[inline]
    pub(crate) fn uses_ucx(&self) -> bool {
        self.uses_ucx.get()
    }

    /// Calls `receive` for the hosts of this turn. Returns whether any of them had something.
    #[inline]
    pub(crate) fn each_of_turn(&self, mut receive: impl FnMut(&Host) -> bool) -> bool {
        let table = self.table.borrow();
        let mut any = false;
        let mut at = self.cursor.get();
        for _ in 0..table.len().min(WINDOW) {
            if at >= table.len() {
                at = 0;
            }
            if let Some(host) = &table[at] {
                any |= receive(host);
            }
            at += 1;
        }
        self.cursor.set(at);
        any
    }

    /// Sends the answer of a command that succeeded.
    #[inline]
    pub(crate) fn succeed(&self, host: &Host, slot: u16, payload: &[u8]) {
        let header = short_notification(slot, DocaError::SUCCESS, payload.len());
        if let Some(header) = header.filter(|_| !host.is_lost.get()) {
            let waits = host.outbox.borrow_mut().send(header, payload);
            self.sent(host, waits);
        }
    }

    /// Sends an answer, with its payload in `draft`.
    pub(crate) fn answer(&self, host: &Host, draft: &mut Draft, answer: &Answer<'_>) {
        if host.is_lost.get() {
            return;
        }
        let short = match answer.payload {
            Some(len) if answer.why.is_empty() => {
                short_notification(answer.slot, answer.status, len).map(|header| (header, len))
            }
            _ => None,
        };
        let waits = match short {
            Some((header, len)) => host.outbox.borrow_mut().send(header, draft.payload(len)),
            None => host.send_long(draft, answer),
        };
        self.sent(host, waits);
    }

    #[inline]
    fn sent(&self, host: &Host, waits: Result<bool, Status>) {
        self.is_written.set(true);
        match waits {
            Ok(false) => {}
            Ok(true) => self.wait(host),
            Err(status) => self.lose(host, unsendable(status)),
        }
    }

    /// Puts a host on the list of those with frames that wait.
    #[cold]
    fn wait(&self, host: &Host) {
        let unread = host.outbox.borrow().unread();
        if unread > self.max_unread {
            return self.lose(host, unread_failure(self.max_unread));
        }
        if !host.is_waiting.replace(true)
            && let Some(host) = self.by_channel(host.channel)
        {
            self.waiting.borrow_mut().push(host);
        }
    }

    /// Refuses a command, which no plugin has.
    #[cold]
    pub(crate) fn refuse(
        &self,
        host: &Host,
        draft: &mut Draft,
        slot: u16,
        status: DocaError,
        why: &str,
    ) {
        limited!(warn, "refused a command of {}: {why}: {status}", host.name);
        let why = format!("the worker refused it: {why}");
        self.answer(host, draft, &Answer { slot, status, payload: None, why: &why });
    }

    /// Answers all commands in flight.
    pub(crate) fn answer_all(&self, draft: &mut Draft, status: DocaError) {
        for host in self.all() {
            let slots: Vec<u16> = host.in_flight().map(|(token, _)| token.slot).collect();
            for slot in slots {
                host.free(slot);
                self.answer(&host, draft, &Answer { slot, status, payload: None, why: "" });
            }
        }
    }

    /// Sends what waits and ends lost connections. Returns whether anything moved.
    #[inline]
    pub(crate) fn turn(&self) -> bool {
        let mut worked = false;
        if !self.waiting.borrow().is_empty() {
            worked = self.flush();
        }
        if !self.lost.borrow().is_empty() || !self.closing.borrow().is_empty() {
            self.bury();
        }
        worked
    }

    /// Wakes the hosts that went to sleep while the last frames were written.
    #[inline]
    pub(crate) fn announce(&self) {
        if self.is_written.replace(false) {
            for host in self.table.borrow().iter().flatten() {
                host.outbox.borrow_mut().announce();
            }
        }
    }

    #[inline(never)]
    fn flush(&self) -> bool {
        let mut worked = false;
        self.is_written.set(true);
        let mut waiting = self.waiting.take();
        let still = |host: &Rc<Host>| {
            let before = host.outbox.borrow().unread();
            let flushed = host.outbox.borrow_mut().flush();
            let after = host.outbox.borrow().unread();
            worked |= after != before || after == 0;
            let waits = flushed.unwrap_or_else(|status| {
                self.lose(host, unsendable(status));
                false
            });
            if waits && after > self.max_unread {
                self.lose(host, unread_failure(self.max_unread));
            }
            host.is_waiting.set(waits);
            waits
        };
        waiting.retain(still);
        // The list keeps its memory, and gets the hosts that were lost meanwhile.
        waiting.append(&mut self.waiting.borrow_mut());
        self.waiting.replace(waiting);
        worked
    }

    /// Whether frames wait for hosts.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    /// Prepares the rings for a sleep. Returns `false` when a host has written, or made room.
    pub(crate) fn sleep(&self) -> bool {
        self.announce();
        let sleeps = |host: &Rc<Host>| {
            host.outbox.borrow_mut().wait_for_room()
                && host.inbox.borrow_mut().as_mut().is_none_or(|inbox| inbox.sleep())
        };
        self.table.borrow().iter().flatten().all(sleeps)
    }

    /// Ends the sleep of the rings: hosts need not wake the worker.
    pub(crate) fn wake(&self) {
        for host in self.table.borrow().iter().flatten() {
            if let Some(inbox) = host.inbox.borrow_mut().as_mut() {
                inbox.wake();
            }
        }
    }

    /// Finds the host whose command a plugin answers, and frees the command's slot. `None` when no
    /// such command is in flight.
    #[inline]
    pub(crate) fn vacate(&self, token: Token, dest_id: u64, place: usize) -> Option<Rc<Host>> {
        let host = self.by_channel(token.channel)?;
        (host.dest_id == dest_id && host.vacate(token, place)).then_some(host)
    }

    pub(crate) fn set_moved(&self) {
        self.moved.set(true);
    }

    /// Whether the plugin that ran last moved something else than an answer.
    #[inline]
    pub(crate) fn take_moved(&self) -> bool {
        self.moved.get() && self.moved.replace(false)
    }
}

#[cold]
fn unsendable(status: Status) -> Failure {
    let text = format!("the worker cannot send to the host: {status}");
    Failure::new(DocaError::CONNECTION_RESET, text)
}

#[cold]
fn unread_failure(most: usize) -> Failure {
    const MIB: usize = 1 << 20;
    let most = match most % MIB {
        0 => format!("{} MiB", most / MIB),
        _ => Quantity(most, "byte").to_string(),
    };
    let text = format!(
        "the host has not read {most} of answers, and the worker keeps no more: read while tasks \
         are in flight, have fewer of them in flight, or start uromd with a larger --max-unread"
    );
    Failure::new(DocaError::FULL, text)
}
