//! A worker with one plugin for a test.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::{Duration, Instant};

use urom_abi::protocol::{Protocol, Reply, Request};
use urom_abi::test_util::watch;
use urom_abi::{ConnectionId, DocaError, address};

use super::fault::Report;
use super::instance::TestInstance;
use super::ledger::Notification;
use super::lookups::Lookup;
use super::pack::HEADER;
use super::sent::{Bytes, Sent};
use crate::CancelReason;
use crate::time::{self, clock};

/// The default connection of commands.
pub const CONNECTION: u64 = 1;

/// Timeout for a notification, by the real clock.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// A worker with one open plugin of protocol `P`, on this thread. The plugin only runs in
/// [`send`](Self::send), [`call`](Self::call) and [`progress`](Self::progress). Dropping it closes
/// and checks the plugin, like [`finish`](Self::finish).
pub struct Worker<P: Protocol> {
    pub(super) instance: Rc<TestInstance>,
    timeout: Cell<Duration>,
    is_finished: bool,
    protocol: PhantomData<fn() -> P>,
}

impl<P: Protocol> Worker<P> {
    pub(super) fn around(instance: Rc<TestInstance>) -> Worker<P> {
        Worker { instance, timeout: TIMEOUT.into(), is_finished: false, protocol: PhantomData }
    }

    /// Makes the plugin member `id` of its domain: others find the address from its `open`.
    #[track_caller]
    pub fn join(&self, id: u64) {
        self.instance.world.shared.set_address(P::NAME, id, &self.instance.address.borrow());
    }

    /// Returns the plugin's address without the kit's frame.
    pub fn address(&self) -> Vec<u8> {
        let address = self.instance.address.borrow();
        let framed = std::ptr::NonNull::from(&**address).cast();
        if address.is_empty() || !address::is_sound(&address) {
            return address.clone();
        }
        // SAFETY: there is a byte, and the frame was checked.
        unsafe { address::open(framed) }.map_or_else(|| address.clone(), <[u8]>::to_vec)
    }

    /// Sends a command and waits for the answer.
    ///
    /// # Errors
    /// The status of the notification, unless it is `SUCCESS`.
    ///
    /// # Panics
    /// As [`send`](Self::send); after the [timeout](Self::set_timeout), or for another type.
    #[track_caller]
    pub fn call<C: Request<Protocol = P>>(&self, command: C) -> Result<C::Reply, DocaError> {
        self.wait(self.send(command))
    }

    /// Sends a command, and runs its handler until it waits or ends. It does not call `progress`.
    ///
    /// # Panics
    /// When a payload contradicts its fields, or the plugin is closed.
    #[track_caller]
    pub fn send<C: Request<Protocol = P>>(&self, command: C) -> Sent<C::Reply> {
        self.send_from(CONNECTION, command)
    }

    /// Sends a command from another connection, as another host program.
    #[track_caller]
    pub fn send_from<C>(&self, connection: impl Into<ConnectionId>, command: C) -> Sent<C::Reply>
    where
        C: Request<Protocol = P>,
    {
        let sent = self.queue_from(connection.into().into(), command);
        self.flush();
        sent
    }

    /// Queues a command for the next [`flush`](Self::flush) or the next sent command.
    ///
    /// # Panics
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn queue<C: Request<Protocol = P>>(&self, command: C) -> Sent<C::Reply> {
        self.queue_from(CONNECTION, command)
    }

    #[track_caller]
    fn queue_from<C: Request<Protocol = P>>(&self, connection: u64, command: C) -> Sent<C::Reply> {
        self.hand_over(connection, command, TestInstance::queue)
    }

    /// Sends a command like a worker of this kit (`call` of `urom_plugin_extension.h`). A command
    /// that succeeds at once is answered now, in the worker's send buffer; others in
    /// [`progress`](Self::progress). After [queued](Self::queue) commands, or without this function
    /// in the plugin, this is [`send`](Self::send).
    ///
    /// # Panics
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn send_directly<C: Request<Protocol = P>>(&self, command: C) -> Sent<C::Reply> {
        self.hand_over(CONNECTION, command, TestInstance::call)
    }

    /// Sends a command with a deadline after `limit`, by the test's clock. Compare
    /// [`Context::deadline`](crate::Context::deadline) with a range: the real clock is read twice.
    /// At the deadline the test calls [`cancel`](Self::cancel), like a host.
    ///
    /// # Panics
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn send_within<C: Request<Protocol = P>>(
        &self,
        limit: Duration,
        command: C,
    ) -> Sent<C::Reply> {
        let sent = self.queue(command);
        let at = time::now().checked_add(limit).expect("a deadline that the clock reaches");
        self.instance.services.deadlines.borrow_mut().insert(sent.token, at);
        self.flush();
        sent
    }

