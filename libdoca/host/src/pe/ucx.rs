//! UCX under the engine: made when it is first needed, and replaced when its receive queue is
//! blocked.

use std::rc::{Rc, Weak};
use std::time::Instant;

use rustix::event::epoll;
use ucx::Endpoint;
use urom_abi::signals;
use urom_wire::control::Failure;
use urom_wire::descriptors;
use urom_wire::queue_probe::{BLOCKED, Queue, Verdict};

use super::Pe;
use crate::failure::failure;
use crate::pe::run::Run;
use crate::pe::transport::{self, Transport};

impl Pe {
    /// UCX, made when it is first needed.
    pub(crate) fn transport(&self) -> Result<&Transport, Failure> {
        let Some(current) = self.current() else {
            let transport = self.make_transport()?;
            return Ok(self.transport.get_or_init(|| transport));
        };
        if !current.blocked.get() {
            return Ok(current);
        }
        let transport = Box::new(self.make_transport()?);
        Ok(current.next.get_or_init(|| transport))
    }

    #[inline]
    pub(super) fn current(&self) -> Option<&Transport> {
        let mut current = self.transport.get()?;
        while let Some(next) = current.next.get() {
            current = next;
        }
        Some(current)
    }

    fn make_transport(&self) -> Result<Transport, Failure> {
        transport::require_ucx()?;
        let broken = |what: &str| failure!(INITIALIZATION, "UCX cannot be used: {what}");
        descriptors::require().map_err(|text| broken(&text))?;
        // SAFETY: the engine has the transport, and nothing else progresses it. What sends by it is
        // a run's endpoint, and a run keeps its engine.
        let make = || unsafe { Transport::new(Weak::clone(&self.me)) };
        // UCX starts a thread of its own.
        let transport = signals::blocked(make);
        let transport = transport.map_err(|error| broken(&error.to_string()))?;
        let fd = transport.ucx().event_fd().map_err(|error| broken(&error.to_string()))?;
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(2), epoll::EventFlags::IN)
            .map_err(|error| broken(&error.to_string()))?;
        Ok(transport)
    }

    /// Progresses UCX until something comes, at most `looks` times. Returns whether anything did.
    #[inline]
    pub(super) fn progress_ucx(&self, looks: u32) -> bool {
        let Some(transport) = self.current() else { return false };
        let received = (0..looks).any(|_| transport.ucx().progress());
        if received {
            // UCX was armed for the event that it has just handled.
            self.bell.ring();
        }
        received
    }

    /// Receives what UCX still has, after a peer is gone.
    pub(crate) fn drain(&self) {
        let Some(transport) = self.current() else { return };
        for _ in 0..10_000 {
            if !transport.ucx().progress() {
                break;
            }
        }
    }

    /// Notes how a worker is reached.
    pub(crate) fn met(&self, endpoint: &Endpoint) {
        self.probe.borrow_mut().met(endpoint);
    }

    /// Ends tests of the queue, which each take a UCX context of their own.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn trust_queue(&self) {
        drop(self.probe.take());
    }

    /// Tests the receive queue after a worker is gone, perhaps in the middle of a message.
    #[cold]
    pub(crate) fn probe_queue(&self) {
        let Some(transport) = self.current() else { return };
        let begun = match transport.ucx().address() {
            Ok(address) => {
                let (address, awaited) =
                    (address.as_bytes().to_vec(), Rc::clone(&transport.awaited));
                let begun = self.probe.borrow_mut().begin(Queue { address, config: &[], awaited });
                begun.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        match begun {
            Ok(()) => {
                self.chores.set(true);
                self.bell.ring();
            }
            Err(error) => {
                log!(warn, "cannot check whether messages of workers still arrive: {error}")
            }
        }
    }

    /// Whether the receive queue is being tested, so that the host must not sleep.
    pub(super) fn is_probing(&self) -> bool {
        self.probe.borrow().is_running()
    }

    /// Goes on with the test of the receive queue, if any. `empty` says whether UCX just found it
    /// empty.
    pub(super) fn try_queue(&self, empty: bool) {
        let verdict = self.probe.borrow_mut().look(empty, Instant::now());
        if verdict == Verdict::Blocked {
            self.replace_ucx();
        }
    }

    /// Gives up every worker that sends into the queue; the next one finds a new queue.
    #[cold]
    fn replace_ucx(&self) {
        log!(error, "{BLOCKED}");
        if let Some(transport) = self.current() {
            transport.blocked.set(true);
            if let Ok(fd) = transport.ucx().event_fd() {
                // It may stay readable for ever. Deleting it fails only when it is not there.
                let _ = epoll::delete(&self.epoll, fd);
            }
        }
        let failure = failure!(CONNECTION_RESET, "{BLOCKED}");
        let runs: Vec<Rc<Run>> = self.channels.borrow().iter().cloned().collect();
        for run in runs {
            run.lose(self, &failure);
        }
    }
}
