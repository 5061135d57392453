//! Tests whether the receive queue of a mesh's worker still moves after a peer has left. A process
//! killed between taking and filling a slot blocks this shared queue, undetected by UCX. After a
//! loss, a second worker of this process sends a message into the queue.

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

const AM_TEST: u16 = 255;

/// Timeout of each step, generous. With 3.5 s to lose a stopped peer, the total is below 5 s.
const LIMIT: Duration = Duration::from_secs(1);

/// Minimum number of idle rounds: a stopped process does not poll, and busy rounds do not count.
const LOOKS: u32 = 200;

/// The transport with one receive queue per worker; others have one for each peer.
const SHARED: &str = "posix";

type Nonce = [u8; 8];

pub(super) struct QueueTest {
    settings: ContextBuilder,
    address: WorkerAddress,
    /// Empty when the message has arrived. Peers can send such messages too, which changes nothing.
    awaited: Rc<Cell<Option<Nonce>>>,
    /// An endpoint to the queue; the first test makes it and its worker, in some milliseconds.
    sender: Option<Endpoint>,
    running: Option<RunningTest>,
    tested: u64,
}

struct RunningTest {
    losses: u64,
    sending: Option<Request<()>>,
    since: Instant,
    looks: u32,
}

impl QueueTest {
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

    pub(super) fn tested(&self) -> u64 {
        self.tested
    }

