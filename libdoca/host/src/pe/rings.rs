//! The rings of an engine's workers: answers are taken from one after the other.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use urom_os::EventFd;
use urom_wire::control::Failure;

use super::Pe;
use crate::failure::failure;
use crate::pe::run::Run;
use crate::pe::run::task::CmdTaskRef;

pub(super) struct Rings {
    /// The descriptor by which workers end the host's sleep.
    pub(super) bell: EventFd,
    runs: RefCell<Vec<Rc<Run>>>,
    /// The run that is looked at next.
    next: Cell<usize>,
    /// Whether commands were written since the last announcement.
    is_written: Cell<bool>,
}

impl Rings {
    pub(super) fn new() -> io::Result<Rings> {
        Ok(Rings {
            bell: EventFd::new()?,
            runs: RefCell::default(),
            next: Cell::new(0),
            is_written: Cell::new(false),
        })
    }

    /// Takes the next answer, and looks at each run's ring once at most.
    #[inline]
    fn take(&self) -> Option<CmdTaskRef> {
        let count = self.runs.borrow().len();
        for _ in 0..count {
            let at = self.next.get();
            self.next.set(if at + 1 < count { at + 1 } else { 0 });
            // A clone: the reader of the log may call back.
            let run = self.runs.borrow().get(at).cloned();
            let answer = run.and_then(|run| run.take_answer());
            if answer.is_some() {
                return answer;
            }
        }
        None
    }

    #[inline]
    fn announce(&self) {
        if self.is_written.replace(false) {
            self.runs.borrow().iter().for_each(|run| run.announce());
        }
    }

    /// Whether the workers wake this host from now on.
    pub(super) fn sleep(&self) -> bool {
        self.is_written.set(false);
        self.runs.borrow().iter().all(|run| run.sleep())
    }

    pub(super) fn wake(&self) {
        self.bell.lower();
        self.runs.borrow().iter().for_each(|run| run.wake());
    }
}

impl Pe {
    /// A descriptor of the bell, for a worker.
    pub(crate) fn rings_bell(&self) -> Result<EventFd, Failure> {
        let bell = self.rings.bell.try_clone();
        bell.map_err(|error| failure!(OPERATING_SYSTEM, "there is no descriptor left: {error}"))
    }

    pub(crate) fn add_ring(&self, run: Rc<Run>) {
        self.rings.runs.borrow_mut().push(run);
    }

    pub(crate) fn remove_ring(&self, run: &Run) {
        self.rings.runs.borrow_mut().retain(|known| known.channel != run.channel);
        self.rings.next.set(0);
    }

    /// Notes that a command was written, whose worker may be asleep.
    #[inline]
    pub(crate) fn wrote(&self) {
        self.rings.is_written.set(true);
    }

    /// The next answer of any worker; looks for it so often. Without one, workers that went to
    /// sleep are woken.
    #[inline]
    pub(super) fn take_answer(&self, looks: u32) -> Option<CmdTaskRef> {
        for _ in 0..looks {
            let answer = self.rings.take();
            if answer.is_some() {
                return answer;
            }
        }
        self.rings.announce();
        None
    }

    /// Takes all answers that are there, for later calls of progress.
    pub(super) fn receive_from_rings(&self) {
        while let Some(task) = self.take_answer(1) {
            self.push_command(task);
        }
    }
}