    #[track_caller]
    fn hand_over<C: Request<Protocol = P>>(
        &self,
        connection: u64,
        command: C,
        by: impl FnOnce(&TestInstance, u64, &[u8]) -> u64,
    ) -> Sent<C::Reply> {
        let mut bytes = vec![0; command.encoded_len().expect("a command that can be counted")];
        if let Err(error) = command.encode(&mut bytes) {
            panic!("the command cannot be written: {error}");
        }
        self.sent(connection, &bytes, command.echo(), by)
    }

    /// Sends bytes that a typed command cannot have: cut, too long, unknown. The plugin must always
    /// answer with a notification. Panics when the plugin is closed.
    #[track_caller]
    pub fn send_bytes(&self, bytes: &[u8]) -> Sent<Bytes> {
        let sent = self.sent(CONNECTION, bytes, (), TestInstance::queue);
        self.flush();
        sent
    }

    #[track_caller]
    fn sent<R: Reply>(
        &self,
        connection: u64,
        bytes: &[u8],
        echo: R::Echo,
        by: impl FnOnce(&TestInstance, u64, &[u8]) -> u64,
    ) -> Sent<R> {
        assert!(
            self.instance.is_open(),
            "the plugin {} is closed: no command can be sent",
            P::NAME
        );
        assert!(
            !self.instance.has_left(connection),
            "the host of connection {connection} has left: no command can come from it"
        );
        let token = by(&self.instance, connection, bytes);
        Sent { token, echo, owner: self.instance.owner }
    }

    /// Sends all queued commands in one list (`worker_cmd`).
    pub fn flush(&self) {
        self.instance.flush();
    }

    /// Calls the plugin's `progress` once. Returns the number of notifications.
    pub fn progress(&self) -> usize {
        self.instance.progress()
    }

    /// Returns the answer of a command, once, after [`progress`](Self::progress) has delivered it.
    /// Panics when the notification has another type.
    #[track_caller]
    pub fn answer<R: Reply>(&self, sent: &Sent<R>) -> Option<Result<R, DocaError>> {
        self.assert_mine(sent);
        let notification = self.instance.ledger().take(sent.token)?;
        Some(self.read(sent, &notification))
    }

    /// Returns a command's untaken notification: unlike typed answers, with a failure's bytes.
    #[track_caller]
    pub fn notification<R: Reply>(&self, sent: &Sent<R>) -> Option<Notification> {
        self.assert_mine(sent);
        self.instance.ledger().peek(sent.token).cloned()
    }

    /// Returns the text of a failed command for its host: the message of the handler's error (empty
    /// for a bare code) or of its panic. It exists from the failure on, even after the answer was
    /// taken. `None` without a failure, and from a plugin opened only by its interface.
    pub fn failure<R: Reply>(&self, sent: &Sent<R>) -> Option<String> {
        self.assert_mine(sent);
        self.instance.services.failures.borrow().get(&sent.token).cloned()
    }

    /// [Cancels](crate::Context::cancelled) a command, which the plugin still answers. Plugins
    /// opened only by their interface ignore it.
    #[track_caller]
    pub fn cancel<R: Reply>(&self, sent: &Sent<R>, reason: CancelReason) {
        self.assert_mine(sent);
        self.instance.cancel(sent.token, reason.as_raw());
    }

    /// Makes the host of a connection leave: its commands are cancelled. After the last has ended,
    /// the handler's `host_left` is called, here or in the [`progress`](Self::progress) that ends
    /// it. Later commands from this connection panic.
    pub fn leave(&self, connection: impl Into<ConnectionId>) {
        self.instance.leave(connection.into().into());
    }

    /// Waits for the answer: calls `progress` of this worker and of all others in its domain.
    /// Panics after the [timeout](Self::set_timeout).
    ///
    /// # Errors
    /// The status of the notification, unless it is `SUCCESS`.
    #[track_caller]
    pub fn wait<R: Reply>(&self, sent: Sent<R>) -> Result<R, DocaError> {
        let until = Instant::now() + self.timeout.get();
        loop {
            if let Some(answer) = self.answer(&sent) {
                return answer;
            }
            if self.instance.world.progress() == 0 {
                assert!(Instant::now() < until, "{}", self.unanswered(sent.token));
                std::thread::yield_now();
            }
        }
    }

