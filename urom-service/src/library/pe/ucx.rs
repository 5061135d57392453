//! UCX under the engine: made when it is first needed, and made anew when its receive queue is blocked.

use std::rc::{Rc, Weak};
use std::time::Instant;

use rustix::event::epoll;
use ucx::Endpoint;
use urom_abi::{DocaError, signals};

use super::Pe;
use crate::descriptors;
use crate::library::failure::failure;
use crate::library::run::Run;
use crate::library::transport::{self, Transport};
use crate::queue::{BLOCKED, Queue, Verdict};
use crate::wire::control::Failure;

impl Pe {
    /// UCX, made when it is first needed.
    pub(in crate::library) fn transport(&self) -> Result<&Transport, Failure> {
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

    /// What was made last.
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
        let broken =
            |what: &str| failure(DocaError::INITIALIZATION, format!("UCX cannot be used: {what}"));
        descriptors::require().map_err(|text| broken(&text))?;
        // SAFETY: the engine has the transport, and nothing else progresses it. What sends by it is a run's endpoint, and a run
        // keeps its engine.
        let make = || unsafe { Transport::new(Weak::clone(&self.me)) };
        // UCX starts a thread of its own.
        let transport = signals::blocked(make);
        let transport = transport.map_err(|error| broken(&error.to_string()))?;
        let fd = transport.ucx().event_fd().map_err(|error| broken(&error.to_string()))?;
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(2), epoll::EventFlags::IN)
            .map_err(|error| broken(&error.to_string()))?;
        Ok(transport)
    }

    /// Looks until something comes, at most so often; whether anything did.
    #[inline]
    pub(super) fn progress_ucx(&self, looks: u32) -> bool {
        let Some(transport) = self.current() else { return false };
        let received = (0..looks).any(|_| transport.ucx().progress());
        if received {
            // UCX was armed for what it has just taken.
            self.bell.ring();
        }
        received
    }

    /// Receives what UCX still has, after a peer is gone.
    pub(in crate::library) fn drain(&self) {
        let Some(transport) = self.current() else { return };
        for _ in 0..10_000 {
            if !transport.ucx().progress() {
                break;
            }
        }
    }

    /// Notes how a worker is reached.
    pub(in crate::library) fn met(&self, endpoint: &Endpoint) {
        self.probe.borrow_mut().met(endpoint);
    }

    /// Ends the probe of the queue, as an engine that met nobody: each test takes a UCX of its own.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(in crate::library) fn trust_queue(&self) {
        drop(self.probe.take());
    }

    /// Has the receive queue tried, now that a worker is gone, perhaps in the middle of a message.
    #[cold]
    pub(in crate::library) fn probe_queue(&self) {
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
            Err(error) => tracing::warn!(
                target: "urom_library",
                "cannot check whether messages of workers still arrive: {error}"
            ),
        }
    }

    /// Whether the host must not sleep, because the receive queue is being tried.
    pub(super) fn is_probing(&self) -> bool {
        self.probe.borrow().is_running()
    }

    /// Goes on with the test of the receive queue, if there is one; `empty` says whether UCX just found nothing in it.
    pub(super) fn try_queue(&self, empty: bool) {
        let verdict = self.probe.borrow_mut().look(empty, Instant::now());
        if verdict == Verdict::Blocked {
            self.replace_ucx();
        }
    }

    /// Gives up every worker that sends into the queue; the next one finds a new queue.
    #[cold]
    fn replace_ucx(&self) {
        tracing::error!(target: "urom_library", "{BLOCKED}");
        if let Some(transport) = self.current() {
            transport.blocked.set(true);
            if let Ok(fd) = transport.ucx().event_fd() {
                // It may stay readable for ever, and fails only when it is not there.
                let _ = epoll::delete(&self.epoll, fd);
            }
        }
        let failure = failure(DocaError::CONNECTION_RESET, BLOCKED);
        let runs: Vec<Rc<Run>> = self.channels.borrow().iter().cloned().collect();
        for run in runs {
            run.lose(self, &failure);
        }
    }
}
