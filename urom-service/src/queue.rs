//! Whether a receive queue still moves, after somebody who wrote into it died, fell silent or left.
//!
//! Over shared memory a UCX worker has one receive queue, which all its peers share: a sender takes the next place and then
//! fills it. A process that is killed or stopped between the two leaves a place that nobody fills, and whatever anybody
//! sends from then on waits behind it. UCX does not notice, and heartbeats on other ways go on. So after such a loss a
//! thread sends a message into this process's own queue, as any other process would, and the queue's owner looks whether it
//! comes out.

mod probe_state;

use std::cell::Cell;
use std::convert::Infallible;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tracing::{debug, warn};
use ucx::{AmFlags, Endpoint, Worker, WorkerAddress};
use urom_abi::signals;

use self::probe_state::{Enough, ProbeState, Seen, Stage};
use crate::key::fill_random;
use crate::wire;
use crate::wire::frame::AM_PROBE;

/// How long a message may take to come out of a queue that is looked at: on one machine, many times what it needs.
const LIMIT: Duration = Duration::from_millis(500);

/// How long it may take while other messages come: it may have found no place yet. They may come on other ways, too, so they do not show
/// that the queue moves. With the 3.5 s after which a stopped peer counts as lost this is below 5 s. A message that only now got its place
/// has [`LIMIT`] from then on: before a place that nobody fills a queue moves to its end soon, and behind it not at all.
const LIMIT_IN_TRAFFIC: Duration = Duration::from_millis(1250);

/// How long the thread of a test may take to end. It has to take down a context of UCX's.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What must have been seen in that time.
const ENOUGH: Enough = Enough { looks: 200, turns: 200 };

/// How long that thread sleeps between two turns, as UCX wakes nobody when there is room in the queue. It must not spin: the
/// processor is that of those who work.
const NAP: Duration = Duration::from_micros(200);

/// The transport over which a worker has one receive queue; over others it has one for each peer. Nothing else is made for a test, and
/// an owner that cannot be reached in this way is not tested.
const SHARED: &str = "posix";

/// What a peer is told whose messages wait behind such a place.
pub(crate) const BLOCKED: &str = "nothing can be received any more: a process on the same machine was killed or stopped while it \
    sent, which blocks UCX's receive queue for all others; start the worker again";

/// What is known of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Not enough.
    Unknown,
    /// What is sent comes out; or the test itself could not be made.
    Moves,
    /// A place in it will never be filled.
    Blocked,
}

/// What UCX is told in place of its own choices.
pub(crate) type Config = &'static [(&'static str, &'static str)];

/// The header of a message with the id [`AM_PROBE`].
pub(crate) type Nonce = [u8; 8];

/// What is to come out of a queue to show that it moves, and whether it did. Peers can send such messages, too: however many
/// come with it or after it, it has come.
#[derive(Debug, Default)]
pub(crate) struct Awaited {
    nonce: Cell<Nonce>,
    came: Cell<bool>,
}

impl Awaited {
    pub(crate) fn set(&self, nonce: Nonce) {
        self.nonce.set(nonce);
        self.came.set(false);
    }

    pub(crate) fn came(&self) -> bool {
        self.came.get()
    }

    fn receive(&self, header: &[u8]) {
        if header == self.nonce.get() {
            self.came.set(true);
        }
    }
}

/// Has a worker take what comes out of its queue to show that it moves.
///
/// # Errors
/// UCX's.
pub(crate) fn listen(worker: &Worker) -> ucx::Result<Rc<Awaited>> {
    let awaited = Rc::<Awaited>::default();
    let receiver = Rc::clone(&awaited);
    worker.set_am_handler(AM_PROBE, move |message| receiver.receive(message.header))?;
    Ok(awaited)
}

/// The queue that is tested: where messages for it are sent, with which variables of UCX's, and what listens at its end.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) address: Vec<u8>,
    pub(crate) config: Config,
    pub(crate) awaited: Rc<Awaited>,
}

/// The tests of a queue: one at a time, however many peers are lost meanwhile.
#[derive(Debug, Default)]
pub(crate) struct QueueProbe {
    /// Somebody was met who may write into the queue. Without it nothing is tested: UCX would log that it cannot be.
    shared: bool,
    probe: Option<Probe>,
    /// What to test again: somebody was lost after this one had begun.
    again: Option<Queue>,
    /// The threads of tests that are over. They take down what they had of UCX.
    ending: Vec<Thread>,
}