    /// Sets the timeout of [`wait`](Self::wait) and [`call`](Self::call), by default 10 s.
    pub fn set_timeout(&self, timeout: Duration) {
        self.timeout.set(timeout);
    }

    /// Sets the longest notification that the worker accepts, including its header of 32 bytes;
    /// 4096 bytes by default. Longer ones reach their host as `TOO_BIG`. Handlers read it by
    /// [`Context::message_limit`](crate::Context::message_limit).
    ///
    /// # Panics
    /// When the header does not fit.
    pub fn set_message_limit(&self, bytes: usize) {
        assert!(bytes > HEADER, "a notification has a header of {HEADER} bytes");
        self.instance.services.limit.set(bytes);
    }

    /// Returns the number of commands that are not answered yet.
    pub fn in_flight(&self) -> usize {
        self.instance.ledger().in_flight()
    }

    /// Moves this thread's stopped clock: sleeps end in the next [`progress`](Self::progress).
    ///
    /// # Panics
    /// When the clock overflows.
    pub fn advance(&self, by: Duration) {
        clock::advance(by);
    }

    /// Makes the plugin's next look-up of this kind fail with `code`. Several calls queue up.
    pub fn fail_lookup(&self, lookup: Lookup, code: DocaError) {
        self.instance.fail_lookup(lookup, code);
    }

    /// Makes the next `count` allocations of notifications by plugins of this thread fail. Later
    /// they become `NO_MEMORY`. Plugins opened only by their interface are not affected.
    pub fn fill_c_heap(&self, count: usize) {
        watch::fail_notifications(count);
    }

    /// Closes the plugin, as when a worker ends: commands in flight get no notification, which is
    /// not a fault. Returns their number. A second call does nothing.
    pub fn close(&self) -> usize {
        let cut_off = self.instance.ledger().cut_off();
        self.instance.close();
        cut_off
    }

    /// Calls `progress` once more, closes the plugin, and reports its faults: commands without a
    /// notification or with several, leaked memory. Drop the test's own bytes of commands (`Held`)
    /// before. Dropping a worker does the same, and panics on faults.
    pub fn finish(mut self) -> Report {
        self.is_finished = true;
        self.end()
    }

    fn end(&self) -> Report {
        self.progress();
        self.instance.close();
        self.instance.report()
    }

    #[track_caller]
    fn assert_mine<R: Reply>(&self, sent: &Sent<R>) {
        assert_eq!(
            sent.owner, self.instance.owner,
            "the command was sent to another worker: ask that one for its answer"
        );
    }

    #[track_caller]
    fn read<R: Reply>(&self, sent: &Sent<R>, notification: &Notification) -> Result<R, DocaError> {
        notification.status.check()?;
        match R::decode(&*notification.bytes, &sent.echo) {
            Ok(reply) => Ok(reply),
            Err(error) => {
                let command = self.instance.describe(sent.token);
                panic!("the notification of {command} is not what it asks for: {error}")
            }
        }
    }

    fn unanswered(&self, token: u64) -> String {
        let command = self.instance.describe(token);
        let timeout = self.timeout.get();
        if !self.instance.is_open() {
            return format!("{command} gets no notification any more: the plugin is closed");
        }
        let mut text = format!("{command} did not get a notification within {timeout:?}");
        if let Some(next) = clock::until_next() {
            text += &format!(
                "; something sleeps for another {next:?}, and the clock moves by `advance` alone"
            );
        }
        match self.instance.services.memories.paused() {
            0 => {}
            1 => text += "; 1 operation on paused memory waits for `resume`",
            count => text += &format!("; {count} operations on paused memory wait for `resume`"),
        }
        let ledger = self.instance.ledger();
        ledger.faults.iter().for_each(|fault| text += &format!("\n  - {fault}"));
        text
    }
}

impl<P: Protocol> Drop for Worker<P> {
    fn drop(&mut self) {
        if std::mem::replace(&mut self.is_finished, true) {
            return;
        }
        let report = self.end();
        if std::thread::panicking() {
            // The test already fails; this may be a part of the cause.
            if !report.is_clean() {
                eprintln!("{report}");
            }
            return;
        }
        report.assert_clean();
    }
}

impl<P: Protocol> fmt::Debug for Worker<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Worker({}, {} in flight)", P::NAME, self.in_flight())
    }
}
