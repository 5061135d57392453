//! The receive queue of a worker in a mesh, and its test after the loss of a peer.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use crate::inner::QueueTest;
use crate::queue_probe::{Queue, QueueProbe, Verdict};
use crate::status::Result;
use crate::worker::Worker;

/// The id of a test's active messages.
pub(crate) const AM_TEST: u16 = 255;

/// The least time from one test to the next: each takes a thread and a UCX context, and any process
/// of the machine may come to the mesh and go.
const PAUSE: Duration = Duration::from_millis(50);

/// How often a test is tried that itself fails: it needs descriptors and memory.
const TRIES: u32 = 5;

pub(crate) struct OwnQueue {
    queue: Queue,
    probe: RefCell<QueueProbe>,
    /// How many peers have left.
    losses: Cell<u64>,
    /// How many of them the test that runs is about, and the last one was.
    testing: Cell<u64>,
    tested: Cell<u64>,
    begun: Cell<Option<Instant>>,
    failures: Cell<u32>,
    is_blocked: Cell<bool>,
}

impl OwnQueue {
    /// Tests the queue of this worker from now on.
    pub(crate) fn listen(worker: &Worker) -> Result<()> {
        if worker.inner().queue.get().is_some() {
            return Ok(());
        }
        let queue = Queue::of(worker, AM_TEST)?;
        let mut probe = QueueProbe::default();
        probe.met_in_shared_memory();
        let own = OwnQueue {
            queue,
            probe: RefCell::new(probe),
            losses: Cell::default(),
            testing: Cell::default(),
            tested: Cell::default(),
            begun: Cell::default(),
            failures: Cell::default(),
            is_blocked: Cell::default(),
        };
        let _ = worker.inner().queue.set(Box::new(own));
        Ok(())
    }

    fn judge(&self, verdict: Verdict) {
        match verdict {
            Verdict::Unknown => {}
            Verdict::Moves => {
                self.failures.set(0);
                self.tested.set(self.testing.get());
            }
            Verdict::Untested => {
                self.failures.set(self.failures.get() + 1);
                if self.failures.get() == TRIES {
                    tracing::warn!("cannot check whether messages of peers still arrive");
                    self.judge(Verdict::Moves);
                }
            }
            Verdict::Blocked => {
                tracing::error!(
                    "a process on the same machine was killed or stopped while it sent, which \
                     blocks the receive queue of a UCX worker for all others"
                );
                self.is_blocked.set(true);
            }
        }
    }
}

impl QueueTest for OwnQueue {
    fn lose(&self) -> bool {
        self.losses.set(self.losses.get() + 1);
        self.is_due()
    }

    fn losses(&self) -> (u64, u64) {
        (self.losses.get(), self.tested.get())
    }

    fn is_due(&self) -> bool {
        !self.is_blocked.get() && self.tested.get() < self.losses.get()
    }

    fn is_blocked(&self) -> bool {
        self.is_blocked.get()
    }

    fn look(&self, empty: bool) {
        let now = Instant::now();
        if self.probe.borrow().is_running() {
            let verdict = self.probe.borrow_mut().look(empty, now);
            self.judge(verdict);
        } else if self.begun.get().is_none_or(|begun| now.duration_since(begun) >= PAUSE)
            && self.is_due()
        {
            self.begun.set(Some(now));
            self.testing.set(self.losses.get());
            let begun = self.probe.borrow_mut().begin(self.queue.clone());
            if let Err(error) = begun {
                tracing::debug!("cannot check whether messages of peers still arrive: {error}");
                self.judge(Verdict::Untested);
            }
        }
    }

    fn close(&self) {
        drop(self.probe.take());
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use crate::test_queues::{Queues, ran_alone};
    use crate::{Context, Features, Mesh, Worker};

    fn member() -> (Worker, Mesh) {
        let builder = Context::builder(Features::TAG | Features::WAKEUP).config("TLS", "posix");
        let worker = builder.watched_shared_memory().build().unwrap().worker().unwrap();
        let mesh = Mesh::new(&worker).unwrap();
        (worker, mesh)
    }

    /// Progresses until a test of the queue has begun and is over.
    fn test_queue(worker: &Worker) {
        let start = Instant::now();
        let until = |done: bool| {
            while worker.inner().chores.get() != done {
                worker.progress();
                assert!(start.elapsed() < Duration::from_secs(60));
            }
        };
        until(true);
        assert!(!worker.arm().unwrap());
        until(false);
    }

    /// Has a peer send a message, and leave; `before` that, something happens.
    fn peer_leaves(worker: &Worker, mesh: &Mesh, before: impl FnOnce()) {
        let (peer, at_peer) = member();
        // SAFETY: of the worker above.
        let endpoint = unsafe { at_peer.endpoint(mesh.address().unwrap().as_bytes()) }.unwrap();
        let receiving = worker.tag_recv(7, u64::MAX, vec![0; 5]);
        endpoint.tag_send(7, b"hello".to_vec()).detach();
        worker.progress_until(|| {
            peer.progress();
            receiving.is_done() && mesh.connections() == 1
        });
        before();
        drop(endpoint);
        drop((peer, at_peer));
        test_queue(worker);
    }

    #[test]
    fn a_mesh_notices_that_a_peer_blocked_the_queue_of_its_worker() {
        if ran_alone("own_queue::tests::a_mesh_notices_that_a_peer_blocked_the_queue_of_its_worker")
        {
            return;
        }
        let (worker, mesh) = member();
        let queues = Queues::now();
        peer_leaves(&worker, &mesh, || ());
        assert!(!mesh.is_blocked());
        // Two messages, and the test's own.
        peer_leaves(&worker, &mesh, || queues.block(3));
        assert!(mesh.is_blocked());
        // The worker's own messages still arrive.
        let (peer, at_peer) = member();
        // SAFETY: of the worker above.
        let endpoint = unsafe { mesh.endpoint(at_peer.address().unwrap().as_bytes()) }.unwrap();
        let receiving = peer.tag_recv(7, u64::MAX, vec![0; 5]);
        endpoint.tag_send(7, b"hello".to_vec()).detach();
        peer.progress_until(|| {
            worker.progress();
            receiving.is_done()
        });
        assert_eq!(receiving.wait().1, b"hello");
    }
}
