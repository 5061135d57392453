//! UCX under the engine: made when it is first needed, and replaced when its receive queue is
//! blocked.

use std::cell::{Cell, OnceCell};
use std::ptr::NonNull;
use std::rc::{Rc, Weak};
use std::time::Instant;

use rustix::event::epoll;
use ucx::queue_probe::{Queue, Verdict};
use ucx::{Data, Worker};
use urom_os::signals;
use urom_wire::control::Failure;
use urom_wire::frame::{AM_GREET, AM_NOTIFICATIONS, AM_PROBE};
use urom_wire::ucx_context::{BLOCKED, context};

use super::Pe;
use crate::failure::{failure, require_ucx};
use crate::pe::run::Run;

pub(crate) struct Transport {
    pub(crate) ucx: Worker,
    pub(crate) queue: Queue,
    pub(crate) blocked: Cell<bool>,
    /// The transport that replaced a blocked one.
    pub(crate) next: OnceCell<Box<Transport>>,
}

impl Transport {
    /// A UCX worker whose messages go to the engine.
    ///
    /// # Safety
    /// The engine exists whenever this worker is progressed or sends.
    pub(crate) unsafe fn new(pe: Weak<Pe>) -> ucx::Result<Transport> {
        let ucx = context().name("urom-host").build()?.worker()?;
        let engine = NonNull::new(pe.as_ptr().cast_mut());
        ucx.set_am_handler(AM_NOTIFICATIONS, move |message| {
            let Some(pe) = engine else { return };
            // SAFETY: UCX calls handlers while a worker is progressed or sends, and the caller
            // promises the engine for that time; a worker that ends calls none.
            let pe = unsafe { pe.as_ref() };
            match message.data {
                Data::Eager(bytes) => pe.on_notifications(bytes),
                Data::Rendezvous(announced) => {
                    let len = announced.len();
                    pe.unreadable(format_args!(
                        "a message of {len} bytes was dropped: it was not sent eagerly"
                    ));
                }
            }
        })?;
        ucx.set_am_handler(AM_GREET, move |message| {
            if let Some(pe) = pe.upgrade() {
                pe.on_greeting(message.header);
            }
        })?;
        let queue = Queue::of(&ucx, AM_PROBE)?;
        Ok(Transport { ucx, queue, blocked: Cell::new(false), next: OnceCell::new() })
    }
}

impl Pe {
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
        require_ucx()?;
        let broken = |what: &str| failure!(INITIALIZATION, "UCX cannot be used: {what}");
        // SAFETY: the engine has the transport, and nothing else progresses it. What sends by it is
        // a run's endpoint, and a run keeps its engine.
        let make = || unsafe { Transport::new(Weak::clone(&self.me)) };
        // UCX starts a thread of its own.
        let transport = signals::blocked(make);
        let transport = transport.map_err(|error| broken(&error.to_string()))?;
        let fd = transport.ucx.event_fd().map_err(|error| broken(&error.to_string()))?;
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN)
            .map_err(|error| broken(&error.to_string()))?;
        Ok(transport)
    }

    /// Progresses UCX until something comes, at most `looks` times. Returns whether anything did.
    #[inline]
    pub(super) fn progress_ucx(&self, looks: u32) -> bool {
        let Some(transport) = self.current() else { return false };
        let received = (0..looks).any(|_| transport.ucx.progress());
        if received {
            // UCX was armed for the event that it has just handled.
            self.bell.ring();
        }
        received
    }

    pub(crate) fn drain(&self) {
        let Some(transport) = self.current() else { return };
        for _ in 0..10_000 {
            if !transport.ucx.progress() {
                break;
            }
        }
    }

    /// Tests the receive queue after a worker is gone, perhaps in the middle of a message.
    #[cold]
    pub(crate) fn probe_queue(&self) {
        let Some(transport) = self.current() else { return };
        let begin = || self.probe.borrow_mut().begin(transport.queue.clone());
        match signals::blocked(begin) {
            Ok(()) => {
                self.chores.set(true);
                self.bell.ring();
            }
            Err(error) => {
                log!(warn, "cannot check whether messages of workers still arrive: {error}")
            }
        }
    }

    /// Goes on with the test of the receive queue, if any. `empty` says whether UCX just found it
    /// empty.
    pub(super) fn try_queue(&self, empty: bool) {
        // It may begin the next test.
        let look = || self.probe.borrow_mut().look(empty, Instant::now());
        let verdict = signals::blocked(look);
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
            if let Ok(fd) = transport.ucx.event_fd() {
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
