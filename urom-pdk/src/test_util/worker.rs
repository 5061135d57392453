//! A worker with one plugin, as a test holds it.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::{Duration, Instant};

use urom_abi::protocol::{Protocol, Reply, Request};
use urom_abi::test_util::watch;
use urom_abi::{DocaError, address};

use super::fault::Report;
use super::instance::Instance;
use super::ledger::Notification;
use super::lookups::Lookup;
use super::pack::HEADER;
use super::sent::{Bytes, Sent};
use crate::CancelReason;
use crate::time::{self, clock};

/// The connection that commands come from unless the test names another.
pub const CONNECTION: u64 = 1;

/// How long a test waits for a notification before it gives up, by the real clock.
const PATIENCE: Duration = Duration::from_secs(10);

/// A worker with one open plugin of protocol `P`, on this thread.
///
/// Commands go in by [`send`](Self::send) and [`call`](Self::call), and nothing happens that the
/// test does not ask for: a plugin works while it is handed commands, and in calls of
/// [`progress`](Self::progress).
///
/// Dropping it closes the plugin and checks what it did, like [`finish`](Self::finish).
pub struct Worker<P: Protocol> {
    pub(super) instance: Rc<Instance>,
    patience: Cell<Duration>,
    is_finished: bool,
    protocol: PhantomData<fn() -> P>,
}

impl<P: Protocol> Worker<P> {
    pub(super) fn around(instance: Rc<Instance>) -> Worker<P> {
        Worker { instance, patience: PATIENCE.into(), is_finished: false, protocol: PhantomData }
    }

    /// Makes the plugin member `id` of its domain: others find the address that it reported when it
    /// was opened.
    #[track_caller]
    pub fn join(&self, id: u64) {
        self.instance.world.shared.set_address(P::NAME, id, &self.instance.address.borrow());
    }

    /// The plugin's address: the bytes that the handler's `address` gave, or all that a plugin
    /// without this kit's frame reported.
    pub fn address(&self) -> Vec<u8> {
        let address = self.instance.address.borrow();
        let framed = std::ptr::NonNull::from(&**address).cast();
        if address.is_empty() || !address::is_sound(&address) {
            return address.clone();
        }
        // SAFETY: there is a byte, and the bytes were found to be sound.
        unsafe { address::open(framed) }.map_or_else(|| address.clone(), <[u8]>::to_vec)
    }

    /// Sends a command and goes on until it was answered.
    ///
    /// # Errors
    /// The status of the notification, unless that is `SUCCESS`.
    ///
    /// # Panics
    /// As [`send`](Self::send); when no notification comes within the
    /// [patience](Self::set_patience), or one that is no reply to this command.
    #[track_caller]
    pub fn call<C: Request<Protocol = P>>(&self, command: C) -> Result<C::Reply, DocaError> {
        self.wait(self.send(command))
    }

    /// Sends a command, whose handler runs until it waits for something, or ends; the notification
    /// comes with the next [`progress`](Self::progress).
    ///
    /// # Panics
    /// When a payload contradicts the fields that describe it, or the plugin is closed.
    #[track_caller]
    pub fn send<C: Request<Protocol = P>>(&self, command: C) -> Sent<C::Reply> {
        self.send_from(CONNECTION, command)
    }

    /// The same from another connection: another host program, which is nobody the plugin knows.
    #[track_caller]
    pub fn send_from<C>(&self, connection: u64, command: C) -> Sent<C::Reply>
    where
        C: Request<Protocol = P>,
    {
        let sent = self.queue_from(connection, command);
        self.flush();
        sent
    }

    /// Puts a command into the list that the next [`flush`](Self::flush), or the next command that
    /// is sent, hands over.
    ///
    /// # Panics
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn queue<C: Request<Protocol = P>>(&self, command: C) -> Sent<C::Reply> {
        self.queue_from(CONNECTION, command)
    }

    #[track_caller]
    fn queue_from<C: Request<Protocol = P>>(&self, connection: u64, command: C) -> Sent<C::Reply> {
        self.hand_over(connection, command, Instance::queue)
    }

    /// Sends a command as a worker of this kit does (`call` of `urom_plugin_extension.h`): one that
    /// succeeds at once is answered now, in the place where a worker sends it from; all others by
    /// [`progress`](Self::progress). Behind [queued](Self::queue) commands, and with a plugin that
    /// has no such function, this is [`send`](Self::send).
    ///
    /// # Panics
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn send_directly<C: Request<Protocol = P>>(&self, command: C) -> Sent<C::Reply> {
        self.hand_over(CONNECTION, command, Instance::call)
    }

