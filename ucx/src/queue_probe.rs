//! Tests whether a receive queue still works after a peer died, fell silent or left.
//!
//! Over shared memory all peers of a UCX worker share one receive queue. A process that is killed
//! between taking a place and filling it blocks the queue, and UCX does not notice. So after a loss
//! a thread sends a message into this process's own queue, and the owner checks whether it comes
//! out.

mod state;

use std::cell::Cell;
use std::convert::Infallible;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::rand::{GetRandomFlags, getrandom};
use tracing::{debug, warn};

use self::state::{Enough, ProbeState, Seen, Stage};
use crate::address::WorkerAddress;
use crate::am::AmFlags;
use crate::context::Context;
use crate::endpoint::Endpoint;
use crate::features::Features;
use crate::status::Result;
use crate::worker::Worker;

/// How long a message may take through the queue while its owner polls: many times what it needs on
/// one machine.
const LIMIT: Duration = Duration::from_millis(500);

/// How long it may take while other messages arrive, because it may not have found a place yet.
/// Other messages may take another way, so they do not show that the queue works. With the 3.5 s
/// after which a stopped peer counts as lost this is below 5 s. A message that only now got its
/// place has [`LIMIT`] from then on: the queue is soon empty up to a place that nobody fills, and
/// does not move beyond it.
const LIMIT_IN_TRAFFIC: Duration = Duration::from_millis(1250);

/// How long the thread of a test may take to end. It has to destroy a UCX context.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How much must have been observed in that time.
const ENOUGH: Enough = Enough { looks: 200, turns: 200 };

/// How long that thread sleeps between two attempts, because UCX wakes nobody when the queue has
/// room. It must not spin: other threads need the processor.
const NAP: Duration = Duration::from_micros(200);

/// The transport over which a worker has one receive queue; over others it has one for each peer. A
/// test uses only this one, and an owner that cannot be reached over it is not tested.
const SHARED: &str = "posix";

/// What a test has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not enough to judge.
    Unknown,
    /// The message came out.
    Moves,
    /// The test itself failed.
    Untested,
    /// A place in it will never be filled.
    Blocked,
}

/// The header of a test's message.
pub type Nonce = [u8; 8];

/// The nonce that must come out of a queue, and whether it did. Peers can send such messages, too.
/// They change nothing once the nonce has come.
#[derive(Debug, Default)]
pub struct Awaited {
    nonce: Cell<Nonce>,
    came: Cell<bool>,
}

impl Awaited {
    /// Waits for this one.
    pub fn set(&self, nonce: Nonce) {
        self.nonce.set(nonce);
        self.came.set(false);
    }

    /// Whether it came.
    #[must_use]
    pub fn came(&self) -> bool {
        self.came.get()
    }

    fn receive(&self, header: &[u8]) {
        if header == self.nonce.get() {
            self.came.set(true);
        }
    }
}

/// The queue that is tested.
#[derive(Clone, Debug)]
pub struct Queue {
    /// The address of the worker whose queue it is.
    pub address: WorkerAddress,
    id: u16,
    /// What comes out of it.
    pub awaited: Rc<Awaited>,
}

impl Queue {
    /// The queue of a worker of a context with
    /// [`watched_shared_memory`](crate::ContextBuilder::watched_shared_memory), which from now on
    /// receives the messages of tests: active messages with this id.
    ///
    /// # Errors
    /// As [`Worker::set_am_handler`] and [`Worker::address`].
    pub fn of(worker: &Worker, id: u16) -> Result<Queue> {
        let awaited = Rc::<Awaited>::default();
        let receiver = Rc::clone(&awaited);
        worker.set_am_handler(id, move |message| receiver.receive(message.header))?;
        Ok(Queue { address: worker.address()?, id, awaited })
    }
}

/// The tests of a queue: one at a time, however many peers are lost.
#[derive(Debug, Default)]
pub struct QueueProbe {
    /// A peer may write into the queue. Without one there is no test: UCX would log an error.
    shared: bool,
    probe: Option<Probe>,
    /// What to test again: another peer was lost after the current test had begun.
    again: Option<Queue>,
    /// The threads of finished tests. They still destroy their UCX objects.
    ending: Vec<Thread>,
}

impl QueueProbe {
    /// Notes how a peer is reached, and so how it reaches the queue.
    pub fn met(&mut self, endpoint: &Endpoint) {
        // Where UCX cannot say, a test finds out.
        self.shared |= endpoint.is_in_shared_memory().unwrap_or(true);
    }

    /// Notes a peer that writes into the queue.
    pub(crate) fn met_in_shared_memory(&mut self) {
        self.shared = true;
    }

    /// A peer is gone: tests the queue, now or after the current test. The thread of the test has
    /// the signal mask of the calling one.
    ///
    /// # Errors
    /// The system's, when there is no thread or no random number.
    pub fn begin(&mut self, queue: Queue) -> io::Result<()> {
        match self.probe {
            _ if !self.shared => {}
            Some(_) => self.again = Some(queue),
            None => {
                self.ending.retain(|thread| !thread.handle.is_finished());
                self.probe = Some(Probe::begin(queue)?);
            }
        }
        Ok(())
    }

