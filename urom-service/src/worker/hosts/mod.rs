//! A worker's hosts: their table, and their ways in and out.
//!
//! | file | contents |
//! | --- | --- |
//! | `host` | a host's entry: slots, deadlines, reasons of failures |
//! | `bells` | events that end the worker's sleep |
//! | `outbox` | frames to a host, over its ring or UCX |
//! | `endings` | ends of connections |
//! | `ends` | ends of a host's memory shares |
//! | `departed` | commands of closed connections |
//! | `traces`, `observed` | commands with a trace context; recorded commands |
//! | `counts` | counters and gauges in the worker's page |
//! | `failures` | log lines of failed commands |
//!
//! Everything belongs to the data thread. While a plugin runs, only the table and the inbox of the
//! command's host are borrowed: the worker's services read the table and need the rest.

mod bells;
mod counts;
mod departed;
mod endings;
mod ends;
mod failures;
mod host;
mod observed;
mod outbox;
mod traces;

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::thread::{self, ThreadId};

use ucx::{Endpoint, Request, Status};
use urom_abi::{DocaError, DocaStatus, Quantity};
use urom_os::EventFd;
use urom_wire::control::Failure;
use urom_wire::envelope::{Envelope, VerificationTag, first_channel};
use urom_wire::frame::short_notification;
use urom_wire::ring::Ring;
use urom_wire::ucx_context::Config;

pub(crate) use self::bells::Bells;
use self::counts::Counts;
use self::departed::DepartedHosts;
pub(crate) use self::failures::FailedCommand;
pub(crate) use self::host::{FrameDraft, HostEntry, TaskAnswer, TaskToken};
use self::outbox::{HostOutbox, RingOutbox, UcxOutbox};
pub(crate) use self::traces::Traces;
use super::control_thread::ControlHandle;
use super::memory::HostMemories;
use super::messages::LinkKey;
use super::recorder::Recorder;
use crate::metrics::MetricsPage;

/// Limit of hosts polled in one turn; the next turns poll the others.
const WINDOW: usize = 32;