impl QueueProbe {
    /// Notes how a peer is reached, and so how it reaches the queue.
    pub(crate) fn met(&mut self, endpoint: &Endpoint) {
        // Where UCX cannot say, a test finds out.
        self.shared |= endpoint.is_in_shared_memory().unwrap_or(true);
    }

    /// A peer is gone: has the queue tested, now or once more.
    ///
    /// # Errors
    /// As [`Probe::begin`].
    pub(crate) fn begin(&mut self, queue: Queue) -> io::Result<()> {
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

    /// Whether there is a test, and so something to look at.
    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.probe.is_some()
    }

    /// What is known now, as [`Probe::look`] says. A verdict ends the test, and begins the next one if that is due.
    pub(crate) fn look(&mut self, empty: bool, now: Instant) -> Verdict {
        let Some(probe) = &mut self.probe else { return Verdict::Unknown };
        let verdict = probe.look(empty, now);
        if verdict == Verdict::Unknown {
            return verdict;
        }
        self.ending.extend(self.probe.take().and_then(|mut probe| probe.end()));
        // A queue that is blocked stays so.
        if let (Some(queue), Verdict::Moves) = (self.again.take(), verdict)
            && let Err(error) = self.begin(queue)
        {
            warn!("cannot check again whether the receive queue moves: {error}");
        }
        verdict
    }
}

/// Nothing of a test is left afterwards: its thread must not send to a worker that is gone, nor run when the library is unloaded.
impl Drop for QueueProbe {
    fn drop(&mut self) {
        drop(self.probe.take());
        self.ending.drain(..).for_each(Thread::join);
    }
}

/// A thread that sends.
#[derive(Debug)]
struct Thread {
    handle: JoinHandle<()>,
    /// Nothing is ever sent: it is closed when the thread has done what it does.
    closed: mpsc::Receiver<Infallible>,
}

impl Thread {
    /// Waits for the thread, but not for ever: what it has of UCX may wait for a peer, and a child by `fork` has no threads.
    fn join(self) {
        if self.closed.recv_timeout(LAST_WORDS) == Err(RecvTimeoutError::Disconnected) {
            // A panic there was reported when it happened.
            let _ = self.handle.join();
        }
    }
}

/// A test under way.
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
    ///
    /// # Errors
    /// The system has no random numbers, or no thread.
    fn begin(Queue { address, config, awaited }: Queue) -> io::Result<Probe> {
        let mut nonce = Nonce::default();
        // Peers must not be able to say that a queue moves which does not.
        fill_random(&mut nonce)?;
        awaited.set(nonce);
        let state = Arc::new(ProbeState::new());
        let told = Arc::clone(&state);
        let (close, closed) = mpsc::channel();
        let body = move || {
            let _close = close;
            match send(&address, config, nonce, &told) {
                // Whether it comes out is the owner's to say.
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => debug!("cannot check whether the receive queue moves: {error}"),
            }
            told.reach(Stage::Failed);
        };
        let handle =
            signals::blocked(|| thread::Builder::new().name("urom-probe".to_owned()).spawn(body))?;
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

    /// Has the thread end, which then is the caller's.
    fn end(&mut self) -> Option<Thread> {
        self.state.abandon();
        self.thread.take()
    }

    /// What is known now. `empty` says whether the owner just found nothing in the queue.
    fn look(&mut self, empty: bool, now: Instant) -> Verdict {
        let further = self.seen.got_further(&self.state);
        if self.awaited.came() || self.seen.stage() == Stage::Failed {
            return Verdict::Moves;
        }
        if further {
            // Anew: somebody may have taken a place before it just now, and has as long to fill it.
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

/// Sends the message, and stays until it is in the queue, where it needs nobody any more. Whether it is there.
fn send(address: &[u8], config: Config, nonce: Nonce, told: &ProbeState) -> ucx::Result<bool> {
    let mut context = wire::context::context().name("urom-probe").config("TLS", SHARED);
    for (name, value) in config {
        context = context.config(*name, *value);
    }
    let worker = context.build()?.worker()?;
    if !told.is_wanted() {
        return Ok(false);
    }
    // SAFETY: the address of this process's own worker, by way of its thread.
    let address = unsafe { WorkerAddress::from_bytes(address) }?;
    let endpoint = worker.endpoint().connect(&address)?;
    let request = endpoint.am_send_with(AM_PROBE, &nonce, (), AmFlags::EAGER);
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
#[path = "queue_tests.rs"]
mod tests;