    /// Whether a test goes on.
    #[inline]
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.probe.is_some()
    }

    /// The verdict of `Probe::look`. Any but `Unknown` ends the test, and begins the next one if
    /// it is due.
    pub fn look(&mut self, empty: bool, now: Instant) -> Verdict {
        let Some(probe) = &mut self.probe else { return Verdict::Unknown };
        let verdict = probe.look(empty, now);
        if verdict == Verdict::Unknown {
            return verdict;
        }
        self.ending.extend(self.probe.take().and_then(|mut probe| probe.end()));
        // A queue that is blocked stays so.
        if let Some(queue) = self.again.take().filter(|_| verdict != Verdict::Blocked)
            && let Err(error) = self.begin(queue)
        {
            warn!("cannot check again whether the receive queue moves: {error}");
        }
        verdict
    }
}

/// Waits for the threads: they must not send to a worker that is gone, nor run when the library is
/// unloaded.
impl Drop for QueueProbe {
    fn drop(&mut self) {
        drop(self.probe.take());
        self.ending.drain(..).for_each(Thread::join);
    }
}

#[derive(Debug)]
struct Thread {
    handle: JoinHandle<()>,
    /// Carries nothing. It is closed when the thread is done.
    closed: mpsc::Receiver<Infallible>,
}

impl Thread {
    /// Waits for the thread, but not for ever: its UCX objects may wait for a peer, and a child
    /// made by `fork` has no threads.
    fn join(self) {
        if self.closed.recv_timeout(LAST_WORDS) == Err(RecvTimeoutError::Disconnected) {
            // A panic there was reported when it happened.
            let _ = self.handle.join();
        }
    }
}

#[derive(Debug)]
struct Probe {
    awaited: Rc<Awaited>,
    state: Arc<ProbeState>,
    seen: Seen,
    /// When the message was first known to be UCX's, ...
    sent: Option<Instant>,
    /// ... when it was first known to be where it is, ...
    further: Option<Instant>,
    /// ... and when something else last came, since then.
    traffic: Option<Instant>,
    thread: Option<Thread>,
}

impl Probe {
    /// Begins to send a message into the queue.
    fn begin(Queue { address, id, awaited }: Queue) -> io::Result<Probe> {
        let mut nonce = Nonce::default();
        // A peer must not be able to forge the answer.
        getrandom(&mut nonce, GetRandomFlags::empty())?;
        awaited.set(nonce);
        let state = Arc::new(ProbeState::new());
        let told = Arc::clone(&state);
        let (close, closed) = mpsc::channel();
        let body = move || {
            let _close = close;
            match send(&address, id, &nonce, &told) {
                // The owner sees whether it comes out.
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => debug!("cannot check whether the receive queue moves: {error}"),
            }
            told.reach(Stage::Failed);
        };
        let handle = thread::Builder::new().name("urom-probe".to_owned()).spawn(body)?;
        Ok(Probe {
            awaited,
            state,
            seen: Seen::default(),
            sent: None,
            further: None,
            traffic: None,
            thread: Some(Thread { handle, closed }),
        })
    }

    fn end(&mut self) -> Option<Thread> {
        self.state.abandon();
        self.thread.take()
    }

    /// What is known now. `empty` says whether the owner just found nothing in the queue.
    fn look(&mut self, empty: bool, now: Instant) -> Verdict {
        let further = self.seen.got_further(&self.state);
        if self.awaited.came() {
            return Verdict::Moves;
        }
        if self.seen.stage() == Stage::Failed {
            return Verdict::Untested;
        }
        if further {
            // The time starts again: a sender that has just taken a place before it has as long to
            // fill it.
            self.sent.get_or_insert(now);
            (self.further, self.traffic) = (Some(now), None);
            return Verdict::Unknown;
        }
        let (Some(sent), Some(further)) = (self.sent, self.further) else {
            return Verdict::Unknown;
        };
        let enough = self.seen.look(&self.state, empty, &ENOUGH);
        if !empty {
            self.traffic = Some(now);
        }
        let long = |since: Instant, limit| now.saturating_duration_since(since) >= limit;
        let late = long(self.traffic.unwrap_or(further), LIMIT)
            || long(sent, LIMIT_IN_TRAFFIC) && long(further, LIMIT);
        match enough && late {
            true => Verdict::Blocked,
            false => Verdict::Unknown,
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        if let Some(thread) = self.end() {
            thread.join();
        }
    }
}

/// Sends the message, and progresses UCX until it is in the queue. Returns whether it is.
fn send(address: &WorkerAddress, id: u16, nonce: &Nonce, told: &ProbeState) -> Result<bool> {
    let context = Context::builder(Features::AM).watched_shared_memory().name("urom-probe");
    let worker = context.config("TLS", SHARED).build()?.worker()?;
    if !told.is_wanted() {
        return Ok(false);
    }
    let endpoint = worker.endpoint().connect(address)?;
    let request = endpoint.am_send_with(id, nonce, (), AmFlags::EAGER);
    told.reach(Stage::Sent);
    let begun = Instant::now();
    while !request.is_done() && told.is_wanted() && begun.elapsed() < 20 * LIMIT {
        worker.progress();
        if request.is_done() {
            break;
        }
        told.turn();
        thread::sleep(NAP);
    }
    let arrived = request.is_done();
    if arrived {
        told.reach(Stage::Arrived);
    }
    // What is unfinished ends with the worker.
    request.detach();
    Ok(arrived)
}

#[cfg(test)]
mod tests;