    /// Sends a command whose host waits no longer than `limit`, by the test's clock: what
    /// [`Context::deadline`](crate::Context::deadline) tells the handler, exact to the time between
    /// two readings of the real clock, so compare with a range. When the time is over, the test
    /// says so by [`cancel`](Self::cancel), as a host does.
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
        by: impl FnOnce(&Instance, u64, &[u8]) -> u64,
    ) -> Sent<C::Reply> {
        let mut bytes = vec![0; command.encoded_len().expect("a command that can be counted")];
        if let Err(error) = command.encode(&mut bytes) {
            panic!("the command cannot be written: {error}");
        }
        self.sent(connection, &bytes, command.echo(), by)
    }

    /// Sends bytes instead of a command, for what no typed command can be: cut, too long, unknown.
    /// Whatever they are, the plugin owes a notification. Panics when it is closed.
    #[track_caller]
    pub fn send_bytes(&self, bytes: &[u8]) -> Sent<Bytes> {
        let sent = self.sent(CONNECTION, bytes, (), Instance::queue);
        self.flush();
        sent
    }

    #[track_caller]
    fn sent<R: Reply>(
        &self,
        connection: u64,
        bytes: &[u8],
        echo: R::Echo,
        by: impl FnOnce(&Instance, u64, &[u8]) -> u64,
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

    /// Hands over all queued commands in one list (`worker_cmd`).
    pub fn flush(&self) {
        self.instance.flush();
    }

    /// Calls the plugin's `progress` once; how many notifications came.
    pub fn progress(&self) -> usize {
        self.instance.progress()
    }

    /// What a command was answered with, if it was: [`progress`](Self::progress) brings answers. An
    /// answer is given once. Panics when the notification is not the one that the command asks for.
    #[track_caller]
    pub fn answer<R: Reply>(&self, sent: &Sent<R>) -> Option<Result<R, DocaError>> {
        self.assert_mine(sent);
        let notification = self.instance.ledger().take(sent.token)?;
        Some(self.read(sent, &notification))
    }

    /// The notification of a command as it is, if it came and its answer was not taken: also the
    /// bytes that come with a failure, which typed answers leave out.
    #[track_caller]
    pub fn notification<R: Reply>(&self, sent: &Sent<R>) -> Option<Notification> {
        self.assert_mine(sent);
        self.instance.ledger().peek(sent.token).cloned()
    }

    /// The reason for its host of a command that failed: the text of the handler's error, which is
    /// empty for a bare code, or of its panic. There since the handler failed, and still after the
    /// answer was taken. `None` for one that did not fail, and from a plugin that was opened by its
    /// interface alone.
    pub fn failure<R: Reply>(&self, sent: &Sent<R>) -> Option<String> {
        self.assert_mine(sent);
        self.instance.services.failures.borrow().get(&sent.token).cloned()
    }

    /// Tells the plugin that nobody waits for a command any more, which it answers all the same:
    /// see [`Context::cancelled`](crate::Context::cancelled). Nothing happens to a command that was
    /// answered, and in a plugin that was opened by its interface alone.
    #[track_caller]
    pub fn cancel<R: Reply>(&self, sent: &Sent<R>, reason: CancelReason) {
        self.assert_mine(sent);
        self.instance.cancel(sent.token, reason.as_raw());
    }

    /// Has the host of a connection leave: its commands are cancelled, and after the last of them
    /// has ended, the handler's `host_left` is called: in here, or in the
    /// [`progress`](Self::progress) that brings that end. Sending a command from it panics
    /// afterwards.
    pub fn leave(&self, connection: u64) {
        self.instance.leave(connection);
    }

    /// Goes on until a command was answered: calls `progress` of this worker and of all others in
    /// its domain. Panics when that takes longer than the [patience](Self::set_patience).
    ///
    /// # Errors
    /// The status of the notification, unless that is `SUCCESS`.
    #[track_caller]
    pub fn wait<R: Reply>(&self, sent: Sent<R>) -> Result<R, DocaError> {
        let until = Instant::now() + self.patience.get();
        loop {
            if let Some(answer) = self.answer(&sent) {
                return answer;
            }
            if self.instance.world.progress() == 0 {
                assert!(Instant::now() < until, "{}", self.impatience(sent.token));
                std::thread::yield_now();
            }
        }
    }

    /// How long [`wait`](Self::wait) and [`call`](Self::call) wait, by the real clock: 10 s unless
    /// this says otherwise.
    pub fn set_patience(&self, patience: Duration) {
        self.patience.set(patience);
    }

    /// The longest notification that the worker takes, its header of 32 bytes included: 4096 bytes
    /// unless this says otherwise. A longer one reaches its host as `TOO_BIG`. Handlers ask for it
    /// by [`Context::message_limit`](crate::Context::message_limit).
    ///
    /// # Panics
    /// When there is no room for the header.
    pub fn set_message_limit(&self, bytes: usize) {
        assert!(bytes > HEADER, "a notification has a header of {HEADER} bytes");
        self.instance.services.limit.set(bytes);
    }

    /// How many commands were sent and not answered yet.
    pub fn in_flight(&self) -> usize {
        self.instance.ledger().in_flight()
    }

    /// Moves the clock of all plugins that this thread opened, which stands still otherwise: what
    /// sleeps until then goes on in the next [`progress`](Self::progress).
    ///
    /// # Panics
    /// When the clock overflows.
    pub fn advance(&self, by: Duration) {
        clock::advance(by);
    }

    /// The plugin's next look-up of this kind fails with `code`. Calls of this queue up.
    pub fn fail_lookup(&self, lookup: Lookup, code: DocaError) {
        self.instance.fail_lookup(lookup, code);
    }

    /// The next `count` notifications that plugins of this thread allocate find the C heap full:
    /// what was to be answered with them is a `NO_MEMORY`, and comes when there is memory again.
    /// Plugins that were opened by their interface alone allocate unseen.
    pub fn fill_c_heap(&self, count: usize) {
        watch::fail_notifications(count);
    }

    /// Closes the plugin, as a worker does when it ends: what is in flight gets no notification any
    /// more, and that is no fault. How many commands that are. A second call does nothing.
    pub fn close(&self) -> usize {
        let cut_off = self.instance.ledger().cut_off();
        self.instance.close();
        cut_off
    }

    /// Calls `progress` once more, closes the plugin, and tells what it did: commands without a
    /// notification or with several, memory that it kept. Bytes of commands that the test itself
    /// holds (`Held`) count, so drop them before.
    ///
    /// Dropping a worker does the same and panics when there is anything to tell.
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

    /// Why a wait ended without an answer.
    fn impatience(&self, token: u64) -> String {
        let command = self.instance.describe(token);
        let patience = self.patience.get();
        if !self.instance.is_open() {
            return format!("{command} gets no notification any more: the plugin is closed");
        }
        let mut text = format!("{command} got no notification within {patience:?}");
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
            // The test has its reason already; this may be part of it.
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