#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) thread: ThreadId,
    pub(crate) bells: Bells,
    table: RefCell<Vec<Option<Rc<HostEntry>>>>,
    /// Channel of the first table entry.
    base: u16,
    /// Whether a host ever used UCX, which may finish closing a connection after its end.
    uses_ucx: Cell<bool>,
    last_dest_id: Cell<u64>,
    /// Where the next turn starts.
    cursor: Cell<usize>,
    /// Hosts with frames that wait for capacity, or for a full message.
    waiting: RefCell<Vec<Rc<HostEntry>>>,
    is_written: Cell<bool>,
    /// Lost hosts with the reason; their connections end with the turn.
    lost: RefCell<Vec<(u64, Failure)>>,
    /// Last messages to hosts that left many bytes unread.
    closing: RefCell<Vec<Request<Vec<u8>>>>,
    max_unread: usize,
    pub(super) departed: RefCell<DepartedHosts>,
    pub(crate) memories: HostMemories,
    pub(crate) counts: Counts,
    due: RefCell<Vec<Rc<HostEntry>>>,
    recorder: RefCell<Option<Recorder>>,
    /// Whether there was a recording, or a command with a trace context.
    observed: Cell<bool>,
    /// Whether the running plugin moved anything other than an answer.
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
        page: MetricsPage,
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
            memories: HostMemories::new(memory),
            counts: Counts::new(page),
            due: RefCell::default(),
            recorder: RefCell::default(),
            observed: Cell::new(false),
            moved: Cell::new(false),
            control,
        })
    }

    /// Admits a host, not yet connected. `None` if all channels are taken.
    pub(crate) fn admit(
        &self,
        link: LinkKey,
        name: &str,
        tag: VerificationTag,
        limit: usize,
        max_inflight: usize,
    ) -> Option<Rc<HostEntry>> {
        let mut table = self.table.borrow_mut();
        let index = table.iter().position(Option::is_none).unwrap_or(table.len());
        let channel = self.base.wrapping_add(u16::try_from(index).ok()?);
        self.last_dest_id.set(self.last_dest_id.get() + 1);
        let numbers = (link, channel, self.last_dest_id.get());
        let host = Rc::new(HostEntry::new(numbers, name, tag, limit, max_inflight));
        if index == table.len() {
            table.push(None);
        }
        table[index] = Some(Rc::clone(&host));
        Some(host)
    }

    /// # Errors
    /// The system's error: the doorbell cannot end the worker's sleep.
    pub(crate) fn connect_ring(
        &self,
        host: &HostEntry,
        (reader, writer): Ring,
        bell: EventFd,
    ) -> io::Result<()> {
        self.bells.add(&bell)?;
        *host.inbox.borrow_mut() = Some(reader);
        *host.outbox.borrow_mut() = HostOutbox::Ring(RingOutbox::new(writer, bell));
        Ok(())
    }

    pub(crate) fn connect_ucx(&self, host: &HostEntry, endpoint: Endpoint, channel: u16) {
        let envelope = Envelope { tag: host.tag, channel };
        *host.outbox.borrow_mut() = HostOutbox::Ucx(UcxOutbox::new(endpoint, envelope));
        self.use_ucx();
    }

    #[inline]
    pub(crate) fn by_channel(&self, channel: u16) -> Option<Rc<HostEntry>> {
        let index = usize::from(channel.wrapping_sub(self.base));
        self.table.borrow().get(index).cloned().flatten()
    }

    pub(crate) fn by_link(&self, link: LinkKey) -> Option<Rc<HostEntry>> {
        self.find(|host| host.link == link)
    }

    pub(crate) fn by_dest_id(&self, dest_id: u64) -> Option<Rc<HostEntry>> {
        self.find(|host| host.dest_id == dest_id)
    }

    pub(crate) fn of_command(&self, dest_id: u64, urom_context: u64) -> Option<Rc<HostEntry>> {
        let host = self.by_channel(TaskToken::unpack(urom_context).channel);
        host.filter(|host| host.dest_id == dest_id)
    }

    fn find(&self, is_it: impl Fn(&HostEntry) -> bool) -> Option<Rc<HostEntry>> {
        self.table.borrow().iter().flatten().find(|host| is_it(host)).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Rc<HostEntry>> {
        self.table.borrow().iter().flatten().cloned().collect()
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn is_empty(&self) -> bool {
        self.table.borrow().iter().all(Option::is_none)
    }

    pub(crate) fn use_ucx(&self) {
        self.uses_ucx.set(true);
    }

    #[inline]
    pub(crate) fn uses_ucx(&self) -> bool {
        self.uses_ucx.get()
    }

    /// Calls `receive` for the hosts of this turn. Returns whether any had work.
    #[inline]
    pub(crate) fn each_of_turn(&self, mut receive: impl FnMut(&HostEntry) -> bool) -> bool {
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

    #[inline]
    pub(crate) fn succeed(&self, host: &HostEntry, slot: u16, payload: &[u8]) {
        let header = short_notification(slot, DocaStatus::SUCCESS, payload.len());
        if let Some(header) = header.filter(|_| !host.is_lost.get()) {
            let waits = host.outbox.borrow_mut().send(header, payload);
            self.sent(host, waits);
        }
    }

    pub(crate) fn answer(&self, host: &HostEntry, draft: &mut FrameDraft, answer: &TaskAnswer<'_>) {
        let trace = if self.observed.get() { self.observe(host, draft, answer) } else { None };
        if host.is_lost.get() {
            return;
        }
        let short = match answer.payload {
            Some(len) if answer.why.is_empty() && trace.is_none() => {
                short_notification(answer.slot, answer.status, len).map(|header| (header, len))
            }
            _ => None,
        };
        let waits = match short {
            Some((header, len)) => host.outbox.borrow_mut().send(header, draft.payload(len)),
            None => host.send_long(draft, answer, trace.as_deref()),
        };
        self.sent(host, waits);
    }

    #[inline]
    fn sent(&self, host: &HostEntry, waits: Result<bool, Status>) {
        self.is_written.set(true);
        match waits {
            Ok(false) => {}
            Ok(true) => self.wait(host),
            Err(status) => self.lose(host, unsendable(status)),
        }
    }

    #[cold]
    fn wait(&self, host: &HostEntry) {
        let unread = host.outbox.borrow().unread();
        if unread > self.max_unread {
            return self.evict(host);
        }
        if !host.is_waiting.replace(true)
            && let Some(host) = self.by_channel(host.channel)
        {
            self.waiting.borrow_mut().push(host);
        }
    }

    pub(crate) fn answer_all(&self, draft: &mut FrameDraft, code: DocaError) {
        let status = code.into();
        for host in self.all() {
            let slots: Vec<u16> = host.in_flight().map(|(token, _)| token.slot).collect();
            for slot in slots {
                host.free(slot);
                self.counts.ended(&host, slot, status);
                self.answer(&host, draft, &TaskAnswer { slot, status, payload: None, why: "" });
            }
        }
    }

    /// Sends waiting frames, and ends lost connections. Returns whether anything moved.
    #[inline]
    pub(crate) fn turn(&self) -> bool {
        let mut worked = false;
        if !self.waiting.borrow().is_empty() {
            worked = self.flush();
        }
        if !self.lost.borrow().is_empty() || !self.closing.borrow().is_empty() {
            self.remove_lost();
        }
        worked
    }

    #[inline]
    pub(crate) fn announce(&self) {
        if self.is_written.replace(false) {
            for host in self.table.borrow().iter().flatten() {
                host.outbox.borrow_mut().announce();
            }
        }
    }

    /// Disconnects a host that leaves too much unread.
    #[cold]
    fn evict(&self, host: &HostEntry) {
        self.counts.evicted();
        self.lose(host, unread_failure(self.max_unread));
    }

    #[inline(never)]
    fn flush(&self) -> bool {
        let mut worked = false;
        self.is_written.set(true);
        let mut waiting = self.waiting.take();
        let still = |host: &Rc<HostEntry>| {
            let before = host.outbox.borrow().unread();
            let flushed = host.outbox.borrow_mut().flush();
            let after = host.outbox.borrow().unread();
            worked |= after != before || after == 0;
            let waits = flushed.unwrap_or_else(|status| {
                self.lose(host, unsendable(status));
                false
            });
            if waits && after > self.max_unread {
                self.evict(host);
            }
            host.is_waiting.set(waits);
            waits
        };
        waiting.retain(still);
        // Reuses the list's allocation, and adds hosts that were put on it meanwhile.
        waiting.append(&mut self.waiting.borrow_mut());
        self.waiting.replace(waiting);
        worked
    }

    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    /// Prepares the rings for a sleep. Returns `false` if a host has written or freed capacity.
    pub(crate) fn sleep(&self) -> bool {
        self.announce();
        let sleeps = |host: &Rc<HostEntry>| {
            host.outbox.borrow_mut().wait_for_capacity()
                && host.inbox.borrow_mut().as_mut().is_none_or(|inbox| inbox.sleep())
        };
        self.table.borrow().iter().flatten().all(sleeps)
    }

    pub(crate) fn wake(&self) {
        for host in self.table.borrow().iter().flatten() {
            if let Some(inbox) = host.inbox.borrow_mut().as_mut() {
                inbox.wake();
            }
        }
    }

    /// Frees the slot of an answered command. Returns its host; `None` if it is not in flight.
    #[inline]
    pub(crate) fn vacate(
        &self,
        token: TaskToken,
        dest_id: u64,
        index: usize,
    ) -> Option<Rc<HostEntry>> {
        let host = self.by_channel(token.channel)?;
        (host.dest_id == dest_id && host.vacate(token, index)).then_some(host)
    }

    pub(crate) fn set_moved(&self) {
        self.moved.set(true);
    }

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
