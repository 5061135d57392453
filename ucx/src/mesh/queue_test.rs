//! Tests whether the receive queue of a mesh's worker still moves after a peer has left.
//!
//! Over shared memory all peers of a UCX worker share one receive queue. A process that is killed
//! between taking a place and filling it blocks the queue, and UCX does not notice. So after a loss
//! a second worker of this process sends a message into the queue, and the mesh checks whether it
//! comes out.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::rand::{GetRandomFlags, getrandom};

use crate::address::WorkerAddress;
use crate::am::AmFlags;
use crate::context::ContextBuilder;
use crate::endpoint::Endpoint;
use crate::request::Request;
use crate::status::{Result, Status};
use crate::worker::Worker;

/// The id of a test's active messages.
pub(super) const AM_TEST: u16 = 255;

/// How long the message may take from one step to the next: many times what it needs on one
/// machine. With the 3.5 s after which a stopped peer counts as lost this is below 5 s.
pub(super) const LIMIT: Duration = Duration::from_secs(1);

/// How often the worker must have found nothing in that time: a process that was stopped has not
/// looked. Only such rounds count, because other messages may take another way.
pub(super) const LOOKS: u32 = 200;

/// The transport over which a worker has one receive queue; over others it has one for each peer.
const SHARED: &str = "posix";

/// The header of a test's message.
type Nonce = [u8; 8];

/// The tests of a queue: one at a time, however many peers leave.
pub(super) struct QueueTest {
    settings: ContextBuilder,
    address: WorkerAddress,
    /// Empty when the message has come. Peers can send such messages too, which changes nothing.
    awaited: Rc<Cell<Option<Nonce>>>,
    /// Leads to the queue. The first test makes it, and the worker that it belongs to, which takes
    /// some milliseconds.
    sender: Option<Endpoint>,
    running: Option<Running>,
    /// How many of the losses are tested.
    tested: u64,
}

struct Running {
    /// How many losses it is about.
    losses: u64,
    /// The message, until it is in the queue.
    sending: Option<Request<()>>,
    /// Since the message's last step.
    since: Instant,
    looks: u32,
}

impl QueueTest {
    /// The tests of the queue of this worker, which was made with these settings.
    pub(super) fn new(worker: &Worker, settings: &ContextBuilder) -> Result<QueueTest> {
        let awaited = Rc::<Cell<Option<Nonce>>>::default();
        let receiver = Rc::clone(&awaited);
        worker.set_am_handler(AM_TEST, move |message| {
            if receiver.get().is_some_and(|nonce| message.header == nonce) {
                receiver.set(None);
            }
        })?;
        let settings = settings.clone().config("TLS", SHARED).name("urom-probe");
        let address = worker.address()?;
        Ok(QueueTest { settings, address, awaited, sender: None, running: None, tested: 0 })
    }

    /// Of how many losses it is known that the queue moves without them.
    pub(super) fn tested(&self) -> u64 {
        self.tested
    }

    /// Goes on after a round of progress that found nothing, if it was `empty`. Returns whether the
    /// queue is blocked.
    pub(super) fn look(&mut self, losses: u64, empty: bool, now: Instant) -> bool {
        let Some(test) = &mut self.running else {
            if let Err(error) = self.begin(losses, now) {
                self.give_up(losses, &error);
            }
            return false;
        };
        if self.awaited.get().is_none() {
            self.tested = test.losses;
            self.running = None;
            return false;
        }
        if let Some(sender) = &self.sender {
            sender.worker().progress();
        }
        if let Some(sent) = test.sending.take_if(|sending| sending.is_done()) {
            // The worker looked before the message came. A peer that took its place just before
            // has as long to fill it.
            (test.since, test.looks) = (now, 0);
            if let (Err(status), ()) = sent.wait() {
                let losses = test.losses;
                self.give_up(losses, &status.during("sending to the own queue"));
            }
            return false;
        }
        test.looks += u32::from(empty);
        test.looks >= LOOKS && now.saturating_duration_since(test.since) >= LIMIT
    }

    fn begin(&mut self, losses: u64, now: Instant) -> Result<()> {
        let mut nonce = Nonce::default();
        // A peer must not be able to forge the answer.
        getrandom(&mut nonce, GetRandomFlags::empty()).map_err(|error| {
            Status::IO_ERROR.during(format!("asking for random bytes: {error}"))
        })?;
        let sender = match &mut self.sender {
            Some(sender) => sender,
            none => none.insert(self.settings.clone().build()?.worker()?.connect(&self.address)?),
        };
        self.awaited.set(Some(nonce));
        let sending = Some(sender.am_send_with(AM_TEST, &nonce, (), AmFlags::EAGER));
        self.running = Some(Running { losses, sending, since: now, looks: 0 });
        Ok(())
    }

    #[cold]
    fn give_up(&mut self, losses: u64, error: &crate::Error) {
        tracing::warn!("cannot check whether messages of peers still arrive: {error}");
        (self.running, self.sender, self.tested) = (None, None, losses);
    }
}

#[cfg(test)]
impl QueueTest {
    pub(super) fn is_in_queue(&self) -> bool {
        self.running.as_ref().is_some_and(|test| test.sending.is_none())
    }

    /// The header of the message, until it has come.
    pub(super) fn nonce(&self) -> Option<Nonce> {
        self.awaited.get()
    }

    pub(super) fn expect(&self, nonce: Nonce) {
        self.awaited.set(Some(nonce));
    }
}