    /// Continues the test after a round of progress, idle if `empty`; true if the queue is blocked.
    pub(super) fn look(&mut self, losses: u64, empty: bool, now: Instant) -> bool {
        let Some(test) = &mut self.running else {
            if let Err(error) = self.begin(losses, now) {
                self.abandon(losses, &error);
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
            // Earlier idle rounds do not count, and a peer that just took a slot can still fill it.
            (test.since, test.looks) = (now, 0);
            if let (Err(status), ()) = sent.wait() {
                let losses = test.losses;
                self.abandon(losses, &status.during("sending to the own queue"));
            }
            return false;
        }
        test.looks += u32::from(empty);
        test.looks >= LOOKS && now.saturating_duration_since(test.since) >= LIMIT
    }

    fn begin(&mut self, losses: u64, now: Instant) -> Result<()> {
        let mut nonce = Nonce::default();
        // Random, so that a peer cannot forge the answer.
        getrandom(&mut nonce, GetRandomFlags::empty()).map_err(|error| {
            Status::IO_ERROR.during(format!("asking for random bytes: {error}"))
        })?;
        let sender = match &mut self.sender {
            Some(sender) => sender,
            none => none.insert(self.settings.clone().build()?.worker()?.connect(&self.address)?),
        };
        self.awaited.set(Some(nonce));
        let sending = Some(sender.am_send_with(AM_TEST, &nonce, (), AmFlags::EAGER));
        self.running = Some(RunningTest { losses, sending, since: now, looks: 0 });
        Ok(())
    }

    #[cold]
    fn abandon(&mut self, losses: u64, error: &crate::Error) {
        tracing::warn!("cannot check whether messages of peers still arrive: {error}");
        (self.running, self.sender, self.tested) = (None, None, losses);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::tests::{member, settings, until};
    use crate::test_queues::{Queues, ran_alone};

    fn receiver() -> (Worker, QueueTest) {
        let worker = settings("posix").build().unwrap().worker().unwrap();
        let test = QueueTest::new(&worker, &settings("posix")).unwrap();
        (worker, test)
    }

    fn is_blocked(worker: &Worker, test: &mut QueueTest, losses: u64) -> bool {
        until(|| {
            let is_blocked = test.look(losses, !worker.progress(), Instant::now());
            (is_blocked || test.tested == losses).then_some(is_blocked)
        })
    }

    fn sent() -> (Worker, QueueTest, Instant) {
        let (worker, mut test) = receiver();
        let begin = Instant::now();
        assert!(!test.look(1, true, begin));
        until(|| {
            assert!(!test.look(1, true, begin));
            test.running.as_ref().unwrap().sending.is_none().then_some(())
        });
        (worker, test, begin)
    }

    #[test]
    fn a_queue_with_a_slot_that_is_never_filled_is_blocked() {
        if ran_alone("mesh::queue_test::tests::a_queue_with_a_slot_that_is_never_filled_is_blocked")
        {
            return;
        }
        let (worker, mut test) = receiver();
        let queues = Queues::now();
        for losses in 1..4 {
            assert!(!is_blocked(&worker, &mut test, losses), "{losses}");
        }
        queues.block(3);
        assert!(is_blocked(&worker, &mut test, 4));
    }

    #[test]
    fn the_message_of_another_process_proves_nothing() {
        let (worker, mut test, begin) = sent();
        let nonce = test.awaited.get().unwrap();
        let other = settings("posix").build().unwrap().worker().unwrap();
        let endpoint = other.connect(&worker.address().unwrap()).unwrap();
        let changed = nonce.map(|byte| !byte);
        for header in [&changed[..], &nonce[1..], &[&nonce[..], &[0]].concat(), &[]] {
            endpoint.am_send_with(AM_TEST, header, (), AmFlags::EAGER).detach();
        }
        // They are behind the test's own message, which counts as not arrived.
        worker.progress_until(|| test.awaited.get().is_none());
        test.awaited.set(Some(nonce));
        until(|| {
            other.progress();
            (!worker.progress()).then_some(())
        });
        assert!(!test.look(1, true, begin) && test.tested == 0);
        endpoint.am_send_with(AM_TEST, &nonce, (), AmFlags::EAGER).detach();
        worker.progress_until(|| {
            other.progress();
            test.awaited.get().is_none()
        });
        assert!(!test.look(1, true, begin) && test.tested == 1);
    }

    #[test]
    fn busy_rounds_do_not_report_a_blocked_queue() {
        let (_worker, mut test, begin) = sent();
        for _ in 0..2 * LOOKS {
            assert!(!test.look(1, false, begin + 10 * LIMIT));
        }
        for _ in 0..LOOKS - 1 {
            assert!(!test.look(1, true, begin + 10 * LIMIT));
        }
        assert!(test.look(1, true, begin + 10 * LIMIT));
    }

    #[test]
    fn however_many_are_lost_there_is_one_test_at_a_time_and_one_more_after_the_last() {
        let (worker, mut test) = receiver();
        let mut nonces = Vec::new();
        let mut losses = 1;
        until(|| {
            test.look(losses, !worker.progress(), Instant::now());
            nonces.extend(test.awaited.get());
            nonces.dedup();
            losses = 256;
            (test.tested == losses).then_some(())
        });
        assert!(nonces.len() == 2 && nonces[0] != nonces[1], "{nonces:?}");
    }

    #[test]
    fn a_message_that_came_into_the_queue_a_moment_ago_has_its_time_to_come_out() {
        let (_worker, mut test, begin) = sent();
        for _ in 0..2 * LOOKS {
            assert!(!test.look(1, true, begin + LIMIT / 2));
        }
        assert!(test.look(1, true, begin + LIMIT));
    }

    #[test]
    fn a_message_that_waits_for_its_slot_has_as_long_once_it_is_there() {
        let (worker, mut test) = receiver();
        let other = settings("posix").build().unwrap().worker().unwrap();
        let endpoint = other.connect(&worker.address().unwrap()).unwrap();
        worker.set_am_handler(1, |_| ()).unwrap();
        while endpoint.am_send_with(1, &[], (), AmFlags::EAGER).into_done().is_ok() {}
        let begin = Instant::now();
        for _ in 0..LOOKS {
            assert!(!test.look(1, true, begin + LIMIT / 2));
        }
        worker.progress_until(|| {
            assert!(!test.look(1, false, begin + LIMIT / 2));
            test.running.as_ref().unwrap().sending.is_none()
        });
        for _ in 0..LOOKS {
            assert!(!test.look(1, true, begin + LIMIT));
        }
        assert!(test.look(1, true, begin + 2 * LIMIT));
    }

    #[test]
    fn a_worker_that_is_not_reached_by_shared_memory_is_not_tested() {
        let worker = settings("tcp").build().unwrap().worker().unwrap();
        let mut test = QueueTest::new(&worker, &settings("tcp")).unwrap();
        assert!(!is_blocked(&worker, &mut test, 1));
        assert!(member("tcp").with_member(|member| Ok(member.queue.borrow().is_none())).unwrap());
    }
}
